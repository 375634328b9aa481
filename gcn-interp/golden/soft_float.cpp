// SPDX-License-Identifier: MIT
// Exact arithmetic and rounding of the reference model.
#include "gcn-interp/golden/soft_float.h"

#include <algorithm>
#include <bit>

namespace lyra::golden {

// Big -------------------------------------------------------------------------------------------------------------------------

int Big::highest() const {
    for (int w = 3; w >= 0; --w)
        if (word[static_cast<unsigned>(w)] != 0) return 64 * w + 63 - std::countl_zero(word[static_cast<unsigned>(w)]);
    return -1;
}

Big Big::left(unsigned n) const {
    Big r;
    for (unsigned w = n / 64; w < 4; ++w) {
        const unsigned from = w - n / 64;
        r.word[w] = word[from] << (n % 64);
        if (n % 64 != 0 && from > 0) r.word[w] |= word[from - 1] >> (64 - n % 64);
    }
    return r;
}

Big Big::right(unsigned n) const {
    Big r;
    for (unsigned w = 0; w + n / 64 < 4; ++w) {
        const unsigned from = w + n / 64;
        r.word[w] = word[from] >> (n % 64);
        if (n % 64 != 0 && from < 3) r.word[w] |= word[from + 1] << (64 - n % 64);
    }
    return r;
}

bool Big::any_below(unsigned n) const {
    for (unsigned i = 0; i < 4; ++i) {
        if (n >= 64 * (i + 1)) {
            if (word[i] != 0) return true;
        } else if (n > 64 * i) {
            if ((word[i] << (64 - (n - 64 * i))) != 0) return true;
        }
    }
    return false;
}

Big operator+(const Big& a, const Big& b) {
    Big r;
    unsigned __int128 carry = 0;
    for (unsigned w = 0; w < 4; ++w) {
        carry += static_cast<unsigned __int128>(a.word[w]) + b.word[w];
        r.word[w] = static_cast<uint64_t>(carry);
        carry >>= 64;
    }
    return r;
}

Big operator-(const Big& a, const Big& b) {
    Big r;
    uint64_t borrow = 0;
    for (unsigned w = 0; w < 4; ++w) {
        const unsigned __int128 take = static_cast<unsigned __int128>(b.word[w]) + borrow;
        borrow = a.word[w] < take ? 1 : 0;
        r.word[w] = static_cast<uint64_t>(a.word[w] - take);
    }
    return r;
}

bool operator<(const Big& a, const Big& b) {
    for (int w = 3; w >= 0; --w) {
        const auto i = static_cast<unsigned>(w);
        if (a.word[i] != b.word[i]) return a.word[i] < b.word[i];
    }
    return false;
}

namespace {

constexpr unsigned kTop = 250;  // where the highest digit of the larger addend is put: room for a carry above
const Big kOne = Big::of(1);

/// Digits moved so that the highest one is at kTop.
Real normalised(Real x) {
    const int up = static_cast<int>(kTop) - x.digits.highest();
    if (up < 0) {  // a sum that carried
        x.rest = x.rest || x.digits.any_below(static_cast<unsigned>(-up));
        x.digits = x.digits.right(static_cast<unsigned>(-up));
    } else {
        x.digits = x.digits.left(static_cast<unsigned>(up));
    }
    x.exponent -= up;
    return x;
}

/// Make the exponent n (not below x's), keeping what is lost as a rest.
Real with_exponent(Real x, int n) {
    const auto down = static_cast<unsigned>(std::min(n - x.exponent, 256));
    x.rest = x.rest || x.digits.any_below(down);
    x.digits = x.digits.right(down);
    x.exponent = n;
    return x;
}

/// The NaN that two or three operands give, and the flag of signaling ones.
bool propagate(std::initializer_list<const Real*> operands, uint32_t& flags, Real& out) {
    bool found = false;
    for (const Real* x : operands) {
        if (!x->nan()) continue;
        if (x->signaling) flags |= excp::kInvalid;
        if (!found) out = *x;
        found = true;
    }
    out.signaling = false;
    return found;
}

}  // namespace

// Making numbers --------------------------------------------------------------------------------------------------------------

Real real_of(const FloatFormat& f, uint64_t bits) {
    Real r;
    r.negative = is_negative(f, bits);
    const uint64_t fraction = bits & f.fraction_mask(), exponent = exponent_field(f, bits);
    if (exponent == f.exponent_limit()) {
        r.kind = fraction == 0 ? Real::Kind::Infinite : Real::Kind::NotANumber;
        r.signaling = is_signaling(f, bits);
        r.payload = fraction << (64 - f.fraction);
        return r;
    }
    r.digits = Big::of(exponent == 0 ? fraction : fraction | (uint64_t{1} << f.fraction));
    r.exponent = f.least_exponent() + static_cast<int>(exponent == 0 ? 0 : exponent - 1);
    return r;
}

Real real_of_integer(__int128 v) {
    Real r;
    r.negative = v < 0;
    r.digits = Big::of(v < 0 ? -static_cast<unsigned __int128>(v) : static_cast<unsigned __int128>(v));
    return r;
}

Real infinite(bool negative) {
    Real r;
    r.kind = Real::Kind::Infinite;
    r.negative = negative;
    return r;
}

Real invalid(uint32_t& flags) {
    flags |= excp::kInvalid;
    Real r;
    r.kind = Real::Kind::NotANumber;
    r.negative = true;
    r.payload = uint64_t{1} << 63;
    return r;
}

Real negated(Real x) {
    x.negative = !x.negative;
    return x;
}

Real times_power(Real x, int n) {
    x.exponent += n;
    return x;
}

// Arithmetic ------------------------------------------------------------------------------------------------------------------

Real product(const Real& a, const Real& b, uint32_t& flags) {
    Real r;
    if (propagate({&a, &b}, flags, r)) return r;
    if ((a.infinite() && b.zero()) || (a.zero() && b.infinite())) return invalid(flags);
    r.negative = a.negative != b.negative;
    if (a.infinite() || b.infinite()) return infinite(r.negative);
    r.digits = Big::of(static_cast<unsigned __int128>(a.digits.word[0]) * b.digits.word[0]);  // both are unrounded sources
    r.exponent = a.exponent + b.exponent;
    return r;
}

Real sum(const Real& a, const Real& b, Rounding direction, uint32_t& flags) {
    Real r;
    if (propagate({&a, &b}, flags, r)) return r;
    if (a.infinite() && b.infinite() && a.negative != b.negative) return invalid(flags);
    if (a.infinite() || b.infinite()) return infinite(a.infinite() ? a.negative : b.negative);
    if (a.zero() && b.zero()) {
        r.negative = a.negative == b.negative ? a.negative : direction == Rounding::Down;
        return r;
    }
    if (a.zero()) return b;
    if (b.zero()) return a;
    Real large = normalised(a), small = normalised(b);
    if (large.exponent < small.exponent) std::swap(large, small);
    small = with_exponent(small, large.exponent);
    if (large.negative == small.negative) {
        large.digits = large.digits + small.digits;
        large.rest = small.rest;
        return large;
    }
    if (large.digits < small.digits) std::swap(large, small);  // then the exponents were equal, and neither has a rest
    const bool rest = small.rest;
    large.digits = large.digits - small.digits;
    if (rest) large.digits = large.digits - kOne;
    large.rest = rest;
    if (large.digits.zero() && !rest) large.negative = direction == Rounding::Down;
    return large;
}

Real fused(const Real& a, const Real& b, const Real& c, Rounding direction, uint32_t& flags) {
    Real r;
    if (propagate({&a, &b, &c}, flags, r)) {
        if ((a.infinite() && b.zero()) || (a.zero() && b.infinite())) flags |= excp::kInvalid;
        return r;
    }
    return sum(product(a, b, flags), c, direction, flags);
}

Real quotient(const Real& a, const Real& b, uint32_t& flags) {
    Real r;
    if (propagate({&a, &b}, flags, r)) return r;
    if ((a.infinite() && b.infinite()) || (a.zero() && b.zero())) return invalid(flags);
    r.negative = a.negative != b.negative;
    if (a.infinite()) return infinite(r.negative);
    if (b.infinite() || a.zero()) return r;
    if (b.zero()) {
        flags |= excp::kDivideByZero;
        return infinite(r.negative);
    }
    // School division: 66 digits of a quotient whose divisor has its highest one at bit 63.
    const int up_a = 63 - a.digits.highest(), up_b = 63 - b.digits.highest();
    unsigned __int128 remainder = a.digits.word[0] << up_a;
    const unsigned __int128 divisor = b.digits.word[0] << up_b;
    unsigned __int128 digits = 0;
    constexpr int kDigits = 66;
    for (int i = 0; i < kDigits; ++i) {
        digits <<= 1;
        if (remainder >= divisor) {
            remainder -= divisor;
            digits |= 1;
        }
        remainder <<= 1;
    }
    r.digits = Big::of(digits);
    r.rest = remainder != 0;
    r.exponent = (a.exponent - up_a) - (b.exponent - up_b) - (kDigits - 1);
    return r;
}

Real square_root(const Real& a, uint32_t& flags) {
    Real r;
    if (propagate({&a}, flags, r)) return r;
    if (a.zero()) return a;
    if (a.negative) return invalid(flags);
    if (a.infinite()) return a;
    // One digit at a time, from a radicand below 2^128 with an even exponent.
    int up = 126 - a.digits.highest();
    if (((a.exponent - up) & 1) != 0) --up;
    const Big radicand = a.digits.left(static_cast<unsigned>(up));
    Big root, rest_of = radicand;
    for (int i = 63; i >= 0; --i) {
        const auto n = static_cast<unsigned>(i);
        const Big step = root.left(n + 1) + kOne.left(2 * n);  // (root + 2^n)^2 - root^2
        if (rest_of < step) continue;
        rest_of = rest_of - step;
        root = root + kOne.left(n);
    }
    r.digits = root;
    r.rest = !rest_of.zero();
    r.exponent = (a.exponent - up) / 2;
    return r;
}

Real whole(const Real& x, Rounding direction, uint32_t& flags) {
    Real r = x;
    if (propagate({&x}, flags, r)) return r;
    r = x;
    if (x.infinite() || x.zero() || x.exponent >= 0) return r;
    r = with_exponent(x, 0);
    const Real lost = x;
    const auto down = static_cast<unsigned>(std::min(-x.exponent, 256));
    const bool half = down <= 255 && lost.digits.bit(down - 1), more = lost.digits.any_below(down - 1);
    bool away = false;
    switch (direction) {
        case Rounding::NearestEven: away = half && (more || r.digits.bit(0)); break;
        case Rounding::Up: away = !x.negative && (half || more); break;
        case Rounding::Down: away = x.negative && (half || more); break;
        case Rounding::Zero: break;
    }
    if (away) r.digits = r.digits + kOne;
    r.rest = false;
    return r;
}

int compare(const Real& a, const Real& b) {
    if (a.nan() || b.nan()) return 2;
    uint32_t ignored = 0;
    if (a.infinite() && b.infinite()) return a.negative == b.negative ? 0 : a.negative ? -1 : 1;
    const Real difference = sum(a, negated(b), Rounding::NearestEven, ignored);
    return difference.zero() ? 0 : difference.negative ? -1 : 1;
}

// Rounding --------------------------------------------------------------------------------------------------------------------

uint64_t round_to(const Target& target, const Real& x, uint32_t& flags) {
    const FloatFormat& f = target.format;
    const uint64_t sign = x.negative ? f.sign_bit() : 0;
    if (x.nan()) return sign | f.infinity() | f.quiet_bit() | (x.payload >> (64 - f.fraction));
    if (x.infinite()) return sign | f.infinity();
    if (x.zero()) return sign;

    const Real n = normalised(x);
    // The exponent that the last kept digit gets: of a full fraction, but not below a denormal's.
    const int full = n.exponent + static_cast<int>(kTop) - static_cast<int>(f.fraction);
    const int last = std::max(full, f.least_exponent());
    const bool tiny = full < f.least_exponent();
    const auto drop = static_cast<unsigned>(std::min(last - n.exponent, 256));
    Big kept = n.digits.right(drop);
    const bool half = drop >= 1 && drop <= 256 && n.digits.bit(drop - 1);
    const bool more = n.rest || n.digits.any_below(drop - 1);
    bool away = false;
    switch (target.direction) {
        case Rounding::NearestEven: away = half && (more || kept.bit(0)); break;
        case Rounding::Up: away = !x.negative && (half || more); break;
        case Rounding::Down: away = x.negative && (half || more); break;
        case Rounding::Zero: break;
    }
    if (away) kept = kept + kOne;
    if (half || more) flags |= excp::kInexact | (tiny ? excp::kUnderflow : 0u);

    uint64_t digits = kept.word[0];
    int exponent = last;
    if (digits >> (f.fraction + 1) != 0) {
        digits >>= 1;
        ++exponent;
    }
    if (digits >> f.fraction == 0) {
        if (target.denormals || digits == 0) return sign | digits;
        flags |= excp::kInexact | excp::kUnderflow;
        return sign;
    }
    const uint64_t field = static_cast<uint64_t>(exponent - f.least_exponent() + 1);
    if (exponent - f.least_exponent() + 1 < static_cast<int>(f.exponent_limit())) {
        return sign | (field << f.fraction) | (digits & f.fraction_mask());
    }
    flags |= excp::kOverflow | excp::kInexact;
    const bool to_largest = target.limit_overflow || target.direction == Rounding::Zero ||
                            (target.direction == Rounding::Up && x.negative) ||
                            (target.direction == Rounding::Down && !x.negative);
    return sign | (to_largest ? f.largest() : f.infinity());
}

__int128 to_integer(const Real& x, __int128 low, __int128 high, uint32_t& flags) {
    if (x.nan()) {
        flags |= excp::kInvalid;
        return 0;
    }
    const Real t = x.infinite() ? x : whole(x, Rounding::Zero, flags);
    const bool huge = x.infinite() || (!t.zero() && t.exponent + t.digits.highest() > 100);
    if (huge) {
        flags |= excp::kInvalid;
        return x.negative ? low : high;
    }
    const Big moved = t.exponent > 0 ? t.digits.left(static_cast<unsigned>(t.exponent)) : t.digits;
    const auto size = static_cast<__int128>((static_cast<unsigned __int128>(moved.word[1]) << 64) | moved.word[0]);
    const __int128 value = x.negative ? -size : size;
    if (value < low || value > high) {
        flags |= excp::kInvalid;
        return value < low ? low : high;
    }
    if (compare(t, x) != 0) flags |= excp::kInexact;
    return value;
}

}  // namespace lyra::golden
