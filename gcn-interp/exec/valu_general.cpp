// SPDX-License-Identifier: MIT
// The path of vector instructions that takes any encoding, modifier and MODE; step 6 of the data flow.
#include "gcn-interp/exec/frame.h"
#include "gcn-interp/exec/valu_passes.h"

namespace lyra::gcn {

namespace {

using namespace passes;

/// Flush denormal sources where MODE forbids them.
void flush_sources(const OpDesc& desc, const ModeView& mode, Scratch& scratch, Rows& rows) {
    for (unsigned n = 0; n < desc.sources; ++n) {
        const Elem& elem = desc.src[n];
        const bool allowed = elem.bits == 32 ? mode.denorm_in32 : mode.denorm_in16_64;
        if (!elem.arithmetic || allowed) continue;
        const size_t bytes = rows.lanes * sizeof(uint32_t);
        if (rows.low[n] != scratch.src[n][0].lane) std::memcpy(scratch.src[n][0].lane, rows.low[n], bytes);
        if (elem.bits == 64 && rows.high[n] != scratch.src[n][1].lane) std::memcpy(scratch.src[n][1].lane, rows.high[n], bytes);
        flush_rows(elem.bits, scratch.src[n][0].lane, scratch.src[n][1].lane, rows.lanes);
        rows.low[n] = scratch.src[n][0].lane;
        rows.high[n] = scratch.src[n][1].lane;
    }
}

/// Lane and sub-dword selection of the sources. @return lanes that DPP lets be written
uint64_t select_sources(const Wave& wave, const Inst& inst, const OpDesc& desc, Scratch& scratch, Rows& rows) {
    uint64_t writable = kAllLanes;
    if (is_dpp(inst.format) && desc.sources > 0) {
        VgprRow picked;
        writable = dpp_select(inst, wave.exec, rows.low[0], picked.lane);
        scratch.src[0][0] = picked;
        rows.low[0] = scratch.src[0][0].lane;
        if (desc.src[0].bits == 64) {
            dpp_select(inst, wave.exec, rows.high[0], picked.lane);
            scratch.src[0][1] = picked;
            rows.high[0] = scratch.src[0][1].lane;
        }
    } else if (is_sdwa(inst.format)) {
        for (unsigned n = 0; n < 2 && n < desc.sources; ++n) {
            if (inst.src_sel[n] == sdwa::kDword) continue;
            sdwa_source(inst.src_sel[n], inst.sext[n], rows.low[n], scratch.src[n][0].lane);
            rows.low[n] = scratch.src[n][0].lane;
        }
    } else if (inst.format == Format::VOP3 && inst.op_sel != 0) {
        for (unsigned n = 0; n < desc.sources; ++n) {
            if (desc.src[n].bits == 16 && ((inst.op_sel >> n) & 1)) {
                uint32_t* out = scratch.src[n][0].lane;
                for (unsigned l = 0; l < kLanes; ++l) out[l] = rows.low[n][l] >> 16;
                rows.low[n] = out;
            }
        }
    }
    return writable;
}

/// Put 16-bit and sub-dword results in their place of the destination. old: the destination before.
void place_result(const Inst& inst, const OpDesc& desc, const uint32_t* old, uint32_t* value) {
    if (is_sdwa(inst.format)) {
        if (inst.dst_sel != sdwa::kDword) sdwa_destination(inst, value, old, value);
    } else if (desc.dst.bits == 16 && inst.format == Format::VOP3 && (inst.op_sel & 8)) {
        for (unsigned l = 0; l < kLanes; ++l) value[l] = (value[l] << 16) | (old[l] & 0xffff);
    } else if (desc.keeps_other_half) {
        for (unsigned l = 0; l < kLanes; ++l) value[l] = (value[l] & 0xffff) | (old[l] & 0xffff0000);
    }
}

template <Backend kBackend>
void run_resolved(ExecContext& ctx, const Inst& inst, const OpDesc& desc) {
    Wave& wave = ctx.wave;
    const ModeView mode(wave.mode);
    if (!desc.has_carry && wave.exec == 0) return;

    Scratch scratch;
    Rows rows;  // not zeroed: that would be a quarter of the time
    rows.mode = &mode;
    rows.lanes = is_dpp(inst.format) ? kLanes : lanes_in_use(wave.exec);
    for (unsigned n = 0; n < desc.sources; ++n) fetch_source(wave, inst, n, desc.src[n], desc.reads_dst, scratch, rows);
    const uint64_t lanes = select_sources(wave, inst, desc, scratch, rows) & wave.exec;
    if (inst.neg | inst.abs) passes::apply_signs(inst, desc, scratch, rows);
    flush_sources(desc, mode, scratch, rows);
    if (desc.extra != Extra::None) fetch_extra(wave, inst, desc.extra, scratch, rows);

    rows.dst_low = scratch.result[0].lane;
    rows.dst_high = scratch.result[1].lane;
    rows.carry = scratch.carry.lane;
    compute_rounded(inst, desc, mode, rows);
    if (desc.has_value) {
        finish_value(inst, desc, mode, rows);
        uint32_t* low = vgpr_write_row(wave, inst.dst, scratch.dump);
        place_result(inst, desc, vgpr_read_row(wave, inst.dst), rows.dst_low);
        VgprRow partial;
        const uint32_t* mask = exec_rows(wave);
        if (lanes != wave.exec) {
            expand_mask(lanes, partial);
            mask = partial.lane;
        }
        store_masked(low, rows.dst_low, mask, rows.lanes);
        if (desc.dst.bits == 64)
            store_masked(vgpr_write_row(wave, inst.dst + 1u, scratch.dump), rows.dst_high, mask, rows.lanes);
    }
    const uint64_t mask = pack_mask<kBackend>(rows.carry) & lanes;
    if (desc.has_carry) desc.has_value ? write_mask<false>(wave, inst, mask) : write_mask<true>(wave, inst, mask);
}

template <Backend kBackend>
void run_indexed(ExecContext& ctx, const Inst& inst, const OpDesc& desc) {
    if (ModeBits::GprIdxEn::get(ctx.wave.mode)) [[unlikely]] {
        run_resolved<kBackend>(ctx, with_gpr_index(ctx.wave, inst), desc);
    } else {
        run_resolved<kBackend>(ctx, inst, desc);
    }
}

}  // namespace

#define DEFINE(name, attribute)                                                                                            \
    template <>                                                                                                            \
    [[gnu::flatten, attribute]] void run_general<Backend::name>(ExecContext & ctx, const Inst& inst, const OpDesc& desc) { \
        run_indexed<Backend::name>(ctx, inst, desc);                                                                       \
    }                                                                                                                      \
    template <>                                                                                                            \
    [[gnu::flatten, attribute]] void apply_signs<Backend::name>(const Inst& inst, const OpDesc& desc, Scratch& scratch,    \
                                                                Rows& rows) {                                              \
        passes::apply_signs(inst, desc, scratch, rows);                                                                    \
    }                                                                                                                      \
    template <>                                                                                                            \
    [[gnu::flatten, attribute]] void refresh_mask<Backend::name>(Wave & wave) {                                            \
        exec_rows(wave);                                                                                                   \
    }
LYRA_FOR_EACH_BACKEND(DEFINE)
#undef DEFINE

void enter(ExecTable& table, Op op, const Handlers& handlers) {
    const ExecFn plain = handlers.plain[table.backend()], any = handlers.any[table.backend()];
    if (plain == nullptr) return;
    const InstInfo& row = info(op);
    const bool sdwa = !row.has(flag::NoSdwa), dpp = !row.has(flag::NoDpp);
    table.set(op, row.format, plain);
    const auto allow = [&](bool allowed, Format format, ExecFn fn) {
        if (allowed) table.set(op, format, fn);
    };
    switch (row.format) {
        case Format::VOP1:
            allow(!row.has(flag::NoE64), Format::VOP3, plain);
            allow(sdwa, Format::VOP1_SDWA, any);
            allow(dpp, Format::VOP1_DPP, any);
            break;
        case Format::VOP2:
            allow(!row.has(flag::NoE64), Format::VOP3, plain);
            allow(sdwa, Format::VOP2_SDWA, any);
            allow(dpp, Format::VOP2_DPP, any);
            break;
        case Format::VOPC:
            table.set(op, Format::VOP3, plain);
            allow(sdwa, Format::VOPC_SDWA, any);
            break;
        default: break;
    }
}

}  // namespace lyra::gcn
