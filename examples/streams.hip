// SPDX-License-Identifier: MIT
// Two streams with asynchronous copies and kernels; one waits for the other by an event; elapsed time between events.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                            \
    do {                                                                                                       \
        const hipError_t hip_status = (call);                                                                  \
        if (hip_status != hipSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(hip_status)); \
            std::exit(1);                                                                                      \
        }                                                                                                      \
    } while (0)

__global__ void scale(const int* in, int* out, int n, int factor) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = in[i] * factor;
    }
}

__global__ void add(const int* a, const int* b, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = a[i] + b[i];
    }
}

int main() {
    const int n = 64 * 1024, threads = 256, blocks = n / threads;
    const size_t bytes = n * sizeof(int);
    int *host_in = nullptr, *host_out = nullptr;
    CHECK(hipHostMalloc(&host_in, bytes, hipHostMallocDefault));
    CHECK(hipHostMalloc(&host_out, bytes, hipHostMallocDefault));
    for (int i = 0; i < n; ++i) {
        host_in[i] = i - 1000;
        host_out[i] = 0;
    }
    int *in0 = nullptr, *in1 = nullptr, *scaled0 = nullptr, *scaled1 = nullptr, *sum = nullptr;
    for (int** pointer : {&in0, &in1, &scaled0, &scaled1, &sum}) {
        CHECK(hipMalloc(pointer, bytes));
    }
    hipStream_t stream0, stream1;
    CHECK(hipStreamCreate(&stream0));
    CHECK(hipStreamCreate(&stream1));
    hipEvent_t start, half, stop;
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&half));
    CHECK(hipEventCreate(&stop));

    CHECK(hipEventRecord(start, stream0));
    CHECK(hipMemcpyAsync(in0, host_in, bytes, hipMemcpyHostToDevice, stream0));
    CHECK(hipMemcpyAsync(in1, host_in, bytes, hipMemcpyHostToDevice, stream1));
    scale<<<blocks, threads, 0, stream0>>>(in0, scaled0, n, 3);
    scale<<<blocks, threads, 0, stream1>>>(in1, scaled1, n, 4);
    CHECK(hipGetLastError());
    CHECK(hipEventRecord(half, stream1));
    CHECK(hipStreamWaitEvent(stream0, half, 0));
    add<<<blocks, threads, 0, stream0>>>(scaled0, scaled1, sum, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpyAsync(host_out, sum, bytes, hipMemcpyDeviceToHost, stream0));
    CHECK(hipEventRecord(stop, stream0));
    CHECK(hipStreamSynchronize(stream1));
    CHECK(hipEventSynchronize(stop));
    float elapsed_ms = -1.0f;
    CHECK(hipEventElapsedTime(&elapsed_ms, start, stop));

    int wrong = 0;
    for (int i = 0; i < n; ++i) {
        if (host_out[i] != host_in[i] * 7 && wrong++ < 5) {
            std::printf("out[%d] = %d, expected %d\n", i, host_out[i], host_in[i] * 7);
        }
    }
    if (!(elapsed_ms > 0.0f)) {
        std::printf("elapsed time %g ms is not positive\n", elapsed_ms);
        ++wrong;
    }
    for (int* pointer : {in0, in1, scaled0, scaled1, sum}) {
        CHECK(hipFree(pointer));
    }
    CHECK(hipHostFree(host_in));
    CHECK(hipHostFree(host_out));
    for (hipEvent_t event : {start, half, stop}) {
        CHECK(hipEventDestroy(event));
    }
    CHECK(hipStreamDestroy(stream0));
    CHECK(hipStreamDestroy(stream1));
    std::printf("streams and events: %s\n", wrong ? "FAILED" : "PASSED");
    return wrong ? 1 : 0;
}
