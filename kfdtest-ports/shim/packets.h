// SPDX-License-Identifier: MIT
// Packets that the ports put into rings: PM4 of gfx9 and SDMA 4.0.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "common/bits.h"

namespace lyra::kfd {

using Words = std::vector<uint32_t>;

/// @source Linux 6.12 soc15d.h, kfd_pm4_opcodes.h
namespace pm4 {

enum Opcode : uint8_t {
    kNop = 0x10,
    kDispatchDirect = 0x15,
    kWriteData = 0x37,
    kWaitRegMem = 0x3c,
    kIndirectBuffer = 0x3f,
    kReleaseMem = 0x49,
    kAcquireMem = 0x58,
    kSetShReg = 0x76,
    kInvalidateTlbs = 0x98,
    kSetResources = 0xa0,
    kMapProcess = 0xa1,
    kMapQueues = 0xa2,
    kUnmapQueues = 0xa3,
    kQueryStatus = 0xa4,
    kRunList = 0xa5,
};

inline constexpr uint32_t kOneDwordNop = 0xffff1002;  ///< header only; bit 1: compute

/// A type-3 packet. @param body at least one dword
inline Words packet(Opcode opcode, const Words& body) {
    Words words{0xc0000000u | static_cast<uint32_t>(body.size() - 1) << 16 | uint32_t{opcode} << 8 | 1u << 1};
    words.insert(words.end(), body.begin(), body.end());
    return words;
}

inline Words nop(uint32_t body_dwords = 1) { return packet(kNop, Words(body_dwords)); }

/// To memory, with confirmation.
inline Words write_data(uint64_t address, const Words& data) {
    Words body{5u << 8 | 1u << 20, lo32(address), hi32(address)};
    body.insert(body.end(), data.begin(), data.end());
    return packet(kWriteData, body);
}

enum class Interrupt : uint8_t { None, After };
enum class Data : uint8_t { None = 0, Low32 = 1, Full64 = 2, GpuClock = 3 };

/// End of pipe: write back and invalidate caches, store data, interrupt with data as context id.
/// @param address 0: nothing is stored and the interrupt is all
inline Words release_mem(uint64_t address, uint64_t data, Interrupt interrupt, Data what = Data::Low32) {
    // 14: CACHE_FLUSH_AND_INV_TS, index 5: end of pipe. int_sel 1: interrupt, 2: after the write, 3: none but confirm the
    // write.
    const uint32_t int_sel = interrupt == Interrupt::After ? (address ? 2 : 1) : (address ? 3 : 0);
    const uint32_t data_sel = address ? static_cast<uint32_t>(what) : 0;
    return packet(kReleaseMem, {0x14u | 5u << 8 | 1u << 15 | 1u << 17, data_sel << 29 | int_sel << 24, lo32(address),
                                hi32(address), lo32(data), hi32(data), lo32(data)});
}

inline Words acquire_mem() { return packet(kAcquireMem, {0x28c00000, 0xffffffff, 0, 0, 0, 4}); }

/// Until the dword equals the value.
inline Words wait_mem_equal(uint64_t address, uint32_t value) {
    return packet(kWaitRegMem, {3u | 1u << 4, lo32(address), hi32(address), value, 0xffffffff, 4});
}

inline Words indirect_buffer(uint64_t address, uint32_t dwords) {
    return packet(kIndirectBuffer, {lo32(address), hi32(address), dwords | 1u << 23});
}

/// @param reg dword number from the start of the COMPUTE registers (COMPUTE_DISPATCH_INITIATOR is 0x200)
inline Words set_sh_reg(uint32_t reg, const Words& values) {
    Words body{reg};
    body.insert(body.end(), values.begin(), values.end());
    return packet(kSetShReg, body);
}

inline Words dispatch_direct(uint32_t x, uint32_t y, uint32_t z, uint32_t initiator) {
    return packet(kDispatchDirect, {x, y, z, initiator});
}

}  // namespace pm4

/// @source Linux 6.12 vega10_sdma_pkt_open.h
namespace sdma {

inline Words nop(uint32_t dwords = 1) {
    Words words(dwords);
    words[0] = (dwords - 1) << 16;
    return words;
}

inline Words write_linear(uint64_t address, const Words& data) {
    Words words{2, lo32(address), hi32(address), static_cast<uint32_t>(data.size() - 1)};
    words.insert(words.end(), data.begin(), data.end());
    return words;
}

inline constexpr uint32_t kMaxBytes = 2u << 20;  ///< of one packet; the field would allow 0x3fffe0

inline Words copy_linear(uint64_t to, uint64_t from, uint64_t bytes) {
    Words words;
    for (uint64_t done = 0; done < bytes; done += kMaxBytes) {
        const uint32_t part = static_cast<uint32_t>(bytes - done < kMaxBytes ? bytes - done : kMaxBytes);
        words.insert(words.end(), {1, part - 1, 0, lo32(from + done), hi32(from + done), lo32(to + done), hi32(to + done)});
    }
    return words;
}

/// Dwords.
inline Words const_fill(uint64_t address, uint32_t value, uint32_t bytes) {
    return {11 | 2u << 30, lo32(address), hi32(address), value, bytes - 1};
}

inline Words fence(uint64_t address, uint32_t data) { return {5, lo32(address), hi32(address), data}; }
inline Words trap(uint32_t context) { return {6, context}; }
/// @param address 32-byte aligned
inline Words timestamp(uint64_t address) { return {13 | 2u << 8, lo32(address), hi32(address)}; }

}  // namespace sdma

}  // namespace lyra::kfd
