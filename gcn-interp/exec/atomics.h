// SPDX-License-Identifier: MIT
// Read-modify-write operations of DS, FLAT, MUBUF and SMEM, on guest memory shared with CPUs and on LDS; step 6 of the data
// flow. What each does is in facts/atomics.def.
#pragma once

#include <cstdint>

#include "common/bits.h"
#include "facts/atomics.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

namespace atomics {

using namespace lyra::atomics;

/// Of sums of f32 in memory, whatever MODE says. @source LLVM 19 SIISelLowering.cpp fpModeMatchesGlobalFPAtomicMode()
inline Denormals memory_denormals(const Wave& wave) {
    const bool kept = facts_of(wave.chip).denormals_in_memory;
    return {kept, kept};
}

/// On memory that other threads use, guest CPUs among them. Sequentially consistent. @return the old value
/// @param host  naturally aligned
template <AtomicOp kOp, class T>
T shared(void* host, T data, T other, Denormals denormals) {
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
    while (!__atomic_compare_exchange_n(at, &old, next<kOp, T>(old, data, other, denormals), false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST)) {}
    return old;
}

inline Denormals f32_denormals(const Wave& wave) {
    const uint32_t field = ModeBits::DenormF32::get(wave.mode);
    return {bit(field, 0), bit(field, 1)};
}

}  // namespace atomics
}  // namespace lyra::gcn
