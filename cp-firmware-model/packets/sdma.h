// SPDX-License-Identifier: MIT
// SDMA packet decode: rows of sdma.def, look-up by header word, packet length, and the fields of each packet.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/bits.h"

namespace lyra::sdma {

/// What executes a packet (column handler of sdma.def).
enum class Handler : uint8_t {
    Nop,
    Copy,
    CopyBroadcast,
    CopyRect,
    Write,
    Indirect,
    Fence,
    Trap,
    Poll,
    RegisterToMemory,
    CondExe,
    Atomic,
    ConstFill,
    GenPtePde,
    TimestampSet,
    TimestampGet,
    TimestampGlobal,
    RegisterWrite,
    PreExe,
    Todo,
};
enum class Variant : uint8_t { Any, Plain, Broadcast };
enum class Tail : uint8_t { None, NopCount, WriteCount, TiledCount };

struct Packet {
    const char* name;
    uint8_t op;
    uint8_t sub_op;
    Variant variant;
    uint8_t dwords;  ///< fixed part, header included
    Tail tail;
    Handler handler;
};

inline constexpr Packet kPackets[] = {
#define SDMA_PACKET(name, op, sub_op, variant, dwords, tail, handler) \
    {#name, op, sub_op, Variant::variant, dwords, Tail::tail, Handler::handler},
#include "cp-firmware-model/packets/sdma.def"
#undef SDMA_PACKET
};

inline constexpr size_t kMaxFixedDwords = 16;
/// The fixed part of a packet; words past its length are not meaningful.
using Words = std::array<uint32_t, kMaxFixedDwords>;

/// Row of the packet that begins with this header word; nullptr when there is none. Reserved header bits are ignored.
constexpr const Packet* find_packet(uint32_t header) {
    const uint32_t op = header & 0xff, sub_op = (header >> 8) & 0xff;
    const Variant variant = bit(header, 27) ? Variant::Broadcast : Variant::Plain;
    for (const Packet& row : kPackets) {
        if (row.op == op && row.sub_op == sub_op && (row.variant == Variant::Any || row.variant == variant)) return &row;
    }
    return nullptr;
}

/// Dwords that follow the fixed part. At most 2^20.
constexpr uint32_t tail_dwords(const Packet& row, const Words& words) {
    switch (row.tail) {
        case Tail::None: return 0;
        case Tail::NopCount: return Bits<16, 14>::get(words[0]);
        case Tail::WriteCount: return Bits<0, 20>::get(words[3]) + 1;
        case Tail::TiledCount: return Bits<0, 20>::get(words[8]) + 1;
    }
    return 0;
}

/// 64-bit address or value in words first (low) and first + 1 (high).
constexpr uint64_t qword(const Words& words, size_t first) { return make64(words[first], words[first + 1]); }

// Fields, by packet and word. @source vega10_sdma_pkt_open.h
using CopyCount = Bits<0, 22>;  ///< bytes - 1
using IndirectVmid = Bits<16, 4>;
using IndirectSize = Bits<0, 20>;  ///< dwords
using TrapContext = Bits<0, 28>;
using PollHdpFlush = Bits<26, 1>;
using PollFunction = Bits<28, 3>;  ///< PollCondition
using PollMemory = Bits<31, 1>;
using PollInterval = Bits<0, 16>;
using PollRetries = Bits<16, 12>;  ///< kPollForever: no limit
using ExecCount = Bits<0, 14>;     ///< dwords
using AtomicLoop = Bits<16, 1>;
using AtomicOp = Bits<25, 7>;
using AtomicInterval = Bits<0, 13>;
using FillSize = Bits<30, 2>;   ///< 0 byte, 2 dword. @source cikd.h SDMA_CONSTANT_FILL_EXTRA_SIZE
using FillCount = Bits<0, 22>;  ///< bytes - 1
using PteCount = Bits<0, 19>;   ///< entries - 1
using SrbmByteEnable = Bits<28, 4>;
using SrbmAddress = Bits<0, 18>;  ///< dwords
using PreExeDevice = Bits<16, 8>;
using RectElement = Bits<29, 3>;  ///< log2 bytes
using RectX = Bits<0, 14>;
using RectY = Bits<16, 14>;
using RectZ = Bits<0, 11>;
using RectPitch = Bits<13, 19>;  ///< elements - 1
using RectSlice = Bits<0, 28>;   ///< elements - 1

inline constexpr uint32_t kPollForever = 0xfff;

/// Whether (value) <function> (reference) holds. function 0 always does; 7 is reserved and never does.
constexpr bool poll_condition(uint32_t function, uint32_t value, uint32_t reference) {
    switch (function) {
        case 0: return true;
        case 1: return value < reference;
        case 2: return value <= reference;
        case 3: return value == reference;
        case 4: return value != reference;
        case 5: return value >= reference;
        case 6: return value > reference;
        default: return false;
    }
}

}  // namespace lyra::sdma
