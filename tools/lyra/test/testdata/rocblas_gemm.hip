// SPDX-License-Identifier: MIT
// rocblas_gemm_ex of Debian's librocblas.so.0 in f16, bf16, f32, f64 and i8, against a computation on the host.
//
// The library is loaded at run time, so that no package but hipcc's is needed to compile this. Sums of i8 are exact. An element
// of another type is right when it differs from the exact value by no more than rounding can in any order of the operations,
// and the last rounding to the type of the result: (terms + 3) units of the type of the sums, times the sum of the absolute
// values of the terms, and one unit of the result.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <vector>

#define CHECK(call)                                                                                            \
    do {                                                                                                       \
        const hipError_t hip_status = (call);                                                                  \
        if (hip_status != hipSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(hip_status)); \
            std::exit(1);                                                                                      \
        }                                                                                                      \
    } while (0)

namespace {

// The C interface of rocBLAS 2.47, as its rocblas-types.h and rocblas-functions.h have it.
using Handle = void*;
using Int = int32_t;
enum Operation : int { kNone = 111, kTranspose = 112 };
enum DataType : int { kF16 = 150, kF32 = 151, kF64 = 152, kI8 = 160, kI32 = 162, kBf16 = 168 };
using CreateHandle = int (*)(Handle*);
using GemmEx = int (*)(Handle, Operation, Operation, Int m, Int n, Int k, const void* alpha, const void* a, DataType, Int lda,
                       const void* b, DataType, Int ldb, const void* beta, const void* c, DataType, Int ldc, void* d, DataType,
                       Int ldd, DataType compute, int algo, int32_t solution, uint32_t flags);

template <typename Function>
Function find(void* library, const char* name) {
    const auto function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) {
        std::fprintf(stderr, "librocblas.so.0 lacks %s\n", name);
        std::exit(1);
    }
    return function;
}

struct Bf16 {
    uint16_t bits = 0;
    Bf16() = default;
    explicit Bf16(double value) {  // the numbers here need no rounding
        const float f = static_cast<float>(value);
        uint32_t word;
        std::memcpy(&word, &f, sizeof word);
        bits = static_cast<uint16_t>(word >> 16);
    }
    explicit operator double() const {
        const uint32_t word = uint32_t{bits} << 16;
        float f;
        std::memcpy(&f, &word, sizeof f);
        return f;
    }
};

/// Integers from -most to most.
class Numbers {
public:
    explicit Numbers(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
    int64_t integer(int64_t most) {
        state_ = state_ * 6364136223846793005 + 1442695040888963407;
        return static_cast<int64_t>((state_ >> 11) % static_cast<uint64_t>(2 * most + 1)) - most;
    }

private:
    uint64_t state_;
};

/// What a kind of product has: element, sum and result, and how they round.
template <class In, class Out, class Scale>
struct Kind {
    const char* name;
    DataType in, out, compute;
    int64_t most;  ///< of the integers that elements are made of: all of an element's digits
    double unit;  ///< of these integers
    double sum_unit;  ///< half a unit in the last place of 1 of the sums; 0: exact
    double out_unit;  ///< of the result
};

struct Shape {
    Operation a, b;
    Int m, n, k;
};
constexpr Shape kShapes[] = {{kNone, kNone, 64, 64, 64},
                             {kTranspose, kNone, 128, 96, 64},
                             {kNone, kTranspose, 100, 36, 52},
                             {kTranspose, kTranspose, 16, 144, 200}};

unsigned cases = 0, wrong_cases = 0;

template <class T>
class OnDevice {
public:
    explicit OnDevice(const std::vector<T>& host) : count_(host.size()) {
        CHECK(hipMalloc(&data, count_ * sizeof(T)));
        CHECK(hipMemcpy(data, host.data(), count_ * sizeof(T), hipMemcpyHostToDevice));
    }
    ~OnDevice() { CHECK(hipFree(data)); }
    std::vector<T> read() const {
        std::vector<T> host(count_);
        CHECK(hipMemcpy(host.data(), data, count_ * sizeof(T), hipMemcpyDeviceToHost));
        return host;
    }
    T* data = nullptr;

private:
    size_t count_;
};

template <class In, class Out, class Scale>
void run(GemmEx gemm, Handle handle, const Kind<In, Out, Scale>& kind, const Shape& s) {
    Numbers number(static_cast<uint64_t>(s.m * 1000 + s.n * 10 + s.k));
    const auto matrix = [&](Int rows, Int columns) {
        std::vector<In> all(static_cast<size_t>(rows) * static_cast<size_t>(columns));
        for (In& each : all) each = static_cast<In>(static_cast<double>(number.integer(kind.most)) * kind.unit);
        return all;
    };
    const Int lda = s.a == kNone ? s.m : s.k, ldb = s.b == kNone ? s.k : s.n;
    const std::vector<In> a = matrix(lda, s.a == kNone ? s.k : s.m), b = matrix(ldb, s.b == kNone ? s.n : s.k);
    std::vector<Out> c(static_cast<size_t>(s.m) * static_cast<size_t>(s.n));
    for (Out& each : c) each = static_cast<Out>(static_cast<double>(number.integer(kind.most)) * kind.unit);
    const OnDevice<In> device_a(a), device_b(b);
    const OnDevice<Out> device_c(c);
    const Scale alpha = static_cast<Scale>(2), beta = static_cast<Scale>(-3);
    const int status = gemm(handle, s.a, s.b, s.m, s.n, s.k, &alpha, device_a.data, kind.in, lda, device_b.data, kind.in, ldb,
                            &beta, device_c.data, kind.out, s.m, device_c.data, kind.out, s.m, kind.compute, 0, 0, 0);
    if (status != 0) {
        std::fprintf(stderr, "rocblas_gemm_ex of %s: rocblas_status %d\n", kind.name, status);
        std::exit(1);
    }
    const std::vector<Out> got = device_c.read();
    uint64_t wrong = 0;
    double worst = 0;
    for (Int column = 0; column < s.n; ++column) {
        for (Int row = 0; row < s.m; ++row) {
            // With more digits than any of the sums
            long double sum = 0, absolute = 0;
            for (Int i = 0; i < s.k; ++i) {
                const auto x = static_cast<double>(a[static_cast<size_t>(s.a == kNone ? i * lda + row : row * lda + i)]);
                const auto y = static_cast<double>(b[static_cast<size_t>(s.b == kNone ? column * ldb + i : i * ldb + column)]);
                sum += static_cast<long double>(x) * y;
                absolute += std::fabs(static_cast<long double>(x) * y);
            }
            const auto here = static_cast<size_t>(column * s.m + row);
            const auto old = static_cast<long double>(static_cast<double>(c[here]));
            const long double exact = 2 * sum - 3 * old;
            const long double allowed =
                (s.k + 3) * static_cast<long double>(kind.sum_unit) * (2 * absolute + std::fabs(3 * old)) +
                static_cast<long double>(kind.out_unit) * std::fabs(exact);
            const auto error = static_cast<double>(std::fabs(static_cast<long double>(static_cast<double>(got[here])) - exact));
            if (!(error <= static_cast<double>(allowed))) ++wrong;  // also for a NaN
            if (allowed > 0) worst = std::max(worst, error / static_cast<double>(allowed));
        }
    }
    ++cases;
    wrong_cases += wrong != 0;
    std::printf("%s %c%c m=%d n=%d k=%d: %llu wrong, largest error %.3f of the allowed one\n", kind.name,
                s.a == kNone ? 'N' : 'T', s.b == kNone ? 'N' : 'T', s.m, s.n, s.k, static_cast<unsigned long long>(wrong),
                worst);
    std::fflush(stdout);
}

}  // namespace

int main() {
    void* const library = dlopen("librocblas.so.0", RTLD_NOW);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    const auto gemm = find<GemmEx>(library, "rocblas_gemm_ex");
    Handle handle = nullptr;
    if (const int status = find<CreateHandle>(library, "rocblas_create_handle")(&handle); status != 0) {
        std::fprintf(stderr, "rocblas_create_handle: rocblas_status %d\n", status);
        return 1;
    }
    for (const Shape& shape : kShapes) {
        run(gemm, handle, Kind<_Float16, _Float16, float>{"f16", kF16, kF16, kF32, 2047, 0x1p-11, 0x1p-24, 0x1p-11}, shape);
        run(gemm, handle, Kind<Bf16, Bf16, float>{"bf16", kBf16, kBf16, kF32, 255, 0x1p-8, 0x1p-24, 0x1p-8}, shape);
        run(gemm, handle, Kind<float, float, float>{"f32", kF32, kF32, kF32, (1 << 24) - 1, 0x1p-24, 0x1p-24, 0}, shape);
        run(gemm, handle, Kind<double, double, double>{"f64", kF64, kF64, kF64, (int64_t{1} << 53) - 1, 0x1p-53, 0x1p-53, 0},
            shape);
        run(gemm, handle, Kind<int8_t, int32_t, int32_t>{"i8", kI8, kI32, kI32, 127, 1, 0, 0}, shape);
    }
    const bool good = wrong_cases == 0 && cases == 5 * std::size(kShapes);
    std::printf("%u cases: %s\n", cases, good ? "PASSED" : "FAILED");
    return good ? 0 : 1;
}
