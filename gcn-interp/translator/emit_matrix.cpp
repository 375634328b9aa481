// SPDX-License-Identifier: MIT
// Matrix multiply-adds of f32 and f64 in place; step 6 of the data flow.
//
// Their products are added one after the other, each with one rounding, so that elements of the result are chains of the host's
// multiply-adds. All operands are rows in memory. The others, and those that select blocks or lanes, are the interpreter's.
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

bool Emitter::matrix(const Inst& inst) {
    constexpr unsigned kFactors = 16, kElement = 24;  // registers from these on
    const std::optional<MatrixShape> shape = shape_of(inst.op);
    if (!shape || shape->size < kStripLanes || shape->sparse || shape->truncated) return false;
    const bool wide = shape->input == MatrixInput::F64;
    if (!wide && shape->input != MatrixInput::F32) return false;
    if ((inst.neg | inst.neg_hi) != 0 || inst.op_sel_hi != 0) return false;
    const unsigned dwords = wide ? 2 : 1, results = shape->registers * dwords;
    if (inst.src[0] < kSrcVgpr0 || inst.src[1] < kSrcVgpr0) return false;
    const unsigned a = inst.src[0] - kSrcVgpr0, b = inst.src[1] - kSrcVgpr0;
    const bool has_addend = inst.src[2] >= kSrcVgpr0;
    const unsigned c = has_addend ? inst.src[2] - kSrcVgpr0 : 0;
    if (const Constant value = constant_of(inst, inst.src[2], 1, false); !has_addend && (!value.is_constant || value.bits != 0))
        return false;
    if (!has_rows(a, dwords) || !has_rows(b, dwords) || !has_rows(inst.dst, results) || (has_addend && !has_rows(c, results)))
        return false;
    // Rows of the result are written before all others have been read.
    if (overlap(inst.dst, results, a, dwords) || overlap(inst.dst, results, b, dwords)) return false;
    if (has_addend && c != inst.dst && overlap(inst.dst, results, c, results)) return false;

    const auto zmm = [](unsigned n) { return Xbyak::Zmm(static_cast<int>(n)); };
    // 64-bit lanes are in two registers, as Wide has them.
    const auto load_strip = [&](unsigned to, unsigned vgpr, unsigned strip) {
        vmovdqa32(zmm(to), row(vgpr, strip));
        if (!wide) return;
        vpunpckhdq(zmm(to + 1), zmm(to), row(vgpr + 1, strip));
        vpunpckldq(zmm(to), zmm(to), row(vgpr + 1, strip));
    };
    for (unsigned strip = 0; strip < kStrips; ++strip) load_strip(kFactors + strip * dwords, b, strip);
    constexpr int kScratchBytes = static_cast<int>(kLanes * sizeof(double));
    // Elements of A that all lanes take are read from memory; those of f64 lie in two rows, and are put together on the stack.
    if (wide) {
        mov(rcx, rsp);
        sub(rsp, kScratchBytes);
        and_(rsp, -64);
        for (unsigned strip = 0; strip < kStrips; ++strip) {
            load_strip(kElement, a, strip);
            for (unsigned part = 0; part < 2; ++part)
                vmovdqa32(ptr[rsp + static_cast<int>((2 * strip + part) * sizeof(VgprRow) / kStrips)], zmm(kElement + part));
        }
    }
    const auto element = [&](unsigned to, unsigned lane) {
        if (!wide) return vbroadcastss(zmm(to), ptr[row(a, 0).getRegExp() + static_cast<int>(lane * 4)]);
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
                if (has_addend) {
                    load_strip(sum, c + r * dwords, strip);
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
                const unsigned sum = sum_of(r, strip), to = inst.dst + r * dwords;
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
    return true;
}

}  // namespace lyra::gcn
