// SPDX-License-Identifier: MIT
// Where things are in the save area of a queue: one record per wave, and the words of the control stack.
// @source Linux 6.12 cwsr_trap_handler_gfx9.asm (offsets); ROCdbgapi architecture.cpp, gfx9 and gfx90a (control stack, size);
// docs/spec/front-end.md 6.2, 6.3
#pragma once

#include <cstdint>

#include "common/bits.h"
#include "facts/register_fields.h"

namespace lyra::cwsr {

/// A record from its address upwards: VGPRs, SGPRs, hardware registers, TTMPs, LDS (first wave of a group only), a gap that
/// comes from hardware counting the TTMPs as one more block of SGPRs.
inline constexpr uint32_t kVgprBytes = 256;
inline constexpr uint32_t kSgprBytes = 4;
inline constexpr uint32_t kHwregBytes = 64;
inline constexpr uint32_t kTtmpBytes = 64;
inline constexpr uint32_t kGapBytes = 64;

/// Hardware registers, bytes from the end of the SGPRs.
enum Hwreg : uint32_t {
#define CWSR_HWREG(name, byte) k##name = byte,
#include "cwsr/layout.def"
#undef CWSR_HWREG
};

/// Word that gives the sizes of the waves after it: counts in blocks, minus 1.
struct StateWord {
    using Vgprs = Bits<0, 6>;    ///< blocks of the chip's granule, minus 1
    using Sgprs = Bits<6, 3>;    ///< blocks of 16 with the TTMPs, minus 1
    using LdsBlocks = Bits<9, 9>;  ///< blocks of 512 bytes
    using AccFirst = Bits<24, 6>;  ///< of chips with AccVGPRs: blocks of 4 VGPRs before them, minus 1
};

/// Word of one wave.
struct WaveWord {
    using ScratchSlot = Bits<0, 9>;
    using Engine = Bits<11, 2>;
    using EngineOfMany = Bits<9, 3>;  ///< of chips with AccVGPRs, which have up to eight
    using ScratchEn = Bits<15, 1>;
    using Last = Bits<16, 1>;
    using First = Bits<17, 1>;
};

inline constexpr uint32_t kStateBit = field::COMPUTE_RELAUNCH::IS_STATE::kMask,
                          kEventBit = field::COMPUTE_RELAUNCH::IS_EVENT::kMask;
/// The stack begins, at its low end, with two words that make it a PM4 packet.
inline constexpr uint32_t kHeaderWords = 2;
/// The head of the save area that software uses: the stack never reaches into it. kfd_context_save_area_header
inline constexpr uint32_t kAreaHeaderBytes = 40;
/// A group never has more waves.
inline constexpr unsigned kMaxGroupWaves = 16;
/// Bytes between an MQD and its queue's control stack. @source Linux 6.12 kfd_mqd_manager_v9.c allocate_mqd()
inline constexpr uint64_t kStackFromMqd = 0x1000;

}  // namespace lyra::cwsr
