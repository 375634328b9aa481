// SPDX-License-Identifier: MIT
// What exact results raise when they are rounded, against the host's own flags, in every direction.
#include "gcn-interp/exec/fp_exact.h"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

namespace lyra::gcn::exact {
namespace {

enum class Kind { Sum, Product, Quotient, Root, Fused };

template <class F>
struct Host;
template <>
struct Host<float> {
    using Bits = uint32_t;
    static constexpr const Layout& kLayout = kSingle;
};
template <>
struct Host<double> {
    using Bits = uint64_t;
    static constexpr const Layout& kLayout = kDouble;
};

struct Outcome {
    uint32_t raised;
    bool least;  ///< the result is the smallest normal number
};

/// Compilers neither move nor fold what is volatile.
template <class F>
Outcome on_host(Kind kind, int direction, const F* from) {
    volatile F a = from[0], b = from[1], c = from[2], r = 0;
    std::fesetround(direction);
    std::feclearexcept(FE_ALL_EXCEPT);
    switch (kind) {
        case Kind::Sum: r = a + b; break;
        case Kind::Product: r = a * b; break;
        case Kind::Quotient: r = a / b; break;
        case Kind::Root: r = std::sqrt(a); break;
        case Kind::Fused: r = std::fma(a, b, c); break;
    }
    const int flags = std::fetestexcept(FE_ALL_EXCEPT);
    std::fesetround(FE_TONEAREST);
    const auto has = [&](int flag, uint32_t raised) { return (flags & flag) != 0 ? raised : 0u; };
    return {has(FE_INVALID, excp::kInvalid) | has(FE_DIVBYZERO, excp::kDivideByZero) | has(FE_OVERFLOW, excp::kOverflow) |
                has(FE_UNDERFLOW, excp::kUnderflow) | has(FE_INEXACT, excp::kInexact),
            std::fabs(r) == std::numeric_limits<F>::min()};
}

template <class F>
uint32_t exactly(Kind kind, Round direction, const F* from) {
    Number x[3];
    for (unsigned n = 0; n < 3; ++n) x[n] = decode(Host<F>::kLayout, std::bit_cast<typename Host<F>::Bits>(from[n]));
    uint32_t raised = 0;
    Number r;
    switch (kind) {
        case Kind::Sum: r = sum(x[0], x[1], raised); break;
        case Kind::Product: r = product(x[0], x[1], raised); break;
        case Kind::Quotient: r = quotient(x[0], x[1], raised); break;
        case Kind::Root: r = square_root(x[0], raised); break;
        case Kind::Fused: r = fused(x[0], x[1], x[2], raised); break;
    }
    rounded({Host<F>::kLayout, direction, true}, r, raised);
    return raised;
}

/// Corners, near powers of two, and exponents that meet.
template <class F>
F operand(std::mt19937_64& random) {
    using Bits = typename Host<F>::Bits;
    const Layout& layout = Host<F>::kLayout;
    const auto sign = static_cast<Bits>(random() & layout.sign());
    switch (random() % 8) {
        case 0: return std::bit_cast<F>(static_cast<Bits>(sign | random() % 4));
        case 1: return std::bit_cast<F>(static_cast<Bits>(sign | (layout.infinity() - 2 + random() % 4)));
        case 2:
            return std::bit_cast<F>(
                static_cast<Bits>(sign | ((random() % 3) << layout.fraction) | (random() & random() & 0xff)));
        case 3: return std::ldexp(F(1 + random() % 16), static_cast<int>(random() % 60) - 30);
        case 4:
            return std::ldexp(F(1) + std::ldexp(F(random() % 8), -static_cast<int>(layout.fraction)),
                              static_cast<int>(random() % 8) - 4);
        default: return std::bit_cast<F>(static_cast<Bits>(random()));
    }
}

/// The host finds tininess after rounding: where that gives the smallest normal number it is silent.
template <class F>
void compare_with_host() {
    std::mt19937_64 random(4);
    uint32_t seen = 0;
    constexpr int kDirections[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (unsigned n = 0; n < 200'000; ++n) {
        const F from[3] = {operand<F>(random), operand<F>(random), operand<F>(random)};
        const auto kind = static_cast<Kind>(random() % 5);
        const unsigned direction = random() % 4;
        const Outcome host = on_host(kind, kDirections[direction], from);
        uint32_t raised = exactly(kind, static_cast<Round>(direction), from);
        seen |= raised;
        if (host.least && (host.raised & excp::kInexact) != 0) raised &= ~(raised & ~host.raised & excp::kUnderflow);
        ASSERT_EQ(raised, host.raised) << fmt::format("operation {} direction {}: {:a} {:a} {:a}", int(kind), direction,
                                                      from[0], from[1], from[2]);
    }
    EXPECT_EQ(seen, excp::kInvalid | excp::kDivideByZero | excp::kOverflow | excp::kUnderflow | excp::kInexact);
}

TEST(Exact, RaisesWhatTheHostDoesInSingle) { compare_with_host<float>(); }
TEST(Exact, RaisesWhatTheHostDoesInDouble) { compare_with_host<double>(); }

TEST(Exact, TininessIsSeenBeforeRounding) {
    // (1 - 2^-24) * 2^-126 lies below the smallest normal number and is rounded to it.
    uint32_t raised = 0;
    const Number x = scaled_integer((uint64_t{1} << 25) - 1, -126 - 25);
    const Number r = rounded({kSingle, Round::NearestEven, true}, x, raised);
    EXPECT_EQ(r.exponent, -126);
    EXPECT_EQ(raised, excp::kUnderflow | excp::kInexact);
}

}  // namespace
}  // namespace lyra::gcn::exact
