// SPDX-License-Identifier: MIT
// One process fills the GPU with waves that never end; another one gets its work done all the same. Then the first is killed.
#include <hip/hip_runtime.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

__global__ void endless(volatile unsigned int* started) {
    *started = 1;
    unsigned int x = threadIdx.x;
    while (*started != 2) x = x * 1664525u + 1;
    started[1] = x;
}

__global__ void step(unsigned int* x, int n, unsigned int seed) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 1664525u + seed + i;
}

static void run_endless(int tell) {
    unsigned int* started = nullptr;
    CHECK(hipHostMalloc(&started, 64, hipHostMallocCoherent));
    started[0] = 0;
    endless<<<4096, 64>>>(started);
    CHECK(hipGetLastError());
    while (*static_cast<volatile unsigned int*>(started) == 0) usleep(1000);
    if (write(tell, "x", 1) != 1) std::exit(1);
    CHECK(hipDeviceSynchronize());
}

static bool work(unsigned int seed) {
    const int n = 16 * 1024, rounds = 4;
    std::vector<unsigned int> values(n, seed), result(n, 0);
    unsigned int* device = nullptr;
    CHECK(hipMalloc(&device, n * sizeof(unsigned int)));
    CHECK(hipMemcpy(device, values.data(), n * sizeof(unsigned int), hipMemcpyHostToDevice));
    for (int round = 0; round < rounds; ++round) step<<<n / 256, 256>>>(device, n, seed);
    CHECK(hipDeviceSynchronize());
    CHECK(hipMemcpy(result.data(), device, n * sizeof(unsigned int), hipMemcpyDeviceToHost));
    CHECK(hipFree(device));
    for (int i = 0; i < n; ++i) {
        unsigned int expected = values[i];
        for (int round = 0; round < rounds; ++round) expected = expected * 1664525u + seed + i;
        if (result[i] != expected) return false;
    }
    return true;
}

int main() {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    const pid_t child = fork();  // before any call of HIP
    if (child == 0) {
        run_endless(ends[1]);
        std::exit(1);
    }
    char byte;
    if (read(ends[0], &byte, 1) != 1) return 1;
    std::printf("endless kernel runs\n");
    const bool beside = work(1);
    std::printf("beside it: %s\n", beside ? "right" : "wrong");
    const bool still = waitpid(child, nullptr, WNOHANG) == 0;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const bool after = work(2);
    std::printf("after it: %s\n", after ? "right" : "wrong");
    const bool passed = beside && still && after;
    std::printf("endless: %s\n", passed ? "PASSED" : "FAILED");
    return passed ? 0 : 1;
}
