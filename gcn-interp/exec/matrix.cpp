// SPDX-License-Identifier: MIT
// Matrix multiply-adds (MFMA, SMFMAC); step 6 of the data flow.
// @source microsoft/MMA-Sim, CDNA1 to CDNA3 (arithmetic); ROCm/amd_matrix_instruction_calculator (places of elements, CBSZ,
// ABID, BLGP); AMD CDNA3 ISA document (sparse matrices); docs/design/decisions.md for what they do not say
#include <algorithm>
#include <bit>

#include "gcn-interp/exec/exact_sum.h"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/scalar.h"
#include "gcn-interp/exec/truncated_sum.h"
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

/// What is multiplied, of its bits. Denormals of 16 bits are zeros without a sign, as zeros are, where sums are not fused.
template <MatrixInput kInput, bool kFused>
typename Numbers<kInput>::T element(uint32_t bits) {
    if constexpr (kInput == MatrixInput::F32) {
        return std::bit_cast<float>(bits);
    } else if constexpr (kInput == MatrixInput::F16) {
        return fp::half_to_float(fp::pick(!kFused && (bits & 0x7c00) == 0, 0u, bits));
    } else if constexpr (kInput == MatrixInput::BF16) {
        return std::bit_cast<float>(fp::pick(!kFused && (bits & 0x7f80) == 0, 0u, bits << 16));
    } else {
        static_assert(kInput == MatrixInput::I8);
        return static_cast<uint32_t>(static_cast<int32_t>(bits << 24) >> 24);
    }
}

/// An addend. That of 16-bit products is flushed as they are, unless kWhole.
template <MatrixInput kInput, bool kWhole>
typename Numbers<kInput>::T addend(uint32_t low, [[maybe_unused]] uint32_t high) {
    if constexpr (kInput == MatrixInput::F64) {
        return std::bit_cast<double>(make64(low, high));
    } else if constexpr (kInput == MatrixInput::I8) {
        return low;
    } else if constexpr (kInput == MatrixInput::F32 || kWhole) {
        return std::bit_cast<float>(low);
    } else {
        return std::bit_cast<float>(fp::pick((low & 0x7f800000) == 0, 0u, low));
    }
}

/// Whether sums follow the rule for NaNs of wave/fp.h, which takes longer than the sum itself.
enum class Nans : bool { Any, Ruled };

template <Nans kNans>
inline float flushed_sum(float a, float b) {
    return fp::flush(kNans == Nans::Ruled ? fp::add(a, b) : a + b);
}
template <Nans kNans>
inline float flushed_product(float a, float b) {
    return fp::flush(kNans == Nans::Ruled ? fp::mul(a, b) : a * b);
}

/// Adds the products of the elements that one lane has of a row and of a column.
template <MatrixInput kInput, unsigned kDepth, Nans kNans, class T>
[[gnu::always_inline]] inline T accumulate(T sum, const T* a, const T* b) {
    if constexpr (kInput == MatrixInput::I8) {
        for (unsigned e = 0; e < kDepth; ++e) sum += a[e] * b[e];
        return sum;
    } else if constexpr (kInput == MatrixInput::F32 || kInput == MatrixInput::F64) {
        static_assert(kDepth == 1);
        if constexpr (kNans == Nans::Any) return __builtin_fmaf(*a, *b, sum);
        return fp::fma(*a, *b, sum);
    } else {
        const auto pair = [=](unsigned e) {
            return flushed_sum<kNans>(flushed_product<kNans>(a[e], b[e]), flushed_product<kNans>(a[e + 1], b[e + 1]));
        };
        T total = pair(0);
        if constexpr (kDepth == 4) total = flushed_sum<kNans>(total, pair(2));
        return flushed_sum<kNans>(sum, total);
    }
}

constexpr unsigned bits_of(MatrixInput input) {
    switch (input) {
        case MatrixInput::F64: return 64;
        case MatrixInput::F32:
        case MatrixInput::XF32: return 32;
        case MatrixInput::F16:
        case MatrixInput::BF16: return 16;
        default: return 8;
    }
}
constexpr SmallFloat format_of(MatrixInput input) {
    switch (input) {
        case MatrixInput::F16: return kHalfFormat;
        case MatrixInput::BF16: return kBrain;
        case MatrixInput::XF32: return kXf32;
        case MatrixInput::FP8: return kFp8;
        default: return kBf8;
    }
}

using Dwords64 = uint32_t[kLanes];

/// Bits of element e of each lane.
template <unsigned kBits>
uint32_t element_bits(const Dwords64* dwords, unsigned e, unsigned lane) {
    const uint32_t dword = dwords[e * kBits / 32][lane];
    return kBits == 32 ? dword : dword >> (e * kBits % 32) & ((1u << kBits % 32) - 1);
}

/// A row of numbers for each element that a lane has.
template <MatrixInput kInput, unsigned kDepth, bool kFused>
struct Elements {
    using T = typename Numbers<kInput>::T;
    alignas(64) T of[kDepth][kLanes];
    void set(const Dwords64* dwords) {
        for (unsigned e = 0; e < kDepth; ++e)
            for (unsigned l = 0; l < kLanes; ++l) {
                if constexpr (kInput == MatrixInput::F64)
                    of[e][l] = std::bit_cast<double>(make64(dwords[0][l], dwords[1][l]));
                else
                    of[e][l] = element<kInput, kFused>(element_bits<bits_of(kInput)>(dwords, e, l));
            }
    }
    void negate() {
        for (auto& row : of)
            for (T& value : row) value = -value;
    }
    T at(unsigned e, unsigned lane) const { return of[e][lane]; }
    const T* column(unsigned e, unsigned lane) const { return of[e] + lane; }
};

/// The same, taken apart for sums that are cut off.
template <MatrixInput kInput, unsigned kDepth>
struct SmallElements {
    alignas(64) int32_t digits[kDepth][kLanes], exponent[kDepth][kLanes];
    int32_t top = 0;  ///< largest exponent; Digits::kSpecial with infinities or NaNs
    void set(const Dwords64* dwords) {
        for (unsigned e = 0; e < kDepth; ++e)
            for (unsigned l = 0; l < kLanes; ++l) {
                const uint32_t bits = element_bits<bits_of(kInput)>(dwords, e, l);
                const Digits number = digits_of<format_of(kInput)>(kInput == MatrixInput::XF32 ? bits >> 13 : bits);
                digits[e][l] = number.digits;
                exponent[e][l] = number.exponent;
                top = std::max(top, number.exponent);
            }
    }
    Digits at(unsigned e, unsigned lane) const { return {digits[e][lane], exponent[e][lane]}; }
};

/// Keeps the types of the other kind of sum from being asked for.
template <MatrixShape kShape, bool kTruncated>
struct Operands {
    using Sum = typename Numbers<kShape.input>::T;
    using A = Elements<kShape.input, kShape.depth(), kShape.fused>;
    using B = Elements<kShape.input, kShape.column_depth(), kShape.fused>;
    static constexpr MatrixInput kResult = kShape.input;
    static constexpr unsigned kLanesOfSum = 1;  ///< that a row is spread over and whose products are added at a time
};
template <MatrixShape kShape>
struct Operands<kShape, true> {
    using Sum = float;
    using A = SmallElements<kShape.input, kShape.depth()>;
    using B = SmallElements<kShape.column_input, kShape.column_depth()>;
    static constexpr MatrixInput kResult = MatrixInput::F32;
    static constexpr unsigned kLanesOfSum = std::min(2u, kShape.groups());
};

template <MatrixShape kShape>
struct Matrix {
    using Types = Operands<kShape, kShape.truncated>;
    using A = typename Types::A;
    using B = typename Types::B;
    using T = typename Types::Sum;
    using Row = T[kLanes];
    static constexpr MatrixInput kInput = kShape.input;
    static constexpr unsigned kSize = kShape.size, kDepth = kShape.depth(), kRegisters = kShape.registers;
    static constexpr unsigned kDwords = kInput == MatrixInput::F64 ? 2 : 1;  ///< of an element of the result
    static constexpr unsigned kProducts = kDepth * Types::kLanesOfSum;
    static constexpr bool kTiled = std::is_same_v<T, float> && !kShape.fused && !kShape.truncated;  ///< sums are the host's

    /// An operand's registers, from(lane) being where a lane's are, unless it is where they are.
    template <class Out, class From>
    static void unpack(const Wave& wave, unsigned first, unsigned dwords, Out& out, bool in_place, From from) {
        alignas(64) Dwords64 moved[4];
        for (unsigned n = 0; n < dwords; ++n) {
            const uint32_t* row = vgpr_read_row(wave, first + n);
            if (in_place)
                std::copy_n(row, kLanes, moved[n]);
            else
                for (unsigned l = 0; l < kLanes; ++l) moved[n][l] = row[from(l)];
        }
        out.set(moved);
    }
    static constexpr unsigned dwords(unsigned depth, MatrixInput input) { return std::max(1u, depth * bits_of(input) / 32); }

    /// CBSZ: 2^CBSZ neighbouring blocks have the A of one of them, which ABID names.
    static void unpack_a(const Wave& wave, const Inst& inst, A& out) {
        constexpr unsigned kMost = std::bit_width(kShape.blocks) - 1;
        const bool one = kShape.blocks == 1 || kInput == MatrixInput::F64;
        const unsigned mask = one ? 0 : (1u << std::min<unsigned>(inst.neg_hi, kMost)) - 1, chosen = inst.op_sel & mask;
        const unsigned first = first_row(wave, inst, 0, inst.src[0] - kSrcVgpr0);
        unpack(wave, first, dwords(kDepth, kInput), out, mask == 0, [=](unsigned lane) {
            const unsigned block = lane / kSize % kShape.blocks;
            return lane + ((block & ~mask) + chosen) * kSize - block * kSize;
        });
    }

    /// BLGP: groups of lanes have the B of others.
    static void unpack_b(const Wave& wave, const Inst& inst, B& out) {
        static constexpr uint8_t kGroups[8][4] = {{0, 1, 2, 3}, {0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0},
                                                  {0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
        const unsigned pattern = kInput == MatrixInput::F64 ? 0 : inst.neg & 7;
        const unsigned first = first_row(wave, inst, 1, inst.src[1] - kSrcVgpr0);
        unpack(wave, first, dwords(kShape.column_depth(), kShape.column_input), out, pattern == 0,
               [=](unsigned lane) { return kGroups[pattern][lane / kLanesOfGroup] * kLanesOfGroup + lane % kLanesOfGroup; });
    }

    static void load_sum(const Wave& wave, const Inst& inst, Row* out) {
        constexpr bool kWhole = kShape.fused || kShape.truncated;
        if (!kShape.sparse && inst.src[2] < kSrcVgpr0) {
            const Elem elem{kDwords == 2 ? uint8_t{64} : uint8_t{32}, kInput != MatrixInput::I8};
            const uint64_t value = scalar_operand(wave, inst, inst.src[2], elem);
            for (unsigned r = 0; r < kRegisters; ++r)
                for (unsigned l = 0; l < kLanes; ++l) out[r][l] = addend<Types::kResult, kWhole>(lo32(value), hi32(value));
            return negate_sum(inst, out);
        }
        const unsigned first = first_row(wave, inst, 2, kShape.sparse ? inst.dst : inst.src[2] - kSrcVgpr0);
        for (unsigned r = 0; r < kRegisters; ++r) {
            const uint32_t* low = vgpr_read_row(wave, first + r * kDwords);
            const uint32_t* high = kDwords == 2 ? vgpr_read_row(wave, first + r * kDwords + 1) : low;
            for (unsigned l = 0; l < kLanes; ++l) out[r][l] = addend<Types::kResult, kWhole>(low[l], high[l]);
        }
        negate_sum(inst, out);
    }

    static void negate_sum(const Inst& inst, Row* out) {
        if (!kShape.signs || !bit(inst.neg, 2)) return;
        for (unsigned r = 0; r < kRegisters; ++r)
            for (T& value : out[r]) value = -value;
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

    /// Which elements of B belong to those of a sparse A. ABID chooses one of the sets that a register has room for; CBSZ says
    /// that it is the first one. The register is a VGPR.
    struct Selection {
        alignas(64) uint32_t index[kLanes];
        Selection(const Wave& wave, const Inst& inst) {
            constexpr unsigned kBits = 2 * kDepth;
            const unsigned set = inst.neg_hi != 0 ? 0 : inst.op_sel % (32 / kBits);
            const uint32_t* row = vgpr_read_row(wave, inst.src[2] - kSrcVgpr0);
            for (unsigned l = 0; l < kLanes; ++l) index[l] = row[l] >> (set * kBits);
        }
        unsigned of(unsigned e, unsigned lane) const { return 4 * (e / 2) + (index[lane] >> (2 * e) & 3); }
    };
    struct Everything {
        Everything(const Wave&, const Inst&) {}
        unsigned of(unsigned e, unsigned) const { return e; }
    };
    using Chosen = std::conditional_t<kShape.sparse, Selection, Everything>;

    /// Adds the products of one lane (two, where sums are cut off) of a row to the columns of a piece.
    /// @param lane  of the first column, in the first of them
    template <Nans kNans>
    [[gnu::always_inline]] static void add(T* out, const A& a, const B& b, const Chosen& chosen, unsigned row, unsigned lane) {
        if constexpr (kShape.truncated) {
            using Sum = TruncatedSum<format_of(kInput), format_of(kShape.column_input), kProducts, kSize>;
            Digits factor[kProducts];
            typename Sum::Column column[kProducts];
            for (unsigned n = 0; n < kProducts; ++n) {
                const unsigned first = lane + n / kDepth * kSize * kShape.blocks, e = n % kDepth;
                const unsigned from = chosen.of(e, first + row);
                factor[n] = a.at(e, first + row);
                column[n] = {b.digits[from] + first, b.exponent[from] + first};
            }
            Sum::add(out, factor, column, a.top + b.top >= std::numeric_limits<float>::max_exponent - 1);
        } else {
            T factor[kDepth];
            const T* column[kDepth];
            for (unsigned e = 0; e < kDepth; ++e) {
                factor[e] = a.at(e, lane + row);
                column[e] = b.column(chosen.of(e, lane + row), lane);
            }
            if constexpr (kShape.fused) {
                for (unsigned j = 0; j < kSize; ++j) {
                    ExactSum sum(out[j]);
                    for (unsigned e = 0; e < kDepth; ++e) sum.add(factor[e], column[e][j]);
                    out[j] = sum.rounded();
                }
            } else {
                LYRA_INDEPENDENT_LANES
                for (unsigned j = 0; j < kSize; ++j) {
                    T each[kDepth];
                    for (unsigned e = 0; e < kDepth; ++e) each[e] = column[e][j];
                    out[j] = accumulate<kInput, kDepth, kNans>(out[j], factor, each);
                }
            }
        }
    }

    /// Adds all products. Of floats some rows at a time, which have the same block of B, so that sums that do not depend on
    /// each other stay in the host's registers.
    template <Nans kNans>
    [[gnu::always_inline]] static void multiply(Row* sums, const A& a, const B& b, const Chosen& chosen) {
        constexpr unsigned kRows = kTiled ? std::min({kRegisters, 4u, 64 / kSize}) : 1;
        for (unsigned r = 0; r < kRegisters; r += kRows) {
            for (unsigned part = 0; part < kShape.parts(); ++part) {
                const unsigned block = kShape.block_of(r, part);
                const auto add_group = [&](T* to, unsigned n, unsigned group) {
                    add<kNans>(to, a, b, chosen, kShape.row_of(r + n, part), kSize * (block + kShape.blocks * group));
                };
                if constexpr (!kTiled) {
                    for (unsigned group = 0; group < kShape.groups(); group += Types::kLanesOfSum)
                        add_group(sums[r] + part * kSize, 0, group);
                    continue;
                }
                T pieces[kRows][kSize];
#pragma GCC unroll 4
                for (unsigned n = 0; n < kRows; ++n) std::copy_n(sums[r + n] + part * kSize, kSize, pieces[n]);
                for (unsigned group = 0; group < kShape.groups(); ++group) {
#pragma GCC unroll 4
                    for (unsigned n = 0; n < kRows; ++n) add_group(pieces[n], n, group);
                }
#pragma GCC unroll 4
                for (unsigned n = 0; n < kRows; ++n) std::copy_n(pieces[n], kSize, sums[r + n] + part * kSize);
            }
        }
    }

    static bool any_nan(const Row* sums) {
        fp::BitsOf<T> found = 0;
        for (unsigned r = 0; r < kRegisters; ++r)
            for (unsigned l = 0; l < kLanes; ++l)
                found |= sums[r][l] != sums[r][l] ? 1 : 0;  // NOLINT(misc-redundant-expression): a NaN
        return found != 0;
    }

    static void run(ExecContext&, Wave& wave, const Inst& encoded) {
        const Inst inst = ModeBits::GprIdxEn::get(wave.mode) ? with_gpr_index(wave, encoded) : encoded;
        A a;
        B b;
        alignas(64) Row sums[kRegisters];
        unpack_a(wave, inst, a);
        unpack_b(wave, inst, b);
        if constexpr (kShape.signs) {
            if (bit(inst.neg, 0)) a.negate();
            if (bit(inst.neg, 1)) b.negate();
        }
        const Chosen chosen(wave, inst);
        load_sum(wave, inst, sums);
        // Not of doubles: GCC 12 makes a slower loop of them without the rule.
        if constexpr (kTiled) {
            // A NaN stays in its sum: without one at the end there was none, and no rule was needed.
            multiply<Nans::Any>(sums, a, b, chosen);
            if (!any_nan(sums)) return store(wave, inst, sums);
            load_sum(wave, inst, sums);
        }
        multiply<Nans::Ruled>(sums, a, b, chosen);
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
