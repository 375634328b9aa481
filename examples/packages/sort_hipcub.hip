// SPDX-License-Identifier: MIT
// Sorts 100,000 keys with hipCUB's radix sort and compares them with std::sort.
//
//     ./lyra run --packages libhipcub-dev,librocprim-dev examples/packages/sort_hipcub.hip
#include <hip/hip_runtime.h>
#include <hipcub/hipcub.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(call)                                                                                            \
    do {                                                                                                       \
        const hipError_t hip_status = (call);                                                                  \
        if (hip_status != hipSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(hip_status)); \
            std::exit(1);                                                                                      \
        }                                                                                                      \
    } while (0)

int main() {
    const int n = 100000;
    std::mt19937 random(7);
    std::vector<uint32_t> keys(n), sorted(n);
    for (uint32_t& key : keys) key = random();
    uint32_t *device_in = nullptr, *device_out = nullptr;
    CHECK(hipMalloc(&device_in, n * sizeof(uint32_t)));
    CHECK(hipMalloc(&device_out, n * sizeof(uint32_t)));
    CHECK(hipMemcpy(device_in, keys.data(), n * sizeof(uint32_t), hipMemcpyHostToDevice));

    size_t bytes = 0;
    void* scratch = nullptr;
    CHECK(hipcub::DeviceRadixSort::SortKeys(scratch, bytes, device_in, device_out, n));
    CHECK(hipMalloc(&scratch, bytes));
    CHECK(hipcub::DeviceRadixSort::SortKeys(scratch, bytes, device_in, device_out, n));
    CHECK(hipMemcpy(sorted.data(), device_out, n * sizeof(uint32_t), hipMemcpyDeviceToHost));

    std::sort(keys.begin(), keys.end());
    const bool equal = sorted == keys;
    CHECK(hipFree(scratch));
    CHECK(hipFree(device_out));
    CHECK(hipFree(device_in));
    std::printf("hipCUB sort of %d keys: %s\n", n, equal ? "PASSED" : "FAILED");
    return equal ? 0 : 1;
}
