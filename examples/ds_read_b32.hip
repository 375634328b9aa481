// SPDX-License-Identifier: MIT
// Reads LDS with inline GCN assembly: ds_read_b32 on dynamically sized shared memory, every lane from its mirror lane.
#include <hip/hip_runtime.h>

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

extern __shared__ unsigned int shared_words[];

// A pointer to LDS, cut to 32 bits, is the byte address that DS instructions take.
__device__ unsigned int lds_address(const unsigned int* pointer) {
    return static_cast<unsigned int>(reinterpret_cast<size_t>((const __attribute__((address_space(3))) unsigned int*)pointer));
}

__global__ void mirror(const unsigned int* in, unsigned int* out) {
    const unsigned int tid = threadIdx.x;
    const unsigned int first = blockIdx.x * blockDim.x;
    shared_words[tid] = in[first + tid] * 3u;
    __syncthreads();
    const unsigned int address = lds_address(shared_words) + (blockDim.x - 1 - tid) * sizeof(unsigned int);
    unsigned int value;
    asm volatile(
        "ds_read_b32 %0, %1\n\t"
        "s_waitcnt lgkmcnt(0)"
        : "=v"(value)
        : "v"(address)
        : "memory");
    out[first + tid] = value;
}

int main() {
    const unsigned int threads = 256, blocks = 8, n = threads * blocks;
    std::vector<unsigned int> in(n), out(n, 0);
    for (unsigned int i = 0; i < n; ++i) {
        in[i] = i * 2654435761u;
    }
    unsigned int *device_in = nullptr, *device_out = nullptr;
    CHECK(hipMalloc(&device_in, n * sizeof(unsigned int)));
    CHECK(hipMalloc(&device_out, n * sizeof(unsigned int)));
    CHECK(hipMemcpy(device_in, in.data(), n * sizeof(unsigned int), hipMemcpyHostToDevice));
    mirror<<<blocks, threads, threads * sizeof(unsigned int)>>>(device_in, device_out);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(out.data(), device_out, n * sizeof(unsigned int), hipMemcpyDeviceToHost));
    CHECK(hipFree(device_in));
    CHECK(hipFree(device_out));

    unsigned int wrong = 0;
    for (unsigned int i = 0; i < n; ++i) {
        const unsigned int source = i / threads * threads + (threads - 1 - i % threads);
        if (out[i] != in[source] * 3u && wrong++ < 5) {
            std::printf("out[%u] = %#x, expected %#x\n", i, out[i], in[source] * 3u);
        }
    }
    std::printf("ds_read_b32 of %u words: %s\n", n, wrong ? "FAILED" : "PASSED");
    return wrong ? 1 : 0;
}
