// SPDX-License-Identifier: MIT
// Matrix multiply-adds (MFMA); step 6 of the data flow.
// @source microsoft/MMA-Sim, CDNA1 and CDNA2 (arithmetic); ROCm/amd_matrix_instruction_calculator (places of elements, CBSZ,
// ABID, BLGP); docs/design/decisions.md for what neither says
#include <algorithm>
#include <bit>

#include "gcn-interp/exec/exact_sum.h"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/scalar.h"
#include "gcn-interp/exec/valu_operand.h"
#include "gcn-interp/exec/valu_special.h"
#include "gcn-interp/isa/matrix_shape.h"
#include "gcn-interp/wave/fp.h"

namespace lyra::gcn {
namespace {

constexpr unsigned kLanesOfGroup = 16;  ///< that BLGP moves together

/// Number of the first register of an operand as a row of the register file.
unsigned first_row(const Wave& wave, const Inst& inst, unsigned n, unsigned number) {
    return number + (bit(inst.op_sel_hi, n) ? wave.acc_first : 0u);
}

/// What elements are computed with.
template <MatrixInput kInput>
struct Numbers {
    using T = float;
};
template <>
struct Numbers<MatrixInput::F64> {
    using T = double;
};
template <>
struct Numbers<MatrixInput::I8> {
    using T = uint32_t;  ///< sums wrap
};

/// Element e of a lane's registers. Denormals of 16 bits are zeros without a sign, as zeros are, where sums are not fused.
template <MatrixInput kInput, bool kFused>
typename Numbers<kInput>::T element(uint32_t low, [[maybe_unused]] uint32_t high, [[maybe_unused]] unsigned e) {
    const uint32_t half = ((e & 2 ? high : low) >> (16 * (e & 1))) & 0xffff;
    if constexpr (kInput == MatrixInput::F32) {
        return std::bit_cast<float>(low);
    } else if constexpr (kInput == MatrixInput::F64) {
        return std::bit_cast<double>(make64(low, high));
    } else if constexpr (kInput == MatrixInput::F16) {
        return fp::half_to_float(fp::pick(!kFused && (half & 0x7c00) == 0, 0u, half));
    } else if constexpr (kInput == MatrixInput::BF16) {
        return std::bit_cast<float>(fp::pick(!kFused && (half & 0x7f80) == 0, 0u, half << 16));
    } else {
        return static_cast<uint32_t>(static_cast<int32_t>(low << (24 - 8 * e)) >> 24);
    }
}

/// An addend. That of 16-bit products is flushed as they are.
template <MatrixInput kInput, bool kFused>
typename Numbers<kInput>::T addend(uint32_t low, [[maybe_unused]] uint32_t high) {
    if constexpr (kInput == MatrixInput::F64) {
        return std::bit_cast<double>(make64(low, high));
    } else if constexpr (kInput == MatrixInput::I8) {
        return low;
    } else if constexpr (kInput == MatrixInput::F32) {
        return std::bit_cast<float>(low);
    } else {
        return std::bit_cast<float>(fp::pick(!kFused && (low & 0x7f800000) == 0, 0u, low));
    }
}

inline float flushed_sum(float a, float b) { return fp::flush(fp::add(a, b)); }
inline float flushed_product(float a, float b) { return fp::flush(fp::mul(a, b)); }

/// Adds the products of the elements that one lane has of a row and of a column.
template <MatrixInput kInput, unsigned kDepth, class T>
[[gnu::always_inline]] inline T accumulate(T sum, const T* a, const T* b) {
    if constexpr (kInput == MatrixInput::I8) {
        for (unsigned e = 0; e < kDepth; ++e) sum += a[e] * b[e];
        return sum;
    } else if constexpr (kInput == MatrixInput::F32 || kInput == MatrixInput::F64) {
        static_assert(kDepth == 1);
        return fp::fma(*a, *b, sum);
    } else {
        T total = flushed_sum(flushed_product(a[0], b[0]), flushed_product(a[1], b[1]));
        if constexpr (kDepth == 4) {
            const T second = flushed_sum(flushed_product(a[2], b[2]), flushed_product(a[3], b[3]));
            total = flushed_sum(total, second);
        }
        return flushed_sum(sum, total);
    }
}

template <MatrixShape kShape>
struct Matrix {
    static constexpr MatrixInput kInput = kShape.input;
    static constexpr unsigned kSize = kShape.size, kDepth = kShape.depth(), kRegisters = kShape.registers;
    static constexpr unsigned kDwords = kInput == MatrixInput::F64 ? 2 : 1;  ///< of an element of the result
    static constexpr unsigned kInputDwords = kInput == MatrixInput::F64 || (kDepth == 4 && kInput != MatrixInput::I8) ? 2 : 1;
    using T = typename Numbers<kInput>::T;
    using Row = T[kLanes];

    /// kDepth rows: element e of all lanes, from(lane) being where a lane's are.
    template <class From>
    static void unpack(const Wave& wave, unsigned first, Row* out, From from) {
        const uint32_t* low = vgpr_read_row(wave, first);
        const uint32_t* high = kInputDwords == 2 ? vgpr_read_row(wave, first + 1) : low;
        VgprRow moved[2];
        for (unsigned l = 0; l < kLanes; ++l) {
            const unsigned source = from(l);
            moved[0].lane[l] = low[source];
            moved[1].lane[l] = high[source];
        }
        for (unsigned e = 0; e < kDepth; ++e)
            for (unsigned l = 0; l < kLanes; ++l)
                out[e][l] = element<kInput, kShape.fused>(moved[0].lane[l], moved[1].lane[l], e);
    }

    /// CBSZ: 2^CBSZ neighbouring blocks have the A of one of them, which ABID names.
    static void unpack_a(const Wave& wave, const Inst& inst, Row* out) {
        constexpr unsigned kMost = std::bit_width(kShape.blocks) - 1;
        const bool one = kShape.blocks == 1 || kInput == MatrixInput::F64;
        const unsigned mask = one ? 0 : (1u << std::min<unsigned>(inst.neg_hi, kMost)) - 1, chosen = inst.op_sel & mask;
        unpack(wave, first_row(wave, inst, 0, inst.src[0] - kSrcVgpr0), out, [=](unsigned lane) {
            const unsigned block = lane / kSize % kShape.blocks;
            return lane + ((block & ~mask) + chosen) * kSize - block * kSize;
        });
    }

    /// BLGP: groups of lanes have the B of others.
    static void unpack_b(const Wave& wave, const Inst& inst, Row* out) {
        static constexpr uint8_t kGroups[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
                                                  {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
        const uint8_t* groups = kGroups[kInput == MatrixInput::F64 ? 0 : inst.neg & 7];
        unpack(wave, first_row(wave, inst, 1, inst.src[1] - kSrcVgpr0), out,
               [=](unsigned lane) { return groups[lane / kLanesOfGroup] * kLanesOfGroup + lane % kLanesOfGroup; });
    }

    static void load_sum(const Wave& wave, const Inst& inst, Row* out) {
        if (inst.src[2] < kSrcVgpr0) {
            const Elem elem{kDwords == 2 ? uint8_t{64} : uint8_t{32}, kInput != MatrixInput::I8};
            const uint64_t value = scalar_operand(wave, inst, inst.src[2], elem);
            for (unsigned r = 0; r < kRegisters; ++r)
                for (unsigned l = 0; l < kLanes; ++l) out[r][l] = addend<kInput, kShape.fused>(lo32(value), hi32(value));
            return;
        }
        const unsigned first = first_row(wave, inst, 2, inst.src[2] - kSrcVgpr0);
        for (unsigned r = 0; r < kRegisters; ++r) {
            const uint32_t* low = vgpr_read_row(wave, first + r * kDwords);
            const uint32_t* high = kDwords == 2 ? vgpr_read_row(wave, first + r * kDwords + 1) : low;
            for (unsigned l = 0; l < kLanes; ++l) out[r][l] = addend<kInput, kShape.fused>(low[l], high[l]);
        }
    }

    static void store(Wave& wave, const Inst& inst, const Row* sums) {
        VgprRow dump;
        const unsigned first = first_row(wave, inst, 2, inst.dst);
        for (unsigned r = 0; r < kRegisters; ++r) {
            uint32_t* low = vgpr_write_row(wave, first + r * kDwords, dump);
            if constexpr (kDwords == 2) {
                uint32_t* high = vgpr_write_row(wave, first + r * kDwords + 1, dump);
                for (unsigned l = 0; l < kLanes; ++l) {
                    const auto value = std::bit_cast<uint64_t>(sums[r][l]);
                    low[l] = lo32(value);
                    high[l] = hi32(value);
                }
            } else {
                for (unsigned l = 0; l < kLanes; ++l) low[l] = std::bit_cast<uint32_t>(sums[r][l]);
            }
        }
    }

    static void run(ExecContext&, Wave& wave, const Inst& encoded) {
        const Inst inst = ModeBits::GprIdxEn::get(wave.mode) ? with_gpr_index(wave, encoded) : encoded;
        alignas(64) Row a[kDepth], b[kDepth], sums[kRegisters];
        unpack_a(wave, inst, a);
        unpack_b(wave, inst, b);
        load_sum(wave, inst, sums);
        for (unsigned r = 0; r < kRegisters; ++r) {
            for (unsigned group = 0; group < kShape.groups(); ++group) {
                for (unsigned part = 0; part < kShape.parts(); ++part) {
                    const unsigned block = kShape.block_of(r, part);
                    const unsigned lane = kSize * (block + kShape.blocks * group);
                    T row[kDepth];
                    for (unsigned e = 0; e < kDepth; ++e) row[e] = a[e][lane + kShape.row_of(r, part)];
                    T* const out = sums[r] + part * kSize;
                    if constexpr (kShape.fused) {
                        for (unsigned j = 0; j < kSize; ++j) {
                            ExactSum sum(out[j]);
                            for (unsigned e = 0; e < kDepth; ++e) sum.add(row[e], b[e][lane + j]);
                            out[j] = sum.rounded();
                        }
                    } else {
                        LYRA_INDEPENDENT_LANES
                        for (unsigned j = 0; j < kSize; ++j) {
                            T column[kDepth];
                            for (unsigned e = 0; e < kDepth; ++e) column[e] = b[e][lane + j];
                            out[j] = accumulate<kInput, kDepth>(out[j], row, column);
                        }
                    }
                }
            }
        }
        store(wave, inst, sums);
    }
};

}  // namespace

void register_matrix(ExecTable& table) {
#define MFMA(opcode, name, ...) \
    table.set(Op::name, Format::VOP3P, OnLanes<Matrix<matrix_shape(Op::name)>::run>::on(table.backend()));
#include "gcn-interp/isa/mfma.def"
#undef MFMA
}

}  // namespace lyra::gcn
