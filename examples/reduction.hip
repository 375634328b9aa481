// SPDX-License-Identifier: MIT
// Sum and maximum of 256 Ki integers: a tree and an atomic in LDS within a work-group, global atomics between work-groups.
#include <hip/hip_runtime.h>

#include <algorithm>
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

constexpr int kThreads = 256;

__global__ void reduce(const int* values, int n, unsigned long long* sum, int* largest) {
    __shared__ int partial[kThreads];
    __shared__ int group_largest;
    const int tid = threadIdx.x;
    if (tid == 0) {
        group_largest = values[0];
    }
    int mine = 0;
    int my_largest = values[0];
    for (int i = blockIdx.x * blockDim.x + tid; i < n; i += gridDim.x * blockDim.x) {
        mine += values[i];
        my_largest = max(my_largest, values[i]);
    }
    partial[tid] = mine;
    __syncthreads();
    atomicMax(&group_largest, my_largest);
    for (int half = kThreads / 2; half > 0; half /= 2) {
        if (tid < half) {
            partial[tid] += partial[tid + half];
        }
        __syncthreads();
    }
    if (tid == 0) {
        atomicAdd(sum, static_cast<unsigned long long>(static_cast<long long>(partial[0])));
        atomicMax(largest, group_largest);
    }
}

int main() {
    const int n = 256 * 1024;
    std::vector<int> values(n);
    long long expected = 0;
    for (int i = 0; i < n; ++i) {
        values[i] = static_cast<int>((i * 1103515245u + 12345u) >> 12) % 1000 - 300;
        expected += values[i];
    }
    const int expected_largest = *std::max_element(values.begin(), values.end());

    int *device_values = nullptr, *device_largest = nullptr;
    unsigned long long* device_sum = nullptr;
    CHECK(hipMalloc(&device_values, n * sizeof(int)));
    CHECK(hipMalloc(&device_sum, sizeof *device_sum));
    CHECK(hipMalloc(&device_largest, sizeof *device_largest));
    CHECK(hipMemcpy(device_values, values.data(), n * sizeof(int), hipMemcpyHostToDevice));
    CHECK(hipMemset(device_sum, 0, sizeof *device_sum));
    CHECK(hipMemset(device_largest, 0x80, sizeof *device_largest));  // a large negative number
    reduce<<<64, kThreads>>>(device_values, n, device_sum, device_largest);
    CHECK(hipGetLastError());
    unsigned long long sum = 0;
    int largest = 0;
    CHECK(hipMemcpy(&sum, device_sum, sizeof sum, hipMemcpyDeviceToHost));
    CHECK(hipMemcpy(&largest, device_largest, sizeof largest, hipMemcpyDeviceToHost));
    CHECK(hipFree(device_values));
    CHECK(hipFree(device_sum));
    CHECK(hipFree(device_largest));

    const bool right = static_cast<long long>(sum) == expected && largest == expected_largest;
    std::printf("sum %lld (expected %lld), largest %d (expected %d)\n", static_cast<long long>(sum), expected, largest,
                expected_largest);
    std::printf("reduction of %d integers: %s\n", n, right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
