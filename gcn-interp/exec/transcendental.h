// SPDX-License-Identifier: MIT
// v_rcp_f32, v_sqrt_f32, v_rsq_f32, v_exp_f32 and v_log_f32 on rows, hand-vectorised; step 6 of the data flow.
//
// Each gives, bit for bit, what its lane function (vop1.cpp) gives in the default MODE, for every input. rcp and sqrt are the
// host's, which round the exact result once. The others compute an approximation whose error is far below the last bit of the
// result, and compute a vector again as the lane function does when the approximation lies so near the middle of two results
// that its error could decide. So no result depends on the host's estimate instructions, which differ between vendors.
#pragma once

#include <cstdint>

#include "gcn-interp/wave/backend.h"

namespace lyra::gcn::transcendental {

/// @param dst, src  rows of 64 dwords, aligned to 64 bytes; may be the same row  @param exec  lanes to compute and write
/// The host rounds to nearest and keeps denormals.
using Routine = void (*)(uint32_t* dst, const uint32_t* src, uint64_t exec);
/// Functions of one back end.
struct Routines {
    Routine rcp, sqrt, rsq, exp, log;
};
extern const Routines kAvx2, kAvx512;

constexpr bool has_routines(Backend backend) {
    return LYRA_HAS_X86_BACKENDS && (backend == Backend::Avx2 || backend == Backend::Avx512);
}
/// nullptr: the back end has none.
constexpr const Routines* routines(Backend backend) {
#if LYRA_HAS_X86_BACKENDS
    if (backend == Backend::Avx2) return &kAvx2;
    if (backend == Backend::Avx512) return &kAvx512;
#endif
    return nullptr;
}

}  // namespace lyra::gcn::transcendental
