// SPDX-License-Identifier: MIT
// Flow, messages, modes, relative addressing, global wave sync: each instruction alone, on a wave without a compute unit.
#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "gcn-interp/cu/test_machine.h"
#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/op.h"
#include "gcn-interp/testing/executed.h"

namespace lyra::gcn::test {
namespace {

constexpr uint64_t kPc = 0x7f0000001004;  ///< behind the instruction

/// Answers global wave sync, and remembers what was asked.
class SyncServices : public TestServices {
public:
    GwsAnswer gws(const Wave&, GwsOp op, uint32_t resource, uint32_t value) override {
        asked.emplace_back(op, resource, value);
        return answer;
    }
    GwsAnswer answer = GwsAnswer::Done;
    std::vector<std::tuple<GwsOp, uint32_t, uint32_t>> asked;
};

/// One wave with numbered registers.
struct Single {
    static constexpr unsigned kVgprs = 8;
    std::unique_ptr<VgprRow[]> rows = std::make_unique<VgprRow[]>(kVgprs);
    Wave wave;
    SyncServices services;
    ExecContext ctx{wave};

    Single() {
        wave.vgpr = rows.get();
        wave.vgpr_count = kVgprs;
        wave.sgpr_count = 104;
        wave.pc = kPc;
        wave.exec = 0xff00;
        wave.mode = 0x3f0;
        wave.m0 = 0x12345678;
        for (unsigned n = 0; n < wave.sgpr_count; ++n) wave.sgpr[n] = 0x1000 + n;
        for (unsigned n = 0; n < kVgprs; ++n)
            for (unsigned lane = 0; lane < kLanes; ++lane) rows[n].lane[lane] = n << 8 | lane;
        ctx.services = &services;
    }
    void execute(Op op, uint32_t first, uint32_t second = 0) {
        const uint32_t words[2] = {first, second};
        const Inst inst = decode(words, 2);
        ASSERT_EQ(inst.op, op) << disassemble(inst);
        exec_handler(inst.op, inst.format)(ctx, inst);
        if (ctx.fault == Fault::None) note_executed(inst);
    }
    void sopp(Op op, uint32_t imm = 0) { execute(op, 0xbf800000u | uint32_t{info(op).opcode} << 16 | (imm & 0xffff)); }
    void sop1(Op op, uint32_t dst, uint32_t source) {
        execute(op, 0xbe800000u | dst << 16 | uint32_t{info(op).opcode} << 8 | source);
    }
    void sop2(Op op, uint32_t a, uint32_t b) { execute(op, 0x80000000u | uint32_t{info(op).opcode} << 23 | b << 8 | a); }
    void sopk(Op op, uint32_t dst, uint32_t imm) {
        execute(op, 0xb0000000u | uint32_t{info(op).opcode} << 23 | dst << 16 | (imm & 0xffff));
    }
    void sopc(Op op, uint32_t a, uint32_t b) { execute(op, 0xbf000000u | uint32_t{info(op).opcode} << 16 | b << 8 | a); }
    void gws(Op op, uint32_t offset, uint32_t vgpr) {
        execute(op, 0xd8010000u | uint32_t{info(op).opcode} << 17 | offset, vgpr);
    }

    /// All of the wave that an instruction could change.
    auto state() const {
        std::vector<uint32_t> vgprs;
        for (unsigned n = 0; n < kVgprs; ++n) vgprs.insert(vgprs.end(), rows[n].lane, rows[n].lane + kLanes);
        return std::tuple(wave.pc, wave.exec, wave.m0, wave.status, wave.mode, wave.trapsts, wave.scc, wave.sgpr, wave.state,
                          vgprs, ctx.request, ctx.yield, ctx.fault);
    }
};

struct Branch {
    Op op;
    bool (*taken)(const Wave&);
};
bool user(const Wave& w) { return bit(w.status, 20); }
bool sys(const Wave& w) { return bit(w.status, 21); }
const Branch kBranches[] = {
    {Op::s_branch, [](const Wave&) { return true; }},
    {Op::s_cbranch_scc0, [](const Wave& w) { return !w.scc; }},
    {Op::s_cbranch_scc1, [](const Wave& w) { return w.scc; }},
    {Op::s_cbranch_vccz, [](const Wave& w) { return w.vcc() == 0; }},
    {Op::s_cbranch_vccnz, [](const Wave& w) { return w.vcc() != 0; }},
    {Op::s_cbranch_execz, [](const Wave& w) { return w.exec == 0; }},
    {Op::s_cbranch_execnz, [](const Wave& w) { return w.exec != 0; }},
    {Op::s_cbranch_cdbgsys, sys},
    {Op::s_cbranch_cdbguser, user},
    {Op::s_cbranch_cdbgsys_or_user, [](const Wave& w) { return sys(w) || user(w); }},
    {Op::s_cbranch_cdbgsys_and_user, [](const Wave& w) { return sys(w) && user(w); }},
};

TEST(Flow, BranchesLookAtTheirConditionOnly) {
    for (const Branch& branch : kBranches) {
        for (unsigned conditions = 0; conditions < 64; ++conditions) {
            Single s;
            s.wave.scc = bit(conditions, 0);
            s.wave.set_vcc(bit(conditions, 1) ? uint64_t{1} << conditions : 0);
            s.wave.exec = bit(conditions, 2) ? uint64_t{1} << 63 : 0;
            s.wave.status = (bit(conditions, 3) ? 1u << 20 : 0) | (bit(conditions, 4) ? 1u << 21 : 0);
            const int distance = bit(conditions, 5) ? -0x8000 : 0x7fff;
            auto expected = s.state();
            std::get<0>(expected) = kPc + (branch.taken(s.wave) ? static_cast<uint64_t>(int64_t{4} * distance) : 0);
            s.sopp(branch.op, static_cast<uint32_t>(distance));
            EXPECT_EQ(s.state() == expected, true)
                << info(branch.op).name << " with " << conditions << " went to " << s.wave.pc - kPc;
        }
    }
}

TEST(Flow, ForkGoesOneWayOrPushesTheLargerSide) {
    constexpr uint64_t kTarget = kPc + 0x40;
    const auto fork = [](uint64_t exec, uint64_t mask) {
        auto s = std::make_unique<Single>();
        s->wave.exec = exec;
        s->wave.mode |= 1u << 29;  // one branch is pushed already
        s->wave.write_scalar64(20, mask);
        s->sopk(Op::s_cbranch_i_fork, 20, 0x10);
        return s;
    };
    auto s = fork(0xff, 0xfff);
    EXPECT_EQ(std::tuple(s->wave.pc, s->wave.exec, s->wave.mode >> 29), std::tuple(kTarget, 0xffu, 1u)) << "all lanes pass";
    s = fork(0xff, 0xff00);
    EXPECT_EQ(std::tuple(s->wave.pc, s->wave.exec, s->wave.mode >> 29), std::tuple(kPc, 0xffu, 1u)) << "none passes";
    s = fork(0xff, 0x3);
    EXPECT_EQ(std::tuple(s->wave.pc, s->wave.exec, s->wave.mode >> 29), std::tuple(kTarget, 0x3u, 2u))
        << "the smaller side passes";
    EXPECT_EQ(std::tuple(s->wave.read_scalar64(4), s->wave.read_scalar64(6)), std::tuple(0xfcu, kPc));
    s = fork(0xff, 0x3f);
    EXPECT_EQ(std::tuple(s->wave.pc, s->wave.exec, s->wave.mode >> 29), std::tuple(kPc, 0xc0u, 2u)) << "the larger side passes";
    EXPECT_EQ(std::tuple(s->wave.read_scalar64(4), s->wave.read_scalar64(6)), std::tuple(0x3fu, kTarget));
}

TEST(Flow, InstructionsThatOnlySteerTheHardwareChangeNothing) {
    for (const Op op : {Op::s_nop, Op::s_waitcnt, Op::s_setkill, Op::s_incperflevel, Op::s_decperflevel}) {
        Single s;
        const auto before = s.state();
        s.sopp(op, 0x1);
        EXPECT_EQ(s.state() == before, true) << info(op).name;
    }
    Single s;
    const auto before = s.state();
    s.sopp(Op::s_ttracedata);
    EXPECT_EQ(s.state() == before, true);
}

TEST(Flow, RequestsToTheComputeUnit) {
    const struct {
        Op op;
        uint32_t imm;
        Request request;
        uint32_t argument;
    } rows[] = {
        {Op::s_endpgm, 0, Request::End, 0},
        {Op::s_endpgm_saved, 0, Request::End, 0},
        {Op::s_endpgm_ordered_ps_done, 0, Request::End, 0},
        {Op::s_barrier, 0, Request::Barrier, 0},
        {Op::s_wakeup, 0, Request::Wakeup, 0},
        {Op::s_sleep, 0x85, Request::Sleep, 5},
        {Op::s_icache_inv, 0, Request::DropCode, 0},
        {Op::s_trap, 0x103, Request::Trap, 3},
        {Op::s_sendmsg, 1, Request::Interrupt, 0x345678},
        {Op::s_sendmsg, 10, Request::Doorbell, 0},
        {Op::s_sendmsg, 4, Request::SaveWave, 0},
    };
    for (const auto& row : rows) {
        Single s;
        auto expected = s.state();
        std::get<10>(expected) = row.request;
        std::get<11>(expected) = true;
        s.sopp(row.op, row.imm);
        EXPECT_EQ(s.state() == expected, true) << info(row.op).name << " " << row.imm;
        EXPECT_EQ(s.ctx.request_arg, row.argument) << info(row.op).name;
    }
}

TEST(Flow, HaltsPrioritiesAndModes) {
    Single s;
    s.sopp(Op::s_sethalt, 1);
    EXPECT_EQ(s.wave.status, 1u << 13);
    EXPECT_EQ(s.ctx.request, Request::Halt);
    s.sopp(Op::s_sethalt, 0);
    EXPECT_EQ(s.wave.status, 0u);
    s.sopp(Op::s_sendmsghalt, 1);
    EXPECT_EQ(s.wave.status, 1u << 13);
    EXPECT_EQ(std::tuple(s.ctx.request, s.ctx.request_arg), std::tuple(Request::Interrupt, 0x345678u));
    s.sopp(Op::s_setprio, 2);
    EXPECT_EQ(s.wave.status, 1u << 13 | 2u << 3);
    s.sopp(Op::s_setprio, 1);
    EXPECT_EQ(s.wave.status, 1u << 13 | 1u << 3);
    s.sopc(Op::s_setvskip, 20, 128 + 2);  // bit 2 of s20, which is 0x1014
    EXPECT_EQ(s.wave.mode, 0x3f0u | 1u << 28);
    s.sopc(Op::s_setvskip, 20, 128 + 3);
    EXPECT_EQ(s.wave.mode, 0x3f0u);
    s.sop1(Op::s_set_gpr_idx_idx, 0, 3);
    EXPECT_EQ(s.wave.m0, 0x12345603u);
    s.sopp(Op::s_set_gpr_idx_mode, 9);
    EXPECT_EQ(s.wave.m0, 0x12349603u);
    EXPECT_EQ(s.wave.mode, 0x3f0u);
}

TEST(Flow, ReturnsFromTraps) {
    Single s;
    s.wave.write_scalar64(20, 0x7f0000002003);
    s.sop2(Op::s_rfe_restore_b64, 20, 22);
    EXPECT_EQ(std::tuple(s.wave.pc, s.ctx.request), std::tuple(0x7f0000002000u, Request::TrapReturn));
}

TEST(Flow, RelativeMovesOfPairs) {
    Single s;
    s.wave.m0 = 6;
    s.sop1(Op::s_movrels_b64, 10, 20);
    EXPECT_EQ(s.wave.read_scalar64(10), 0x101b'0000101aull);
    s.sop1(Op::s_movreld_b64, 30, 40);
    EXPECT_EQ(s.wave.read_scalar64(36), 0x1029'00001028ull);
    EXPECT_EQ(s.wave.read_scalar64(30), 0x101f'0000101eull) << "the register that is named stays";
}

TEST(Flow, GlobalWaveSyncNamesItsResourceAndValue) {
    const struct {
        Op op;
        GwsOp asked;
        bool has_value;
    } rows[] = {
        {Op::ds_gws_init, GwsOp::Init, true},      {Op::ds_gws_barrier, GwsOp::Barrier, true},
        {Op::ds_gws_sema_br, GwsOp::SemaBr, true}, {Op::ds_gws_sema_v, GwsOp::SemaV, false},
        {Op::ds_gws_sema_p, GwsOp::SemaP, false},  {Op::ds_gws_sema_release_all, GwsOp::SemaReleaseAll, false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(info(row.op).name);
        Single s;
        s.wave.m0 = 62u << 16 | 0xffff;
        const auto before = s.state();
        s.gws(row.op, 5, row.has_value ? 3 : 0);
        // Resource 62 + 5 of 64; lane 8 is the first that is on.
        EXPECT_EQ(s.services.asked, (std::vector{std::tuple(row.asked, 3u, row.has_value ? 0x308u : 0u)}));
        EXPECT_EQ(s.state() == before, true) << "granted at once, it changes nothing";
        s.services.answer = GwsAnswer::Wait;
        s.gws(row.op, 5, row.has_value ? 3 : 0);
        EXPECT_EQ(std::tuple(s.wave.pc, s.wave.state, s.ctx.yield), std::tuple(kPc - 8, WaveState::AtGws, true));
        s.services.answer = GwsAnswer::Refused;
        s.gws(row.op, 5, row.has_value ? 3 : 0);
        EXPECT_EQ(s.ctx.fault, Fault::GwsRange);
    }
}

class FlowOnCu : public Machine {};

TEST_F(FlowOnCu, ChangedCodeIsSeenAfterIcacheInv) {
    run("s_mov_b32 s8, 0\n again: s_mov_b32 s9, 1\n s_add_u32 s8, s8, 1\n s_cmp_eq_u32 s8, 2\n s_cbranch_scc1 end\n"
        "s_mov_b32 s4, " +
        std::to_string(lo32(kCode + 4)) +
        "\n s_mov_b32 s5, 0\n s_mov_b32 s6, 0xbe890082\n"
        "s_store_dword s6, s[4:5], 0x0\n s_icache_inv\n s_branch again\n end:");
    EXPECT_EQ(s(8), 2u);
    EXPECT_EQ(s(9), 2u) << "s_mov_b32 s9, 2 was stored over s_mov_b32 s9, 1";
}

TEST_F(FlowOnCu, HaltedWavesWait) {
    cu.launch(simple("s_sethalt 1\n s_mov_b32 s8, 1"));
    cu.run(1000);
    EXPECT_EQ(cu.wave(0).state, WaveState::Halted);
    EXPECT_NE(cu.wave(0).read_scalar(8), 1u);
    cu.kill_vmid(8);
}

}  // namespace
}  // namespace lyra::gcn::test
