// SPDX-License-Identifier: MIT
// What debugger.cpp debugs: a kernel that goes on only when somebody changes its registers.
// Each wave waits with s60 = kHold, v40 = 3 * item and s[62:63] = address of the loop; lanes 0 .. 39 + number of the group are
// active. It goes on when s60 has another value, and then waits in a loop that only a changed PC leaves.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                            \
    do {                                                                                                       \
        const hipError_t hip_status = (call);                                                                  \
        if (hip_status != hipSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(hip_status)); \
            std::exit(1);                                                                                      \
        }                                                                                                      \
    } while (0)

constexpr int kGroups = 6, kThreads = 128;
constexpr unsigned int kHold = 0x1234, kReleased = 0xcafe, kFlipped = 0x5a000000;

struct Result {
    unsigned int scalar, vector, shared;
};

__global__ void hold(Result* results) {
    __shared__ unsigned int shared[kThreads];
    shared[threadIdx.x] = threadIdx.x * 7;
    __syncthreads();
    const unsigned int item = blockIdx.x * kThreads + threadIdx.x;
    unsigned int scalar = 0, vector = 0;
    if (threadIdx.x % 64 < 40 + blockIdx.x) {
        asm volatile(
            "s_movk_i32 s60, 0x1234\n"
            "v_mul_u32_u24 v40, 3, %2\n"
            "s_getpc_b64 s[62:63]\n"
            "0:\n"
            "s_sleep 2\n"
            "s_cmpk_eq_u32 s60, 0x1234\n"
            "s_cbranch_scc1 0b\n"
            "1:\n"
            "s_sleep 2\n"
            "s_branch 1b\n"
            "v_mov_b32 %0, s60\n"
            "v_mov_b32 %1, v40\n"
            : "=v"(scalar), "=v"(vector)
            : "v"(item)
            : "s60", "s62", "s63", "v40", "scc");
    }
    results[item] = {scalar, vector, shared[kThreads - 1 - threadIdx.x]};
}

int main() {
    Result* results = nullptr;
    CHECK(hipHostMalloc(&results, kGroups * kThreads * sizeof(Result), hipHostMallocCoherent));
    hold<<<kGroups, kThreads>>>(results);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    for (int item = 0; item < kGroups * kThreads; ++item) {
        const unsigned int thread = item % kThreads;
        const bool active = thread % 64 < 40u + item / kThreads;
        const Result expected{active ? kReleased : 0, active ? (3 * item) ^ kFlipped : 0, (kThreads - 1 - thread) * 7};
        const Result& got = results[item];
        if (got.scalar != expected.scalar || got.vector != expected.vector || got.shared != expected.shared) {
            std::printf("item %d: %#x %#x %#x\ntarget: FAILED\n", item, got.scalar, got.vector, got.shared);
            return 1;
        }
    }
    std::printf("the target has the debugger's values\n");
    return 0;
}
