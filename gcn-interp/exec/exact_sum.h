// SPDX-License-Identifier: MIT
// Sums of products of floats, exact until they are rounded once.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace lyra::gcn {

/// A float plus products of floats of up to 12 digits, rounded to the nearest float, of two that are equally near to the even
/// one. Zero has no sign. A fixed-point number in two's complement, wide enough for every finite product: 2^-300 is its last
/// place. Infinities and NaNs give what floats would give one after the other, all NaNs the one whose bits are all set but the
/// sign.
/// @source microsoft/MMA-Sim, e_fdpa() (one rounding, zero), sig_exp_to_fp() (NaN)
class ExactSum {
public:
    explicit ExactSum(float first) {
        if (std::isfinite(first)) {
            add_scaled(first);
        } else {
            special_ = first;
        }
    }

    void add(float a, float b) {
        const double product = double{a} * b;  // exact
        if (std::isfinite(product)) {
            add_scaled(product);
        } else {
            special_ += static_cast<float>(product);
        }
    }

    float rounded() const {
        if (std::isnan(special_)) return std::bit_cast<float>(0x7fffffffu);
        if (special_ != 0) return special_;
        Words words = words_;
        const bool negative = (words.back() >> 63) != 0;
        if (negative) negate(words);
        size_t top = words.size();
        while (top > 0 && words[top - 1] == 0) --top;
        if (top == 0) return 0;
        const int highest = static_cast<int>(64 * (top - 1)) + std::bit_width(words[top - 1]) - 1;
        // Denormals have their last place at 2^-149.
        const int last = std::max(highest - (std::numeric_limits<float>::digits - 1), kPlaces - 149);
        uint64_t digits = bits_from(words, last);
        const bool half = bit_at(words, last - 1), more = any_below(words, last - 1);
        digits += half && (more || (digits & 1) != 0);
        const float magnitude = std::ldexp(static_cast<float>(digits), last - kPlaces);
        return negative ? -magnitude : magnitude;
    }

private:
    static constexpr int kPlaces = 300;  ///< behind the point
    using Words = std::array<uint64_t, 10>;

    /// A number whose last place is not below 2^-300.
    void add_scaled(double value) {
        if (value == 0) return;
        int exponent = 0;
        const double fraction = std::frexp(std::fabs(value), &exponent);
        auto digits = static_cast<uint64_t>(std::ldexp(fraction, 53));
        int place = exponent - 53 + kPlaces;
        if (place < 0) {
            digits >>= -place;
            place = 0;
        }
        Words term{};
        const unsigned word = static_cast<unsigned>(place) / 64, shift = static_cast<unsigned>(place) % 64;
        term[word] = digits << shift;
        if (shift != 0) term[word + 1] = digits >> (64 - shift);
        if (value < 0) negate(term);
        uint64_t carry = 0;
        for (size_t n = 0; n < words_.size(); ++n) {
            const uint64_t sum = words_[n] + term[n], out = sum < term[n];
            words_[n] = sum + carry;
            carry = out | (words_[n] < carry);
        }
    }
    static void negate(Words& words) {
        uint64_t carry = 1;
        for (uint64_t& word : words) {
            word = ~word + carry;
            carry = carry != 0 && word == 0;
        }
    }
    static bool bit_at(const Words& words, int place) {
        return place >= 0 && (words[static_cast<size_t>(place) / 64] >> (place % 64) & 1) != 0;
    }
    static bool any_below(const Words& words, int place) {
        for (int n = 0; n < place; ++n)
            if (bit_at(words, n)) return true;
        return false;
    }
    /// The 24 bits from a place on.
    static uint64_t bits_from(const Words& words, int place) {
        uint64_t bits = 0;
        for (int n = 0; n < std::numeric_limits<float>::digits; ++n) bits |= uint64_t{bit_at(words, place + n)} << n;
        return bits;
    }

    Words words_{};
    float special_ = 0;  ///< sum of infinities and NaNs
};

}  // namespace lyra::gcn
