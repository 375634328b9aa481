// SPDX-License-Identifier: MIT
// What the guest can do wrong (faults.def) and Result<T>, the value or the fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace lyra {

enum class Fault : uint8_t {
#define FAULT(name, text) name,
#include "common/faults.def"
#undef FAULT
};

struct FaultInfo {
    const char* name;
    const char* text;
};

inline constexpr FaultInfo kFaults[] = {
#define FAULT(name, text) {#name, text},
#include "common/faults.def"
#undef FAULT
};

inline constexpr size_t kFaultCount = sizeof(kFaults) / sizeof(kFaults[0]);

constexpr const FaultInfo& fault_info(Fault fault) { return kFaults[static_cast<size_t>(fault)]; }

/// The translation was refused. Other faults of an access only drop it: registers, holes of the bus.
constexpr bool is_vm_fault(Fault fault) {
    switch (fault) {
        case Fault::PageNotPresent:
        case Fault::PagePermission:
        case Fault::AddressNotCanonical:
        case Fault::PageWalk:
        case Fault::PageRetry: return true;
        default: return false;
    }
}

/// A value, or the fault that stands in its place.
template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::move(value)) {}
    Result(Fault fault) : fault_(fault) {}
    explicit operator bool() const { return fault_ == Fault::None; }
    bool ok() const { return fault_ == Fault::None; }
    Fault fault() const { return fault_; }
    T& operator*() { return value_; }
    const T& operator*() const { return value_; }
    T* operator->() { return &value_; }
    const T* operator->() const { return &value_; }

private:
    T value_{};
    Fault fault_ = Fault::None;
};

}  // namespace lyra
