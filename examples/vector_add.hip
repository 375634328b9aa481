// SPDX-License-Identifier: MIT
// c[i] = a[i] + b[i] for a million floats: the first program that anybody runs.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                            \
    do {                                                                                                       \
        const hipError_t hip_status = (call);                                                                  \
        if (hip_status != hipSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(hip_status)); \
            std::exit(1);                                                                                      \
        }                                                                                                      \
    } while (0)

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

int main() {
    const int n = 1 << 20;
    const size_t bytes = n * sizeof(float);
    std::vector<float> a(n), b(n), c(n, -1.0f);
    for (int i = 0; i < n; ++i) {
        a[i] = 0.5f * i;
        b[i] = 1.0f - 0.25f * i;
    }
    float *device_a = nullptr, *device_b = nullptr, *device_c = nullptr;
    CHECK(hipMalloc(&device_a, bytes));
    CHECK(hipMalloc(&device_b, bytes));
    CHECK(hipMalloc(&device_c, bytes));
    CHECK(hipMemcpy(device_a, a.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(device_b, b.data(), bytes, hipMemcpyHostToDevice));

    const int threads = 256;
    vector_add<<<(n + threads - 1) / threads, threads>>>(device_a, device_b, device_c, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(c.data(), device_c, bytes, hipMemcpyDeviceToHost));

    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        const float expected = a[i] + b[i];
        if (c[i] != expected && wrong++ < 5) {
            std::printf("c[%d] = %g, expected %g\n", i, c[i], expected);
        }
    }
    CHECK(hipFree(device_a));
    CHECK(hipFree(device_b));
    CHECK(hipFree(device_c));
    std::printf("vector_add of %d floats: %s\n", n, wrong ? "FAILED" : "PASSED");
    return wrong ? 1 : 0;
}
