// SPDX-License-Identifier: MIT
// Back ends: the vector instruction sets of the host for which the lane loops are compiled; step 6 of the data flow.
//
// A lane loop is written once, as plain C++. A function of a back end is a wrapper that carries the attribute of its
// instruction set and into which everything is inlined; nothing else is compiled for more than the base line, so that no code
// for a newer processor can get into a function which an older one runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lyra::gcn {

enum class Backend : uint8_t {
    Portable,  ///< what the compiler makes of plain C++; on x86-64 with SSE4.1
    Avx2,      ///< x86-64-v3: AVX2, FMA, BMI, F16C
    Avx512,    ///< x86-64-v4: AVX-512 F, VL, BW, DQ, CD; 512-bit vectors
};
inline constexpr Backend kAllBackends[] = {Backend::Portable, Backend::Avx2, Backend::Avx512};
inline constexpr const char* kBackendNames[] = {"portable", "avx2", "avx512"};

#if defined(__x86_64__)
#define LYRA_HAS_X86_BACKENDS 1
// x86-64-v2: without SSE4.1 rounding to integers is several operations, which are wrong for some NaNs and rounding modes.
#define LYRA_PORTABLE gnu::target("sse4.1")
#define LYRA_AVX2 gnu::target("avx2,fma,bmi,bmi2,lzcnt,f16c,popcnt")
#if defined(__clang__)
#define LYRA_AVX512 \
    gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512cd,avx2,fma,bmi,bmi2,lzcnt,f16c,popcnt"), clang::min_vector_width(512)
#else
#define LYRA_AVX512 \
    gnu::target("avx512f,avx512vl,avx512bw,avx512dq,avx512cd,avx2,fma,bmi,bmi2,lzcnt,f16c,popcnt,prefer-vector-width=512")
#endif
#else
#define LYRA_HAS_X86_BACKENDS 0
#define LYRA_PORTABLE gnu::flatten
#define LYRA_AVX2
#define LYRA_AVX512
#endif

/// Sanitized code is many times as long, and takes as many times as long to compile: there the AVX-512 back end is left out. So
/// it is where the build is for a processor that lacks it (LYRA_AVX512 of CMakeLists.txt).
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(LYRA_NO_AVX512)
inline constexpr Backend kWidest = Backend::Avx2;
#else
inline constexpr Backend kWidest = Backend::Avx512;
#endif
/// M(backend, attribute of its functions): one definition for each.
#define LYRA_FOR_EACH_BACKEND(M) M(Portable, LYRA_PORTABLE) M(Avx2, LYRA_AVX2) M(Avx512, LYRA_AVX512)

/// This processor can run it.
bool supported(Backend backend);
/// The widest that this processor has; LYRA_BACKEND in the environment names another. Asked once, at the first call.
Backend host_backend();
/// nullopt for a name that is none.
std::optional<Backend> backend_of(std::string_view name);

}  // namespace lyra::gcn
