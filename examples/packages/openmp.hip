// SPDX-License-Identifier: MIT
// Host code with OpenMP beside a kernel: threads of the host fill the input and check the result.
//
//     ./lyra run --smp 2 --packages libomp-17-dev --hipcc -fopenmp examples/packages/openmp.hip
#include <hip/hip_runtime.h>
#include <omp.h>

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

__global__ void triple(int* data, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) data[i] *= 3;
}

int main() {
    const int n = 1 << 16, kThreads = 4;
    std::vector<int> data(n);
    int threads = 0;
#pragma omp parallel num_threads(kThreads)
    {
#pragma omp single
        threads = omp_get_num_threads();
#pragma omp for
        for (int i = 0; i < n; ++i) data[i] = i;
    }
    int* device = nullptr;
    CHECK(hipMalloc(&device, n * sizeof(int)));
    CHECK(hipMemcpy(device, data.data(), n * sizeof(int), hipMemcpyHostToDevice));
    triple<<<n / 256, 256>>>(device, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(data.data(), device, n * sizeof(int), hipMemcpyDeviceToHost));
    CHECK(hipFree(device));
    int wrong = 0;
#pragma omp parallel for reduction(+ : wrong) num_threads(kThreads)
    for (int i = 0; i < n; ++i) wrong += data[i] != 3 * i;
    const bool good = wrong == 0 && threads == kThreads;
    std::printf("OpenMP with %d threads, %d of %d elements wrong: %s\n", threads, wrong, n, good ? "PASSED" : "FAILED");
    return good ? 0 : 1;
}
