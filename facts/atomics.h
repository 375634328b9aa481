// SPDX-License-Identifier: MIT
// Read-modify-write operations, one row each (facts/atomics.def).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "common/bits.h"

namespace lyra::atomics {

enum class AtomicOp : uint8_t {
#define ATOMIC(name, ...) name,
#include "facts/atomics.def"
#undef ATOMIC
};

/// What instructions call an operation; "" where they have none.
struct Names {
    AtomicOp op;
    std::string_view memory, ds;
    char ds_type;  ///< 'u', 'i', 'f' or 'b'
};
inline constexpr Names kNames[] = {
#define ATOMIC(name, memory, ds, type, value) {AtomicOp::name, memory, ds, type},
#include "facts/atomics.def"
#undef ATOMIC
};

/// Which f32 denormals a sum lets be.
struct Denormals {
    bool in = true, out = true;
};

template <class T>
constexpr std::make_signed_t<T> as_signed(T value) {
    return static_cast<std::make_signed_t<T>>(value);
}
template <class T>
constexpr auto as_float(T value) {
    return std::bit_cast<std::conditional_t<sizeof(T) == 4, float, double>>(value);
}

/// f32 denormals become zero of their sign when they may not be. f64 is never flushed.
inline float flush(float value, bool kept) {
    return !kept && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
inline double flush(double value, bool) { return value; }

/// Of two NaNs the one in memory, made quiet. @source docs/spec/isa.md 3.7
template <class T>
T sum(T old, T data, Denormals denormals) {
    constexpr T kQuiet = T{1} << (sizeof(T) == 4 ? 22 : 51);
    if (std::isnan(as_float(old))) return old | kQuiet;
    const auto exact = flush(as_float(old), denormals.in) + flush(as_float(data), denormals.in);
    return std::bit_cast<T>(flush(exact, denormals.out));
}

/// f16 to f32, exact; signaling NaNs stay signaling.
inline float widened(uint32_t half) {
    const uint32_t magnitude = half & 0x7fff;
    const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude << 13) * 0x1p112f);
    return std::bit_cast<float>((magnitude >= 0x7c00 ? magnitude << 13 | 0x7f800000 : finite) | (half & 0x8000) << 16);
}
/// To nearest even, denormals kept.
inline uint32_t narrowed(float value) {
    const uint32_t bits = std::bit_cast<uint32_t>(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return sign | 0x7e00 | (magnitude >> 13 & 0x1ff);
    if (magnitude >= 0x477ff000) return sign | 0x7c00;
    if (magnitude < 0x38800000)  // counts units of 2^-24, as the last bit of a float near 0.5 does
        return sign | (std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f));
    return sign | (((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13) - (112u << 10));
}
/// f16 sums of both halves: f32 has digits enough for the sum to be rounded once. Denormals are kept.
/// @source LLVM 19 SIISelLowering.cpp fpModeMatchesGlobalFPAtomicMode()
template <class T>
T sum_of_halves(T old, T data) {
    const auto half = [&](unsigned shift) -> uint32_t {
        const uint32_t a = static_cast<uint32_t>(old >> shift) & 0xffff, b = static_cast<uint32_t>(data >> shift) & 0xffff;
        return (a & 0x7fff) > 0x7c00 ? a | 0x200 : narrowed(widened(a) + widened(b));
    };
    return half(0) | half(16) << 16;
}

/// The same of bf16, whose digits f32 has more than twice. @source the same
template <class T>
T sum_of_bf16(T old, T data) {
    const auto half = [&](unsigned shift) -> uint32_t {
        const uint32_t a = static_cast<uint32_t>(old >> shift) & 0xffff, b = static_cast<uint32_t>(data >> shift) & 0xffff;
        if ((a & 0x7fff) > 0x7f80) return a | 0x40;
        const auto bits = std::bit_cast<uint32_t>(std::bit_cast<float>(a << 16) + std::bit_cast<float>(b << 16));
        if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
        return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    };
    return half(0) | half(16) << 16;
}

/// Each half is replaced when its top bit asks for it.
template <class T>
constexpr uint64_t replaced_halves(T old, T data) {
    const auto half = [](uint32_t was, uint32_t wish) { return wish >> 31 ? wish & 0x7fffffff : was; };
    return make64(half(lo32(old), lo32(data)), half(hi32(old), hi32(data)));
}

/// Value that memory holds afterwards. @param denormals  of DS sums
template <AtomicOp kOp, class T>
T next(T old, T data, [[maybe_unused]] T other, [[maybe_unused]] Denormals denormals = {}) {
#define ATOMIC(name, memory, ds, type, value) \
    if constexpr (kOp == AtomicOp::name) return static_cast<T>(value);
#include "facts/atomics.def"
#undef ATOMIC
}

}  // namespace lyra::atomics
