// SPDX-License-Identifier: MIT
// C = A * B of 96 x 96 floats with rocBLAS, compared with double precision on the host.
//
//     ./lyra run --packages librocblas-dev --hipcc -lrocblas examples/packages/sgemm_rocblas.hip
//
// rocBLAS reads 117 MB about the kernels that it can choose from before the first one: under TCG this takes minutes.
#include <hip/hip_runtime.h>
#include <rocblas/rocblas.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#define CHECK(call, good)                                                                      \
    do {                                                                                       \
        const int status = (call);                                                             \
        if (status != (good)) {                                                                \
            std::fprintf(stderr, "%s:%d: %s: status %d\n", __FILE__, __LINE__, #call, status); \
            std::exit(1);                                                                      \
        }                                                                                      \
    } while (0)
#define HIP(call) CHECK(call, hipSuccess)
#define BLAS(call) CHECK(call, rocblas_status_success)

int main() {
    const int n = 96;
    const size_t bytes = n * n * sizeof(float);
    std::mt19937 random(7);
    std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
    std::vector<float> a(n * n), b(n * n), c(n * n, NAN);
    for (float& x : a) x = uniform(random);
    for (float& x : b) x = uniform(random);
    float *device_a = nullptr, *device_b = nullptr, *device_c = nullptr;
    HIP(hipMalloc(&device_a, bytes));
    HIP(hipMalloc(&device_b, bytes));
    HIP(hipMalloc(&device_c, bytes));
    HIP(hipMemcpy(device_a, a.data(), bytes, hipMemcpyHostToDevice));
    HIP(hipMemcpy(device_b, b.data(), bytes, hipMemcpyHostToDevice));

    rocblas_handle handle;
    BLAS(rocblas_create_handle(&handle));
    const float one = 1.0f, zero = 0.0f;
    BLAS(rocblas_sgemm(handle, rocblas_operation_none, rocblas_operation_none, n, n, n, &one, device_a, n, device_b, n, &zero,
                       device_c, n));
    HIP(hipMemcpy(c.data(), device_c, bytes, hipMemcpyDeviceToHost));
    BLAS(rocblas_destroy_handle(handle));

    // Matrices are stored by columns. Rounding in any order of the operations: (n + 2) * 2^-24 of the sum of absolute values.
    int wrong = 0;
    for (int column = 0; column < n; ++column) {
        for (int row = 0; row < n; ++row) {
            double exact = 0, size = 0;
            for (int k = 0; k < n; ++k) {
                const double term = double(a[k * n + row]) * b[column * n + k];
                exact += term;
                size += std::fabs(term);
            }
            const double error = std::fabs(c[column * n + row] - exact);
            if (!(error <= (n + 2) * std::ldexp(size, -24)) && wrong++ < 5) {
                std::printf("c[%d,%d] = %g, expected %g\n", row, column, c[column * n + row], exact);
            }
        }
    }
    std::printf("rocBLAS sgemm of %d x %d: %s\n", n, n, wrong ? "FAILED" : "PASSED");
    return wrong ? 1 : 0;
}
