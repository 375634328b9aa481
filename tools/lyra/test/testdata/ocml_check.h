// SPDX-License-Identifier: MIT
// What ocml.hip is made of: inputs, references that libm lacks, errors in units in the last place, and the printed rows.
#pragma once

#include <algorithm>
#include <cfenv>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace ocml_check {

inline void require(hipError_t status, const char* what) {
    if (status == hipSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(status));
    std::exit(1);
}

template <class T>
class DeviceBuffer {
public:
    explicit DeviceBuffer(const std::vector<T>& content) : bytes_(content.size() * sizeof(T)) {
        require(hipMalloc(reinterpret_cast<void**>(&data_), bytes_), "hipMalloc");
        require(hipMemcpy(data_, content.data(), bytes_, hipMemcpyHostToDevice), "copy to the device");
    }
    ~DeviceBuffer() { require(hipFree(data_), "hipFree"); }
    DeviceBuffer(const DeviceBuffer&) = delete;
    T* get() const { return data_; }
    /// Waits for the kernels before.
    void read(std::vector<T>& out) const {
        require(hipGetLastError(), "launch");
        require(hipMemcpy(out.data(), data_, bytes_, hipMemcpyDeviceToHost), "copy from the device");
    }

private:
    T* data_ = nullptr;
    size_t bytes_;
};

/// The host rounds in this direction while the object lives.
class Rounding {
public:
    explicit Rounding(int direction) : before_(std::fegetround()) { std::fesetround(direction); }
    ~Rounding() { std::fesetround(before_); }

private:
    int before_;
};

// Inputs ----------------------------------------------------------------------------------------------------------------------

/// splitmix64: the same numbers on every machine.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t bits() {
        uint64_t v = state_ += 0x9e3779b97f4a7c15;
        v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
        v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
        return v ^ (v >> 31);
    }
    double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

private:
    uint64_t state_;
};

template <class T>
std::vector<T> special_values() {
    using L = std::numeric_limits<T>;
    std::vector<T> values;
    for (const T v : {T(0),
                      L::infinity(),
                      L::denorm_min(),
                      L::min(),
                      L::min() - L::denorm_min(),
                      L::max(),
                      L::epsilon(),
                      T(1),
                      T(1) + L::epsilon(),
                      T(1) - L::epsilon() / 2,
                      T(0.5),
                      T(0.25),
                      T(1.5),
                      T(2),
                      T(2.5),
                      T(3),
                      T(4),
                      T(10),
                      T(1.57079632679489661923),
                      T(3.14159265358979323846),
                      T(0x1p23),
                      T(0x1p24) + T(1),
                      T(0x1p31),
                      T(0x1p32),
                      T(0x1p52) + T(0.5),
                      T(0x1p63),
                      std::sqrt(L::max()),
                      std::sqrt(L::min()),
                      T(170.5),
                      T(35.25),
                      T(1e-5)}) {
        values.push_back(v);
        values.push_back(-v);
    }
    values.push_back(L::quiet_NaN());
    return values;
}

template <class T>
T random_value(Random& random, double low, double high) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    const double sign = random.bits() & 1 ? -1 : 1;
    switch (random.bits() % 8) {
        case 0: {  // any exponent
            const Bits bits = static_cast<Bits>(random.bits());
            T v;
            std::memcpy(&v, &bits, sizeof(v));
            return std::isnan(v) ? T(0.75) : v;
        }
        case 1: return static_cast<T>(sign * std::ldexp(1 + random.unit(), static_cast<int>(random.bits() % 41) - 20));
        case 2: return static_cast<T>(sign * static_cast<double>(random.bits() % 64) / 2);
        default: return static_cast<T>(low + (high - low) * random.unit());
    }
}

/// Three arrays of n values, one after the other; the first starts with the special values. Only uniform numbers of low..high
/// when not everywhere.
template <class T>
std::vector<T> inputs_for(int n, double low, double high, bool everywhere) {
    Random random(2024);
    const std::vector<T> special = special_values<T>();
    std::vector<T> values(static_cast<size_t>(3) * n);
    for (size_t i = 0; i < values.size(); ++i) {
        const bool is_special = i < special.size() || (i >= static_cast<size_t>(n) && random.bits() % 4 == 0);
        if (!everywhere)
            values[i] = static_cast<T>(low + (high - low) * random.unit());
        else if (is_special)
            values[i] = special[(i < special.size() ? i : random.bits()) % special.size()];
        else
            values[i] = random_value<T>(random, low, high);
    }
    return values;
}

inline std::vector<unsigned short> half_inputs(int n) {
    Random random(7);
    std::vector<unsigned short> values(static_cast<size_t>(3) * n);
    const unsigned short special[] = {0,     0x8000, 0x7c00, 0xfc00, 0x7e00, 1,     0x8001,
                                      0x3ff, 0x400,  0x7bff, 0xfbff, 0x3c00, 0xbc00};
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<unsigned short>(random.bits());
        if (i < std::size(special) || random.bits() % 16 == 0)
            values[i] = special[i % std::size(special)];
        else if (random.bits() % 2)
            values[i] = static_cast<unsigned short>((values[i] & 0x8fff) | 0x3000);  // about 1
        if ((values[i] & 0x7fff) > 0x7c00) values[i] |= 0x200;  // quiet
    }
    return values;
}

inline std::vector<uint64_t> integer_inputs(int n) {
    Random random(11);
    std::vector<uint64_t> values(static_cast<size_t>(2) * n);
    const uint64_t special[] = {0,
                                1,
                                ~0ull,
                                0x80000000,
                                0x7fffffff,
                                0xffffffff,
                                1ull << 63,
                                ~0ull >> 1,
                                0x4effffff,
                                0x4f000000,
                                0xcf000000,
                                0xcf000001,
                                0x4f800000,
                                0x7f800000,
                                0xff800000,
                                0x7fc00000,
                                0x477fefff,
                                0x477ff000,
                                0x33000000,
                                0x33000001,
                                0x387fefff,
                                0x41dfffffffc00000,
                                0x41e0000000000000,
                                0xc1e0000000200000,
                                0x47efffffefffffff,
                                0x47effffff0000000,
                                0x36a0000000000000,
                                0x7ff0000000000000,
                                0xfff0000000000000};
    for (size_t i = 0; i < values.size(); ++i) {
        const unsigned kind = random.bits() % 8;
        const uint64_t bits = random.bits();
        values[i] = kind < 4 ? bits : bits >> (random.bits() % 64);
        if (kind == 4) values[i] = 0 - values[i];
        if (kind == 5) values[i] = (bits & 0x800fffffffffffff) | ((1000ull + bits % 90) << 52);  // f64 about 2^-23 to 2^66
        if (kind == 6) values[i] = (bits & 0x807fffff) | ((100 + (bits >> 32) % 92) << 23);  // f32 about 2^-27 to 2^64
        if (i < std::size(special) || kind == 7) values[i] = special[(i < std::size(special) ? i : bits) % std::size(special)];
    }
    return values;
}

// References ------------------------------------------------------------------------------------------------------------------

inline double reference_exp10(double x) { return ::exp10(x); }
inline long double reference_exp10(long double x) { return ::exp10l(x); }
inline double bessel_j(int n, double x) { return ::jn(n, x); }
inline long double bessel_j(int n, long double x) { return ::jnl(n, x); }
inline double bessel_y(int n, double x) { return x < 0 ? NAN : ::yn(n, x); }
inline long double bessel_y(int n, long double x) { return x < 0 ? NAN : ::ynl(n, x); }

/// sin(pi * x): reduced to a quarter turn without rounding.
template <class R>
R reference_sinpi(R x) {
    constexpr R kPi = R(3.14159265358979323846264338327950288L);
    if (std::isinf(x)) return std::numeric_limits<R>::quiet_NaN();
    const R r = std::remainder(x, R(2));  // -1..1
    const R a = std::fabs(r);
    if (a == 0 || a == 1) return std::copysign(R(0), x);
    const R s = a <= R(0.25) ? std::sin(kPi * a) : a < R(0.75) ? std::cos(kPi * (R(0.5) - a)) : std::sin(kPi * (R(1) - a));
    return std::copysign(s, r);
}
template <class R>
R reference_cospi(R x) {
    constexpr R kPi = R(3.14159265358979323846264338327950288L);
    if (std::isinf(x)) return std::numeric_limits<R>::quiet_NaN();
    const R a = std::fabs(std::remainder(x, R(2)));  // 0..1
    if (a == R(0.5)) return 0;
    return a <= R(0.25) ? std::cos(kPi * a) : a < R(0.75) ? std::sin(kPi * (R(0.5) - a)) : -std::cos(kPi * (R(1) - a));
}

/// A zero has the sign of x. (glibc 2.41 forgets it when y is denormal.)
template <class R>
R reference_remainder(R x, R y) {
    const R r = std::remainder(x, y);
    return r == 0 ? std::copysign(r, x) : r;
}

/// Smaller and larger number; a NaN loses, and -0 < +0.
template <class R>
R number_min(R x, R y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? y : x;
    return x < y || (x == y && std::signbit(x)) ? x : y;
}
template <class R>
R number_max(R x, R y) {
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? y : x;
    return x > y || (x == y && !std::signbit(x)) ? x : y;
}

// The same on device and host: results in several parts, one at a time
// ----------------------------------------------------------

#define BOTH_TYPES(name, f32, f64)                          \
    __host__ __device__ inline float name(float x) { f32; } \
    __host__ __device__ inline double name(double x) { f64; }
BOTH_TYPES(frexp_mantissa, int e; return frexpf(x, &e), int e; return frexp(x, &e))
BOTH_TYPES(frexp_exponent, int e; frexpf(x, &e); return e, int e; frexp(x, &e); return e)
BOTH_TYPES(modf_fraction, float whole; return modff(x, &whole), double whole; return modf(x, &whole))
BOTH_TYPES(modf_whole, float whole; modff(x, &whole); return whole, double whole; modf(x, &whole); return whole)
#undef BOTH_TYPES
#define BOTH_TYPES(name, f32, f64)            \
    __device__ inline float name(float x) {   \
        float s, c;                           \
        f32;                                  \
    }                                         \
    __device__ inline double name(double x) { \
        double s, c;                          \
        f64;                                  \
    }
BOTH_TYPES(sine_of, sincosf(x, &s, &c); return s, sincos(x, &s, &c); return s)
BOTH_TYPES(cosine_of, sincosf(x, &s, &c); return c, sincos(x, &s, &c); return c)
BOTH_TYPES(sine_of_pi, sincospif(x, &s, &c); return s, sincospi(x, &s, &c); return s)
BOTH_TYPES(cosine_of_pi, sincospif(x, &s, &c); return c, sincospi(x, &s, &c); return c)
#undef BOTH_TYPES

__host__ __device__ inline float remquo_rest(float x, float y) {
    int q;
    return remquof(x, y, &q);
}
__host__ __device__ inline double remquo_rest(double x, double y) {
    int q;
    return remquo(x, y, &q);
}
/// The three bits of the quotient that C defines, with its sign; 0 where there is none.
__host__ __device__ inline float remquo_bits(float x, float y) {
    int q = 0;
    const float r = remquof(x, y, &q);
    return r != r ? 0 : q < 0 ? -(-q & 7) : q & 7;
}
__host__ __device__ inline double remquo_bits(double x, double y) {
    int q = 0;
    const double r = remquo(x, y, &q);
    return r != r ? 0 : q < 0 ? -(-q & 7) : q & 7;
}
/// x where it is smaller than the limit, else (and for NaN) the limit; no branch.
__host__ __device__ inline float limited(float x, float limit) { return __builtin_fminf(__builtin_fmaxf(x, -limit), limit); }
__host__ __device__ inline double limited(double x, double limit) { return __builtin_fmin(__builtin_fmax(x, -limit), limit); }
inline long double limited(long double x, long double limit) { return std::fmin(std::fmax(x, -limit), limit); }
/// An exponent for ldexp, past both ends of f64.
template <class T>
__host__ __device__ inline int shift_of(T y) {
    return int(limited(y, T(1e7)) * T(37)) % 2300;
}
/// An exponent for powi.
template <class T>
__host__ __device__ inline int power_of(T y) {
    return int(limited(y, T(1e9))) % 101;
}
template <class T>
__host__ __device__ inline T bounded(T x) {
    return limited(x, T(1e9));
}
template <class T>
__host__ __device__ inline T inside(T x) {
    return limited(x, T(9e18));
}
template <class T>
__host__ __device__ inline T class_of(T x) {
    return T(__builtin_isnan(x) + 2 * __builtin_isinf(x) * (x > 0 ? 1 : -1) * (x > 0 ? 1 : -1) + 4 * __builtin_isfinite(x) +
             8 * !!__builtin_signbit(x) + 16 * __builtin_isnormal(x));
}
template <class T>
__host__ __device__ inline T relations(T x, T y) {
    return T((x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * !(x > y) + 32 * !(x >= y) +
             64 * __builtin_isunordered(x, y) + 128 * __builtin_islessgreater(x, y));
}

// Bits ------------------------------------------------------------------------------------------------------------------------

template <class To, class From>
__host__ __device__ inline To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From));
    To to;
    __builtin_memcpy(&to, &from, sizeof(to));
    return to;
}
__host__ __device__ inline float float_of(uint64_t bits) { return bit_cast<float>(static_cast<uint32_t>(bits)); }
__host__ __device__ inline double double_of(uint64_t bits) { return bit_cast<double>(bits); }
/// All bits set for NaN: its payload is nobody's promise.
__host__ __device__ inline uint64_t bits_of(float v) { return bit_cast<uint32_t>(v) | (0xffffffffu * (v != v)); }
__host__ __device__ inline uint64_t bits_of(double v) { return bit_cast<uint64_t>(v) | (~0ull * (v != v)); }

template <class T>
__host__ __device__ inline T divisor(uint64_t b) {
    return static_cast<T>(b + 3 * (static_cast<T>(b) == 0));
}
/// Not 0, and not -1, with which the smallest number overflows.
template <class T>
__host__ __device__ inline T signed_divisor(uint64_t b) {
    const T v = static_cast<T>(b);
    return static_cast<T>(v - 7 * ((v == 0) | (v == -1)));
}
inline int64_t low24(uint64_t v) { return static_cast<int32_t>(static_cast<uint32_t>(v) << 8) >> 8; }
inline uint64_t reversed(uint64_t v, int width) {
    uint64_t r = 0;
    for (int i = 0; i < width; ++i) r |= ((v >> i) & 1) << (width - 1 - i);
    return r;
}
inline uint32_t permuted(uint64_t a, uint64_t b, uint64_t selector) {
    const uint64_t bytes = (b << 32) | static_cast<uint32_t>(a);
    uint32_t r = 0;
    for (int i = 0; i < 4; ++i) r |= static_cast<uint32_t>((bytes >> (8 * ((selector >> (4 * i)) & 7))) & 0xff) << (8 * i);
    return r;
}
/// As the conversion instructions do it: NaN gives 0, too large gives the limit.
template <class To, class T>
To saturated(T v) {
    if (std::isnan(v)) return 0;
    const double whole = std::trunc(static_cast<double>(v));
    if (whole >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
    if (whole <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    return static_cast<To>(whole);
}
inline float narrowed(volatile double v, int direction) {
    const Rounding guard(direction);
    volatile float r = static_cast<float>(v);
    return r;
}
inline double half_value(unsigned short h) {
    const int e = (h >> 10) & 31, m = h & 0x3ff;
    const double v = e == 31 ? (m ? NAN : INFINITY) : e == 0 ? std::ldexp(m, -24) : std::ldexp(1024 + m, e - 25);
    return h & 0x8000 ? -v : v;
}
inline unsigned short half_of(float v, int direction) {
    const unsigned short sign = std::signbit(v) ? 0x8000 : 0;
    if (std::isnan(v)) {  // quiet, with what is left of the payload
        const uint32_t bits = bit_cast<uint32_t>(v);
        return static_cast<unsigned short>(sign | 0x7e00 | ((bits >> 13) & 0x3ff));
    }
    const double a = std::fabs(static_cast<double>(v));
    if (std::isinf(v)) return static_cast<unsigned short>(sign | 0x7c00);
    const int e = std::max(a == 0 ? -14 : std::ilogb(a), -14);
    const double units = std::ldexp(a, 10 - e);
    const bool away = (direction == FE_UPWARD && !sign) || (direction == FE_DOWNWARD && sign);
    const double whole = direction == FE_TONEAREST ? std::rint(units) : away ? std::ceil(units) : std::floor(units);
    const double result = std::ldexp(whole, e - 10);
    if (result > 65504) {
        const bool to_infinity = direction == FE_TONEAREST || away;
        return static_cast<unsigned short>(sign | (to_infinity ? 0x7c00 : 0x7bff));
    }
    // whole is 1024..2048 for normal numbers, less for denormals: then its bits carry into the exponent by themselves.
    const int field = whole < 1024 ? 0 : e + 14;
    return static_cast<unsigned short>(sign | (field * 1024 + static_cast<int>(whole)));
}
inline double as_int(double half) { return std::isnan(half) ? 0 : std::fmin(std::fmax(half, -2147483648.0), 2147483647.0); }

// Errors ----------------------------------------------------------------------------------------------------------------------

/// Distance in units in the last place of a format of so many digits; infinity counts as the first power of two past the
/// largest number, so that a result just at the edge of overflow may round either way. A wrong NaN, or zero of the wrong sign,
/// is infinitely wrong.
template <class R>
double error_in_ulp(R got, R want, R smallest, int digits, int min_exponent, int max_exponent, bool zero_has_sign = true) {
    if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got) ? 0 : INFINITY;
    if (want == 0 && got == 0) return !zero_has_sign || std::signbit(want) == std::signbit(got) ? 0 : INFINITY;
    const R limit = std::ldexp(R(1), max_exponent);
    const R g = std::fabs(got) > limit ? std::copysign(limit, got) : got;
    const R w = std::fabs(want) > limit ? std::copysign(limit, want) : want;
    const R magnitude = std::fmax(std::fabs(w), smallest);
    const int e = std::max(magnitude == 0 ? min_exponent : std::ilogb(magnitude) + 1, min_exponent);
    return static_cast<double>(std::fabs(std::ldexp(g - w, digits - e)));
}
inline double half_error(double got, double want) { return error_in_ulp<double>(got, want, 0, 11, -13, 16); }

template <size_t n>
inline bool contains(const char* const (&names)[n], const char* name) {
    for (const char* each : names) {
        if (std::strcmp(each, name) == 0) return true;
    }
    return false;
}
/// Where the algorithm of ocml, or of the compiler's own expansion, does not give -0 as C's Annex F asks for: from expm1(-0),
/// log1p(-0), j1(-0), round(-0) and sinpi and cospi of their zeros, and when tgamma underflows.
inline bool loses_sign_of_zero(const char* name) {
    static const char* const names[] = {"expm1", "log1p",      "j1",         "round", "sinpi",
                                        "cospi", "sincospi_s", "sincospi_c", "tgamma"};
    return contains(names, name);
}

struct Worst {
    double error = -1, x = 0, y = 0, z = 0, got = 0, want = 0;
    void add(double e, double xx, double yy, double zz, double g, double w) {
        if (e <= error) return;
        error = e, x = xx, y = yy, z = zz, got = g, want = w;
    }
};
struct Mismatch {
    unsigned count = 0;
    uint64_t a = 0, b = 0, got = 0, want = 0;
    void add(uint64_t aa, uint64_t bb, uint64_t g, uint64_t w) {
        if (g != w && count++ == 0) a = aa, b = bb, got = g, want = w;
    }
};

/// LLVM before 18 at -O0: where divergent control flow joins, spilled vector registers are reloaded before EXEC has all lanes
/// again, so that lanes of the other path keep what they had. (llvm-project pull requests 69923 and 69924 correct it.)
inline bool miscompiled([[maybe_unused]] const char* name) {
#if defined(__OPTIMIZE__) || __clang_major__ >= 18
    return false;
#else
    static const char* const names[] = {"sin",  "cos",       "tan",      "sincos_s", "sincos_c", "asin",  "acos", "tanh",
                                        "pow",  "erf",       "tgamma",   "lgamma",   "j0",       "j1",    "y0",   "y1",
                                        "fmod", "remainder", "remquo_r", "remquo_q", "ffs",      "ffsll", "sad",  "funnel_l"};
    return contains(names, name);
#endif
}

class Report {
public:
    /// @param only  the one to run, or "" for all
    explicit Report(const char* only) : only_(only) {}
    /// False, and says so, when the compiler's code for it is known to be wrong.
    bool compiled_right(const char* name) {
        if (!miscompiled(name)) return true;
        std::printf("%-12s not compared: miscompiled at -O0\n", name);
        return false;
    }
    bool wanted(const char* name) { return (*only_ == 0 || std::strcmp(only_, name) == 0) && compiled_right(name); }
    void row(const char* name, const char* type, const Worst& worst, double bound) {
        const bool good = worst.error <= bound;
        std::printf("%-12s %s  max error %8.3f ulp  %s\n", name, type, worst.error, verdict(good));
        if (good) return;
        std::printf("    (%a, %a, %a) = (%.9g, %.9g, %.9g): got %a, expected %a, bound %g ulp\n", worst.x, worst.y, worst.z,
                    worst.x, worst.y, worst.z, worst.got, worst.want, bound);
    }
    void row(const char* name, const Mismatch& mismatch) {
        std::printf("%-12s      wrong %u  %s\n", name, mismatch.count, verdict(mismatch.count == 0));
        if (mismatch.count == 0) return;
        std::printf("    (%#llx, %#llx): got %#llx, expected %#llx\n", static_cast<unsigned long long>(mismatch.a),
                    static_cast<unsigned long long>(mismatch.b), static_cast<unsigned long long>(mismatch.got),
                    static_cast<unsigned long long>(mismatch.want));
    }
    int finish() const {
        std::printf("ocml: %u of %u functions as they should be: %s\n", rows_ - failed_, rows_,
                    failed_ == 0 && rows_ > 0 ? "PASSED" : "FAILED");
        return failed_ == 0 && rows_ > 0 ? 0 : 1;
    }

private:
    const char* verdict(bool good) {
        ++rows_;
        failed_ += !good;
        return good ? "ok" : "WRONG";
    }
    const char* only_;
    unsigned rows_ = 0, failed_ = 0;
};

template <class F, class T>
__global__ void evaluate(const T* inputs, T* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = F::run(inputs[i], inputs[n + i], inputs[2 * n + i]);
}

/// Exact results are computed on the host in T itself, the others in the next wider type.
template <class F, class T>
void check(Report& report, const char* name, const char* type, int n, double low, double high, double bound, bool everywhere) {
    if (!report.wanted(name)) return;
    using Wider = std::conditional_t<std::is_same_v<T, float>, double, long double>;
    using R = std::conditional_t<F::kExact, T, Wider>;
    using L = std::numeric_limits<T>;
    const std::vector<T> inputs = inputs_for<T>(n, low, high, everywhere);
    std::vector<T> out(n);
    const DeviceBuffer<T> device_in(inputs), device_out(out);
    evaluate<F, T><<<n / 256, 256>>>(device_in.get(), device_out.get(), n);
    device_out.read(out);
    const bool zero_has_sign = !loses_sign_of_zero(name);
    Worst worst;
    for (int i = 0; i < n; ++i) {
        const T x = inputs[i], y = inputs[n + i], z = inputs[2 * n + i];
        const R want = F::template reference<R>(x, y, z);
        const Wider smallest = F::template smallest<Wider>(x);
        const double error =
            error_in_ulp<Wider>(out[i], want, smallest, L::digits, L::min_exponent, L::max_exponent, zero_has_sign);
        worst.add(error, x, y, z, out[i], static_cast<double>(want));
    }
    report.row(name, type, worst, bound);
}

}  // namespace ocml_check
