// SPDX-License-Identifier: MIT
// Numbers without rounding, in integers; step 6 of the data flow.
// @source IEEE 754-2008, chapters 5 to 7
#include "gcn-interp/exec/fp_exact.h"

#include <bit>
#include <utility>

namespace lyra::gcn::exact {
namespace {

constexpr int kTop = 126;      ///< highest bit of a significand: a sum of two has room
constexpr unsigned kLow = 63;  ///< bits below those of an operand

int highest(Wide v) {
    const auto high = static_cast<uint64_t>(v >> 64), low = static_cast<uint64_t>(v);
    return high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(low);
}

/// value * 2^exponent. @param more  see Number; only with a value that has its highest bit at kTop or above
Number normal(bool negative, Wide value, int exponent, bool more = false) {
    Number r;
    r.negative = negative;
    r.more = more;
    if (value == 0) return r;
    const int top = highest(value);
    if (top > kTop) {
        r.more = r.more || (value & 1) != 0;
        value >>= 1;
    } else {
        value <<= kTop - top;
    }
    r.significand = value;
    r.exponent = exponent + top;
    return r;
}

Number infinity(bool negative) {
    Number r;
    r.kind = Number::Kind::Infinite;
    r.negative = negative;
    return r;
}
Number quiet_nan() {
    Number r;
    r.kind = Number::Kind::NotANumber;
    return r;
}
Number undefined(uint32_t& raised) {
    raised |= excp::kInvalid;
    return quiet_nan();
}
void note_signaling(const Number& x, uint32_t& raised) {
    if (x.signaling) raised |= excp::kInvalid;
}

/// Bits that rounding keeps, and whether they go up by one.
bool rounds_away(Round direction, bool negative, bool odd, bool half, bool more) {
    switch (direction) {
        case Round::NearestEven: return half && (more || odd);
        case Round::Up: return !negative && (half || more);
        case Round::Down: return negative && (half || more);
        case Round::Zero: return false;
    }
    return false;
}

struct Cut {
    Wide kept;
    bool half, more;
};
/// Without the lowest `drop` bits.
Cut cut(const Number& x, int drop) {
    if (drop <= 0) return {x.significand, false, x.more};
    if (drop > kTop + 1) return {0, false, x.significand != 0};
    const Wide half = Wide{1} << (drop - 1);
    return {x.significand >> drop, (x.significand & half) != 0, x.more || (x.significand & (half - 1)) != 0};
}

}  // namespace

Number decode(const Layout& layout, uint64_t bits) {
    const bool negative = (bits & layout.sign()) != 0;
    const uint64_t fraction = bits & ((uint64_t{1} << layout.fraction) - 1);
    const unsigned field = layout.field(bits);
    if (field == layout.infinity() >> layout.fraction) {
        if (fraction == 0) return infinity(negative);
        Number r = quiet_nan();
        r.signaling = fraction >> (layout.fraction - 1) == 0;
        return r;
    }
    const int last = layout.least - static_cast<int>(layout.fraction);
    if (field == 0) return normal(negative, fraction, last);
    return normal(negative, fraction | uint64_t{1} << layout.fraction, last + static_cast<int>(field) - 1);
}

Number integer(int64_t value) {
    return normal(value < 0, value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value), 0);
}
Number scaled_integer(uint64_t value, int exponent) { return normal(false, value, exponent); }

Number minus(Number x) {
    x.negative = !x.negative;
    return x;
}
Number times_power(Number x, int power) {
    x.exponent += power;
    return x;
}

Number sum(const Number& a, const Number& b, uint32_t& raised) {
    note_signaling(a, raised);
    note_signaling(b, raised);
    if (a.nan() || b.nan()) return quiet_nan();
    if (a.infinite() && b.infinite() && a.negative != b.negative) return undefined(raised);
    if (a.infinite() || b.zero()) return a;
    if (b.infinite() || a.zero()) return b;
    Number large = a, small = b;
    if (small.exponent > large.exponent || (small.exponent == large.exponent && small.significand > large.significand))
        std::swap(large, small);
    const int apart = large.exponent - small.exponent;
    const Wide moved = apart > kTop ? 0 : small.significand >> apart;
    const bool lost = apart > kTop || moved << apart != small.significand;
    const int last = large.exponent - kTop;
    if (large.negative == small.negative) return normal(large.negative, large.significand + moved, last, lost);
    return normal(large.negative, large.significand - moved - (lost ? 1 : 0), last, lost);
}

Number product(const Number& a, const Number& b, uint32_t& raised) {
    note_signaling(a, raised);
    note_signaling(b, raised);
    if (a.nan() || b.nan()) return quiet_nan();
    if ((a.infinite() && b.zero()) || (a.zero() && b.infinite())) return undefined(raised);
    const bool negative = a.negative != b.negative;
    if (a.infinite() || b.infinite()) return infinity(negative);
    return normal(negative, (a.significand >> kLow) * (b.significand >> kLow), a.exponent + b.exponent - kTop);
}

Number fused(const Number& a, const Number& b, const Number& c, uint32_t& raised) {
    note_signaling(c, raised);
    const Number p = product(a, b, raised);
    return sum(p, c, raised);
}

Number quotient(const Number& a, const Number& b, uint32_t& raised) {
    note_signaling(a, raised);
    note_signaling(b, raised);
    if (a.nan() || b.nan()) return quiet_nan();
    if ((a.infinite() && b.infinite()) || (a.zero() && b.zero())) return undefined(raised);
    const bool negative = a.negative != b.negative;
    if (a.infinite()) return infinity(negative);
    if (b.infinite() || a.zero()) return normal(negative, 0, 0);
    if (b.zero()) {
        raised |= excp::kDivideByZero;
        return infinity(negative);
    }
    // At least 63 bits of it, more than any format keeps; where they are moved up, a rest is still below the last one that
    // counts.
    const Wide divisor = b.significand >> kLow, q = a.significand / divisor;
    return normal(negative, q, a.exponent - b.exponent - static_cast<int>(kLow), q * divisor != a.significand);
}

Number square_root(const Number& a, uint32_t& raised) {
    note_signaling(a, raised);
    if (a.nan() || a.zero()) return a;
    if (a.negative) return undefined(raised);
    if (a.infinite()) return a;
    const bool odd = (a.exponent & 1) != 0;
    const Wide radicand = a.significand << (odd ? 1 : 0);
    Wide root = 0;
    for (Wide step = Wide{1} << kLow; step != 0; step >>= 1) {
        if ((root | step) * (root | step) <= radicand) root |= step;
    }
    return normal(false, root, (a.exponent - (odd ? 1 : 0)) / 2 - static_cast<int>(kLow), root * root != radicand);
}

Number whole(const Number& x, Round direction, uint32_t& raised) {
    note_signaling(x, raised);
    if (!x.finite() || x.zero() || x.exponent >= kTop) return x;
    const Cut c = cut(x, kTop - x.exponent);
    const bool away = rounds_away(direction, x.negative, (c.kept & 1) != 0, c.half, c.more);
    return normal(x.negative, c.kept + (away ? 1 : 0), 0);
}

int compare(const Number& a, const Number& b) {
    if (a.nan() || b.nan()) return 2;
    if (a.infinite() && b.infinite()) return a.negative == b.negative ? 0 : a.negative ? -1 : 1;
    uint32_t none = 0;
    const Number difference = sum(a, minus(b), none);
    return difference.zero() ? 0 : difference.negative ? -1 : 1;
}

Number rounded(const Rounding& how, const Number& x, uint32_t& raised) {
    if (x.nan()) return quiet_nan();
    if (x.infinite() || x.zero()) return x;
    const int digits = static_cast<int>(how.to.fraction) + 1;
    const bool tiny = x.exponent < how.to.least;
    const int drop = kTop + 1 - digits + (tiny ? how.to.least - x.exponent : 0);
    const Cut c = cut(x, drop);
    const bool away = rounds_away(how.direction, x.negative, (c.kept & 1) != 0, c.half, c.more);
    if (c.half || c.more) raised |= excp::kInexact | (tiny ? uint32_t{excp::kUnderflow} : 0u);
    const Number r = normal(x.negative, c.kept + (away ? 1 : 0), x.exponent - kTop + drop);
    if (r.zero()) return r;
    if (r.exponent < how.to.least && !how.denormals) {
        raised |= excp::kInexact | excp::kUnderflow;
        return normal(x.negative, 0, 0);
    }
    if (r.exponent <= how.to.most) return r;
    raised |= excp::kInexact | excp::kOverflow;
    const bool to_largest =
        how.limit || how.direction == Round::Zero || how.direction == (x.negative ? Round::Up : Round::Down);
    if (!to_largest) return infinity(x.negative);
    return normal(x.negative, (uint64_t{1} << digits) - 1, how.to.most - digits + 1);
}

void truncate(const Number& x, int64_t low, int64_t high, uint32_t& raised) {
    if (!x.finite()) {
        raised |= excp::kInvalid;
        return;
    }
    uint32_t none = 0;
    const Number t = whole(x, Round::Zero, none);
    if (compare(t, integer(low)) == -1 || compare(t, integer(high)) == 1) {
        raised |= excp::kInvalid;
    } else if (compare(t, x) != 0) {
        raised |= excp::kInexact;
    }
}

}  // namespace lyra::gcn::exact
