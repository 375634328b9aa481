// SPDX-License-Identifier: MIT
// The bits of NaN results: every pair and triple of NaNs of both kinds and signs, infinities, zeros and numbers through every
// vector operation with a float result, on every back end, against the reference model. @source docs/spec/isa.md 3.7
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/golden/cases.h"
#include "gcn-interp/golden/operands.h"
#include "gcn-interp/golden/soft_float.h"
#include "gcn-interp/golden/wave_model.h"

namespace lyra::golden::test {
namespace {

using namespace gcn;

constexpr unsigned kFirst = 8, kApart = 4, kDst = 30;  // VGPRs: source n is v[8 + 4n], of which some take a pair
constexpr unsigned kValues = 10, kTriples = kValues * kValues * kValues;
constexpr uint32_t kDefault = 0x3f0, kNoIeee = 0x1f0, kFlush = 0x300;  // MODE

const FloatFormat& format_of_bits(unsigned bits) { return bits == 16 ? kF16 : bits == 32 ? kF32 : kF64; }

/// Operands that tell NaNs from each other: by sign, kind, and payload bits at either end.
uint64_t value(const FloatFormat& f, unsigned n) {
    const uint64_t low = 5, high = f.quiet_bit() >> 2;
    switch (n) {
        case 0: return f.infinity() | f.quiet_bit() | low;
        case 1: return f.sign_bit() | f.infinity() | f.quiet_bit() | high;
        case 2: return f.infinity() | low << 1;
        case 3: return f.sign_bit() | f.infinity() | high | low;
        case 4: return f.infinity();
        case 5: return f.sign_bit() | f.infinity();
        case 6: return 0;
        case 7: return f.sign_bit();
        case 8: return uint64_t(f.bias()) << f.fraction;  // 1.0
        default: return f.sign_bit() | 1;                 // a denormal
    }
}

struct Encoding {
    Format format;
    uint8_t neg, abs;
};

bool has_float_result(Op op) {
    return models(op) && info(info(op).profile->dst).kind == Kind::Float && info(op).format != Format::VOPC;
}

/// The row with its sources in registers of their own. Triple numbers of 64 lanes are put there.
Inst prepare(Op op, const Encoding& how, unsigned first_triple, WaveCopy& copy) {
    Random random(op_index(op));
    const InstInfo& row = info(op);
    Inst inst = random_inst(op, how.format, random);
    inst.neg = inst.abs = 0;
    inst.neg_hi = inst.op_sel = inst.omod = 0;
    inst.clamp = false;
    inst.op_sel_hi = row.has(flag::Mix) ? how.neg & 7 : 7;  // f32 sources, or halves where a sign is asked for
    inst.dst = kDst;
    inst.literal = static_cast<uint32_t>(value(kF32, first_triple / kLanes % kValues));
    if (inst.sdst != kNoOperand) inst.sdst = 20;
    const bool with_literal = row.has(flag::MadMk | flag::MadAk);
    for (unsigned n = 0; n < 3; ++n) {
        if (inst.src[n] != kNoOperand && !(with_literal && inst.src[n] == kSrcLiteral) &&
            info(row.profile->src[n]).kind != Kind::Mask)
            inst.src[n] = static_cast<uint16_t>(kSrcVgpr0 + kFirst + kApart * n);
        if (inst.src[n] == kNoOperand) continue;
        inst.neg = static_cast<uint8_t>(inst.neg | (how.neg & 1 << n));
        inst.abs = static_cast<uint8_t>(inst.abs | (how.abs & 1 << n));
    }
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        unsigned triple = (first_triple + lane) % kTriples;
        for (unsigned n = 0; n < 3; ++n, triple /= kValues) {
            const TypeInfo& type = info(row.profile->src[n]);
            uint64_t v = lane % 3;  // an integer
            if (type.kind == Kind::Float || type.kind == Kind::None) {
                const FloatFormat& f = format_of_bits(type.kind == Kind::None ? 32 : type.bits);
                v = value(f, triple % kValues);
                if (f == kF16) v |= value(f, (triple + 3) % kValues) << 16;
            }
            for (unsigned dword = 0; dword < 2; ++dword)
                copy.rows[kFirst + kApart * n + dword].lane[lane] = static_cast<uint32_t>(v >> (32 * dword));
        }
        // Accumulators: as source 2 of the row's format.
        const FloatFormat& f = format_of_bits(info(row.profile->dst).bits);
        const uint64_t old = value(f, (first_triple + lane) / (kValues * kValues) % kValues);
        copy.rows[kDst].lane[lane] = static_cast<uint32_t>(old);
    }
    return inst;
}

bool has_nan(const FloatFormat& f, const WaveCopy& copy, unsigned lane) {
    const uint64_t low = copy.rows[kDst].lane[lane], high = copy.rows[kDst + 1].lane[lane];
    if (f == kF64) return is_nan(f, low | high << 32);
    return f == kF32 ? is_nan(f, low) : is_nan(f, low & 0xffff) || is_nan(f, low >> 16);
}

/// @return NaN results compared; text gets the first that differs
unsigned compare(ExecFn handler, const Inst& inst, const WaveCopy& before, std::string& text) {
    WaveCopy real(before), model(before);
    ExecContext ctx{real.wave};
    handler(ctx, inst);
    execute(model.wave, inst);
    const FloatFormat& f = format_of_bits(info(info(inst.op).profile->dst).bits);
    unsigned compared = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        if (!has_nan(f, model, lane) && !has_nan(f, real, lane)) continue;
        ++compared;
        for (unsigned dword = 0; dword < (f == kF64 ? 2u : 1u); ++dword) {
            const uint32_t is = real.rows[kDst + dword].lane[lane], should = model.rows[kDst + dword].lane[lane];
            if (is == should || !text.empty()) continue;
            text = fmt::format("{} mode {:x} neg {} abs {}: dword {} is {:08x}, model {:08x}, of", disassemble(inst),
                               before.wave.mode, inst.neg, inst.abs, dword, is, should);
            for (unsigned n = 0; n < 3; ++n)
                text += fmt::format(" {:08x}'{:08x}", before.rows[kFirst + kApart * n + 1].lane[lane],
                                    before.rows[kFirst + kApart * n].lane[lane]);
            text += fmt::format(" old {:08x}", before.rows[kDst].lane[lane]);
        }
    }
    return compared;
}

class NanBits : public testing::TestWithParam<Backend> {};

TEST_P(NanBits, AreThoseOfTheFirstNanOperand) {
    ExecTable table(GetParam());
    register_vector_alu(table);
    unsigned rows = 0, compared = 0;
    for (const Op op : vector_rows()) {
        if (!has_float_result(op)) continue;
        const Format own = info(op).format;
        std::vector<Encoding> encodings{{own, 0, 0}};
        if (own == Format::VOP3P || table.get(op, Format::VOP3) != nullptr)
            encodings.push_back({own == Format::VOP3P ? own : Format::VOP3, 5, uint8_t(own == Format::VOP3P ? 0 : 2)});
        std::string text;
        for (const Encoding& how : encodings) {
            for (const uint32_t mode : {kDefault, kNoIeee, kFlush}) {
                for (unsigned first = 0; first < kTriples; first += kLanes) {
                    WaveCopy before;
                    before.wave.mode = mode;
                    before.wave.exec = first % 128 == 0 ? ~uint64_t{0} : 0x7ffffffffffffffe;
                    before.wave.set_vcc(0x5555555555555555);
                    const Inst inst = prepare(op, how, first, before);
                    compared += compare(table.get(op, how.format), inst, before, text);
                }
            }
        }
        EXPECT_TRUE(text.empty()) << text;
        ++rows;
    }
    EXPECT_GT(rows, 100u);
    EXPECT_GT(compared, 100000u);
}

std::vector<Backend> host_backends() {
    std::vector<Backend> found;
    std::copy_if(std::begin(kAllBackends), std::end(kAllBackends), std::back_inserter(found), supported);
    return found;
}
INSTANTIATE_TEST_SUITE_P(Backends, NanBits, testing::ValuesIn(host_backends()),
                         [](const testing::TestParamInfo<Backend>& info) {
                             return kBackendNames[static_cast<unsigned>(info.param)];
                         });

}  // namespace
}  // namespace lyra::golden::test
