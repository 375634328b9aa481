// SPDX-License-Identifier: MIT
// What a program finds when it begins, what it leaves when it ends, and that it reaches the GPU. The first argument says how it
// ends.
#include <hip/hip_runtime.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void triple(int* values) { values[threadIdx.x] = static_cast<int>(threadIdx.x) * 3; }

struct Announced {
    Announced() { std::puts("before main"); }
    ~Announced() { std::puts("after main"); }
};
static Announced announced;

int main(int argc, char** argv) {
    for (int i = 0; i < argc; ++i) std::printf("argument %d: %s\n", i, argv[i]);
    char folder[100] = "";
    std::printf("in %s, standard input %s\n", getcwd(folder, sizeof folder), std::getchar() == EOF ? "empty" : "there");
    int* device = nullptr;
    int host[64] = {};
    if (hipMalloc(&device, sizeof host) != hipSuccess) return 1;
    triple<<<1, 64>>>(device);
    if (hipMemcpy(host, device, sizeof host, hipMemcpyDeviceToHost) != hipSuccess) return 1;
    std::printf("%d\n", host[63]);
    std::fflush(stdout);
    const char* end = argc > 1 ? argv[1] : "";
    if (std::strcmp(end, "abort") == 0) std::abort();
    return std::strcmp(end, "seven") == 0 ? 7 : 0;
}
