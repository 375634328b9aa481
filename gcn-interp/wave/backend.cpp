// SPDX-License-Identifier: MIT
// Which back end this process uses; step 6 of the data flow.
#include "gcn-interp/wave/backend.h"

#include <cstdlib>
#include <iterator>

namespace lyra::gcn {

bool supported(Backend backend) {
#if LYRA_HAS_X86_BACKENDS
    const auto avx2 = [] {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("f16c") &&
               __builtin_cpu_supports("popcnt");
    };
    const auto avx512 = [] {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512cd");
    };
    switch (backend) {
        case Backend::Avx2: return avx2();
        case Backend::Avx512: return avx2() && avx512();
        case Backend::Portable: return true;
    }
#endif
    return backend == Backend::Portable;
}

std::optional<Backend> backend_of(std::string_view name) {
    for (const Backend backend : kAllBackends) {
        if (name == kBackendNames[static_cast<unsigned>(backend)]) return backend;
    }
    return std::nullopt;
}

Backend host_backend() {
    static const Backend chosen = [] {
        const char* name = std::getenv("LYRA_BACKEND");
        if (const auto named = name ? backend_of(name) : std::nullopt; named && *named <= kWidest && supported(*named))
            return *named;
        if (kWidest == Backend::Avx512 && supported(Backend::Avx512)) return Backend::Avx512;
        return supported(Backend::Avx2) ? Backend::Avx2 : Backend::Portable;
    }();
    return chosen;
}

}  // namespace lyra::gcn
