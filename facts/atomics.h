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

/// Which f32 denormals MODE lets be.
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
