// SPDX-License-Identifier: MIT
// Program flow, barriers and messages; step 6 of the data flow.
// @source AMD Vega ISA document, "SOPP instructions"; docs/spec/front-end.md 5.1 for messages
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/wave/services.h"

namespace lyra::gcn {
namespace {

template <auto kCondition>
void branch_if(ExecContext&, Wave& wave, const Inst& inst) {
    if (kCondition(wave)) {
        wave.pc = flow::code_address(wave.pc + static_cast<uint64_t>(sign_extend(inst.imm & 0xffff, 16) * 4));
    }
}

/// Instructions that only steer caches, counters, traces or timing: the model executes in order and has coherent memory.
void no_effect(ExecContext&, Wave&, const Inst&) {}

bool debug_condition(const Wave& wave, unsigned status_bit) { return bit(wave.status, status_bit); }
constexpr unsigned kCondDbgUser = 20, kCondDbgSys = 21;

void send_message(ExecContext& ctx, Wave& wave, const Inst& inst) {
    switch (static_cast<Message>(inst.imm & 15)) {
        case Message::Interrupt: return ctx.ask(Request::Interrupt, wave.m0 & 0xffffff);
        case Message::GetDoorbell: return ctx.ask(Request::Doorbell);
        case Message::SaveWave: return ctx.ask(Request::SaveWave);
        default: return;  // graphics messages have no receiver on a compute queue
    }
}

void set_halt(Wave& wave, bool on) { wave.status = StatusBits::Halt::set(wave.status, on); }

namespace row {

constexpr WaveFn s_nop = no_effect;
constexpr WaveFn s_waitcnt = no_effect;
constexpr WaveFn s_incperflevel = no_effect;
constexpr WaveFn s_decperflevel = no_effect;
constexpr WaveFn s_ttracedata = no_effect;
constexpr WaveFn s_setkill = no_effect;  // a debug aid for pixel waves

void s_endpgm(ExecContext& ctx, Wave&, const Inst&) { ctx.ask(Request::End); }
/// The wave's own record tells a saved end from a real one, so that handlers which end a save with s_endpgm work too.
constexpr WaveFn s_endpgm_saved = s_endpgm;
constexpr WaveFn s_endpgm_ordered_ps_done = s_endpgm;

constexpr WaveFn s_branch = branch_if<[](const Wave&) { return true; }>;
constexpr WaveFn s_cbranch_scc0 = branch_if<[](const Wave& w) { return !w.scc; }>;
constexpr WaveFn s_cbranch_scc1 = branch_if<[](const Wave& w) { return w.scc; }>;
constexpr WaveFn s_cbranch_vccz = branch_if<[](const Wave& w) { return w.vcc() == 0; }>;
constexpr WaveFn s_cbranch_vccnz = branch_if<[](const Wave& w) { return w.vcc() != 0; }>;
constexpr WaveFn s_cbranch_execz = branch_if<[](const Wave& w) { return w.exec == 0; }>;
constexpr WaveFn s_cbranch_execnz = branch_if<[](const Wave& w) { return w.exec != 0; }>;
constexpr WaveFn s_cbranch_cdbgsys = branch_if<[](const Wave& w) { return debug_condition(w, kCondDbgSys); }>;
constexpr WaveFn s_cbranch_cdbguser = branch_if<[](const Wave& w) { return debug_condition(w, kCondDbgUser); }>;
constexpr WaveFn s_cbranch_cdbgsys_or_user =
    branch_if<[](const Wave& w) { return debug_condition(w, kCondDbgSys) || debug_condition(w, kCondDbgUser); }>;
constexpr WaveFn s_cbranch_cdbgsys_and_user =
    branch_if<[](const Wave& w) { return debug_condition(w, kCondDbgSys) && debug_condition(w, kCondDbgUser); }>;

void s_wakeup(ExecContext& ctx, Wave&, const Inst&) { ctx.ask(Request::Wakeup); }
void s_barrier(ExecContext& ctx, Wave&, const Inst&) { ctx.ask(Request::Barrier); }
void s_sethalt(ExecContext& ctx, Wave& wave, const Inst& inst) {
    set_halt(wave, inst.imm & 1);
    ctx.ask(Request::Halt);
}
void s_sleep(ExecContext& ctx, Wave&, const Inst& inst) { ctx.ask(Request::Sleep, inst.imm & 0x7f); }
void s_setprio(ExecContext&, Wave& wave, const Inst& inst) {
    wave.status = StatusBits::UserPrio::set(wave.status, inst.imm & 3);
}
constexpr WaveFn s_sendmsg = send_message;
void s_sendmsghalt(ExecContext& ctx, Wave& wave, const Inst& inst) {
    set_halt(wave, true);
    ctx.ask(Request::Halt);
    send_message(ctx, wave, inst);
}
void s_trap(ExecContext& ctx, Wave&, const Inst& inst) { ctx.ask(Request::Trap, inst.imm & 0xff); }
void s_icache_inv(ExecContext& ctx, Wave&, const Inst&) { ctx.ask(Request::DropCode); }

void s_set_gpr_idx_off(ExecContext&, Wave& wave, const Inst&) {
    wave.mode = ModeBits::GprIdxEn::set(wave.mode, 0);
    wave.user_gpr_idx = false;
}
void s_set_gpr_idx_mode(ExecContext&, Wave& wave, const Inst& inst) {
    wave.m0 = (wave.m0 & 0xffff0fff) | ((inst.imm & 0xfu) << 12);
}

}  // namespace row
}  // namespace

void register_sopp(ExecTable& table) {
#define SOPP(opcode, name, profile, flags, ...) enter<row::name>(table, Op::name, Format::SOPP);
#include "gcn-interp/isa/sopp.def"
#undef SOPP
}

}  // namespace lyra::gcn
