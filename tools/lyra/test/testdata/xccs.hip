// SPDX-License-Identifier: MIT
// On which XCC of its compute partition each work-group runs: in turn, beginning with any. argv: devices, XCCs of each. Or
// "fault" and a number: work-groups of that XCC read where there is nothing.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CHECK(call)                                                             \
    do {                                                                        \
        const hipError_t status = call;                                         \
        if (status != hipSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status)); \
            std::exit(1);                                                       \
        }                                                                       \
    } while (0)

constexpr unsigned kGroups = 64;

__global__ void where(unsigned* xcc) {
    unsigned id;
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID)" : "=s"(id));
    if (threadIdx.x == 0) xcc[blockIdx.x] = id;
}

__global__ void fault(unsigned xcc) {
    unsigned id;
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_XCC_ID)" : "=s"(id));
    if (id == xcc) (void)*reinterpret_cast<volatile unsigned*>(0x7fff0000);
}

int main(int argc, char** argv) {
    if (argc > 2 && std::strcmp(argv[1], "fault") == 0) {
        fault<<<kGroups, 64>>>(std::atoi(argv[2]));
        CHECK(hipDeviceSynchronize());
        std::puts("no fault");
        return 0;
    }
    const int expected = argc > 1 ? std::atoi(argv[1]) : 1;
    const unsigned xccs = argc > 2 ? std::atoi(argv[2]) : 1;
    int devices = 0;
    CHECK(hipGetDeviceCount(&devices));
    bool good = devices == expected;
    std::printf("%d devices\n", devices);
    for (int device = 0; device < devices; ++device) {
        CHECK(hipSetDevice(device));
        unsigned *on_device, xcc[kGroups];
        CHECK(hipMalloc(&on_device, sizeof xcc));
        where<<<kGroups, 64>>>(on_device);
        CHECK(hipMemcpy(xcc, on_device, sizeof xcc, hipMemcpyDeviceToHost));
        CHECK(hipFree(on_device));
        for (unsigned n = 0; n < kGroups; ++n) good &= xcc[n] == (xcc[0] + n) % xccs;
        std::printf("device %d begins with XCC %u\n", device, xcc[0]);
    }
    std::printf("xccs: %s\n", good ? "PASSED" : "FAILED");
    return good ? 0 : 1;
}
