// SPDX-License-Identifier: MIT
// Sums of products as gfx942 adds them: products are aligned to the largest of them, the bits that then lie too low are cut
// off, the sum is aligned with the addend, and what comes of it is rounded to f32 once.
// @source microsoft/MMA-Sim, tr_fdpa() and gtr_fdpa() of CDNA3; docs/design/decisions.md for what its versions disagree about
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "gcn-interp/exec/small_float.h"
#include "gcn-interp/wave/fp.h"
#include "gcn-interp/wave/lanes.h"

namespace lyra::gcn {

/// Adds to the columns of a row of the result.
/// @tparam kA, kB     formats of the factors
/// @tparam kProducts  that are added at a time
/// @tparam kColumns   of a piece of the result
template <SmallFloat kA, SmallFloat kB, unsigned kProducts, unsigned kColumns>
class TruncatedSum {
public:
    /// Elements of B, of kColumns columns.
    struct Column {
        const int32_t* digits;
        const int32_t* exponent;
    };

    /// @param special  a factor may be infinite or NaN, or a product too large for f32
    [[gnu::always_inline]] static void add(float* sums, const Digits* row, const Column* columns, bool special) {
        alignas(64) float before[kColumns];
        for (unsigned j = 0; j < kColumns; ++j) {
            before[j] = sums[j];
            special |= (std::bit_cast<uint32_t>(sums[j]) & 0x7f800000) == 0x7f800000;
        }
        if constexpr (kHalves) {
            Part part[2];
            for (unsigned n = 0; n < 2; ++n) part[n].sum(row, columns, n, 2);
            LYRA_INDEPENDENT_LANES
            for (unsigned j = 0; j < kColumns; ++j) {
                const int32_t top = std::max(part[0].exponent[j], part[1].exponent[j]);
                const int32_t both =
                    cut(part[0].total[j], top - part[0].exponent[j]) + cut(part[1].total[j], top - part[1].exponent[j]);
                const Addend c(before[j]);
                const int32_t last = std::max(top, c.exponent);
                const int64_t products = cut64(int64_t{both} << kMore, last - top);
                const int64_t addend = int64_t{cut(2 * c.digits, last - c.exponent)} << kMore;
                sums[j] = rounded(products + addend, last);
            }
        } else {
            Part part;
            part.sum(row, columns, 0, 1);
            LYRA_INDEPENDENT_LANES
            for (unsigned j = 0; j < kColumns; ++j) {
                const Addend c(before[j]);
                const int32_t last = std::max(part.exponent[j], c.exponent);
                const int64_t products = (int64_t{part.total[j]} << kMore) >> std::min(last - part.exponent[j], 63);
                const int64_t addend = int64_t{(2 * c.digits) >> std::min(last - c.exponent, 31)} << kMore;
                sums[j] = rounded(products + addend, last);
            }
        }
        if (!special) [[likely]]
            return;
        for (unsigned j = 0; j < kColumns; ++j) {
            const float other = exception(before[j], row, columns, j);
            if (std::isnan(other))
                sums[j] = std::bit_cast<float>(0x7fffffffu);
            else if (other != 0)
                sums[j] = other;
        }
    }

private:
    /// Products of 8-bit floats are added in two halves, those with even and those with odd k.
    static constexpr bool kHalves = kA.width == 8;
    static constexpr int kPlaces = 24;    ///< behind the point, of products and addend
    static constexpr unsigned kMore = 7;  ///< further places when products and addend are added
    static constexpr int kLeast = -126;   ///< exponent of zeros

    /// Shifted to the right, rounded towards zero.
    static int32_t cut(int32_t value, int32_t places) {
        const int32_t magnitude = (value < 0 ? -value : value) >> std::clamp(places, 0, 31);
        return value < 0 ? -magnitude : magnitude;
    }
    static int64_t cut64(int64_t value, int32_t places) {
        const int64_t magnitude = (value < 0 ? -value : value) >> std::min(places, 63);
        return value < 0 ? -magnitude : magnitude;
    }

    struct Addend {
        int32_t digits, exponent;
        [[gnu::always_inline]] explicit Addend(float value) {
            const auto bits = std::bit_cast<uint32_t>(value);
            const uint32_t field = bits >> 23 & 0xff;
            const auto magnitude = static_cast<int32_t>((bits & 0x7fffff) | fp::pick(field == 0, 0u, 1u << 23));
            digits = fp::pick((bits >> 31) != 0, -magnitude, magnitude);
            exponent = static_cast<int32_t>(fp::pick(field == 0, 1u, field)) - 127;
        }
    };

    /// Sums of every step'th product.
    struct Part {
        alignas(64) int32_t total[kColumns];
        alignas(64) int32_t exponent[kColumns];
        [[gnu::always_inline]] void sum(const Digits* row, const Column* columns, unsigned first, unsigned step) {
            constexpr int kShift = kPlaces - static_cast<int>(kA.fraction + kB.fraction);
            for (unsigned j = 0; j < kColumns; ++j) {
                total[j] = 0;
                exponent[j] = std::numeric_limits<int32_t>::min() / 2;
            }
            for (unsigned n = first; n < kProducts; n += step) {
                const Digits a = row[n];
                const Column b = columns[n];
                LYRA_INDEPENDENT_LANES
                for (unsigned j = 0; j < kColumns; ++j) {
                    const bool zero = a.digits == 0 || b.digits[j] == 0;
                    exponent[j] = std::max(exponent[j], zero ? kLeast : a.exponent + b.exponent[j]);
                }
            }
            for (unsigned n = first; n < kProducts; n += step) {
                const Digits a = row[n];
                const Column b = columns[n];
                LYRA_INDEPENDENT_LANES
                for (unsigned j = 0; j < kColumns; ++j)
                    total[j] += cut(a.digits * b.digits[j] * (1 << kShift), exponent[j] - (a.exponent + b.exponent[j]));
            }
        }
    };

    /// value * 2^(last - kPlaces - kMore), exact in double, to f32.
    static float rounded(int64_t value, int32_t last) {
        const auto power = std::bit_cast<double>(static_cast<uint64_t>(last - kPlaces - static_cast<int>(kMore) + 1023) << 52);
        return static_cast<float>(static_cast<double>(value) * power);
    }

    template <SmallFloat kFormat>
    static double value(const Digits& number) {
        if (number.exponent != Digits::kSpecial)
            return std::ldexp(number.digits, number.exponent - static_cast<int>(kFormat.fraction));
        return number.digits == 0 ? NAN : number.digits * INFINITY;
    }
    /// Infinities and NaNs among factors and addend, and products too large for f32, decide. @return 0 when there are none
    [[gnu::noinline]] static float exception(float addend, const Digits* row, const Column* columns, unsigned j) {
        double given = std::isfinite(addend) ? 0.0 : static_cast<double>(addend), large = 0;
        for (unsigned n = 0; n < kProducts; ++n) {
            const double product = value<kA>(row[n]) * value<kB>({columns[n].digits[j], columns[n].exponent[j]});
            if (!std::isfinite(product))
                given += product;
            else if (std::fabs(product) >= 0x1p128)
                large += product < 0 ? -INFINITY : INFINITY;
        }
        return static_cast<float>(given != 0 ? given : large);
    }
};

}  // namespace lyra::gcn
