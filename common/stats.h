// SPDX-License-Identifier: MIT
// Counters of the device (stats.def) and of guest faults, readable by name while the device runs.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/fault.h"
#include "common/snapshot.h"

namespace lyra {

enum class Stat : uint8_t {
#define STAT(name, text) name,
#include "common/stats.def"
#undef STAT
};

inline constexpr const char* kStatNames[] = {
#define STAT(name, text) #name,
#include "common/stats.def"
#undef STAT
};
inline constexpr size_t kStatCount = sizeof(kStatNames) / sizeof(kStatNames[0]);

class Stats {
public:
    /// One writer at a time per counter (the device lock); readers may come from any thread.
    void add(Stat stat, uint64_t n = 1) { bump(counters_[static_cast<size_t>(stat)], n); }
    void set(Stat stat, uint64_t value) { counters_[static_cast<size_t>(stat)].store(value, std::memory_order_relaxed); }
    void add(Fault fault) { bump(faults_[static_cast<size_t>(fault)], 1); }
    uint64_t get(Stat stat) const { return counters_[static_cast<size_t>(stat)].load(std::memory_order_relaxed); }
    /// Writers wait meanwhile.
    void visit(StateVisitor& v) {
        const auto each = [&](const char* name, auto& counters) {
            std::array<uint64_t, std::tuple_size_v<std::remove_reference_t<decltype(counters)>>> values{};
            for (size_t i = 0; i < values.size(); ++i) values[i] = counters[i].load(std::memory_order_relaxed);
            v(name, values);
            for (size_t i = 0; i < values.size() && v.loads(); ++i) counters[i].store(values[i], std::memory_order_relaxed);
        };
        each("counters", counters_);
        each("faults", faults_);
    }
    uint64_t get(Fault fault) const { return faults_[static_cast<size_t>(fault)].load(std::memory_order_relaxed); }

private:
    static void bump(std::atomic<uint64_t>& counter, uint64_t n) { counter.fetch_add(n, std::memory_order_relaxed); }
    std::array<std::atomic<uint64_t>, kStatCount> counters_{};
    std::array<std::atomic<uint64_t>, kFaultCount> faults_{};
};

}  // namespace lyra
