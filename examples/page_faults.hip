// SPDX-License-Identifier: MIT
// Memory of malloc() on the GPU, without a copy: each page is mapped when a wave touches it, by a retry fault that the driver
// answers (XNACK). The driver has to allow it and to have shared virtual memory:
//
//   ./lyra run --kernel 7.2 --append amdgpu.noretry=0 examples/page_faults.hip
#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                             \
    do {                                                                                        \
        const hipError_t status = (call);                                                       \
        if (status != hipSuccess) {                                                             \
            std::printf("FAILED %s line %d: %s\n", #call, __LINE__, hipGetErrorString(status)); \
            return 1;                                                                           \
        }                                                                                       \
    } while (0)

__global__ void update(uint32_t* data, uint32_t* sum, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    data[i] += 1;
    atomicAdd(sum, data[i] & 0xff);
}

int main() {
    constexpr unsigned kCount = 1 << 20;
    setenv("HSA_XNACK", "1", 1);
    int pageable = 0;
    CHECK(hipDeviceGetAttribute(&pageable, hipDeviceAttributePageableMemoryAccess, 0));
    if (!pageable) {
        std::printf("FAILED: the driver has no retry faults: boot with amdgpu.noretry=0 and a kernel with SVM\n");
        return 1;
    }
    auto* data = static_cast<uint32_t*>(std::malloc(kCount * sizeof(uint32_t)));
    auto* sum = static_cast<uint32_t*>(std::malloc(sizeof(uint32_t)));
    *sum = 0;
    uint32_t expected = 0;
    for (unsigned i = 0; i < kCount; ++i) data[i] = i * 7;
    for (unsigned i = 0; i < kCount; ++i) expected += (i * 7 + 1) & 0xff;
    update<<<(kCount + 255) / 256, 256>>>(data, sum, kCount);
    CHECK(hipDeviceSynchronize());
    for (unsigned i = 0; i < kCount; ++i) {
        if (data[i] != i * 7 + 1) {
            std::printf("FAILED at %u: %u\n", i, data[i]);
            return 1;
        }
    }
    if (*sum != expected) {
        std::printf("FAILED: the sum is %u, not %u\n", *sum, expected);
        return 1;
    }
    std::free(data);
    std::free(sum);
    std::printf("PASSED %u integers of malloc()\n", kCount);
    return 0;
}
