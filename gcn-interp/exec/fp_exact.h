// SPDX-License-Identifier: MIT
// Numbers without rounding, in integers: what floating-point exceptions an operation raises follows from its exact result.
// Step 6 of the data flow, for waves whose exceptions are tracked. The host's floating point is not used, so neither its flags
// nor its idea of a tiny result matter, nor what the compiler makes of either.
#pragma once

#include <cstdint>

#include "gcn-interp/wave/mode.h"

namespace lyra::gcn {

/// Bits of TRAPSTS.EXCP and of MODE.EXCP_EN that floating point has. @source AMD Vega ISA document, "Trap status register"
namespace excp {
enum : uint32_t {
    kInvalid = 1u << 0,
    kInputDenormal = 1u << 1,
    kDivideByZero = 1u << 2,
    kOverflow = 1u << 3,
    kUnderflow = 1u << 4,
    kInexact = 1u << 5,
    kIntDivideByZero = 1u << 6,
    kFloatingPoint = 0x7f,
};
}  // namespace excp

namespace exact {

using Wide = unsigned __int128;

/// f16, f32 or f64.
struct Layout {
    unsigned bits, fraction;
    int least, most;  ///< exponents of normal numbers
    constexpr uint64_t sign() const { return uint64_t{1} << (bits - 1); }
    constexpr uint64_t magnitude(uint64_t v) const { return v & (sign() - 1); }
    constexpr uint64_t infinity() const { return (sign() - 1) >> fraction << fraction; }
    constexpr unsigned field(uint64_t v) const { return static_cast<unsigned>(magnitude(v) >> fraction); }
    constexpr bool is_denormal(uint64_t v) const { return magnitude(v) != 0 && field(v) == 0; }
    constexpr uint64_t flushed(uint64_t v) const { return field(v) == 0 ? v & sign() : v; }
};
inline constexpr Layout kHalf{16, 10, -14, 15}, kSingle{32, 23, -126, 127}, kDouble{64, 52, -1022, 1023};
constexpr const Layout& layout(unsigned bits) { return bits == 16 ? kHalf : bits == 32 ? kSingle : kDouble; }

/// significand / 2^126 * 2^exponent, where bit 126 is the highest one; a significand of 0 is zero.
struct Number {
    enum class Kind : uint8_t { Finite, Infinite, NotANumber } kind = Kind::Finite;
    bool negative = false;
    bool signaling = false;
    bool more = false;  ///< the true magnitude is a little larger, by less than the last bit
    int exponent = 0;
    Wide significand = 0;

    bool nan() const { return kind == Kind::NotANumber; }
    bool infinite() const { return kind == Kind::Infinite; }
    bool finite() const { return kind == Kind::Finite; }
    bool zero() const { return finite() && significand == 0; }
};

Number decode(const Layout& layout, uint64_t bits);
Number integer(int64_t value);
/// value * 2^exponent
Number scaled_integer(uint64_t value, int exponent);
inline Number one() { return integer(1); }
Number minus(Number x);
Number times_power(Number x, int power);

// Operands have 64 bits at most, and no more than that. Signaling NaNs and undefined results raise the invalid operation.
Number sum(const Number& a, const Number& b, uint32_t& raised);
Number product(const Number& a, const Number& b, uint32_t& raised);
Number quotient(const Number& a, const Number& b, uint32_t& raised);
Number square_root(const Number& a, uint32_t& raised);
Number fused(const Number& a, const Number& b, const Number& c, uint32_t& raised);
/// The whole number next to x in a direction; raises only for signaling NaNs.
Number whole(const Number& x, Round direction, uint32_t& raised);

/// -1, 0, 1; 2 with a NaN.
int compare(const Number& a, const Number& b);

struct Rounding {
    const Layout& to;
    Round direction;
    bool denormals;      ///< else they become zeros, which is an inexact underflow
    bool limit = false;  ///< MODE.FP16_OVFL: the largest number instead of infinity
};
/// Raises inexact, underflow (tiny before rounding, and inexact) and overflow. NaNs become quiet, and raise nothing.
Number rounded(const Rounding& how, const Number& x, uint32_t& raised);

/// Conversion to an integer from low to high: NaN and what does not fit are invalid, else a lost fraction is inexact.
void truncate(const Number& x, int64_t low, int64_t high, uint32_t& raised);

}  // namespace exact
}  // namespace lyra::gcn
