// SPDX-License-Identifier: MIT
// saxpy and sgemm of Debian's librocblas.so.0 against a computation on the host in double precision: rocblas [saxpy|sgemm]
//
// The library is loaded at run time, so that no package but hipcc's is needed to compile this. An element is right when it
// differs from the exact value by no more than rounding can in any order of the operations: (terms + 2) * 2^-24 of the sum of
// the absolute values of its terms. What lies between the columns of C and between the elements of y has to stay as it was.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <limits>
#include <string>
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
enum Status : int { kSuccess = 0 };
enum Operation : int { kNone = 111, kTranspose = 112, kConjugateTranspose = 113 };
enum PointerMode : int { kHost = 0, kDevice = 1 };

struct Rocblas {
    Status (*create_handle)(Handle*);
    Status (*destroy_handle)(Handle);
    Status (*set_pointer_mode)(Handle, PointerMode);
    Status (*get_version_string)(char*, size_t);
    Status (*saxpy)(Handle, Int n, const float* alpha, const float* x, Int incx, float* y, Int incy);
    Status (*sgemm)(Handle, Operation, Operation, Int m, Int n, Int k, const float* alpha, const float* a, Int lda,
                    const float* b, Int ldb, const float* beta, float* c, Int ldc);
};

template <typename Function>
void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (!function) {
        std::fprintf(stderr, "librocblas.so.0 lacks %s\n", name);
        std::exit(1);
    }
}

Rocblas load() {
    void* library = dlopen("librocblas.so.0", RTLD_NOW);
    if (!library) {
        std::fprintf(stderr, "%s\n", dlerror());
        std::exit(1);
    }
    Rocblas r{};
    find(library, "rocblas_create_handle", r.create_handle);
    find(library, "rocblas_destroy_handle", r.destroy_handle);
    find(library, "rocblas_set_pointer_mode", r.set_pointer_mode);
    find(library, "rocblas_get_version_string", r.get_version_string);
    find(library, "rocblas_saxpy", r.saxpy);
    find(library, "rocblas_sgemm", r.sgemm);
    return r;
}

void check(Status status, const char* what) {
    if (status == kSuccess) return;
    std::fprintf(stderr, "%s: rocblas_status %d\n", what, status);
    std::exit(1);
}

constexpr double kUnit = 0x1p-24;  ///< half a unit in the last place of 1.0f
constexpr float kUntouched = 12345.5f;

/// Numbers between -1 and 1 with all bits of a float in use.
class Numbers {
public:
    explicit Numbers(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
    float operator()() {
        state_ = state_ * 6364136223846793005 + 1442695040888963407;
        return static_cast<float>(static_cast<int32_t>(state_ >> 32)) * 0x1p-31f;
    }

private:
    uint64_t state_;
};

/// Counts what was compared.
struct Verdict {
    unsigned cases = 0, wrong_cases = 0;
    uint64_t elements = 0;
    double worst = 0;  ///< error, in parts of the one that is allowed

    void end_case(const char* name, uint64_t compared, uint64_t wrong, double worst_here) {
        ++cases;
        elements += compared;
        worst = std::max(worst, worst_here);
        if (wrong) ++wrong_cases;
        std::printf("%s: %llu elements, %llu wrong, largest error %.3f of the allowed one\n", name,
                    static_cast<unsigned long long>(compared), static_cast<unsigned long long>(wrong), worst_here);
        std::fflush(stdout);
    }
};

class Compare {
public:
    void near(float got, double exact, double allowed) {
        ++compared;
        const double error = std::fabs(static_cast<double>(got) - exact);
        if (!(error <= allowed)) ++wrong;  // also for a NaN
        if (allowed > 0) worst = std::max(worst, error / allowed);
    }
    void same(float got, float before) {
        ++compared;
        if (!(got == before)) ++wrong;
    }
    uint64_t compared = 0, wrong = 0;
    double worst = 0;
};

/// A copy of host numbers in the memory of the device.
class DeviceBuffer {
public:
    explicit DeviceBuffer(const std::vector<float>& host) : count_(host.size()) {
        CHECK(hipMalloc(&data_, count_ * sizeof(float)));
        CHECK(hipMemcpy(data_, host.data(), count_ * sizeof(float), hipMemcpyHostToDevice));
    }
    ~DeviceBuffer() { CHECK(hipFree(data_)); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    float* data() { return data_; }
    std::vector<float> read() const {
        std::vector<float> host(count_);
        CHECK(hipMemcpy(host.data(), data_, count_ * sizeof(float), hipMemcpyDeviceToHost));
        return host;
    }

private:
    float* data_ = nullptr;
    size_t count_;
};

struct Saxpy {
    Int n, incx, incy;
    float alpha;
    PointerMode where = kHost;
};

void run(const Rocblas& rocblas, Handle handle, const Saxpy& s, Verdict& verdict) {
    const size_t step_x = static_cast<size_t>(std::abs(s.incx)), step_y = static_cast<size_t>(std::abs(s.incy)),
                 n = static_cast<size_t>(s.n);
    Numbers number(n + step_x);
    std::vector<float> x(n * step_x), y(n * step_y, kUntouched);
    for (float& each : x) each = number();
    for (size_t i = 0; i < n; ++i) y[i * step_y] = number();
    DeviceBuffer device_x(x), device_y(y), device_alpha({s.alpha});
    check(rocblas.set_pointer_mode(handle, s.where), "rocblas_set_pointer_mode");
    check(rocblas.saxpy(handle, s.n, s.where == kHost ? &s.alpha : device_alpha.data(), device_x.data(), s.incx,
                        device_y.data(), s.incy),
          "rocblas_saxpy");
    const std::vector<float> got = device_y.read();
    Compare compare;
    for (size_t at = 0; at < got.size(); ++at) {
        if (at % step_y) {
            compare.same(got[at], kUntouched);
            continue;
        }
        // With a negative increment the vector is walked from its end.
        const size_t i = s.incy > 0 ? at / step_y : n - 1 - at / step_y;
        const double term = static_cast<double>(s.alpha) * x[(s.incx > 0 ? i : n - 1 - i) * step_x];
        compare.near(got[at], term + y[at], 3 * kUnit * (std::fabs(term) + std::fabs(y[at])));
    }
    char name[96];
    std::snprintf(name, sizeof name, "saxpy n=%d incx=%d incy=%d alpha=%g of the %s", s.n, s.incx, s.incy, s.alpha,
                  s.where == kHost ? "host" : "device");
    verdict.end_case(name, compare.compared, compare.wrong, compare.worst);
}

struct Sgemm {
    Operation a, b;
    Int m, n, k;
    float alpha, beta;
    Int more = 0;  ///< rows of the matrices in memory beyond those that count
};

// A column-major matrix with more rows in memory than it has.
std::vector<float> matrix(Int rows, Int columns, Int more, Numbers& number) {
    std::vector<float> all(static_cast<size_t>(rows + more) * static_cast<size_t>(columns), kUntouched);
    for (size_t column = 0; column < static_cast<size_t>(columns); ++column) {
        for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
            all[column * static_cast<size_t>(rows + more) + row] = number();
    }
    return all;
}

void run(const Rocblas& rocblas, Handle handle, const Sgemm& s, Verdict& verdict) {
    Numbers number(static_cast<uint64_t>(s.m * 1000 + s.n * 10 + s.k));
    const bool plain_a = s.a == kNone, plain_b = s.b == kNone;
    const Int lda = (plain_a ? s.m : s.k) + s.more, ldb = (plain_b ? s.k : s.n) + s.more, ldc = s.m + s.more;
    const std::vector<float> a = matrix(plain_a ? s.m : s.k, plain_a ? s.k : s.m, s.more, number);
    const std::vector<float> b = matrix(plain_b ? s.k : s.n, plain_b ? s.n : s.k, s.more, number);
    std::vector<float> c = matrix(s.m, s.n, s.more, number);
    // With beta 0 the old C is not read: what it holds may be anything.
    if (s.beta == 0) c[0] = std::numeric_limits<float>::quiet_NaN();
    DeviceBuffer device_a(a), device_b(b), device_c(c);
    check(rocblas.set_pointer_mode(handle, kHost), "rocblas_set_pointer_mode");
    check(rocblas.sgemm(handle, s.a, s.b, s.m, s.n, s.k, &s.alpha, device_a.data(), lda, device_b.data(), ldb, &s.beta,
                        device_c.data(), ldc),
          "rocblas_sgemm");
    const std::vector<float> got = device_c.read();
    Compare compare;
    const auto at = [](Int row, Int column, Int ld) {
        return static_cast<size_t>(column) * static_cast<size_t>(ld) + static_cast<size_t>(row);
    };
    for (Int column = 0; column < s.n; ++column) {
        for (Int row = 0; row < ldc; ++row) {
            const size_t here = at(row, column, ldc);
            if (row >= s.m) {
                compare.same(got[here], kUntouched);
                continue;
            }
            double sum = 0, absolute = 0;
            for (Int i = 0; i < s.k; ++i) {
                const double product = static_cast<double>(a[plain_a ? at(row, i, lda) : at(i, row, lda)]) *
                                       static_cast<double>(b[plain_b ? at(i, column, ldb) : at(column, i, ldb)]);
                sum += product;
                absolute += std::fabs(product);
            }
            const double old = s.beta == 0 ? 0 : static_cast<double>(s.beta) * c[here];
            const double allowed = (s.k + 3) * kUnit * (std::fabs(s.alpha) * absolute + std::fabs(old));
            compare.near(got[here], static_cast<double>(s.alpha) * sum + old, allowed);
        }
    }
    char name[128];
    const auto letter = [](Operation o) { return o == kNone ? 'N' : o == kTranspose ? 'T' : 'C'; };
    std::snprintf(name, sizeof name, "sgemm %c%c m=%d n=%d k=%d alpha=%g beta=%g, %d more rows", letter(s.a), letter(s.b), s.m,
                  s.n, s.k, s.alpha, s.beta, s.more);
    verdict.end_case(name, compare.compared, compare.wrong, compare.worst);
}

constexpr Saxpy kSaxpy[] = {
    {1, 1, 1, 2.0f},        {63, 1, 1, -0.75f},  {64, 1, 1, 1.0f / 3, kDevice}, {1000, 2, 1, 3.5f}, {1000, 1, 3, -1.0f / 7},
    {999, -1, 2, 1.0f / 3}, {257, -2, -3, 0.1f}, {100003, 1, 1, 1.0f / 3},      {200, 1, 1, 0.0f},
};

constexpr Sgemm kSgemm[] = {
    {kNone, kNone, 64, 64, 64, 1.0f, 0.0f},
    {kNone, kTranspose, 64, 64, 64, 1.0f, 0.0f},
    {kTranspose, kNone, 64, 64, 64, 1.0f, 0.0f},
    {kTranspose, kTranspose, 64, 64, 64, 1.0f, 0.0f},
    {kConjugateTranspose, kNone, 48, 40, 24, 1.0f, 1.0f},
    {kNone, kNone, 1, 1, 1, 2.0f, 0.5f},
    {kNone, kNone, 37, 51, 29, 1.0f / 3, -0.7f, 3},
    {kNone, kTranspose, 65, 17, 100, -1.5f, 2.0f, 1},
    {kTranspose, kNone, 100, 33, 65, 0.1f, 1.0f, 5},
    {kTranspose, kTranspose, 19, 129, 31, 1.0f, -1.0f, 2},
    {kNone, kNone, 128, 1, 200, 1.0f, 0.0f},
    {kNone, kNone, 256, 192, 160, 1.0f, 0.5f},
    {kTranspose, kNone, 200, 200, 200, -0.3f, 0.0f},
    {kNone, kNone, 40, 40, 40, 0.0f, 2.0f},
};

}  // namespace

int main(int argc, char** argv) {
    const std::string only = argc > 1 ? argv[1] : "";
    if (!only.empty() && only != "saxpy" && only != "sgemm") {
        std::fprintf(stderr, "usage: rocblas [saxpy|sgemm]\n");
        return 2;
    }
    const Rocblas rocblas = load();
    char version[64] = "";
    check(rocblas.get_version_string(version, sizeof version), "rocblas_get_version_string");
    std::printf("rocBLAS %s\n", version);
    std::fflush(stdout);
    Handle handle = nullptr;
    check(rocblas.create_handle(&handle), "rocblas_create_handle");
    Verdict verdict;
    if (only != "sgemm") {
        for (const Saxpy& s : kSaxpy) run(rocblas, handle, s, verdict);
    }
    if (only != "saxpy") {
        for (const Sgemm& s : kSgemm) run(rocblas, handle, s, verdict);
    }
    check(rocblas.destroy_handle(handle), "rocblas_destroy_handle");
    const size_t cases = (only == "sgemm" ? 0 : std::size(kSaxpy)) + (only == "saxpy" ? 0 : std::size(kSgemm));
    const bool good = verdict.wrong_cases == 0 && verdict.cases == cases;
    std::printf("%u cases, %llu elements, largest error %.3f of the allowed one: %s\n", verdict.cases,
                static_cast<unsigned long long>(verdict.elements), verdict.worst, good ? "PASSED" : "FAILED");
    return good ? 0 : 1;
}
