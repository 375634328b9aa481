// SPDX-License-Identifier: MIT
// The architectural state of one wave and nothing else; step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>

#include "common/bits.h"
#include "common/snapshot.h"
#include "facts/chips.h"

namespace lyra::gcn {

inline constexpr unsigned kLanes = 64;
inline constexpr unsigned kSgprGranule = same_for_all_chips(&ChipFacts::sgpr_granule);
inline constexpr unsigned kMaxSgprs = 112;  ///< the most a wave can own
inline constexpr unsigned kMaxVgprs = 256;  ///< that instructions name, of each kind
inline constexpr unsigned kMaxVgprRows = most_of_all_chips(&ChipFacts::vgprs_per_simd);  ///< of a wave, AccVGPRs among them
inline constexpr unsigned kAccGranule = 4;  ///< AccVGPRs begin at a multiple. @source LLVM AMDGPUUsage "compute_pgm_rsrc3"

/// One VGPR: 64 lanes of 32 bits.
struct alignas(64) VgprRow {
    uint32_t lane[kLanes];
};

/// Numbers of the special scalar operands. @source LLVM AMDGPU SIRegisterInfo, gfx9 encodings (operands.def)
enum ScalarOperand : uint16_t {
    kFlatScratchLo = 102,
    kFlatScratchHi = 103,
    kXnackMaskLo = 104,
    kXnackMaskHi = 105,
    kVccLo = 106,
    kVccHi = 107,
    kTtmp0 = 108,
    kM0 = 124,
    kExecLo = 126,
    kExecHi = 127,
};

/// STATUS (hwreg 2). @source docs/spec/front-end.md 5.3; asm of the gfx9 trap handler
struct StatusBits {
    using Scc = Bits<0, 1>;
    using SpiPrio = Bits<1, 2>;
    using UserPrio = Bits<3, 2>;
    using Priv = Bits<5, 1>;
    using TrapEn = Bits<6, 1>;
    using ExecZ = Bits<9, 1>;
    using VccZ = Bits<10, 1>;
    using InTg = Bits<11, 1>;
    using InBarrier = Bits<12, 1>;
    using Halt = Bits<13, 1>;
    using Trap = Bits<14, 1>;
    using Valid = Bits<16, 1>;
    using EccErr = Bits<17, 1>;
    using SkipExport = Bits<18, 1>;
    using AllowReplay = Bits<22, 1>;
    using FatalHalt = Bits<23, 1>;
};

/// MODE (hwreg 1).
struct ModeBits {
    using RoundF32 = Bits<0, 2>;     ///< 0 nearest even, 1 +inf, 2 -inf, 3 zero
    using RoundF16F64 = Bits<2, 2>;
    using DenormF32 = Bits<4, 2>;    ///< bit 0 allows input denormals, bit 1 allows output denormals
    using DenormF16F64 = Bits<6, 2>;
    using Dx10Clamp = Bits<8, 1>;
    using Ieee = Bits<9, 1>;
    using DebugEn = Bits<11, 1>;   ///< trap after every instruction
    using ExcpEn = Bits<12, 9>;
    using Fp16Ovfl = Bits<23, 1>;
    using GprIdxEn = Bits<27, 1>;
    using Vskip = Bits<28, 1>;
    using CspBits = Bits<29, 3>;
};

/// TRAPSTS (hwreg 3).
struct TrapstsBits {
    using Excp = Bits<0, 9>;
    using AddrWatch0 = Bits<7, 1>;
    using MemViol = Bits<8, 1>;
    using Savectx = Bits<10, 1>;
    using IllegalInst = Bits<11, 1>;
    using AddrWatchHigh = Bits<12, 3>;  ///< EXCP_HI: watches 1 to 3
    /// The model's own, in a reserved bit: the wave has come to code that reads EXCP. Here, so that it is saved with the rest;
    /// only the trap handler sees it.
    using ReadsExcp = Bits<27, 1>;
    using XnackError = Bits<28, 1>;
};

enum class WaveState : uint8_t {
    Free,  ///< slot without a wave
    Running,
    AtBarrier,  ///< executed s_barrier, waits for the rest of its work-group
    AtGws,  ///< waits in a DS_GWS_* instruction, to which its PC points
    AtPage,  ///< its instruction met a page that the driver may map; it is executed again
    Sleeping,  ///< s_sleep; runs again when sleep_until_round has come
    Halted,  ///< STATUS.HALT with PRIV = 0, or FATAL_HALT
    Saving,  ///< sent MSG_SAVEWAVE, waits for the address of its record
    Ended,
};

/// How far the context save of a wave has come. @source docs/spec/front-end.md 6.1
enum class SaveStep : uint8_t {
    None,
    Asked,  ///< TRAPSTS.SAVECTX was raised
    Ready,  ///< the trap handler has sent MSG_SAVEWAVE
    Granted,  ///< EXEC has told it where its record is; it now ends as saved
};

struct Wave {
    WaveState state = WaveState::Free;
    WaveState seen = WaveState::Free;  ///< state at the last look of the virtual-time loop
    SaveStep save = SaveStep::None;
    uint8_t slot = 0;  ///< wave slot in its CU, 0..39; simd = slot % 4
    uint8_t workgroup = 0;  ///< index into the CU's work-group table
    uint8_t wave_in_group = 0;  ///< position in the work-group
    uint32_t vmid = 0;
    uint32_t doorbell_id = 0;  ///< 8-byte doorbell slot in the process slice; answer to MSG_GET_DOORBELL
    uint64_t dispatch = 0;  ///< owner's dispatch id
    uint64_t pc = 0;
    uint64_t exec = 0;
    uint64_t tba = 0, tma = 0;  ///< byte addresses, sign-extended; tba 0 = no trap handler
    uint32_t m0 = 0;
    uint32_t status = 0;  ///< StatusBits; SCC, EXECZ and VCCZ bits are kept elsewhere and merged by hwreg reads
    uint32_t mode = 0;  ///< ModeBits
    uint32_t trapsts = 0;
    uint32_t ib_sts = 0;
    bool scc = false;
    bool restoring = false;  ///< runs the trap handler's restore entry, until it returns
    bool stepped = false;  ///< has executed an instruction under MODE.DEBUG_EN; the trap comes before the next one
    bool user_gpr_idx = false;  ///< MODE.GPR_IDX_EN of the code a trap interrupted; off until the trap handler sets its own
    uint16_t sgpr_count = 0;  ///< allocated, without TTMPs; multiple of kSgprGranule
    uint16_t vgpr_count = 0;  ///< allocated, AccVGPRs among them; multiple of the chip's granule
    uint16_t acc_first = 0;  ///< row of a0; 0: the chip has no AccVGPRs
    Chip chip = Chip::gfx900;
    uint32_t lds_base = 0;  ///< bytes from the start of the CU's LDS
    uint32_t lds_bytes = 0;  ///< size of the work-group's LDS allocation
    uint64_t private_base = 0;  ///< private (scratch) aperture base, SH_MEM_BASES[15:0] << 48
    uint64_t shared_base = 0;  ///< shared (LDS) aperture base, SH_MEM_BASES[31:16] << 48
    uint32_t hw_id = 0;  ///< HW_ID (hwreg 4)
    uint8_t xcc = 0;  ///< XCC_ID (hwreg 20): of its compute partition
    int32_t scratch_slot = -1;  ///< scoreboard id in its shader engine, -1 without scratch
    uint64_t sleep_until_round = 0;
    bool retry = false;  ///< XNACK: a missing page does not end an access
    uint64_t page_generation = 0;  ///< AtPage: of the memory, when the page was missing
    uint64_t page_until_ns = 0;  ///< AtPage: when it is asked for again anyway
    uint64_t instructions = 0;  ///< executed since launch
    VgprRow* vgpr = nullptr;  ///< vgpr_count rows in the CU's register file
    uint64_t mask_of = 0;  ///< value of EXEC that mask stands for
    std::array<uint32_t, 16> ttmp{};
    /// Physical SGPRs of the wave. FLAT_SCRATCH, XNACK_MASK and VCC are the top six that are allocated. They begin on a cache
    /// line: a launch writes them line by line.
    alignas(64) std::array<uint32_t, kMaxSgprs> sgpr{};
    /// EXEC expanded to 0 / ~0 per lane, valid while mask_of == exec. Refreshed by exec_rows().
    VgprRow mask{};

    void visit(StateVisitor& v);
    bool priv() const { return StatusBits::Priv::get(status); }
    /// 0 to 6. @source AMD Vega ISA document, S_SETPRIO: {SPIPrio[1:0] + UserPrio[1:0], WaveAge[3:0]}
    unsigned priority() const { return StatusBits::SpiPrio::get(status) + StatusBits::UserPrio::get(status); }
    /// Ends in the save area, and goes on from there.
    bool saved() const { return save == SaveStep::Granted; }

    /// Index into sgpr[] of FLAT_SCRATCH_LO; XNACK_MASK and VCC follow.
    unsigned special_base() const { return (sgpr_count < 108 ? sgpr_count : 108u) - 6; }

    /// One 32-bit scalar register by operand number 0..127 (SGPR, FLAT_SCRATCH, XNACK_MASK, VCC, TTMP, M0, EXEC).
    /// Numbers past the allocation read as s0, as on hardware. @source docs/spec/isa.md 4.3
    uint32_t read_scalar(unsigned n) const {
        if (n < kFlatScratchLo) return sgpr[n < sgpr_count ? n : 0];
        if (n < kTtmp0) return sgpr[special_base() + (n - kFlatScratchLo)];
        if (n < kM0) return ttmp[n - kTtmp0];
        if (n == kM0) return m0;
        if (n == kExecLo) return lo32(exec);
        if (n == kExecHi) return hi32(exec);
        return 0;
    }
    /// Writes past the allocation are dropped; TTMPs can only be written while PRIV is set.
    void write_scalar(unsigned n, uint32_t value) {
        if (n < kFlatScratchLo) {
            if (n < sgpr_count) sgpr[n] = value;
        } else if (n < kTtmp0) {
            sgpr[special_base() + (n - kFlatScratchLo)] = value;
        } else if (n < kM0) {
            if (priv()) ttmp[n - kTtmp0] = value;
        } else if (n == kM0) {
            m0 = value;
        } else if (n == kExecLo) {
            exec = make64(value, hi32(exec));
        } else if (n == kExecHi) {
            exec = make64(lo32(exec), value);
        }
    }
    uint64_t read_scalar64(unsigned n) const { return make64(read_scalar(n), read_scalar(n + 1)); }
    void write_scalar64(unsigned n, uint64_t value) {
        write_scalar(n, lo32(value));
        write_scalar(n + 1, hi32(value));
    }
    uint64_t vcc() const { return make64(sgpr[special_base() + 4], sgpr[special_base() + 5]); }
    void set_vcc(uint64_t value) {
        sgpr[special_base() + 4] = lo32(value);
        sgpr[special_base() + 5] = hi32(value);
    }
    uint64_t flat_scratch() const { return make64(sgpr[special_base()], sgpr[special_base() + 1]); }
};

}  // namespace lyra::gcn
