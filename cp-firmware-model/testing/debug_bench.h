// SPDX-License-Identifier: MIT
// Bench for what a debugger does to waves: the driver's own register sequences, its way of reading SQ interrupts, and programs
// that wait for the test. Constants are written down from the driver, so that nothing here is the model's idea of a layout.
#pragma once

#include <string>

#include "cp-firmware-model/testing/waves_bench.h"
#include "cwsr/testing/kernel_file.h"

namespace lyra::testing {

/// An SQ interrupt as the driver reads it. @source Linux 6.12 kfd_int_process_v9.c, soc15_int.h, soc15_ih_clientid.h
struct SqInterrupt {
    unsigned client, source, vmid, pasid;
    unsigned encoding, se, sh, cu, simd, wave, data;
    bool priv;

    explicit SqInterrupt(const Interrupt& i) : client(i.client), source(i.source), vmid(i.vmid), pasid(i.pasid) {
        const uint32_t context0 = i.data[0], context1 = i.data[1];
        data = (context0 & 0xfff) | ((context0 >> 16) & 0xf000) | ((context1 << 16) & 0xff0000);
        sh = (context0 & 0x00001000) >> 12;
        priv = (context0 & 0x00002000) >> 13;
        wave = (context0 & 0x0003c000) >> 14;
        simd = (context0 & 0x000c0000) >> 18;
        cu = (context0 & 0x00f00000) >> 20;
        se = (context0 & 0x03000000) >> 24;
        encoding = (context0 & 0x0c000000) >> 26;
    }
    enum Encoding : unsigned { kAuto = 0, kInst = 1, kError = 2 };
    enum ErrorType : unsigned { kIllegalInst = 1, kMemviol = 2 };
    unsigned error_type() const { return (data & 0xf00000) >> 20; }
    unsigned doorbell_id() const { return data & 0x0003ff; }
    unsigned trap_code() const { return (data & 0x07fc00) >> 10; }
};

/// Logs each entry at its TMA: TRAPSTS, bytes of the PC, TTMP1, MODE; word 0 has their number. s_trap is stepped over.
inline constexpr const char* kLogHandler = R"(
  s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
  s_getreg_b32 ttmp14, hwreg(HW_REG_TMA_LO)
  s_getreg_b32 ttmp15, hwreg(HW_REG_TMA_HI)
  s_lshl_b64 ttmp[14:15], ttmp[14:15], 8
  s_mov_b32 ttmp2, 1
  s_atomic_add ttmp2, ttmp[14:15], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_lshl_b32 ttmp2, ttmp2, 4
  s_add_u32 ttmp14, ttmp14, ttmp2
  s_getreg_b32 ttmp2, hwreg(HW_REG_TRAPSTS)
  s_store_dword ttmp2, ttmp[14:15], 0x10
  s_store_dwordx2 ttmp[0:1], ttmp[14:15], 0x14
  s_getreg_b32 ttmp2, hwreg(HW_REG_MODE)
  s_store_dword ttmp2, ttmp[14:15], 0x1c
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 7, 1), 0
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 12, 3), 0
  s_bfe_u32 ttmp2, ttmp1, 0x80010
  s_cbranch_scc0 leave
  s_bitcmp1_b32 ttmp1, 24
  s_cbranch_scc1 leave
  s_add_u32 ttmp0, ttmp0, 4
  s_addc_u32 ttmp1, ttmp1, 0
leave:
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp12
  s_rfe_b64 ttmp[0:1])";

/// Runs until word 0 of its data is not zero.
inline constexpr const char* kWait = R"(
wait:
  s_load_dword s9, s[0:1], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s9, 0
  s_cbranch_scc1 wait
  s_endpgm)";

struct DebugBench : WavesBench {
    // Byte offsets: 4 * (0x2000 + mm...). @source Linux 6.12 gc_9_0_offset.h
    static constexpr uint32_t kSqCmd = 0x8dec, kWaveCntl = 0xc744, kTrapMask = 0xc74c, kWaveCntl2 = 0xc750,
                              kWatch0AddrH = 0xca80, kWatchStride = 0xc, kGfxIndex = 0x30800;
    static constexpr uint32_t kSeBroadcast = 1u << 31, kInstanceBroadcast = 1u << 30, kShBroadcast = 1u << 29,
                              kEverywhere = kSeBroadcast | kInstanceBroadcast | kShBroadcast;
    enum SqCommand : uint32_t { kSetHalt = 1, kSaveCtx, kKill, kDebug, kTrap, kSetSpiPrio, kSetFatalHalt };
    enum SqMode : uint32_t { kSingle = 0, kBroadcast, kBroadcastQueue, kBroadcastPipe, kBroadcastMe };
    enum LaunchModes : uint32_t { kLaunchNormal = 0, kLaunchHalt = 1, kLaunchKill = 2, kLaunchDebug = 3 };
    enum WatchMode : uint32_t { kWatchRead = 0, kWatchNonread, kWatchAtomic, kWatchAll };
    static constexpr uint32_t kTrapMaskWatch = 128;  ///< KFD_DBG_TRAP_MASK_DBG_ADDRESS_WATCH

    static constexpr uint64_t kOwnHandler = kCode + 0x8000, kSecond = kCode + 0x9000, kTma = kData + 0x8000,
                              kTma2 = kData + 0x9000;

    void SetUp() override { ASSERT_TRUE(ready) << "no LLVM assembler"; }

    // --- the driver. @source Linux 6.12 amdgpu_amdkfd_gfx_v9.c ---
    void set_wave_launch_stall(bool stall) { set_reg(kWaveCntl, (reg(kWaveCntl) & ~1u) | (stall ? 1 : 0)); }
    void enable_debug_trap() {
        set_wave_launch_stall(true);
        set_reg(kTrapMask, 0);
        set_wave_launch_stall(false);
    }
    /// @return EXCP_EN before
    uint32_t set_trap_override(uint32_t replace, uint32_t bits, uint32_t request) {
        const uint32_t cntl = reg(kWaveCntl);
        set_wave_launch_stall(true);
        const uint32_t before = reg(kTrapMask) & 0x1ff;
        set_reg(kTrapMask, (reg(kTrapMask) & ~0x3ffu) | (bits & request) | (before & ~request) | replace << 9);
        set_reg(kWaveCntl, cntl);
        return before;
    }
    void set_wave_launch_mode(uint32_t mode, uint32_t vmid) {
        set_wave_launch_stall(true);
        set_reg(kWaveCntl2, mode != 0 ? 1u << vmid | mode << 16 : 0);
        set_wave_launch_stall(false);
    }
    void set_address_watch(uint32_t id, uint64_t address, uint32_t mask, uint32_t mode, uint32_t vmid) {
        const uint32_t first = kWatch0AddrH + id * kWatchStride, cntl = vmid << 24 | mode << 29 | (mask >> 6 & 0xffffff);
        set_reg(first + 8, cntl);
        set_reg(first, hi32(address) & 0xffff);
        set_reg(first + 4, lo32(address));
        set_reg(first + 8, cntl | 1u << 31);
    }
    void clear_address_watch(uint32_t id) { set_reg(kWatch0AddrH + id * kWatchStride + 8, 0); }
    void wave_control(uint32_t gfx_index, uint32_t command, GrbmSelect select = {}) {
        set_reg(kGfxIndex, gfx_index);
        set_reg(kSqCmd, command, select);
        set_reg(kGfxIndex, kEverywhere);
    }

    // --- processes and waves ---
    /// @param handler 0: none
    static Words process_with(uint16_t pasid, uint64_t handler) {
        Words words = map_process(pasid);
        words[6] = lo32(handler >> 8);
        words[7] = 0;
        words[8] = lo32(kTma >> 8);
        words[9] = 0;
        return words;
    }
    /// The runtime's two levels: cwsr/handler.
    bool with_second_level() {
        const auto second = assemble(cwsr::testing::text_of(std::string(LYRA_CWSR_SOURCE) + "/handler/second_level.s"));
        if (!second) return false;
        bus.memory.write(0, kSecond, second->data(), second->size());
        bus.memory.put<uint64_t>(kTma, kSecond);
        bus.memory.put<uint64_t>(kTma + 8, kTma2);
        return true;
    }
    bool own_handler(const std::string& text) {
        const auto code = assemble(text);
        if (code) bus.memory.write(0, kOwnHandler, code->data(), code->size());
        return code.has_value();
    }
    /// A run list of one process, queues of which are mapped lowest slot first: pipe n, queue 2.
    void start(const Words& process, const std::vector<TestRing*>& rings) {
        std::vector<Words> list{process};
        for (TestRing* ring : rings) list.push_back(map_queue(*ring, kMapQueue));
        run_list(list);
        for (unsigned n = 0; n < 10; ++n) cp.run(64);
    }
    template <class Done>
    bool run_until(Done done, unsigned rounds = 5000) {
        for (unsigned n = 0; n < rounds && !done(); ++n) cp.run(500);
        return done();
    }
    void go_on(unsigned rounds = 50) {
        for (unsigned n = 0; n < rounds; ++n) cp.run(500);
    }
    template <class Visit>
    void for_waves(Visit visit) {
        for (unsigned cu = 0; cu < 4; ++cu) {
            for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
                const gcn::Wave& wave = cp.dispatcher().cu(cu).wave(slot);
                if (wave.state != gcn::WaveState::Free && wave.state != gcn::WaveState::Ended) visit(cu, wave);
            }
        }
    }
    template <class Match>
    unsigned count(Match match) {
        unsigned n = 0;
        for_waves([&](unsigned cu, const gcn::Wave& wave) { n += match(cu, wave); });
        return n;
    }
    /// What kLogHandler has written; PCs from the start of the program.
    struct Entry {
        uint32_t trapsts, at, ttmp1, mode;
    };
    std::vector<Entry> log(unsigned program = 0) {
        std::vector<Entry> entries;
        for (unsigned n = 0; n < word(kTma); ++n) {
            const uint64_t at = kTma + 16 + 16 * n;
            entries.push_back({word(at), word(at + 4) - lo32(code(program)), word(at + 8), word(at + 12)});
        }
        return entries;
    }
    /// The waves of kWait.
    void let_end() { bus.memory.put<uint32_t>(kData, 1); }
    unsigned live() { return cp.dispatcher().waves_live_total(); }
    std::vector<SqInterrupt> sq_interrupts() const {
        std::vector<SqInterrupt> found;
        for (const Interrupt& i : bus.interrupts) {
            if (i.client >= 0x0a && i.client <= 0x0d) found.emplace_back(i);
        }
        return found;
    }
};

}  // namespace lyra::testing
