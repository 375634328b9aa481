// SPDX-License-Identifier: MIT
// Read-modify-write operations of DS, FLAT, MUBUF and SMEM, on guest memory shared with CPUs and on LDS; step 6 of the data
// flow.
// @source AMD Vega ISA document, "FLAT", "MUBUF" and "DS" instruction tables
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "common/bits.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// The first thirteen are in the order of the opcodes 64..76 (32 bit) and 96..108 (64 bit) of FLAT and MUBUF.
enum class AtomicOp : uint8_t {
    Swap,
    CmpSwap,
    Add,
    Sub,
    SMin,
    UMin,
    SMax,
    UMax,
    And,
    Or,
    Xor,
    Inc,
    Dec,
    RSub,
    MaskOr,
    Wrap,
    FAdd,
    FMin,
    FMax,
    FCmpSwap,
    CondSwap,  // DS only
};

namespace atomics {

template <class T>
using FloatOf = std::conditional_t<sizeof(T) == 4, float, double>;

/// Which f32 denormals MODE lets be.
struct Denormals {
    bool in = true, out = true;
};

/// f32 denormals become zero of their sign when they may not be. f64 is never flushed.
inline float flush(float value, bool kept) {
    return !kept && std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0f, value) : value;
}
inline double flush(double value, bool) { return value; }

/// Value that memory holds afterwards.
/// @param data   the operand; @param other  second operand: compare value of CmpSwap, new value of DS compares and masks
/// @param denormals  of DS sums
template <AtomicOp kOp, class T>
T next(T old, T data, T other, Denormals denormals) {
    using S = std::make_signed_t<T>;
    using F = FloatOf<T>;
    if constexpr (kOp == AtomicOp::Swap) return data;
    if constexpr (kOp == AtomicOp::CmpSwap) return old == other ? data : old;
    if constexpr (kOp == AtomicOp::Add) return old + data;
    if constexpr (kOp == AtomicOp::Sub) return old - data;
    if constexpr (kOp == AtomicOp::RSub) return data - old;
    if constexpr (kOp == AtomicOp::SMin) return static_cast<S>(data) < static_cast<S>(old) ? data : old;
    if constexpr (kOp == AtomicOp::UMin) return data < old ? data : old;
    if constexpr (kOp == AtomicOp::SMax) return static_cast<S>(data) > static_cast<S>(old) ? data : old;
    if constexpr (kOp == AtomicOp::UMax) return data > old ? data : old;
    if constexpr (kOp == AtomicOp::And) return old & data;
    if constexpr (kOp == AtomicOp::Or) return old | data;
    if constexpr (kOp == AtomicOp::Xor) return old ^ data;
    if constexpr (kOp == AtomicOp::Inc) return old >= data ? 0 : old + 1;
    if constexpr (kOp == AtomicOp::Dec) return old == 0 || old > data ? data : old - 1;
    if constexpr (kOp == AtomicOp::MaskOr) return (old & ~data) | other;
    if constexpr (kOp == AtomicOp::Wrap) return old >= data ? old - data : old + other;
    if constexpr (kOp == AtomicOp::FAdd) {
        const F sum = flush(std::bit_cast<F>(old), denormals.in) + flush(std::bit_cast<F>(data), denormals.in);
        return std::bit_cast<T>(flush(sum, denormals.out));
    }
    if constexpr (kOp == AtomicOp::FMin) return std::bit_cast<F>(data) < std::bit_cast<F>(old) ? data : old;
    if constexpr (kOp == AtomicOp::FMax) return std::bit_cast<F>(data) > std::bit_cast<F>(old) ? data : old;
    if constexpr (kOp == AtomicOp::FCmpSwap) return std::bit_cast<F>(old) == std::bit_cast<F>(other) ? data : old;
    if constexpr (kOp == AtomicOp::CondSwap) {  // each half is replaced when its top bit asks for it
        const auto half = [](uint32_t was, uint32_t wish) { return wish >> 31 ? wish & 0x7fffffff : was; };
        return static_cast<T>(make64(half(lo32(old), lo32(data)), half(hi32(old), hi32(data))));
    }
}

/// On memory that other threads use, guest CPUs among them. Sequentially consistent. @return the old value
/// @param host  naturally aligned
template <AtomicOp kOp, class T>
T shared(void* host, T data, T other) {
    T* const at = static_cast<T*>(host);
    if constexpr (kOp == AtomicOp::Swap) return __atomic_exchange_n(at, data, __ATOMIC_SEQ_CST);
    if constexpr (kOp == AtomicOp::Add) return __atomic_fetch_add(at, data, __ATOMIC_SEQ_CST);
    if constexpr (kOp == AtomicOp::Sub) return __atomic_fetch_sub(at, data, __ATOMIC_SEQ_CST);
    if constexpr (kOp == AtomicOp::And) return __atomic_fetch_and(at, data, __ATOMIC_SEQ_CST);
    if constexpr (kOp == AtomicOp::Or) return __atomic_fetch_or(at, data, __ATOMIC_SEQ_CST);
    if constexpr (kOp == AtomicOp::Xor) return __atomic_fetch_xor(at, data, __ATOMIC_SEQ_CST);
    if constexpr (kOp == AtomicOp::CmpSwap) {
        __atomic_compare_exchange_n(at, &other, data, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
        return other;
    }
    T old = __atomic_load_n(at, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(at, &old, next<kOp, T>(old, data, other, {}), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {}
    return old;
}

inline Denormals f32_denormals(const Wave& wave) {
    const uint32_t field = ModeBits::DenormF32::get(wave.mode);
    return {bit(field, 0), bit(field, 1)};
}

}  // namespace atomics
}  // namespace lyra::gcn
