// SPDX-License-Identifier: MIT
// Wrong on purpose, in the way that the argument names: what the driver and the runtime say of it is looked at by lyra test.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>

// No instruction of gfx9 looks like this.
#define ILLEGAL_INSTRUCTION ".long 0xbfff0000"
// Neither half of the 48-bit address space has it.
constexpr unsigned long long kNoAddress = 0x1234000000000000;

__global__ void store(int* where) { where[threadIdx.x] = 1; }
__global__ void trap() { __builtin_trap(); }
__global__ void illegal() { asm volatile(ILLEGAL_INSTRUCTION); }

int main(int count, char** arguments) {
    const char* kind = count > 1 ? arguments[1] : "";
    if (std::strcmp(kind, "store") == 0) {
        store<<<1, 64>>>(nullptr);
    } else if (std::strcmp(kind, "aperture") == 0) {
        store<<<1, 64>>>(reinterpret_cast<int*>(kNoAddress));
    } else if (std::strcmp(kind, "trap") == 0) {
        trap<<<1, 64>>>();
    } else if (std::strcmp(kind, "illegal") == 0) {
        illegal<<<1, 64>>>();
    } else {
        std::printf("usage: faults store|aperture|trap|illegal\n");
        return 2;
    }
    std::printf("the program goes on: %s\n", hipGetErrorString(hipDeviceSynchronize()));
    return 0;
}
