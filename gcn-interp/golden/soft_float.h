// SPDX-License-Identifier: MIT
// Floating point from its definition, for the reference model: exact numbers as integers times powers of two, and one function
// that rounds them. Nothing here uses the host's floating point, and nothing is shared with the lane functions it judges.
#pragma once

#include <array>
#include <cstdint>

namespace lyra::golden {

/// Bits of TRAPSTS.EXCP, in its order. @source AMD Vega ISA document, "Trap status register"
namespace excp {
enum Excp : uint32_t {
    kInvalid = 1 << 0,
    kInputDenormal = 1 << 1,  ///< a source is denormal and MODE lets it be
    kDivideByZero = 1 << 2,   ///< an infinite result of finite sources, exactly
    kOverflow = 1 << 3,
    kUnderflow = 1 << 4,  ///< tiny before rounding, and inexact or flushed
    kInexact = 1 << 5,
    kIntDivideByZero = 1 << 6,  ///< v_rcp_iflag of zero
};
}  // namespace excp

/// Directions as MODE encodes them.
enum class Rounding : uint8_t { NearestEven, Up, Down, Zero };

struct FloatFormat {
    unsigned width, fraction;  ///< bits in all, and of the fraction field
    constexpr int bias() const { return (1 << (width - fraction - 2)) - 1; }
    constexpr uint64_t sign_bit() const { return uint64_t{1} << (width - 1); }
    constexpr uint64_t all_bits() const { return width == 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1; }
    constexpr uint64_t fraction_mask() const { return (uint64_t{1} << fraction) - 1; }
    constexpr unsigned exponent_limit() const { return 2 * static_cast<unsigned>(bias()) + 1; }  ///< field of infinity and NaN
    constexpr uint64_t infinity() const { return uint64_t{exponent_limit()} << fraction; }
    constexpr uint64_t largest() const { return infinity() - 1; }
    constexpr uint64_t quiet_bit() const { return uint64_t{1} << (fraction - 1); }
    /// What invalid operations give. @source AMD Vega ISA document, V_DIV_FIXUP_F32: 0xffc00000
    constexpr uint64_t invalid_nan() const { return sign_bit() | infinity() | quiet_bit(); }
    constexpr int least_exponent() const { return 1 - bias() - static_cast<int>(fraction); }  ///< of a denormal's last bit
    constexpr bool operator==(const FloatFormat&) const = default;
};
inline constexpr FloatFormat kF16{16, 10}, kBf16{16, 7}, kF32{32, 23}, kF64{64, 52};

// Bits of one format ----------------------------------------------------------------------------------------------------------

constexpr uint64_t exponent_field(const FloatFormat& f, uint64_t bits) {
    return (bits & ~f.sign_bit() & f.all_bits()) >> f.fraction;
}
constexpr bool is_negative(const FloatFormat& f, uint64_t bits) { return (bits & f.sign_bit()) != 0; }
constexpr uint64_t magnitude(const FloatFormat& f, uint64_t bits) { return bits & f.all_bits() & ~f.sign_bit(); }
constexpr bool is_nan(const FloatFormat& f, uint64_t bits) { return magnitude(f, bits) > f.infinity(); }
constexpr bool is_signaling(const FloatFormat& f, uint64_t bits) { return is_nan(f, bits) && (bits & f.quiet_bit()) == 0; }
constexpr bool is_infinite(const FloatFormat& f, uint64_t bits) { return magnitude(f, bits) == f.infinity(); }
constexpr bool is_zero(const FloatFormat& f, uint64_t bits) { return magnitude(f, bits) == 0; }
constexpr bool is_denormal(const FloatFormat& f, uint64_t bits) { return exponent_field(f, bits) == 0 && !is_zero(f, bits); }
/// A denormal becomes the zero of its sign.
constexpr uint64_t flushed(const FloatFormat& f, uint64_t bits) { return is_denormal(f, bits) ? bits & f.sign_bit() : bits; }

// Exact numbers ---------------------------------------------------------------------------------------------------------------

/// 256 bits, least significant word first.
struct Big {
    std::array<uint64_t, 4> word{};
    bool zero() const { return (word[0] | word[1] | word[2] | word[3]) == 0; }
    bool bit(unsigned n) const { return (word[n / 64] >> (n % 64)) & 1; }
    int highest() const;  ///< position of the highest one, -1 for zero
    Big left(unsigned n) const;
    Big right(unsigned n) const;
    bool any_below(unsigned n) const;  ///< a one in the bits below position n
    static Big of(unsigned __int128 v) { return {{static_cast<uint64_t>(v), static_cast<uint64_t>(v >> 64), 0, 0}}; }
};
Big operator+(const Big& a, const Big& b);
Big operator-(const Big& a, const Big& b);
bool operator<(const Big& a, const Big& b);

/// A number: sign * digits * 2^exponent, a little more in magnitude when there is a rest; or infinite; or not a number.
struct Real {
    enum class Kind : uint8_t { Number, Infinite, NotANumber } kind = Kind::Number;
    bool negative = false;
    bool signaling = false;
    bool rest = false;  ///< the true magnitude lies above digits and below digits + 1
    int exponent = 0;
    Big digits{};  ///< zero: a zero with a sign
    uint64_t payload = 0;  ///< NaN: fraction field, its highest bit at bit 63

    bool nan() const { return kind == Kind::NotANumber; }
    bool infinite() const { return kind == Kind::Infinite; }
    bool zero() const { return kind == Kind::Number && digits.zero() && !rest; }
};

Real real_of(const FloatFormat& f, uint64_t bits);
Real real_of_integer(__int128 v);
Real infinite(bool negative);
/// The NaN of an invalid operation; raises the flag.
Real invalid(uint32_t& flags);

/// x with a sign; x * 2^n.
Real negated(Real x);
Real times_power(Real x, int n);

// Exact, or with a rest. Signaling NaNs raise invalid; the first NaN in operand order is the result.
Real product(const Real& a, const Real& b, uint32_t& flags);
/// direction decides the sign of an exact zero.
Real sum(const Real& a, const Real& b, Rounding direction, uint32_t& flags);
Real quotient(const Real& a, const Real& b, uint32_t& flags);
Real square_root(const Real& a, uint32_t& flags);
/// a * b + c.
Real fused(const Real& a, const Real& b, const Real& c, Rounding direction, uint32_t& flags);
/// Whole number in a direction; zeros keep the sign of x.
Real whole(const Real& x, Rounding direction, uint32_t& flags);

/// -1, 0, 1 as a is less than, equal to, greater than b; 2 when one is a NaN. Exact numbers only.
int compare(const Real& a, const Real& b);

/// How results of one format come about.
struct Target {
    FloatFormat format;
    Rounding direction = Rounding::NearestEven;
    bool denormals = true;  ///< else they become zeros
    bool limit_overflow = false;  ///< MODE.FP16_OVFL: finite numbers do not become infinite
};

/// THE rounding: bits of the format. NaNs are made quiet and cut to the format.
uint64_t round_to(const Target& target, const Real& x, uint32_t& flags);

/// Truncated towards zero and limited to [low, high]; NaN gives 0. Out of range and NaN raise invalid, a lost rest inexact.
__int128 to_integer(const Real& x, __int128 low, __int128 high, uint32_t& flags);

}  // namespace lyra::golden
