// SPDX-License-Identifier: MIT
// Lanes of a wave that talk to each other, of codegen.hip.
#pragma once

#include "codegen_check.h"

namespace codegen {
namespace {

template <class T>
__host__ __device__ inline T lane_value(int lane) {
    return static_cast<T>(static_cast<int>(mixed(lane + 9) % 100000) - 50000) / 2;
}

// One row for each kind: what a lane gets, and the lane that it should get it from.
#define SHUFFLES(X)                                                  \
    X(__shfl(v, 7), 7)                                               \
    X(__shfl(v, (lane * 5 + 3) & 63), (lane * 5 + 3) & 63)           \
    X(__shfl(v, lane + 2, 8), (lane & ~7) + ((lane + 2) & 7))        \
    X(__shfl_up(v, 1), lane >= 1 ? lane - 1 : lane)                  \
    X(__shfl_up(v, 5, 16), (lane & 15) >= 5 ? lane - 5 : lane)       \
    X(__shfl_down(v, 3), lane + 3 < 64 ? lane + 3 : lane)            \
    X(__shfl_down(v, 9, 32), (lane & 31) + 9 < 32 ? lane + 9 : lane) \
    X(__shfl_xor(v, 1), lane ^ 1)                                    \
    X(__shfl_xor(v, 33), lane ^ 33)                                  \
    X(__shfl_xor(v, 6, 8), lane ^ 6)
#define COUNT(call, from) +1
constexpr int kShuffles = SHUFFLES(COUNT);
#undef COUNT

template <class T>
__global__ void shuffle_kernel(T* out) {
    const int lane = threadIdx.x & 63;
    const T v = lane_value<T>(lane);
    T* row = out + kShuffles * global_id();
#define STORE(call, from) *row++ = call;
    SHUFFLES(STORE)
#undef STORE
}
template <class T>
inline void shuffles_of(Test& test, const char* type) {
    Buffer<T> out(kShuffles * 128);
    launch(shuffle_kernel<T>, 1, 128, 0, out);
    for (int i = 0; i < 128; ++i) {
        const int lane = i & 63;
        int k = 0;
#define COMPARE(call, from) test.equal(type, i * 100 + k, out[kShuffles * i + k], lane_value<T>(from)), ++k;
        SHUFFLES(COMPARE)
#undef COMPARE
    }
}
void shuffles(Test& test) {
    shuffles_of<int>(test, "int");
    shuffles_of<float>(test, "float");
    shuffles_of<double>(test, "double");
    shuffles_of<long long>(test, "long long");
}

struct Votes {
    unsigned long long ballot, active, odd_ballot;
    int any, all, odd_any, odd_all, lane, below;
    unsigned first;
};
__global__ void vote_kernel(Votes* out) {
    const int i = threadIdx.x;
    Votes v{};
    v.ballot = __ballot(mixed(i) & 1);
    v.active = __ballot(1);
    v.any = __any(i % 64 == 40);
    v.all = __all(i < 100);
    v.lane = __lane_id();
    v.below = __popcll(v.ballot & ((1ull << (i & 63)) - 1));
    if (i % 3 == 1) {
        v.odd_ballot = __ballot(i % 2);
        v.odd_any = __any(i % 64 == 0);  // lane 0 takes part in the second wave alone
        v.odd_all = __all(i % 3 == 1);
        v.first = __builtin_amdgcn_readfirstlane(mixed(i));
    }
    out[i] = v;
}
void votes(Test& test) {
    Buffer<Votes> out(192);
    launch(vote_kernel, 1, 192, 0, out);
    for (int wave = 0; wave < 3; ++wave) {
        unsigned long long ballot = 0, odd = 0;
        bool any_odd = false;
        int first = -1;
        for (int lane = 0; lane < 64; ++lane) {
            const int i = wave * 64 + lane;
            if (mixed(i) & 1) ballot |= 1ull << lane;
            if (i % 3 != 1) continue;
            if (i % 2) odd |= 1ull << lane;
            any_odd |= lane == 0;
            if (first < 0) first = i;
        }
        for (int lane = 0; lane < 64; ++lane) {
            const int i = wave * 64 + lane;
            const bool takes_part = i % 3 == 1;
            test.equal("ballot", i, out[i].ballot, ballot);
            test.equal("active lanes", i, out[i].active, ~0ull);
            test.equal("any", i, out[i].any, 1);
            test.equal("all", i, out[i].all, wave == 0 ? 1 : 0);
            test.equal("lane", i, out[i].lane, lane);
            test.equal("below", i, out[i].below, __builtin_popcountll(ballot & ((1ull << lane) - 1)));
            test.equal("ballot of some", i, out[i].odd_ballot, takes_part ? odd : 0);
            test.equal("any of some", i, out[i].odd_any, takes_part && any_odd ? 1 : 0);
            test.equal("all of some", i, out[i].odd_all, takes_part ? 1 : 0);
            test.equal("first lane", i, out[i].first, takes_part ? mixed(first) : 0u);
        }
    }
}

/// The instructions themselves: DPP, ds_swizzle, ds_permute, ds_bpermute, readlane.
struct CrossLane {
    int quad, row_shift, row_rotate, mirror, half_mirror, broadcast, wave_shift, swizzled, permuted, back_permuted, read, scan;
};
__device__ inline int inclusive_scan(int v) {
    v += __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, false);  // row_shr:1
    v += __builtin_amdgcn_update_dpp(0, v, 0x112, 0xf, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x114, 0xf, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x118, 0xf, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x142, 0xa, 0xf, false);  // row_bcast:15 to rows 1 and 3
    v += __builtin_amdgcn_update_dpp(0, v, 0x143, 0xc, 0xf, false);  // row_bcast:31 to rows 2 and 3
    return v;
}
__global__ void cross_lane_kernel(CrossLane* out) {
    const int lane = threadIdx.x, v = lane * 3 + 1;
    CrossLane r;
    r.quad = __builtin_amdgcn_update_dpp(-1, v, 0x1b, 0xf, 0xf, false);         // quad_perm:[3,2,1,0]
    r.row_shift = __builtin_amdgcn_update_dpp(-1, v, 0x102, 0xf, 0xf, false);   // row_shl:2
    r.row_rotate = __builtin_amdgcn_update_dpp(-1, v, 0x123, 0xf, 0xf, false);  // row_ror:3
    r.mirror = __builtin_amdgcn_update_dpp(-1, v, 0x140, 0xf, 0xf, false);
    r.half_mirror = __builtin_amdgcn_update_dpp(-1, v, 0x141, 0xf, 0xf, false);
    r.broadcast = __builtin_amdgcn_update_dpp(-1, v, 0x142, 0xf, 0xf, false);
    r.wave_shift = __builtin_amdgcn_update_dpp(-1, v, 0x138, 0xf, 0xf, true);  // wave_shr:1, 0 from outside
    r.swizzled = __builtin_amdgcn_ds_swizzle(v, 0x041f);                       // xor 1
    r.permuted = __builtin_amdgcn_ds_permute(((lane + 11) & 63) * 4, v);
    r.back_permuted = __builtin_amdgcn_ds_bpermute(((lane + 11) & 63) * 4, v);
    r.read = __builtin_amdgcn_readlane(v, 45);
    r.scan = inclusive_scan(v);
    out[lane] = r;
}
void cross_lane(Test& test) {
    Buffer<CrossLane> out(64);
    launch(cross_lane_kernel, 1, 64, 0, out);
    int sum = 0;
    for (int lane = 0; lane < 64; ++lane) {
        const auto v = [](int l) { return l * 3 + 1; };
        const int row = lane & ~15, in_row = lane & 15;
        sum += v(lane);
        test.equal("quad_perm", lane, out[lane].quad, v(lane ^ 3));
        test.equal("row_shl", lane, out[lane].row_shift, in_row + 2 < 16 ? v(lane + 2) : -1);
        test.equal("row_ror", lane, out[lane].row_rotate, v(row + ((in_row - 3) & 15)));
        test.equal("row_mirror", lane, out[lane].mirror, v(row + 15 - in_row));
        test.equal("row_half_mirror", lane, out[lane].half_mirror, v((lane & ~7) + 7 - (lane & 7)));
        test.equal("row_bcast:15", lane, out[lane].broadcast, lane < 16 ? -1 : v(row - 1));
        test.equal("wave_shr", lane, out[lane].wave_shift, lane == 0 ? 0 : v(lane - 1));
        test.equal("ds_swizzle", lane, out[lane].swizzled, v(lane ^ 1));
        test.equal("ds_permute", lane, out[lane].permuted, v((lane - 11) & 63));
        test.equal("ds_bpermute", lane, out[lane].back_permuted, v((lane + 11) & 63));
        test.equal("readlane", lane, out[lane].read, v(45));
        test.equal("scan", lane, out[lane].scan, sum);
    }
}

}  // namespace
}  // namespace codegen
