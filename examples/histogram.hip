// SPDX-License-Identifier: MIT
// Histogram of 256 Ki bytes with global atomics; most values fall into few bins, so that the atomics collide.
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

constexpr int kBins = 256;

__global__ void histogram(const unsigned char* values, int n, unsigned int* bins) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&bins[values[i]], 1u);
    }
}

int main() {
    const int n = 256 * 1024;
    std::vector<unsigned char> values(n);
    std::vector<unsigned int> expected(kBins, 0), bins(kBins, ~0u);
    unsigned int state = 1;
    for (int i = 0; i < n; ++i) {
        state = state * 1664525u + 1013904223u;
        const unsigned int x = state >> 24;
        values[i] = static_cast<unsigned char>(x * x >> 8);
        ++expected[values[i]];
    }
    unsigned char* device_values = nullptr;
    unsigned int* device_bins = nullptr;
    CHECK(hipMalloc(&device_values, n));
    CHECK(hipMalloc(&device_bins, kBins * sizeof(unsigned int)));
    CHECK(hipMemcpy(device_values, values.data(), n, hipMemcpyHostToDevice));
    CHECK(hipMemset(device_bins, 0, kBins * sizeof(unsigned int)));
    histogram<<<64, 256>>>(device_values, n, device_bins);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(bins.data(), device_bins, kBins * sizeof(unsigned int), hipMemcpyDeviceToHost));
    CHECK(hipFree(device_values));
    CHECK(hipFree(device_bins));

    int wrong = 0;
    for (int i = 0; i < kBins; ++i) {
        if (bins[i] != expected[i] && wrong++ < 5) {
            std::printf("bin %d holds %u, expected %u\n", i, bins[i], expected[i]);
        }
    }
    std::printf("histogram of %d bytes: %s\n", n, wrong ? "FAILED" : "PASSED");
    return wrong ? 1 : 0;
}
