// SPDX-License-Identifier: MIT
// Operations of graphics shaders that any wave may execute: interpolation of parameters that lie in LDS, screen partition; step
// 6 of the data flow.
// @source AMD Vega ISA document, "Parameter interpolation", V_INTERP_*, V_SCREEN_PARTITION_4SE_B32
#include "gcn-interp/exec/graphics.h"

#include <bit>
#include <cmath>

#include "gcn-interp/exec/lane_memory.h"
#include "gcn-interp/exec/valu_lanes.h"

namespace lyra::gcn {

namespace {

enum Parameter : unsigned { kP0, kP10, kP20 };

/// M0: the parameters' place in LDS 15:0 (bytes), and a bit for each quad but the first, whether a new primitive begins with
/// it.
struct Parameters {
    explicit Parameters(const Wave& wave) : base(wave.m0 & 0xffff), starts(wave.m0 >> 16 & 0x7fff) {}
    unsigned primitives() const { return 1 + static_cast<unsigned>(std::popcount(starts)); }
    unsigned primitive_of(unsigned lane) const { return static_cast<unsigned>(std::popcount(starts & ((1u << lane / 4) - 1))); }
    /// By attribute, primitive, parameter and channel; the order in which they lie there is ours.
    uint32_t at(const Inst& inst, unsigned lane, unsigned parameter) const {
        return base + 4 * ((inst.attr * primitives() + primitive_of(lane)) * 12 + parameter * 4 + inst.attr_chan);
    }
    uint32_t base, starts;
};

uint32_t read_parameter(ExecContext& ctx, const Inst& inst, const Parameters& parameters, unsigned lane, unsigned which) {
    uint32_t value = 0;
    const uint8_t* host = lane_memory::lds_bytes(ctx, ctx.wave, parameters.at(inst, lane, which), 4);
    if (host != nullptr) std::memcpy(&value, host, 4);
    return value;
}

uint32_t chosen_half(const Inst& inst, uint32_t word) { return inst.high ? word >> 16 : word & 0xffff; }

/// Modifier bits count the sources as they are encoded: the attribute is number 0.
float source(const Wave& wave, const Inst& inst, unsigned n, unsigned encoded, unsigned lane) {
    float value = std::bit_cast<float>(vgpr_read_row(wave, inst.src[n] - kSrcVgpr0)[lane]);
    if (inst.abs >> encoded & 1) value = std::fabs(value);
    return inst.neg >> encoded & 1 ? -value : value;
}

float finish(const Inst& inst, const Wave& wave, float value) {
    constexpr float kScale[] = {1, 2, 4, 0.5f};
    value *= kScale[inst.omod & 3];
    if (!inst.clamp) return value;
    if (value != value) return ModeBits::Dx10Clamp::get(wave.mode) ? 0 : value;
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

/// Compute a register's new content for each active lane: compute(parameters, lane, old) .
template <class Compute>
void each_lane(ExecContext& ctx, const Inst& inst, Compute compute) {
    const Parameters parameters(ctx.wave);
    VgprRow dump;
    uint32_t* const out = vgpr_write_row(ctx.wave, inst.dst, dump);
    lane_memory::for_lanes(ctx.wave.exec, [&](unsigned lane) { out[lane] = compute(parameters, lane, out[lane]); });
}

/// D = P10 * S0 + P0, and D = P20 * S0 + D.
template <bool kSecond>
void interp_f32(ExecContext& ctx, const Inst& inst) {
    each_lane(ctx, inst, [&](const Parameters& parameters, unsigned lane, uint32_t old) {
        const auto slope = std::bit_cast<float>(read_parameter(ctx, inst, parameters, lane, kSecond ? kP20 : kP10));
        const auto from = std::bit_cast<float>(kSecond ? old : read_parameter(ctx, inst, parameters, lane, kP0));
        const float product = fp::mul(slope, source(ctx.wave, inst, 0, 1, lane));
        return std::bit_cast<uint32_t>(finish(inst, ctx.wave, fp::add(product, from)));
    });
}

/// S0: 0 is P10, 1 is P20, 2 is P0.
void interp_mov(ExecContext& ctx, const Inst& inst) {
    constexpr Parameter kOrder[] = {kP10, kP20, kP0, kP0};
    each_lane(ctx, inst, [&](const Parameters& parameters, unsigned lane, uint32_t) {
        const auto value = std::bit_cast<float>(read_parameter(ctx, inst, parameters, lane, kOrder[inst.src[0] & 3]));
        return inst.omod | static_cast<uint8_t>(inst.clamp) ? std::bit_cast<uint32_t>(finish(inst, ctx.wave, value))
                                                            : std::bit_cast<uint32_t>(value);
    });
}

/// D.f32 = P10.f16 * S0 + P0.f16; P0 is the half of S2 in v_interp_p1lv_f16.
template <bool kFromRegister>
void interp_p1_f16(ExecContext& ctx, const Inst& inst) {
    each_lane(ctx, inst, [&](const Parameters& parameters, unsigned lane, uint32_t) {
        const float slope = fp::half_to_float(chosen_half(inst, read_parameter(ctx, inst, parameters, lane, kP10)));
        uint32_t word;
        if constexpr (kFromRegister)
            word = vgpr_read_row(ctx.wave, inst.src[2] - kSrcVgpr0)[lane];
        else
            word = read_parameter(ctx, inst, parameters, lane, kP0);
        float from = fp::half_to_float(chosen_half(inst, word));
        if (kFromRegister && (inst.abs >> 2 & 1)) from = std::fabs(from);
        if (kFromRegister && (inst.neg >> 2 & 1)) from = -from;
        const float product = fp::mul(slope, source(ctx.wave, inst, 0, 1, lane));
        return std::bit_cast<uint32_t>(finish(inst, ctx.wave, fp::add(product, from)));
    });
}

/// D.f16 = P20.f16 * S0 + S2, in the low half; the legacy form zeroes the other one.
template <bool kLegacy>
void interp_p2_f16(ExecContext& ctx, const Inst& inst) {
    each_lane(ctx, inst, [&](const Parameters& parameters, unsigned lane, uint32_t old) {
        const float slope = fp::half_to_float(chosen_half(inst, read_parameter(ctx, inst, parameters, lane, kP20)));
        const float product = fp::mul(slope, source(ctx.wave, inst, 0, 1, lane));
        const float sum = finish(inst, ctx.wave, fp::add(product, source(ctx.wave, inst, 2, 2, lane)));
        return fp::float_to_half<Round::NearestEven>(sum) | (kLegacy ? 0 : old & 0xffff0000);
    });
}

}  // namespace

namespace lane {
namespace {

/// Shader engines that a rectangle covers, of four; tiles of 32 pixels: x_min 7:6, y_min 5:4, x_max 3:2, y_max 1:0, modulo 4.
uint32_t v_screen_partition_4se_b32(uint32_t select) {
    const uint32_t x_min = select >> 6 & 3, y_min = select >> 4 & 3, x_max = select >> 2 & 3, y_max = select & 3;
    uint32_t covered = 0;
    for (uint32_t dx = 0; dx <= ((x_max - x_min) & 3); ++dx) {
        for (uint32_t dy = 0; dy <= ((y_max - y_min) & 3); ++dy) {
            const uint32_t x = x_min + dx, y = y_min + dy;
            const uint32_t engine = ((x ^ y >> 1) & 1) << 1 | ((y ^ x >> 1) & 1);
            covered |= 1u << engine;
        }
    }
    return covered;
}

}  // namespace
}  // namespace lane

void register_graphics(ExecTable& table) {
    add<Op::v_screen_partition_4se_b32, lane::v_screen_partition_4se_b32>(table);
    const auto both = [&](Op op, ExecFn fn) {
        table.set(op, Format::VINTRP, fn);
        table.set(op, Format::VOP3, fn);
    };
    both(Op::v_interp_p1_f32, interp_f32<false>);
    both(Op::v_interp_p2_f32, interp_f32<true>);
    both(Op::v_interp_mov_f32, interp_mov);
    table.set(Op::v_interp_p1ll_f16, Format::VOP3, interp_p1_f16<false>);
    table.set(Op::v_interp_p1lv_f16, Format::VOP3, interp_p1_f16<true>);
    table.set(Op::v_interp_p2_legacy_f16, Format::VOP3, interp_p2_f16<true>);
    table.set(Op::v_interp_p2_f16, Format::VOP3, interp_p2_f16<false>);
}

}  // namespace lyra::gcn
