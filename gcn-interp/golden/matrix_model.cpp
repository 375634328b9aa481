// SPDX-License-Identifier: MIT
// Reference model of matrix multiply-adds.
// @source ROCm/amd_matrix_instruction_calculator, class InstCalcGfx9 (registers and lanes, CBSZ, ABID, BLGP);
// microsoft/MMA-Sim, ftz_mul_add and fma (arithmetic of CDNA2), fused sums of CDNA1; ROCm/composable_kernel, mma/sparse
// (indices); docs/design/decisions.md for NaNs and modifiers out of range
#include "gcn-interp/golden/matrix_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "gcn-interp/golden/operands.h"
#include "gcn-interp/golden/soft_float.h"
#include "gcn-interp/golden/truncated_model.h"
#include "gcn-interp/isa/op.h"

namespace lyra::golden {
namespace {

using namespace gcn;

/// A register of an operand, counted from its first, and a lane; of small elements, which one of the register.
struct Place {
    unsigned number = 0, lane = 0, part = 0;
};

class Execution {
public:
    Execution(Wave& wave, const Inst& encoded)
        : wave_(wave), inst_((wave.mode >> 27 & 1) != 0 ? indexed(wave, encoded) : encoded) {
        sparse_ = std::strncmp(info(inst_.op).name, "v_smfmac", 8) == 0;
        char in[24] = {};
        std::sscanf(info(inst_.op).name, sparse_ ? "v_smfmac_%*3s_%ux%ux%u%23s" : "v_mfma_%*3s_%ux%ux%u%23s", &rows_, &columns_,
                    &depth_, in);
        std::string_view type = in;
        while (type.find("b_") != type.npos || type[0] == '_') type.remove_prefix(type.find('_') + 1);  // _4b_
        a_type_ = type.substr(0, type.find('_'));
        b_type_ = type.substr(type.find("p8_") == 1 || type.find("f8_") == 1 ? 4 : 0);
        truncated_ = info(inst_.op).has(flag::Truncated);
        signs_ = info(inst_.op).has(flag::FloatMods);
        wide_ = type == "f64";
        integer_ = type == "i8";
        brain_ = type.starts_with("bf16");
        single_ = type == "f32";
        bits_ = wide_ ? 64 : integer_ || type.find("8_") != type.npos ? 8 : single_ || type == "xf32" ? 32 : 16;
        pairs_ = type == "bf16" ? 2 : 4;
        fused_ = info(inst_.op).has(flag::Fused);
        const unsigned results = info(inst_.op).dst_dwords() / (wide_ ? 2 : 1);
        blocks_ = results * 64 / (rows_ * columns_);
    }

    void run() {
        std::vector<uint64_t> results;
        for (unsigned b = 0; b < blocks_; ++b)
            for (unsigned i = 0; i < rows_; ++i)
                for (unsigned j = 0; j < columns_; ++j) results.push_back(element(b, i, j));
        auto next = results.begin();
        for (unsigned b = 0; b < blocks_; ++b)
            for (unsigned i = 0; i < rows_; ++i)
                for (unsigned j = 0; j < columns_; ++j) write(result_place(b, i, j), *next++);
    }

private:
    /// Of A with i a row, of B with i a column.
    Place input_place(unsigned b, unsigned i, unsigned k, unsigned depth) const {
        const unsigned spread = 64 / (rows_ * blocks_), each = depth / spread;
        const unsigned at = k % each * bits_;
        return {at / 32, b * rows_ + k / each * rows_ * blocks_ + i, at % 32};
    }
    Place result_place(unsigned b, unsigned i, unsigned j) const {
        const unsigned height = wide_ ? 1 : 4, pieces = 64 / columns_;
        const unsigned sharing = std::max(1u, 64 / (columns_ * rows_ / height));
        const unsigned number = b * (rows_ * columns_ / 64) + i / (height * pieces) * height + i % height;
        return {number * (wide_ ? 2 : 1), b % sharing * columns_ + i / height % pieces * sharing * columns_ + j, 0};
    }

    unsigned block_of_a(unsigned b) const {
        unsigned receiving = 1;
        for (unsigned n = 0; n < inst_.neg_hi && receiving < blocks_; ++n) receiving *= 2;
        return wide_ ? b : b / receiving * receiving + inst_.op_sel % receiving;
    }
    unsigned lane_of_b(unsigned lane) const {
        if (wide_) return lane;
        switch (inst_.neg) {
            case 0: return lane;
            case 1: return lane % 32;
            case 2: return lane % 32 + 32;
            case 3: return (lane + 16) % 64;
            default: return lane % 16 + (inst_.neg - 4u) * 16;
        }
    }

    uint32_t dword(unsigned operand, unsigned first, unsigned number, unsigned lane) const {
        const bool acc = (inst_.op_sel_hi >> operand & 1) != 0;
        const unsigned row = first + number + (acc ? wave_.acc_first : 0u);
        return wave_.vgpr[row < wave_.vgpr_count ? row : 0].lane[lane];
    }
    uint64_t input(unsigned operand, const Place& place) const {
        const unsigned first = inst_.src[operand] - kSrcVgpr0;
        const uint64_t low = dword(operand, first, place.number, place.lane),
                       negate = signs_ && (inst_.neg >> operand & 1) != 0;
        if (wide_) return (low | uint64_t{dword(operand, first, 1, place.lane)} << 32) ^ negate << 63;
        return low >> place.part & ((uint64_t{1} << bits_) - 1);
    }
    uint64_t addend(const Place& place) const {
        const uint64_t negate = signs_ && (inst_.neg & 4) != 0;
        if (!sparse_ && inst_.src[2] < kSrcVgpr0)
            return read_operand(wave_, inst_, inst_.src[2],
                                wide_      ? Type::F64
                                : integer_ ? Type::I32
                                           : Type::F32,
                                0)
                       .low ^
                   negate << 63;
        const unsigned first = sparse_ ? inst_.dst : inst_.src[2] - kSrcVgpr0;
        const uint64_t low = dword(2, first, place.number, place.lane);
        return wide_ ? (low | uint64_t{dword(2, first, place.number + 1, place.lane)} << 32) ^ negate << 63 : low;
    }
    void write(const Place& place, uint64_t value) {
        const unsigned first = inst_.dst + ((inst_.op_sel_hi & 4) != 0 ? wave_.acc_first : 0u);
        for (unsigned n = 0; n < (wide_ ? 2u : 1u); ++n) {
            const unsigned row = first + place.number + n;
            if (row < wave_.vgpr_count) wave_.vgpr[row].lane[place.lane] = static_cast<uint32_t>(value >> (32 * n));
        }
    }

    uint64_t element(unsigned b, unsigned i, unsigned j) const {
        std::vector<uint64_t> a, column;
        for (unsigned n = 0; n < (sparse_ ? depth_ / 2 : depth_); ++n) {
            const Place left = input_place(block_of_a(b), i, n, sparse_ ? depth_ / 2 : depth_);
            a.push_back(input(0, left));
            const unsigned k = sparse_ ? n / 2 * 4 + position(left.lane, n) : n;
            Place place = input_place(b, j, k, depth_);
            place.lane = lane_of_b(place.lane);
            column.push_back(input(1, place));
        }
        const uint64_t c = addend(result_place(b, i, j));
        return integer_           ? integers(a, column, c)
               : truncated_       ? truncated_dot(a_type_, a, b_type_, column, static_cast<uint32_t>(c))
               : single_ || wide_ ? fused_chain(a, column, c)
               : fused_           ? fused_halves(a, column, c)
                                  : halves(a, column, c);
    }
    /// Which of four elements of B the n'th of a sparse A belongs to: two bits for each element of a lane, in one of the sets
    /// that its dword has.
    unsigned position(unsigned lane, unsigned n) const {
        const unsigned each = 64 / bits_, set = inst_.neg_hi != 0 ? 0 : inst_.op_sel & (bits_ == 8 ? 1u : 3u);
        const unsigned row = inst_.src[2] - kSrcVgpr0;
        const uint32_t index = wave_.vgpr[row < wave_.vgpr_count ? row : 0].lane[lane];
        return index >> (2 * each * set + 2 * (n % each)) & 3;
    }
    uint64_t integers(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, uint64_t c) const {
        int64_t total = static_cast<int32_t>(c);
        for (size_t k = 0; k < a.size(); ++k) total += int64_t{static_cast<int8_t>(a[k])} * static_cast<int8_t>(b[k]);
        return static_cast<uint32_t>(total);
    }
    uint64_t fused_chain(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, uint64_t c) const {
        const FloatFormat f = wide_ ? kF64 : kF32;
        uint32_t flags = 0;
        for (size_t k = 0; k < a.size(); ++k)
            c = round_to({f}, fused(real_of(f, a[k]), real_of(f, b[k]), real_of(f, c), Rounding::NearestEven, flags), flags);
        return c;
    }

    // Of f16 and bf16: everything is rounded to f32 and flushed; zeros and denormals that come in are zeros without a sign.
    static uint64_t rounded(const Real& x) {
        uint32_t flags = 0;
        return round_to({kF32, Rounding::NearestEven, false}, x, flags);
    }
    static uint64_t plus(uint64_t a, uint64_t b) {
        uint32_t flags = 0;
        return rounded(sum(real_of(kF32, a), real_of(kF32, b), Rounding::NearestEven, flags));
    }
    Real number(uint64_t bits) const {
        const FloatFormat f = brain_ ? kF32 : kF16;
        const uint64_t v = brain_ ? bits << 16 : bits;
        return real_of(f, exponent_field(f, v) == 0 ? 0 : v);
    }
    uint64_t halves(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, uint64_t c) const {
        uint32_t flags = 0;
        std::vector<uint64_t> p;
        for (size_t k = 0; k < a.size(); ++k) p.push_back(rounded(product(number(a[k]), number(b[k]), flags)));
        uint64_t total = exponent_field(kF32, c) == 0 ? 0 : c;
        for (size_t k = 0; k < p.size(); k += pairs_) {
            uint64_t part = plus(p[k], p[k + 1]);
            if (pairs_ == 4) part = plus(part, plus(p[k + 2], p[k + 3]));
            total = plus(total, part);
        }
        return total;
    }

    // One rounding for pairs_ products and what they are added to. A sum is kept as an expansion (Shewchuk 1997): doubles in
    // ascending order of which none has digits in the place of another's.
    double value(uint64_t bits) const {
        const int fraction = brain_ ? 7 : 10, most = brain_ ? 255 : 31;
        const int exponent = static_cast<int>(bits >> fraction) & most;
        const double digits = static_cast<double>(bits & ((1u << fraction) - 1)), sign = (bits >> 15) != 0 ? -1 : 1;
        if (exponent == most) return digits != 0 ? NAN : sign * INFINITY;
        const double whole = exponent == 0 ? digits : digits + (1 << fraction);
        return sign * std::ldexp(whole, std::max(exponent, 1) - most / 2 - fraction);
    }
    static void grow(std::vector<double>& expansion, double term) {
        std::vector<double> grown;
        for (const double part : expansion) {
            const double total = term + part, other = total - term;
            const double lost = (term - (total - other)) + (part - other);
            if (lost != 0) grown.push_back(lost);
            term = total;
        }
        if (term != 0) grown.push_back(term);
        expansion = grown;
    }
    static uint32_t nearest(std::vector<double> expansion) {
        double total = 0, rest = 0;
        for (; !expansion.empty() && rest == 0; expansion.pop_back()) {
            const double sum = total + expansion.back();
            rest = expansion.back() - (sum - total);
            total = sum;
        }
        auto rounded = static_cast<float>(total);
        // What the double leaves out decides where it is in the middle of two floats.
        const double next = std::nextafter(rounded, rest > 0 ? INFINITY : -INFINITY);
        if (rest != 0 && std::isfinite(next) && std::fabs(next - total) == std::fabs(total - rounded))
            rounded = static_cast<float>(next);
        return std::bit_cast<uint32_t>(rounded);
    }
    uint64_t fused_halves(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b, uint64_t c) const {
        for (size_t k = 0; k < a.size(); k += pairs_) {
            double plain = std::bit_cast<float>(static_cast<uint32_t>(c));
            std::vector<double> terms{plain};
            for (size_t n = k; n < k + pairs_; ++n) terms.push_back(value(a[n]) * value(b[n]));
            for (size_t n = 1; n < terms.size(); ++n) plain += terms[n];
            if (std::isnan(plain)) return 0x7fffffff;
            std::vector<double> expansion;
            for (const double term : terms) grow(expansion, term);
            c = std::isinf(plain)   ? std::bit_cast<uint32_t>(static_cast<float>(plain))
                : expansion.empty() ? 0
                                    : nearest(expansion);
        }
        return c;
    }

    Wave& wave_;
    const Inst inst_;
    unsigned rows_ = 0, columns_ = 0, depth_ = 0, blocks_ = 0;
    unsigned bits_ = 0;  ///< of an element of A and B
    unsigned pairs_ = 0;  ///< products that are added before their sum is
    std::string a_type_, b_type_;
    bool wide_ = false, integer_ = false, brain_ = false, single_ = false, fused_ = false;
    bool truncated_ = false, sparse_ = false, signs_ = false;
};

}  // namespace

void execute_matrix(Wave& wave, const Inst& inst) { Execution(wave, inst).run(); }

}  // namespace lyra::golden
