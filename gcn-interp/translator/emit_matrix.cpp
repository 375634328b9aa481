// SPDX-License-Identifier: MIT
// Matrix multiply-adds in place; step 6 of the data flow.
//
// Products of f32 and f64 are added one after the other, each with one rounding, so that elements of the result are chains of
// the host's multiply-adds. Those of f16 and bf16 are added in pairs, with denormals as zeros after each step, and those of i8
// wrap. Each has the first of its NaNs, which x86 takes of the first operand. All operands are rows in memory. Sums that are
// rounded once or cut off, and instructions that select blocks or lanes, are the interpreter's.
#include <optional>

#include "gcn-interp/isa/matrix_shape.h"
#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn {
namespace {

std::optional<MatrixShape> shape_of(Op op) {
    switch (op) {
#define MFMA(opcode, name, ...) \
    case Op::name: return matrix_shape(Op::name);
#include "gcn-interp/isa/mfma.def"
#undef MFMA
        default: return std::nullopt;
    }
}

bool overlap(unsigned a, unsigned count_of_a, unsigned b, unsigned count_of_b) {
    return a < b + count_of_b && b < a + count_of_a;
}

}  // namespace

/// Of an instruction in place.
struct Emitter::MatrixRows {
    MatrixShape shape;
    unsigned a, b, c, to;  ///< first VGPRs
    bool has_addend;  ///< otherwise it is zero
};

bool Emitter::matrix(const Inst& inst) {
    const std::optional<MatrixShape> shape = shape_of(inst.op);
    if (!shape || shape->size < kStripLanes || shape->sparse || shape->truncated || shape->fused) return false;
    if ((inst.neg | inst.neg_hi) != 0 || inst.op_sel_hi != 0) return false;
    const bool is_f64 = shape->input == MatrixInput::F64, is_f32 = shape->input == MatrixInput::F32;
    const unsigned results = shape->registers * (is_f64 ? 2 : 1);
    const unsigned dwords = is_f64 ? 2 : is_f32 ? 1 : shape->input == MatrixInput::I8 ? shape->depth() / 4 : shape->depth() / 2;
    if (inst.src[0] < kSrcVgpr0 || inst.src[1] < kSrcVgpr0) return false;
    const bool has_addend = inst.src[2] >= kSrcVgpr0;
    const auto vgpr = [&](unsigned n) { return static_cast<unsigned>(inst.src[n] - kSrcVgpr0); };
    const MatrixRows rows{*shape, vgpr(0), vgpr(1), has_addend ? vgpr(2) : 0, inst.dst, has_addend};
    if (const Constant value = constant_of(inst, inst.src[2], 1, false); !has_addend && (!value.is_constant || value.bits != 0))
        return false;
    if (!has_rows(rows.a, dwords) || !has_rows(rows.b, dwords) || !has_rows(rows.to, results) ||
        (has_addend && !has_rows(rows.c, results)))
        return false;
    // Rows of the result are written before all others have been read.
    if (overlap(rows.to, results, rows.a, dwords) || overlap(rows.to, results, rows.b, dwords)) return false;
    if (has_addend && rows.c != rows.to && overlap(rows.to, results, rows.c, results)) return false;
    if (is_f64 || is_f32)
        matrix_chains(rows);
    else
        matrix_dots(rows);
    return true;
}

/// Products of f32 and f64.
void Emitter::matrix_chains(const MatrixRows& m) {
    constexpr unsigned kFactors = 16, kElement = 24;  // registers from these on
    const MatrixShape* const shape = &m.shape;
    const bool wide = shape->input == MatrixInput::F64;
    const unsigned dwords = wide ? 2 : 1;
    const auto zmm = [](unsigned n) { return Xbyak::Zmm(static_cast<int>(n)); };
    // 64-bit lanes are in two registers, as Wide has them.
    const auto load_strip = [&](unsigned to, unsigned vgpr, unsigned strip) {
        vmovdqa32(zmm(to), row(vgpr, strip));
        if (!wide) return;
        vpunpckhdq(zmm(to + 1), zmm(to), row(vgpr + 1, strip));
        vpunpckldq(zmm(to), zmm(to), row(vgpr + 1, strip));
    };
    for (unsigned strip = 0; strip < kStrips; ++strip) load_strip(kFactors + strip * dwords, m.b, strip);
    constexpr int kScratchBytes = static_cast<int>(kLanes * sizeof(double));
    // Elements of A that all lanes take are read from memory; those of f64 lie in two rows, and are put together on the stack.
    if (wide) {
        mov(rcx, rsp);
        sub(rsp, kScratchBytes);
        and_(rsp, -64);
        for (unsigned strip = 0; strip < kStrips; ++strip) {
            load_strip(kElement, m.a, strip);
            for (unsigned part = 0; part < 2; ++part)
                vmovdqa32(ptr[rsp + static_cast<int>((2 * strip + part) * sizeof(VgprRow) / kStrips)], zmm(kElement + part));
        }
    }
    const auto element = [&](unsigned to, unsigned lane) {
        if (!wide) return vbroadcastss(zmm(to), ptr[row(m.a, 0).getRegExp() + static_cast<int>(lane * 4)]);
        const unsigned at = lane / kStripLanes * kStripLanes + lane % 4 / 2 * 8 + lane % kStripLanes / 4 * 2 + lane % 2;
        vbroadcastsd(zmm(to), ptr[rsp + static_cast<int>(at * sizeof(double))]);
    };
    // As many rows of the result at a time as there are registers.
    const unsigned rows = kFactors / (kStrips * dwords), strips_of_part = shape->size / kStripLanes;
    const auto sum_of = [&](unsigned r, unsigned strip) { return (r % rows * kStrips + strip) * dwords; };
    for (unsigned first = 0; first < shape->registers; first += rows) {
        for (unsigned r = first; r < first + rows; ++r) {
            for (unsigned strip = 0; strip < kStrips; ++strip) {
                const unsigned sum = sum_of(r, strip);
                if (m.has_addend) {
                    load_strip(sum, m.c + r * dwords, strip);
                    continue;
                }
                for (unsigned part = 0; part < dwords; ++part) vpxord(zmm(sum + part), zmm(sum + part), zmm(sum + part));
            }
        }
        for (unsigned group = 0; group < shape->groups(); ++group) {
            for (unsigned r = first; r < first + rows; ++r) {
                for (unsigned part = 0; part < shape->parts(); ++part) {
                    const unsigned lane = shape->size * (shape->block_of(r, part) + shape->blocks * group);
                    element(kElement, lane + shape->row_of(r, part));
                    for (unsigned n = 0; n < strips_of_part; ++n) {
                        const unsigned sum = sum_of(r, part * strips_of_part + n);
                        const unsigned factor = kFactors + (lane / kStripLanes + n) * dwords;
                        if (!wide) {
                            vfmadd231ps(zmm(sum), zmm(kElement), zmm(factor));
                            continue;
                        }
                        vfmadd231pd(zmm(sum), zmm(kElement), zmm(factor));
                        vfmadd231pd(zmm(sum + 1), zmm(kElement), zmm(factor + 1));
                    }
                }
            }
        }
        for (unsigned r = first; r < first + rows; ++r) {
            for (unsigned strip = 0; strip < kStrips; ++strip) {
                const unsigned sum = sum_of(r, strip), to = m.to + r * dwords;
                if (!wide) {
                    vmovdqa32(row(to, strip), zmm(sum));
                    continue;
                }
                narrow({zmm(sum), zmm(sum + 1)}, zmm(kElement), zmm(kElement + 1));
                vmovdqa32(row(to, strip), zmm(kElement));
                vmovdqa32(row(to + 1, strip), zmm(kElement + 1));
            }
        }
    }
    if (wide) mov(rsp, rcx);
}

/// Products of f16, bf16 and i8, of which a lane has two, four or (i8) eight.
void Emitter::matrix_dots(const MatrixRows& m) {
    constexpr unsigned kFactors = 16, kElements = 24, kTerms = 28, kRows = 4;  // registers from these on; rows at a time
    constexpr int kRowBytes = sizeof(VgprRow), kStripBytes = kRowBytes / kStrips;
    constexpr uint32_t kExponent = 0x7f800000, kMagnitude = 0x7fffffff, kLeastHalf = 0x38800000;
    constexpr uint32_t kFlushes = 0x9f80;  // MXCSR: denormal results become zeros
    constexpr uint8_t kNotBelow = 5;
    const MatrixShape& shape = m.shape;
    const bool integers = shape.input == MatrixInput::I8, halves = shape.input == MatrixInput::F16;
    // Elements as numbers of 32 bits; of i8 two at a time as numbers of 16 bits.
    const unsigned count = integers ? shape.depth() / 2 : shape.depth(), strips_of_part = shape.size / kStripLanes;
    const auto zmm = [](unsigned n) { return Xbyak::Zmm(static_cast<int>(n)); };
    const Xbyak::Zmm value = zmm0, exponent = zmm31;
    const auto broadcast = [&](const Xbyak::Zmm& to, uint32_t bits) {
        mov(eax, bits);
        vpbroadcastd(to, eax);
    };
    // On the stack: elements of A and of B, a row for each that a lane has, and MXCSR as it was and as it is meanwhile.
    const int elements_of_b = static_cast<int>(count) * kRowBytes, mxcsr = 2 * elements_of_b;
    const auto element = [&](int first, unsigned e, unsigned lane) {
        return ptr[rsp + (first + static_cast<int>(e) * kRowBytes + static_cast<int>(lane * sizeof(uint32_t)))];
    };
    // Zeros that denormals become have no sign where they are sources.
    const auto flush = [&](const Xbyak::Zmm& number) {
        vptestmd(k1, number, exponent);
        vmovdqa32(number | k1 | T_z, number);
    };
    const auto unpack = [&](unsigned vgpr, int to) {
        for (unsigned e = 0; e < count; ++e) {
            for (unsigned strip = 0; strip < kStrips; ++strip) {
                vmovdqa32(value, row(vgpr + e / 2, strip));
                if (integers) {
                    if (e % 2 == 0) vpsllw(value, value, 8);
                    vpsraw(value, value, 8);
                } else {
                    if (e % 2 != 0) vpsrld(value, value, 16);
                    if (halves) {
                        vpmovdw(Xbyak::Ymm(value.getIdx()), value);
                        vcvtph2ps(value, Xbyak::Ymm(value.getIdx()));
                        vpandd(zmm1, value, zmm2);
                        vpcmpud(k1, zmm1, zmm3, kNotBelow);
                        vmovdqa32(value | k1 | T_z, value);
                    } else {
                        vpslld(value, value, 16);
                        flush(value);
                    }
                }
                vmovdqa32(element(to, e, strip * kStripLanes), value);
            }
        }
    };
    mov(rcx, rsp);
    sub(rsp, mxcsr + kStripBytes);
    and_(rsp, -kStripBytes);
    if (halves) {
        broadcast(zmm2, kMagnitude);
        broadcast(zmm3, kLeastHalf);
    }
    if (!integers) broadcast(exponent, kExponent);
    unpack(m.a, 0);
    unpack(m.b, elements_of_b);
    if (!integers) {
        stmxcsr(ptr[rsp + mxcsr]);
        mov(dword[rsp + (mxcsr + 4)], kFlushes);
        ldmxcsr(ptr[rsp + (mxcsr + 4)]);
    }
    const auto add_products = [&](const Xbyak::Zmm& sum, unsigned factors) {
        const auto multiply = [&](unsigned term, unsigned e) {
            if (integers)
                vpmaddwd(zmm(kTerms + term), zmm(kElements + e), zmm(factors + e));
            else
                vmulps(zmm(kTerms + term), zmm(kElements + e), zmm(factors + e));
        };
        const auto add = [&](unsigned to, unsigned from) { vaddps(zmm(kTerms + to), zmm(kTerms + to), zmm(kTerms + from)); };
        if (integers) {
            for (unsigned e = 0; e < count; ++e) {
                multiply(e % 2, e);
                vpaddd(sum, sum, zmm(kTerms + e % 2));
            }
            return;
        }
        multiply(0, 0);
        multiply(1, 1);
        add(0, 1);
        if (count == 4) {
            multiply(1, 2);
            multiply(2, 3);
            add(1, 2);
            add(0, 1);
        }
        vaddps(sum, sum, zmm(kTerms));
    };
    for (unsigned first = 0; first < shape.registers; first += kRows) {
        const auto sum_of = [&](unsigned r, unsigned strip) { return zmm((r - first) * kStrips + strip); };
        const auto for_sums = [&](auto f) {
            for (unsigned r = first; r < first + kRows; ++r)
                for (unsigned strip = 0; strip < kStrips; ++strip) f(r, strip, sum_of(r, strip));
        };
        for_sums([&](unsigned r, unsigned strip, const Xbyak::Zmm& sum) {
            if (!m.has_addend) return vpxord(sum, sum, sum);
            vmovdqa32(sum, row(m.c + r, strip));
            if (!integers) flush(sum);
        });
        for (unsigned group = 0; group < shape.groups(); ++group) {
            const unsigned lane = shape.size * (shape.block_of(first, 0) + shape.blocks * group);
            for (unsigned n = 0; n < strips_of_part; ++n)
                for (unsigned e = 0; e < count; ++e)
                    vmovdqa32(zmm(kFactors + n * count + e), element(elements_of_b, e, lane + n * kStripLanes));
            for (unsigned r = first; r < first + kRows; ++r) {
                for (unsigned part = 0; part < shape.parts(); ++part) {
                    for (unsigned e = 0; e < count; ++e)
                        vbroadcastss(zmm(kElements + e), element(0, e, lane + shape.row_of(r, part)));
                    for (unsigned n = 0; n < strips_of_part; ++n)
                        add_products(sum_of(r, part * strips_of_part + n), kFactors + n * count);
                }
            }
        }
        for_sums([&](unsigned r, unsigned strip, const Xbyak::Zmm& sum) { vmovdqa32(row(m.to + r, strip), sum); });
    }
    if (!integers) ldmxcsr(ptr[rsp + mxcsr]);
    mov(rsp, rcx);
}

}  // namespace lyra::gcn
