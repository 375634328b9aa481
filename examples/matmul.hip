// SPDX-License-Identifier: MIT
// C = A * B, 128 x 128 floats, in tiles of 16 x 16 held in LDS.
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

constexpr int kTile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float tile_a[kTile][kTile];
    __shared__ float tile_b[kTile][kTile];
    const int row = blockIdx.y * kTile + threadIdx.y;
    const int column = blockIdx.x * kTile + threadIdx.x;
    float sum = 0.0f;
    for (int tile = 0; tile < n / kTile; ++tile) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * n + tile * kTile + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(tile * kTile + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < kTile; ++k) {
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        }
        __syncthreads();
    }
    c[row * n + column] = sum;
}

int main() {
    const int n = 128;
    const size_t bytes = n * n * sizeof(float);
    std::vector<float> a(n * n), b(n * n), c(n * n, 0.0f);
    for (int i = 0; i < n * n; ++i) {
        a[i] = static_cast<float>(i % 17) - 8.0f;
        b[i] = static_cast<float>(i % 23) * 0.125f;
    }
    float *device_a = nullptr, *device_b = nullptr, *device_c = nullptr;
    CHECK(hipMalloc(&device_a, bytes));
    CHECK(hipMalloc(&device_b, bytes));
    CHECK(hipMalloc(&device_c, bytes));
    CHECK(hipMemcpy(device_a, a.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(device_b, b.data(), bytes, hipMemcpyHostToDevice));
    matmul<<<dim3(n / kTile, n / kTile), dim3(kTile, kTile)>>>(device_a, device_b, device_c, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(c.data(), device_c, bytes, hipMemcpyDeviceToHost));
    CHECK(hipFree(device_a));
    CHECK(hipFree(device_b));
    CHECK(hipFree(device_c));

    int wrong = 0;
    for (int row = 0; row < n; ++row) {
        for (int column = 0; column < n; ++column) {
            double expected = 0.0;
            for (int k = 0; k < n; ++k) {
                expected += static_cast<double>(a[row * n + k]) * b[k * n + column];
            }
            // All products are multiples of 1/8 well below 2^21: the float sum is exact in any order.
            if (c[row * n + column] != static_cast<float>(expected) && wrong++ < 5) {
                std::printf("c[%d][%d] = %g, expected %g\n", row, column, c[row * n + column], expected);
            }
        }
    }
    std::printf("matmul %d x %d: %s\n", n, n, wrong ? "FAILED" : "PASSED");
    return wrong ? 1 : 0;
}
