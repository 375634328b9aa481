// SPDX-License-Identifier: MIT
// Matrix products with matrix instructions, in f32, f16 and f64: a wave computes 16 x 16 elements. The host computes the same,
// in the same order, so that every bit has to be equal. Needs a GPU with matrix cores: ./lyra run --chip gfx90a, or gfx942
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(call)                                                                                            \
    do {                                                                                                       \
        const hipError_t hip_status = (call);                                                                  \
        if (hip_status != hipSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(hip_status)); \
            std::exit(1);                                                                                      \
        }                                                                                                      \
    } while (0)

#if defined(__gfx90a__) || defined(__gfx942__) || !defined(__HIP_DEVICE_COMPILE__)
#define MATRIX_CORES 1
#else
#define MATRIX_CORES 0
#endif

constexpr int kTile = 16, kWave = 64;

typedef float Float4 __attribute__((ext_vector_type(4)));
typedef double Double4 __attribute__((ext_vector_type(4)));
typedef _Float16 Half4 __attribute__((ext_vector_type(4)));

// Element r of a lane's result is row 4 * (lane / 16) + r, column lane % 16 of the tile; of A it has row lane % 16, of B column
// lane % 16, for the k that lane / 16 says.
__global__ void gemm_f32(const float* a, const float* b, float* c, int n, int depth) {
#if MATRIX_CORES && defined(__HIP_DEVICE_COMPILE__)
    const int place = threadIdx.x % kTile, part = threadIdx.x / kTile;
    const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
    Float4 sum = {0, 0, 0, 0};
    for (int k = 0; k < depth; k += 4) {
        const float left = a[(row + place) * depth + k + part], right = b[(k + part) * n + column + place];
        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(left, right, sum, 0, 0, 0);
    }
    for (int r = 0; r < 4; ++r) c[(row + 4 * part + r) * n + column + place] = sum[r];
#endif
}

// Four elements that follow one another in k are in one lane.
__global__ void gemm_f16(const float* a, const float* b, float* c, int n, int depth) {
#if MATRIX_CORES && defined(__HIP_DEVICE_COMPILE__)
    const int place = threadIdx.x % kTile, part = threadIdx.x / kTile;
    const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
    Float4 sum = {0, 0, 0, 0};
    for (int k = 0; k < depth; k += 16) {
        Half4 left, right;
        for (int e = 0; e < 4; ++e) {
            left[e] = static_cast<_Float16>(a[(row + place) * depth + k + 4 * part + e]);
            right[e] = static_cast<_Float16>(b[(k + 4 * part + e) * n + column + place]);
        }
        sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sum, 0, 0, 0);
    }
    for (int r = 0; r < 4; ++r) c[(row + 4 * part + r) * n + column + place] = sum[r];
#endif
}

// Rows of the result lie otherwise: element r is row lane / 16 + 4 * r.
__global__ void gemm_f64(const double* a, const double* b, double* c, int n, int depth) {
#if MATRIX_CORES && defined(__HIP_DEVICE_COMPILE__)
    const int place = threadIdx.x % kTile, part = threadIdx.x / kTile;
    const int row = blockIdx.y * kTile, column = blockIdx.x * kTile;
    Double4 sum = {0, 0, 0, 0};
    for (int k = 0; k < depth; k += 4) {
        const double left = a[(row + place) * depth + k + part], right = b[(k + part) * n + column + place];
        sum = __builtin_amdgcn_mfma_f64_16x16x4f64(left, right, sum, 0, 0, 0);
    }
    for (int r = 0; r < 4; ++r) c[(row + part + 4 * r) * n + column + place] = sum[r];
#endif
}

constexpr int kRows = 64, kColumns = 96, kDepth = 80;

// One product on the GPU, compared with the host's. @param expected  (row, column) of the result
template <class T, class Kernel, class Expected>
bool run(const char* name, Kernel kernel, const std::vector<T>& a, const std::vector<T>& b, Expected expected) {
    std::vector<T> c(kRows * kColumns, T(-1));
    T *device_a = nullptr, *device_b = nullptr, *device_c = nullptr;
    CHECK(hipMalloc(&device_a, a.size() * sizeof(T)));
    CHECK(hipMalloc(&device_b, b.size() * sizeof(T)));
    CHECK(hipMalloc(&device_c, c.size() * sizeof(T)));
    CHECK(hipMemcpy(device_a, a.data(), a.size() * sizeof(T), hipMemcpyHostToDevice));
    CHECK(hipMemcpy(device_b, b.data(), b.size() * sizeof(T), hipMemcpyHostToDevice));
    kernel<<<dim3(kColumns / kTile, kRows / kTile), kWave>>>(device_a, device_b, device_c, kColumns, kDepth);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(c.data(), device_c, c.size() * sizeof(T), hipMemcpyDeviceToHost));
    CHECK(hipFree(device_a));
    CHECK(hipFree(device_b));
    CHECK(hipFree(device_c));
    int wrong = 0;
    for (int row = 0; row < kRows; ++row) {
        for (int column = 0; column < kColumns; ++column) {
            const T want = expected(row, column), got = c[row * kColumns + column];
            if (std::memcmp(&want, &got, sizeof(T)) != 0 && wrong++ < 5)
                std::printf("%s: c[%d][%d] = %.17g, expected %.17g\n", name, row, column, double(got), double(want));
        }
    }
    std::printf("%s of %d x %d x %d: %s\n", name, kRows, kColumns, kDepth, wrong ? "FAILED" : "PASSED");
    return wrong == 0;
}

int main() {
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    const auto is = [&](const char* chip) { return std::strncmp(properties.gcnArchName, chip, 6) == 0; };
    if (!is("gfx90a") && !is("gfx942")) {
        std::printf("%s has no matrix cores, which this program needs: SKIPPED\n", properties.gcnArchName);
        return 77;
    }
    std::vector<float> a(kRows * kDepth), b(kDepth * kColumns), small_a(a.size()), small_b(b.size());
    std::vector<double> wide_a(a.size()), wide_b(b.size());
    unsigned state = 1;
    const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
    for (size_t i = 0; i < a.size(); ++i) {
        a[i] = next() * 0x1p-23f - 1;
        small_a[i] = static_cast<float>(next() % 33) - 16;
        wide_a[i] = next() * 0x1p-23 - 1 + next() * 0x1p-47;
    }
    for (size_t i = 0; i < b.size(); ++i) {
        b[i] = next() * 0x1p-23f - 1;
        small_b[i] = (static_cast<float>(next() % 33) - 16) / 8;
        wide_b[i] = next() * 0x1p-23 - 1 + next() * 0x1p-47;
    }
    // The matrix cores of both add one product after the other, rounded once each.
    const auto chain = [](const auto& left, const auto& right) {
        return [&](int row, int column) {
            std::decay_t<decltype(left[0])> sum = 0;
            for (int k = 0; k < kDepth; ++k) sum = std::fma(left[row * kDepth + k], right[k * kColumns + column], sum);
            return sum;
        };
    };
    bool good = run("gemm_f32", gemm_f32, a, b, chain(a, b));
    good &= run("gemm_f16", gemm_f16, small_a, small_b, chain(small_a, small_b));  // sums of small numbers are exact
    good &= run("gemm_f64", gemm_f64, wide_a, wide_b, chain(wide_a, wide_b));
    return good ? 0 : 1;
}
