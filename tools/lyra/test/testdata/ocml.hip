// SPDX-License-Identifier: MIT
// The device math library (ocml) as HIP programs use it, against the host's libm: ocml [INPUTS] [NAME|half|integer].
//
// Prints for each function its largest error, in units in the last place of the result. What IEEE 754 or C defines to the last
// bit has to be equal; the others have to stay within the bounds of the OpenCL C specification ("Relative Error as ULPs", full
// profile), which ocml is made for. References: f32 and f16 in double, f64 in long double (64 bits of mantissa).
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

#include "ocml_check.h"

namespace {

using namespace ocml_check;

// Functions of float and double ----------------------------------------------------------------------------------------------
// name, f32 form, f64 form, reference, inputs that are tried most (uniform in low..high), bound in ulp (0: exact), and the
// smallest magnitude whose ulp counts (for functions that cancel near a zero, whose relative error has no bound).

#define BESSEL std::sqrt(R(0.63661977236758134308L) / std::fmax(std::fabs(x), R(1)))

// The f32 algorithm takes negative numbers to |x| + 3, which it rounds, and multiplies by the power of that with itself: less
// and less exact, and 0 below -31, where the result (1e-34 and less) is still a number.
#define TGAMMA (sizeof(R) == sizeof(long double) ? R(0) : x < -31 ? R(1) : x < 0 ? 16 * std::fabs(std::tgamma(x)) : R(0))

#define FUNCTIONS(X)                                                                                 \
    X(sin, sinf(x), sin(x), std::sin(x), -20, 20, 4, 0)                                              \
    X(cos, cosf(x), cos(x), std::cos(x), -20, 20, 4, 0)                                              \
    X(tan, tanf(x), tan(x), std::tan(x), -20, 20, 5, 0)                                              \
    X(asin, asinf(x), asin(x), std::asin(x), -1.01, 1.01, 4, 0)                                      \
    X(acos, acosf(x), acos(x), std::acos(x), -1.01, 1.01, 4, 0)                                      \
    X(atan, atanf(x), atan(x), std::atan(x), -8, 8, 5, 0)                                            \
    X(atan2, atan2f(x, y), atan2(x, y), std::atan2(x, y), -8, 8, 6, 0)                               \
    X(sinh, sinhf(x), sinh(x), std::sinh(x), -10, 10, 4, 0)                                          \
    X(cosh, coshf(x), cosh(x), std::cosh(x), -10, 10, 4, 0)                                          \
    X(tanh, tanhf(x), tanh(x), std::tanh(x), -6, 6, 5, 0)                                            \
    X(asinh, asinhf(x), asinh(x), std::asinh(x), -10, 10, 4, 0)                                      \
    X(acosh, acoshf(x), acosh(x), std::acosh(x), 1, 20, 4, 0)                                        \
    X(atanh, atanhf(x), atanh(x), std::atanh(x), -1, 1, 5, 0)                                        \
    X(exp, expf(x), exp(x), std::exp(x), -110, 110, 3, 0)                                            \
    X(exp2, exp2f(x), exp2(x), std::exp2(x), -155, 155, 3, 0)                                        \
    X(exp10, exp10f(x), exp10(x), reference_exp10(x), -48, 48, 3, 0)                                 \
    X(expm1, expm1f(x), expm1(x), std::expm1(x), -4, 4, 3, 0)                                        \
    X(log, logf(x), log(x), std::log(x), 0, 4, 3, 0)                                                 \
    X(log2, log2f(x), log2(x), std::log2(x), 0, 4, 3, 0)                                             \
    X(log10, log10f(x), log10(x), std::log10(x), 0, 4, 3, 0)                                         \
    X(log1p, log1pf(x), log1p(x), std::log1p(x), -1, 2, 2, 0)                                        \
    X(pow, powf(x, y), pow(x, y), std::pow(x, y), -8, 8, 16, 0)                                      \
    X(powi, powif(x, power_of(y)), powi(x, power_of(y)), std::pow(x, R(power_of(y))), -9, 9, 16, 0)  \
    X(cbrt, cbrtf(x), cbrt(x), std::cbrt(x), -30, 30, 2, 0)                                          \
    X(rcbrt, rcbrtf(x), rcbrt(x), R(1) / std::cbrt(x), -30, 30, 2, 0)                                \
    X(rsqrt, rsqrtf(x), rsqrt(x), R(1) / std::sqrt(x), 0, 30, 2, 0)                                  \
    X(hypot, hypotf(x, y), hypot(x, y), std::hypot(x, y), -30, 30, 4, 0)                             \
    X(rhypot, rhypotf(x, y), rhypot(x, y), R(1) / std::hypot(x, y), -30, 30, 4, 0)                   \
    X(erf, erff(x), erf(x), std::erf(x), -4, 4, 16, 0)                                               \
    X(erfc, erfcf(x), erfc(x), std::erfc(x), -6, 12, 16, 0)                                          \
    X(tgamma, tgammaf(x), tgamma(x), std::tgamma(x), -40, 40, 16, TGAMMA)                            \
    X(lgamma, lgammaf(x), lgamma(x), std::lgamma(x), -20, 40, 16, 1)                                 \
    X(sinpi, sinpif(x), sinpi(x), reference_sinpi(x), -4, 4, 4, 0)                                   \
    X(cospi, cospif(x), cospi(x), reference_cospi(x), -4, 4, 4, 0)                                   \
    X(sincos_s, sine_of(x), sine_of(x), std::sin(x), -20, 20, 4, 0)                                  \
    X(sincos_c, cosine_of(x), cosine_of(x), std::cos(x), -20, 20, 4, 0)                              \
    X(sincospi_s, sine_of_pi(x), sine_of_pi(x), reference_sinpi(x), -4, 4, 4, 0)                     \
    X(sincospi_c, cosine_of_pi(x), cosine_of_pi(x), reference_cospi(x), -4, 4, 4, 0)                 \
    X(j0, j0f(x), j0(x), bessel_j(0, x), -30, 30, 8, BESSEL)                                         \
    X(j1, j1f(x), j1(x), bessel_j(1, x), -30, 30, 8, BESSEL)                                         \
    X(y0, y0f(x), y0(x), bessel_y(0, x), 0, 30, 8, BESSEL)                                           \
    X(y1, y1f(x), y1(x), bessel_y(1, x), 0, 30, 8, BESSEL)                                           \
    X(fast_div, fdividef(x, y), x / y, x / y, -9, 9, 0, 0)                                           \
    X(add, x + y, x + y, x + y, -9, 9, 0, 0)                                                         \
    X(mul, x* y, x* y, x* y, -9, 9, 0, 0)                                                            \
    X(div, x / y, x / y, x / y, -9, 9, 0, 0)                                                         \
    X(sqrt, sqrtf(x), sqrt(x), std::sqrt(x), 0, 9, 0, 0)                                             \
    X(fma, fmaf(x, y, z), fma(x, y, z), std::fma(x, y, z), -9, 9, 0, 0)                              \
    X(fmod, fmodf(x, y), fmod(x, y), std::fmod(x, y), -99, 99, 0, 0)                                 \
    X(remainder, remainderf(x, y), remainder(x, y), reference_remainder(x, y), -99, 99, 0, 0)        \
    X(remquo_r, remquo_rest(x, y), remquo_rest(x, y), reference_remainder(x, y), -99, 99, 0, 0)      \
    X(remquo_q, remquo_bits(x, y), remquo_bits(x, y), remquo_bits(x, y), -99, 99, 0, 0)              \
    X(floor, floorf(x), floor(x), std::floor(x), -9, 9, 0, 0)                                        \
    X(ceil, ceilf(x), ceil(x), std::ceil(x), -9, 9, 0, 0)                                            \
    X(trunc, truncf(x), trunc(x), std::trunc(x), -9, 9, 0, 0)                                        \
    X(rint, rintf(x), rint(x), std::rint(x), -9, 9, 0, 0)                                            \
    X(round, roundf(x), round(x), std::round(x), -9, 9, 0, 0)                                        \
    X(nearbyint, nearbyintf(x), nearbyint(x), std::nearbyint(x), -9, 9, 0, 0)                        \
    X(fdim, fdimf(x, y), fdim(x, y), std::fdim(x, y), -9, 9, 0, 0)                                   \
    X(fmin, fminf(x, y), fmin(x, y), number_min(x, y), -9, 9, 0, 0)                                  \
    X(fmax, fmaxf(x, y), fmax(x, y), number_max(x, y), -9, 9, 0, 0)                                  \
    X(fabs, fabsf(x), fabs(x), std::fabs(x), -9, 9, 0, 0)                                            \
    X(copysign, copysignf(x, y), copysign(x, y), std::copysign(x, y), -9, 9, 0, 0)                   \
    X(nextafter, nextafterf(x, y), nextafter(x, y), std::nextafter(x, y), -9, 9, 0, 0)               \
    X(ldexp, ldexpf(x, shift_of(y)), ldexp(x, shift_of(y)), std::ldexp(x, shift_of(y)), -9, 9, 0, 0) \
    X(frexp_m, frexp_mantissa(x), frexp_mantissa(x), frexp_mantissa(x), -9, 9, 0, 0)                 \
    X(frexp_e, frexp_exponent(x), frexp_exponent(x), frexp_exponent(x), -9, 9, 0, 0)                 \
    X(modf_f, modf_fraction(x), modf_fraction(x), modf_fraction(x), -9, 9, 0, 0)                     \
    X(modf_i, modf_whole(x), modf_whole(x), modf_whole(x), -9, 9, 0, 0)                              \
    X(logb, logbf(x), logb(x), std::logb(x), -9, 9, 0, 0)                                            \
    X(ilogb, ilogbf(x), ilogb(x), std::isnan(x) ? R(INT_MAX) : R(std::ilogb(x)), -9, 9, 0, 0)        \
    X(lround, lroundf(bounded(x)), lround(bounded(x)), std::lround(bounded(x)), -9, 9, 0, 0)         \
    X(lrint, lrintf(bounded(x)), lrint(bounded(x)), std::lrint(bounded(x)), -9, 9, 0, 0)             \
    X(class, class_of(x), class_of(x), class_of(x), -9, 9, 0, 0)                                     \
    X(compare, relations(x, y), relations(x, y), relations(x, y), -1, 1, 0, 0)

#define DEFINE(name, f32, f64, wanted, low, high, bound, floor_of_ulp)                                               \
    struct Case_##name {                                                                                             \
        __device__ static float run(float x, [[maybe_unused]] float y, [[maybe_unused]] float z) { return f32; }     \
        __device__ static double run(double x, [[maybe_unused]] double y, [[maybe_unused]] double z) { return f64; } \
        template <class R>                                                                                           \
        static R reference(R x, [[maybe_unused]] R y, [[maybe_unused]] R z) {                                        \
            return wanted;                                                                                           \
        }                                                                                                            \
        template <class R>                                                                                           \
        static R smallest([[maybe_unused]] R x) {                                                                    \
            return floor_of_ulp;                                                                                     \
        }                                                                                                            \
        static constexpr bool kExact = bound == 0;                                                                   \
    };
FUNCTIONS(DEFINE)
#undef DEFINE

// Native instructions: within the bounds of HIP's own table on the ranges that it gives, as errors relative to 1 for sine and
// cosine, which the instruction computes with an absolute error.
#define NATIVE(X)                                                \
    X(fast_sin, __sinf(x), std::sin(x), -3.14, 3.14, 18, 1)      \
    X(fast_cos, __cosf(x), std::cos(x), -3.14, 3.14, 4, 1)       \
    X(fast_exp, __expf(x), std::exp(x), -10, 10, 12, 0)          \
    X(fast_exp10, __exp10f(x), reference_exp10(x), -4, 4, 18, 0) \
    X(fast_log, __logf(x), std::log(x), 1e-6, 1e6, 2, 1)         \
    X(fast_log2, __log2f(x), std::log2(x), 1e-6, 1e6, 1, 1)      \
    X(fast_log10, __log10f(x), std::log10(x), 1e-6, 1e6, 2, 1)   \
    X(fast_sqrt, __fsqrt_rn(x), std::sqrt(x), 0.01, 100, 1, 0)   \
    X(fast_rsqrt, __frsqrt_rn(x), R(1) / std::sqrt(x), 0.01, 100, 1, 0)
#define DEFINE(name, f32, wanted, low, high, bound, floor_of_ulp)          \
    struct Native_##name {                                                 \
        __device__ static float run(float x, float, float) { return f32; } \
        template <class R>                                                 \
        static R reference(R x, R, R) {                                    \
            return wanted;                                                 \
        }                                                                  \
        template <class R>                                                 \
        static R smallest(R) {                                             \
            return floor_of_ulp;                                           \
        }                                                                  \
        static constexpr bool kExact = false;                              \
    };
NATIVE(DEFINE)
#undef DEFINE

// Operations with a rounding direction: the host does the same one with its own. The compiler sets the f64 direction back
// before each operation that it knows, so the f64 forms are written out. kDirection: as in MODE.
#define DIRECTED(line, ...)                                                                                                  \
    double r;                                                                                                                \
    asm volatile("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), %1\n" line "\ns_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 0" \
                 : "=&v"(r)                                                                                                  \
                 : "n"(kDirection), __VA_ARGS__);                                                                            \
    return r
template <int kDirection>
__device__ double directed_add(double x, double y) {
    DIRECTED("v_add_f64 %0, %2, %3", "v"(x), "v"(y));
}
template <int kDirection>
__device__ double directed_mul(double x, double y) {
    DIRECTED("v_mul_f64 %0, %2, %3", "v"(x), "v"(y));
}
template <int kDirection>
__device__ double directed_fma(double x, double y, double z) {
    DIRECTED("v_fma_f64 %0, %2, %3, %4", "v"(x), "v"(y), "v"(z));
}
#undef DIRECTED

#define ROUNDED(X)                                                                                   \
    X(add_rz, __ocml_add_rtz_f32(x, y), directed_add<3>(x, y), x + y, FE_TOWARDZERO)                 \
    X(sub_ru, __ocml_sub_rtp_f32(x, y), directed_add<1>(x, -y), x - y, FE_UPWARD)                    \
    X(mul_rd, __ocml_mul_rtn_f32(x, y), directed_mul<2>(x, y), x* y, FE_DOWNWARD)                    \
    X(mul_ru, __ocml_mul_rtp_f32(x, y), directed_mul<1>(x, y), x* y, FE_UPWARD)                      \
    X(mul_rz, __ocml_mul_rtz_f32(x, y), directed_mul<3>(x, y), x* y, FE_TOWARDZERO)                  \
    X(fma_rd, __ocml_fma_rtn_f32(x, y, z), directed_fma<2>(x, y, z), std::fma(x, y, z), FE_DOWNWARD) \
    X(fma_ru, __ocml_fma_rtp_f32(x, y, z), directed_fma<1>(x, y, z), std::fma(x, y, z), FE_UPWARD)
#define DEFINE(name, f32, f64, wanted, direction)                                                   \
    struct Rounded_##name {                                                                         \
        __device__ static float run(float x, float y, [[maybe_unused]] float z) { return f32; }     \
        __device__ static double run(double x, double y, [[maybe_unused]] double z) { return f64; } \
        template <class R>                                                                          \
        static R reference(volatile R x, volatile R y, [[maybe_unused]] volatile R z) {             \
            const Rounding guard(direction);                                                        \
            volatile R result = wanted;                                                             \
            return result;                                                                          \
        }                                                                                           \
        template <class R>                                                                          \
        static R smallest(R) {                                                                      \
            return 0;                                                                               \
        }                                                                                           \
        static constexpr bool kExact = true;                                                        \
    };
ROUNDED(DEFINE)
#undef DEFINE

// Functions of __half --------------------------------------------------------------------------------------------------------
// name, device form, reference in double, bound in ulp; 0.5 is correct rounding.
#define HALF_FUNCTIONS(X)                                                                                        \
    X(hadd, __hadd(x, y), x + y, 0.5)                                                                            \
    X(hsub, __hsub(x, y), x - y, 0.5)                                                                            \
    X(hmul, __hmul(x, y), x* y, 0.5)                                                                             \
    X(hdiv, __hdiv(x, y), x / y, 0.5)                                                                            \
    X(hfma, __hfma(x, y, z), std::fma(x, y, z), 0.5)                                                             \
    X(hneg, __hneg(x), -x, 0.5)                                                                                  \
    X(habs, __habs(x), std::fabs(x), 0.5)                                                                        \
    X(hmax, __hmax(x, y), number_max(x, y), 0.5)                                                                 \
    X(hmin, __hmin(x, y), number_min(x, y), 0.5)                                                                 \
    X(hsqrt, hsqrt(x), std::sqrt(x), 0.5)                                                                        \
    X(hrsqrt, hrsqrt(x), 1 / std::sqrt(x), 1.5)                                                                  \
    X(hrcp, hrcp(x), 1 / x, 1)                                                                                   \
    X(hexp, hexp(x), std::exp(x), 2)                                                                             \
    X(hexp2, hexp2(x), std::exp2(x), 2)                                                                          \
    X(hexp10, hexp10(x), reference_exp10(x), 2)                                                                  \
    X(hlog, hlog(x), std::log(x), 2)                                                                             \
    X(hlog2, hlog2(x), std::log2(x), 2)                                                                          \
    X(hlog10, hlog10(x), std::log10(x), 2)                                                                       \
    X(hsin, hsin(x), std::sin(x), 2)                                                                             \
    X(hcos, hcos(x), std::cos(x), 2)                                                                             \
    X(htrunc, htrunc(x), std::trunc(x), 0.5)                                                                     \
    X(hceil, hceil(x), std::ceil(x), 0.5)                                                                        \
    X(hfloor, hfloor(x), std::floor(x), 0.5)                                                                     \
    X(hrint, hrint(x), std::rint(x), 0.5)                                                                        \
    X(hcompare, __half(float(__hlt(x, y) + 2 * __heq(x, y) + 4 * __hge(x, y) + 8 * __hisnan(x))),                \
      double((x < y) + 2 * (x == y) + 4 * (x >= y) + 8 * std::isnan(x)), 0.5)                                    \
    X(hadd2, __low2half(__hadd2(make_half2(x, z), make_half2(y, y))), x + y, 0.5)                                \
    X(hmul2, __high2half(__hmul2(make_half2(z, x), make_half2(x, y))), x* y, 0.5)                                \
    X(hfma2, __high2half(__hfma2(make_half2(y, x), make_half2(z, y), make_half2(x, z))), std::fma(x, y, z), 0.5) \
    X(int2half, __int2half_rn(__half2int_rz(x)), std::trunc(as_int(x)) + 0.0, 0.5)                               \
    X(half2float, __float2half(__half2float(x) * 3.0f), x * 3.0, 0.5)

#define COUNT(...) +1
constexpr int kHalfFunctions = 0 HALF_FUNCTIONS(COUNT);

__global__ void half_functions(const unsigned short* inputs, unsigned short* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const __half x = __ushort_as_half(inputs[i]), y = __ushort_as_half(inputs[n + i]), z = __ushort_as_half(inputs[2 * n + i]);
    int k = 0;
#define EVALUATE(name, call, wanted, bound) out[k++ * n + i] = __half_as_ushort(call);
    HALF_FUNCTIONS(EVALUATE)
#undef EVALUATE
}

void check_halves(Report& report, int n) {
    std::vector<unsigned short> inputs = half_inputs(n), out(static_cast<size_t>(kHalfFunctions) * n);
    DeviceBuffer<unsigned short> device_in(inputs), device_out(out);
    half_functions<<<n / 64, 64>>>(device_in.get(), device_out.get(), n);
    device_out.read(out);
    int k = 0;
#define COMPARE(name, call, wanted, bound)                                                                      \
    {                                                                                                           \
        Worst worst;                                                                                            \
        for (int i = 0; i < n; ++i) {                                                                           \
            [[maybe_unused]] const double x = half_value(inputs[i]), y = half_value(inputs[n + i]),             \
                                          z = half_value(inputs[2 * n + i]);                                    \
            const double want = wanted;                                                                         \
            worst.add(half_error(half_value(out[k * n + i]), want), x, y, z, half_value(out[k * n + i]), want); \
        }                                                                                                       \
        report.row(#name, "f16", worst, bound + 1e-9);                                                          \
        ++k;                                                                                                    \
    }
    HALF_FUNCTIONS(COMPARE)
#undef COMPARE
}

// Integers and conversions ---------------------------------------------------------------------------------------------------
// name, device form, host form; a and b are 64-bit patterns, the result is one.
#define INTEGERS(X)                                                                                                         \
    X(clz, __clz(int(a)), uint32_t(a) ? __builtin_clz(uint32_t(a)) : 32)                                                    \
    X(clzll, __clzll(a), a ? __builtin_clzll(a) : 64)                                                                       \
    X(ffs, __ffs(int(a)), __builtin_ffs(int(a)))                                                                            \
    X(ffsll, __ffsll(static_cast<long long>(a)), __builtin_ffsll(a))                                                        \
    X(popc, __popc(a), __builtin_popcount(uint32_t(a)))                                                                     \
    X(popcll, __popcll(a), __builtin_popcountll(a))                                                                         \
    X(brev, __brev(a), reversed(a, 32))                                                                                     \
    X(brevll, __brevll(a), reversed(a, 64))                                                                                 \
    X(mul24, uint32_t(__mul24(a, b)), uint32_t(low24(a) * low24(b)))                                                        \
    X(umul24, uint32_t(__umul24(a, b)), uint32_t((a & 0xffffff) * (b & 0xffffff)))                                          \
    X(mulhi, uint32_t(__mulhi(a, b)), uint32_t((int64_t(int32_t(a)) * int32_t(b)) >> 32))                                   \
    X(umulhi, __umulhi(a, b), ((a & 0xffffffff) * (b & 0xffffffff)) >> 32)                                                  \
    X(mul64hi, __mul64hi(a, b), uint64_t((static_cast<__int128>(int64_t(a)) * int64_t(b)) >> 64))                           \
    X(umul64hi, __umul64hi(a, b), uint64_t((static_cast<unsigned __int128>(a) * b) >> 64))                                  \
    X(mul64, a* b, a* b)                                                                                                    \
    X(sad, __sad(int(a) >> 1, int(b) >> 1, a >> 32), uint32_t(std::abs((int32_t(a) >> 1) - (int32_t(b) >> 1)) + (a >> 32))) \
    X(usad, __usad(a, b, a >> 32), uint32_t(std::abs(int64_t(uint32_t(a)) - int64_t(uint32_t(b))) + (a >> 32)))             \
    X(byte_perm, __byte_perm(a, b, b >> 32), permuted(a, b, b >> 32))                                                       \
    X(funnel_l, __funnelshift_l(a, b, b >> 32), uint32_t((((b << 32) | uint32_t(a)) << ((b >> 32) & 31)) >> 32))            \
    X(funnel_r, __funnelshift_r(a, b, b >> 32), uint32_t(((b << 32) | uint32_t(a)) >> ((b >> 32) & 31)))                    \
    X(shift_left, a << (b & 63), a << (b & 63))                                                                             \
    X(shift_right, a >> (b & 63), a >> (b & 63))                                                                            \
    X(shift_signed, int64_t(a) >> (b & 63), int64_t(a) >> (b & 63))                                                         \
    X(shift_32, uint32_t(int32_t(a) >> (b & 31)), uint32_t(int32_t(a) >> (b & 31)))                                         \
    X(div_i8, int8_t(a) / signed_divisor<int8_t>(b), int8_t(a) / signed_divisor<int8_t>(b))                                 \
    X(mod_i16, int16_t(a) % signed_divisor<int16_t>(b), int16_t(a) % signed_divisor<int16_t>(b))                            \
    X(div_u16, uint16_t(a) / divisor<uint16_t>(b), uint16_t(a) / divisor<uint16_t>(b))                                      \
    X(div_i32, uint32_t(int32_t(a) / signed_divisor<int32_t>(b)), uint32_t(int32_t(a) / signed_divisor<int32_t>(b)))        \
    X(mod_i32, uint32_t(int32_t(a) % signed_divisor<int32_t>(b)), uint32_t(int32_t(a) % signed_divisor<int32_t>(b)))        \
    X(div_u32, uint32_t(a) / divisor<uint32_t>(b), uint32_t(a) / divisor<uint32_t>(b))                                      \
    X(mod_u32, uint32_t(a) % divisor<uint32_t>(b), uint32_t(a) % divisor<uint32_t>(b))                                      \
    X(div_i64, int64_t(a) / signed_divisor<int64_t>(b), int64_t(a) / signed_divisor<int64_t>(b))                            \
    X(mod_i64, int64_t(a) % signed_divisor<int64_t>(b), int64_t(a) % signed_divisor<int64_t>(b))                            \
    X(div_u64, a / divisor<uint64_t>(b), a / divisor<uint64_t>(b))                                                          \
    X(mod_u64, a % divisor<uint64_t>(b), a % divisor<uint64_t>(b))                                                          \
    X(div_constant, (a / 1000003) ^ (uint32_t(a) / 7), (a / 1000003) ^ (uint32_t(a) / 7))                                   \
    X(min_max, uint64_t(__builtin_elementwise_min(int(a), int(b))) ^ __builtin_elementwise_max(uint32_t(a), uint32_t(b)),   \
      uint64_t(std::min(int32_t(a), int32_t(b))) ^ std::max(uint32_t(a), uint32_t(b)))                                      \
    X(to_f32, bits_of(__ll2float_rn(a)), bits_of(float(int64_t(a))))                                                        \
    X(to_f32_u, bits_of(__ull2float_rn(a)), bits_of(float(a)))                                                              \
    X(to_f64, bits_of(__ll2double_rn(a)), bits_of(double(int64_t(a))))                                                      \
    X(to_f64_u, bits_of(__ull2double_rn(a)), bits_of(double(a)))                                                            \
    X(i32_to_f32, bits_of(__int2float_rn(a)), bits_of(float(int32_t(a))))                                                   \
    X(u32_to_f32, bits_of(__uint2float_rn(a)), bits_of(float(uint32_t(a))))                                                 \
    X(f32_to_i32, uint32_t(__float2int_rz(float_of(a))), uint32_t(saturated<int32_t>(float_of(a))))                         \
    X(f32_to_u32, __float2uint_rz(float_of(a)), saturated<uint32_t>(float_of(a)))                                           \
    X(f32_rn_i32, uint32_t(__float2int_rn(float_of(a))), uint32_t(saturated<int32_t>(std::rint(float_of(a)))))              \
    X(f32_ru_i32, uint32_t(__float2int_ru(float_of(a))), uint32_t(saturated<int32_t>(std::ceil(float_of(a)))))              \
    X(f64_to_i32, uint32_t(__double2int_rz(double_of(a))), uint32_t(saturated<int32_t>(double_of(a))))                      \
    X(f64_rd_u32, __double2uint_rd(double_of(a)), saturated<uint32_t>(std::floor(double_of(a))))                            \
    X(f64_to_i64, __double2ll_rz(inside(double_of(a))), int64_t(inside(double_of(a))))                                      \
    X(f64_to_u64, __double2ull_rz(fabs(inside(double_of(a)))), uint64_t(std::fabs(inside(double_of(a)))))                   \
    X(f32_to_i64, __float2ll_rz(inside(float_of(a))), int64_t(inside(float_of(a))))                                         \
    X(f64_to_f32, bits_of(__double2float_rn(double_of(a))), bits_of(float(double_of(a))))                                   \
    X(f64_rz_f32, bits_of(__double2float_rz(double_of(a))), bits_of(narrowed(double_of(a), FE_TOWARDZERO)))                 \
    X(f64_ru_f32, bits_of(__double2float_ru(double_of(a))), bits_of(narrowed(double_of(a), FE_UPWARD)))                     \
    X(f32_to_f64, bits_of(double(float_of(a))), bits_of(double(float_of(a))))                                               \
    X(f32_rn_f16, __half_as_ushort(__float2half_rn(float_of(a))), half_of(float_of(a), FE_TONEAREST))                       \
    X(f32_rz_f16, __half_as_ushort(__float2half_rz(float_of(a))), half_of(float_of(a), FE_TOWARDZERO))                      \
    X(f32_rd_f16, __half_as_ushort(__float2half_rd(float_of(a))), half_of(float_of(a), FE_DOWNWARD))                        \
    X(f32_ru_f16, __half_as_ushort(__float2half_ru(float_of(a))), half_of(float_of(a), FE_UPWARD))

constexpr int kIntegers = 0 INTEGERS(COUNT);

__global__ void integer_functions(const uint64_t* inputs, uint64_t* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint64_t a = inputs[i], b = inputs[n + i];
    int k = 0;
#define EVALUATE(name, call, wanted) out[k++ * n + i] = static_cast<uint64_t>(call);
    INTEGERS(EVALUATE)
#undef EVALUATE
}

void check_integers(Report& report, int n) {
    std::vector<uint64_t> inputs = integer_inputs(n), out(static_cast<size_t>(kIntegers) * n);
    DeviceBuffer<uint64_t> device_in(inputs), device_out(out);
    integer_functions<<<n / 256, 256>>>(device_in.get(), device_out.get(), n);
    device_out.read(out);
    int k = 0;
#define COMPARE(name, call, wanted)                                            \
    {                                                                          \
        Mismatch mismatch;                                                     \
        for (int i = 0; i < n; ++i) {                                          \
            const uint64_t a = inputs[i];                                      \
            [[maybe_unused]] const uint64_t b = inputs[n + i];                 \
            mismatch.add(a, b, out[k * n + i], static_cast<uint64_t>(wanted)); \
        }                                                                      \
        if (report.compiled_right(#name)) report.row(#name, mismatch);         \
        ++k;                                                                   \
    }
    INTEGERS(COMPARE)
#undef COMPARE
}

}  // namespace

int main(int argc, char** argv) {
    const int wanted = argc > 1 ? std::atoi(argv[1]) : 4096;
    if (wanted < 1) {
        std::fprintf(stderr, "usage: ocml [INPUTS] [NAME|half|integer]\n");
        return 2;
    }
    const int n = (wanted + 255) / 256 * 256;  // whole work-groups: the kernels have no branch of their own
    Report report(argc > 2 ? argv[2] : "");
#define RUN(name, f32, f64, wanted, low, high, bound, floor_of_ulp)             \
    check<Case_##name, float>(report, #name, "f32", n, low, high, bound, true); \
    check<Case_##name, double>(report, #name, "f64", n, low, high, bound, true);
    FUNCTIONS(RUN)
#undef RUN
#define RUN(name, f32, wanted, low, high, bound, floor_of_ulp) \
    check<Native_##name, float>(report, #name, "f32", n, low, high, bound, false);
    NATIVE(RUN)
#undef RUN
#define RUN(name, f32, f64, wanted, direction)                             \
    check<Rounded_##name, float>(report, #name, "f32", n, -9, 9, 0, true); \
    check<Rounded_##name, double>(report, #name, "f64", n, -9, 9, 0, true);
    ROUNDED(RUN)
#undef RUN
    if (report.wanted("half")) check_halves(report, n);
    if (report.wanted("integer")) check_integers(report, n);
    return report.finish();
}
