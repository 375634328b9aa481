// SPDX-License-Identifier: MIT
// Reference model of the sums of matrix instructions of gfx942, on doubles: each number is a significand below 2 and an
// exponent.
// @source microsoft/MMA-Sim, the CDNA3 models; docs/design/decisions.md for zeros, products too large for f32 and NaNs
#include "gcn-interp/golden/truncated_model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

namespace lyra::golden {
namespace {

constexpr int kZeroExponent = -126;

/// A format: bits of its fraction, its exponent of 1, whether all ones are an exponent as others are.
struct Format {
    int fraction, width, bias;
    bool finite;
};
Format format_of(std::string_view type) {
    if (type == "f16") return {10, 16, 15, false};
    if (type == "bf16") return {7, 16, 127, false};
    if (type == "fp8") return {3, 8, 8, true};
    if (type == "bf8") return {2, 8, 16, true};
    return {23, 32, 127, false};
}

double value_of(const Format& f, uint64_t bits) {
    const int exponents = 1 << (f.width - 1 - f.fraction);
    const int exponent = static_cast<int>(bits >> f.fraction) & (exponents - 1);
    const auto digits = static_cast<double>(bits & ((uint64_t{1} << f.fraction) - 1));
    const double sign = (bits >> (f.width - 1)) != 0 ? -1 : 1;
    if (f.finite && digits == 0 && exponent == 0 && sign < 0) return NAN;
    if (!f.finite && exponent == exponents - 1) return digits != 0 ? NAN : sign * INFINITY;
    return sign * std::ldexp(exponent == 0 ? digits : digits + std::ldexp(1.0, f.fraction),
                             std::max(exponent, 1) - f.bias - f.fraction);
}

struct Apart {
    double significand;
    int exponent;
};
Apart apart(double value, int least) {
    if (value == 0) return {0, kZeroExponent};
    Apart r{};
    r.significand = 2 * std::frexp(value, &r.exponent);
    --r.exponent;
    if (r.exponent >= least) return r;
    return {std::ldexp(r.significand, r.exponent - least), least};
}

/// With so many binary digits behind the point left.
double cut(double x, int digits) { return std::ldexp(std::trunc(std::ldexp(x, digits)), -digits); }
double floored(double x, int digits) { return std::ldexp(std::floor(std::ldexp(x, digits)), -digits); }

/// Products, and the exponent that they have in common.
Apart aligned_sum(const std::vector<Apart>& terms) {
    Apart total{0, terms.front().exponent};
    for (const Apart& term : terms) total.exponent = std::max(total.exponent, term.exponent);
    for (const Apart& term : terms) total.significand += cut(std::ldexp(term.significand, term.exponent - total.exponent), 24);
    return total;
}

float sum_of_group(const std::vector<Apart>& products, bool halves, float c) {
    const Apart addend = apart(static_cast<double>(c), -126);
    if (!halves) {
        const Apart all = aligned_sum(products);
        const int top = std::max(all.exponent, addend.exponent);
        const double total = floored(std::ldexp(all.significand, all.exponent - top), 31) +
                             floored(std::ldexp(addend.significand, addend.exponent - top), 24);
        return static_cast<float>(std::ldexp(total, top));
    }
    std::vector<Apart> even, odd;
    for (size_t n = 0; n < products.size(); ++n) (n % 2 == 0 ? even : odd).push_back(products[n]);
    const Apart first = aligned_sum(even), second = aligned_sum(odd);
    const int both = std::max(first.exponent, second.exponent);
    const double products_sum = cut(std::ldexp(first.significand, first.exponent - both), 24) +
                                cut(std::ldexp(second.significand, second.exponent - both), 24);
    const int top = std::max(both, addend.exponent);
    const double total =
        cut(std::ldexp(products_sum, both - top), 31) + cut(std::ldexp(addend.significand, addend.exponent - top), 24);
    return static_cast<float>(std::ldexp(total, top));
}

}  // namespace

uint32_t truncated_dot(std::string_view a_type, const std::vector<uint64_t>& a, std::string_view b_type,
                       const std::vector<uint64_t>& b, uint32_t c) {
    const Format fa = format_of(a_type), fb = format_of(b_type);
    const bool halves = fa.width == 8, cuts = a_type == "xf32";
    const size_t group = std::min<size_t>(a.size(), halves ? 16 : cuts ? 4 : 8);
    const uint64_t kept = cuts ? ~uint64_t{0x1fff} : ~uint64_t{0};  // TF32 has ten digits behind the point
    auto sum = std::bit_cast<float>(c);
    for (size_t k = 0; k < a.size(); k += group) {
        std::vector<Apart> products;
        double given = std::isfinite(sum) ? 0 : static_cast<double>(sum), large = 0;
        for (size_t n = k; n < k + group; ++n) {
            const double x = value_of(fa, a[n] & kept), y = value_of(fb, b[n] & kept);
            const double product = x * y;
            if (!std::isfinite(product)) given += product;
            if (std::isfinite(product) && std::fabs(product) >= std::ldexp(1.0, 128))
                large += product < 0 ? -INFINITY : INFINITY;
            const Apart p = apart(x, 1 - fa.bias), q = apart(y, 1 - fb.bias);
            products.push_back(product == 0 ? Apart{0, kZeroExponent}
                                            : Apart{p.significand * q.significand, p.exponent + q.exponent});
        }
        if (given == 0 && large == 0) {
            sum = sum_of_group(products, halves, sum);
            continue;
        }
        const double special = given != 0 ? given : large;
        sum = std::isnan(special) ? std::bit_cast<float>(0x7fffffffu) : static_cast<float>(special);
    }
    return std::bit_cast<uint32_t>(sum);
}

}  // namespace lyra::golden
