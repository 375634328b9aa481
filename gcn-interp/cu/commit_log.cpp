// SPDX-License-Identifier: MIT
// Compares the state of a wave before and after each instruction, and writes down the difference.
#include "gcn-interp/cu/commit_log.h"

#include <bit>
#include <cstring>
#include <iterator>

#include "gcn-interp/exec/watch.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

namespace {

bool reaches_lds(const Inst& inst) {
    return inst.format == Format::DS || inst.format == Format::FLAT || (inst.format == Format::MUBUF && inst.lds);
}
bool is_vector(const Inst& inst) { return inst.format >= Format::VOP1; }

}  // namespace

CommitLog::CommitLog(std::FILE* to, ExecObserver* next)
    : to_(to), next_(next), before_(std::make_unique<Wave>()), vgprs_(kMaxVgprRows) {}

CommitLog::~CommitLog() { std::fclose(to_); }

void CommitLog::access(const uint64_t* va, uint64_t active, unsigned bytes, Access access) {
    if (access == Access::Read) return;
    for (; active; active &= active - 1) touched_.push_back({va[std::countr_zero(active)], bytes});
}

void CommitLog::execute(ExecContext& ctx, const Inst& inst, ExecFn handler) {
    Wave& wave = ctx.wave;
    *before_ = wave;
    if (is_vector(inst)) std::memcpy(vgprs_.data(), wave.vgpr, wave.vgpr_count * sizeof(VgprRow));
    const bool lds = reaches_lds(inst) && ctx.lds != nullptr && wave.lds_bytes != 0;
    if (lds) lds_.assign(ctx.lds + wave.lds_base, ctx.lds + wave.lds_base + wave.lds_bytes);
    touched_.clear();
    static constexpr Watchpoints kNone;
    const Watchpoints* const watch = ctx.watch;
    if (watch == nullptr) ctx.watch = &kNone;  // the listener hears nothing without any
    set_access_listener(this);
    if (next_ != nullptr)
        next_->execute(ctx, inst, handler);
    else
        handler(ctx, inst);
    set_access_listener(nullptr);
    ctx.watch = watch;

    line_.clear();
    put("{} ({},{},{}).{} #{} {:012x} exec={:016x} {} |", before_->dispatch, before_->ttmp[8], before_->ttmp[9],
        before_->ttmp[10], before_->wave_in_group, before_->instructions, (before_->pc - inst.size_bytes) & 0xffffffffffff,
        before_->exec, disassemble(inst, before_->chip));
    note_scalars(wave);
    if (is_vector(inst)) note_vectors(wave);
    note_memory(ctx);
    if (lds) note_lds(ctx);
    if (ctx.fault != Fault::None) put(" fault={}", fault_info(ctx.fault).name);
    write(ctx);
}

void CommitLog::note_scalars(const Wave& now) {
    const Wave& old = *before_;
    const unsigned special = now.special_base();
    for (unsigned n = 0; n < special; ++n)
        if (old.sgpr[n] != now.sgpr[n]) put(" s{}={:08x}", n, now.sgpr[n]);
    constexpr const char* kSpecial[] = {"flat_scratch_lo", "flat_scratch_hi", "xnack_mask_lo", "xnack_mask_hi"};
    for (unsigned n = 0; n < std::size(kSpecial); ++n)
        if (old.sgpr[special + n] != now.sgpr[special + n]) put(" {}={:08x}", kSpecial[n], now.sgpr[special + n]);
    if (old.vcc() != now.vcc()) put(" vcc={:016x}", now.vcc());
    if (old.exec != now.exec) put(" exec={:016x}", now.exec);
    if (old.scc != now.scc) put(" scc={}", int{now.scc});
    if (old.m0 != now.m0) put(" m0={:08x}", now.m0);
    if (old.mode != now.mode) put(" mode={:08x}", now.mode);
    if (old.status != now.status) put(" status={:08x}", now.status);
    if (old.trapsts != now.trapsts) put(" trapsts={:08x}", now.trapsts);
    if (old.ib_sts != now.ib_sts) put(" ib_sts={:08x}", now.ib_sts);
    for (unsigned n = 0; n < old.ttmp.size(); ++n)
        if (old.ttmp[n] != now.ttmp[n]) put(" ttmp{}={:08x}", n, now.ttmp[n]);
    if (old.pc != now.pc) put(" pc={:012x}", now.pc & 0xffffffffffff);
}

void CommitLog::note_vectors(const Wave& now) {
    for (unsigned n = 0; n < now.vgpr_count; ++n) {
        const uint32_t* const before = vgprs_[n].lane;
        const uint32_t* const after = now.vgpr[n].lane;
        if (std::memcmp(before, after, sizeof(VgprRow)) == 0) continue;
        put(" v{}{{", n);
        const char* blank = "";
        for (unsigned lane = 0; lane < kLanes;) {
            unsigned end = lane + 1;
            if (before[lane] != after[lane]) {
                while (end < kLanes && after[end] == after[lane] && before[end] != after[end]) ++end;
                if (end - lane == 1)
                    put("{}{}:{:08x}", blank, lane, after[lane]);
                else
                    put("{}{}-{}:{:08x}", blank, lane, end - 1, after[lane]);
                blank = " ";
            }
            lane = end;
        }
        put("}}");
    }
}

/// What the memory holds after the instruction.
void CommitLog::note_memory(ExecContext& ctx) {
    for (const Touched& each : touched_) {
        put(" [{:012x}]=", each.va & 0xffffffffffff);
        for (unsigned at = 0; at < each.bytes; at += 4) {
            const unsigned part = each.bytes - at < 4 ? each.bytes - at : 4;
            const uint8_t* host = ctx.memory->page(ctx.wave.vmid, each.va + at, ::lyra::Access::Read);
            uint32_t value = 0;
            const bool whole = host != nullptr && (each.va + at) % kPageBytes + part <= kPageBytes;
            if (whole) std::memcpy(&value, host, part);
            if (at != 0) put(",");
            if (whole)
                put("{:0{}x}", value, 2 * part);
            else
                put("?");
        }
    }
}

void CommitLog::note_lds(const ExecContext& ctx) {
    const uint8_t* const now = ctx.lds + ctx.wave.lds_base;
    if (std::memcmp(lds_.data(), now, lds_.size()) == 0) return;
    for (size_t at = 0; at + 4 <= lds_.size(); at += 4) {
        if (std::memcmp(&lds_[at], now + at, 4) == 0) continue;
        uint32_t value;
        std::memcpy(&value, now + at, 4);
        put(" lds[{:x}]={:08x}", at, value);
    }
}

void CommitLog::write(ExecContext& ctx) {
    if (line_[line_.size() - 1] == '|') line_.resize(line_.size() - 2);  // nothing changed
    line_.push_back('\n');
    if (failed_ || std::fwrite(line_.data(), 1, line_.size(), to_) == line_.size()) return;
    failed_ = true;
    ctx.env->log(LogLevel::Error, "commit log: cannot write, it ends here");
}

}  // namespace lyra::gcn
