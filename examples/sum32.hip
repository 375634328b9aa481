// SPDX-License-Identifier: MIT
// 32 doubles, x[tid] += 1, printed before and after.
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

constexpr int kCount = 32;

__global__ void add_one(double* x) {
    const int tid = threadIdx.x;
    x[tid] += 1;
}

static void print(const char* title, const double* x) {
    std::printf("%s", title);
    for (int i = 0; i < kCount; ++i) {
        std::printf(" %g", x[i]);
    }
    std::printf("\n");
}

int main() {
    double before[kCount], after[kCount];
    for (int i = 0; i < kCount; ++i) {
        before[i] = 0.5 * i;
        after[i] = 0;
    }
    print("before:", before);

    double* device = nullptr;
    CHECK(hipMalloc(&device, sizeof before));
    CHECK(hipMemcpy(device, before, sizeof before, hipMemcpyHostToDevice));
    add_one<<<1, kCount>>>(device);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(after, device, sizeof after, hipMemcpyDeviceToHost));
    CHECK(hipFree(device));
    print("after: ", after);

    bool right = true;
    for (int i = 0; i < kCount; ++i) {
        right = right && after[i] == before[i] + 1;
    }
    std::printf("%s\n", right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
