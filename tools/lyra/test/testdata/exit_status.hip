// SPDX-License-Identifier: MIT
// Runs a kernel, prints its arguments, writes to standard error and exits with the status that the first argument names.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

__global__ void store(int* to, int value) { *to = value; }

int main(int argc, char** argv) {
    if (argc < 2) {
        return 100;
    }
    int* device = nullptr;
    int value = -1;
    if (hipMalloc(&device, sizeof value) != hipSuccess) {
        return 101;
    }
    store<<<1, 1>>>(device, std::atoi(argv[1]));
    if (hipMemcpy(&value, device, sizeof value, hipMemcpyDeviceToHost) != hipSuccess || hipFree(device) != hipSuccess) {
        return 102;
    }
    for (int i = 1; i < argc; ++i) {
        std::printf("[%s]\n", argv[i]);
    }
    std::fprintf(stderr, "to standard error\n");
    return value;
}
