// SPDX-License-Identifier: MIT
// AQL packets, amd_queue_t and kernel descriptors as copies in host memory, with accessors made from aql.def.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "common/bits.h"
#include "common/fault.h"

namespace lyra {

inline constexpr unsigned kAqlPacketBytes = 64;

/// Bytes copied out of guest memory; fields are read at fixed offsets inside it.
template <unsigned Size>
struct GuestCopy {
    std::array<uint8_t, Size> bytes{};

    template <class T, unsigned Offset>
    T get() const {
        static_assert(Offset + sizeof(T) <= Size);
        T value;
        std::memcpy(&value, bytes.data() + Offset, sizeof value);
        return value;
    }
};

using AqlPacket = GuestCopy<kAqlPacketBytes>;

/// The part of amd_queue_t from read_dispatch_id on, to which CP_HQD_PQ_RPTR_REPORT_ADDR points.
inline constexpr unsigned kAmdQueueTailBytes = 0x48;
using AmdQueueTail = GuestCopy<kAmdQueueTailBytes>;

inline constexpr unsigned kAmdSignalBytes = 64;
using AmdSignal = GuestCopy<kAmdSignalBytes>;

namespace aql {

/// Fields of the 16-bit header.
namespace header_field {
#define AQL_HEADER(name, low, width) using name = Bits<low, width>;
#include "facts/packets/aql.def"
}  // namespace header_field

enum class Type : uint8_t {
#define AQL_TYPE(name, value, text) name = value,
#include "facts/packets/aql.def"
};

/// Scopes of a packet's fences. @source hsa.h hsa_fence_scope_t
inline constexpr unsigned kScopeSystem = 2;

enum class Vendor : uint8_t {
#define AQL_VENDOR(name, format, text) name = format,
#include "facts/packets/aql.def"
};

#define AQL_FIELD(packet, name, offset, type)                              \
    namespace packet {                                                     \
    inline type name(const AqlPacket& p) { return p.get<type, offset>(); } \
    }
#include "facts/packets/aql.def"

struct ErrorInfo {
    Fault fault;
    uint32_t code;       ///< bits stored in queue_inactive_signal
    uint32_t exception;  ///< KFD exception code, 0 = none
};

inline constexpr ErrorInfo kErrors[] = {
#define AQL_ERROR(fault, code, exception) {Fault::fault, code, exception},
#include "facts/packets/aql.def"
};

/// The row of a fault, or nullptr when the runtime has no code for it.
constexpr const ErrorInfo* error_info(Fault fault) {
    for (const ErrorInfo& info : kErrors) {
        if (info.fault == fault) return &info;
    }
    return nullptr;
}

/// queue_inactive_signal: the scratch of a dispatch may be taken back.
inline constexpr uint64_t kScratchReclaim = 0x200;

constexpr Type type(uint16_t header) { return Type(header_field::Type::get(header)); }
inline Type type(const AqlPacket& p) { return type(any::header(p)); }
inline bool barrier_bit(const AqlPacket& p) { return header_field::Barrier::get(any::header(p)); }

}  // namespace aql

namespace amd_queue {
#define AMD_QUEUE(name, offset, type) \
    inline type name(const AmdQueueTail& q) { return q.get<type, offset>(); }
#include "facts/packets/aql.def"

/// Bits of queue_properties.
using UseScratchOnce = Bits<4, 1>;
/// Offset of read_dispatch_id in amd_queue_t: tells a real amd_queue_t from a bare read pointer.
inline constexpr uint32_t kReadDispatchIdOffset = 0x80;
}  // namespace amd_queue

namespace amd_signal {
#define AMD_SIGNAL(name, offset, type)           \
    inline constexpr unsigned k_##name = offset; \
    inline type name(const AmdSignal& s) { return s.get<type, offset>(); }
#include "facts/packets/aql.def"
}  // namespace amd_signal

/// What a dispatch needs to know of its queue.
struct AmdQueue {
    bool ok = false;       ///< the queue has a readable amd_queue_t
    uint64_t address = 0;  ///< of the amd_queue_t; for the queue_ptr SGPRs
    uint32_t tmpring_size = 0;
    std::array<uint32_t, 4> scratch_descriptor{};
    uint64_t scratch_base = 0;
    uint32_t scratch_lane_bytes = 0;
    bool scratch_once = false;
    uint64_t inactive_signal = 0;  ///< address, 0 = none
};

/// Kernel descriptor, 64 bytes. @source LLVM AMDGPUUsage "Kernel Descriptor"
struct KernelDescriptor : GuestCopy<64> {
    int64_t entry_offset() const { return get<int64_t, 16>(); }
    uint32_t rsrc3() const { return get<uint32_t, 44>(); }
    uint32_t rsrc1() const { return get<uint32_t, 48>(); }
    uint32_t rsrc2() const { return get<uint32_t, 52>(); }
    uint16_t properties() const { return get<uint16_t, 56>(); }
};

/// kernel_code_properties: which user SGPRs the kernel wants, in this order.
namespace kernel_property {
using PrivateSegmentBuffer = Bits<0, 1>;
using DispatchPtr = Bits<1, 1>;
using QueuePtr = Bits<2, 1>;
using KernargSegmentPtr = Bits<3, 1>;
using DispatchId = Bits<4, 1>;
using FlatScratchInit = Bits<5, 1>;
using PrivateSegmentSize = Bits<6, 1>;
}  // namespace kernel_property

}  // namespace lyra
