// SPDX-License-Identifier: MIT
// Four processes use the GPU at the same time, each with its own numbers; none may see another's.
#include <hip/hip_runtime.h>

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

__global__ void step(unsigned int* x, int n, unsigned int seed) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        x[i] = x[i] * 1664525u + seed + i;
    }
}

// What one process does: several rounds, so that the processes' kernels interleave.
static int work(unsigned int seed) {
    const int n = 32 * 1024, rounds = 8;
    std::vector<unsigned int> values(n, seed), result(n, 0);
    unsigned int* device = nullptr;
    CHECK(hipMalloc(&device, n * sizeof(unsigned int)));
    CHECK(hipMemcpy(device, values.data(), n * sizeof(unsigned int), hipMemcpyHostToDevice));
    for (int round = 0; round < rounds; ++round) {
        step<<<n / 256, 256>>>(device, n, seed);
        CHECK(hipGetLastError());
        CHECK(hipDeviceSynchronize());
    }
    CHECK(hipMemcpy(result.data(), device, n * sizeof(unsigned int), hipMemcpyDeviceToHost));
    CHECK(hipFree(device));
    for (int i = 0; i < n; ++i) {
        unsigned int expected = values[i];
        for (int round = 0; round < rounds; ++round) {
            expected = expected * 1664525u + seed + i;
        }
        if (result[i] != expected) {
            std::fprintf(stderr, "seed %u: x[%d] = %#x, expected %#x\n", seed, i, result[i], expected);
            return 1;
        }
    }
    return 0;
}

int main() {
    const int processes = 4;
    pid_t children[processes];
    // A forked child of a process that has called HIP cannot use the GPU: fork first.
    for (int i = 0; i < processes; ++i) {
        children[i] = fork();
        if (children[i] < 0) {
            std::perror("fork");
            return 1;
        }
        if (children[i] == 0) {
            std::exit(work(1000u * (i + 1)));
        }
    }
    bool right = true;
    for (int i = 0; i < processes; ++i) {
        int status = 0;
        waitpid(children[i], &status, 0);
        const bool ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        std::printf("process %d: %s\n", i, ok ? "right" : "wrong");
        right = right && ok;
    }
    std::printf("%d processes: %s\n", processes, right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
