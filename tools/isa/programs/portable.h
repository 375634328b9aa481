// SPDX-License-Identifier: MIT
// What lets the programs of lyra_isa_compilers be compiled for the device by any clang, and for the host: on the host the
// functions of OpenCL that they use are defined here, in other words than those of the device's library.
#pragma once

#define INPUTS 8    // 64-bit words for each work-item
#define OUTPUTS 16
#define PROGRAM(name) kernel void name(global ulong* out, global const ulong* in)
#define IN(k) in[get_global_id(0) * INPUTS + (k)]
#define OUT(k, value) out[get_global_id(0) * OUTPUTS + (k)] = (ulong)(value)
#define NOINLINE __attribute__((noinline))
#define GROUP 128   // work-items of a work-group

#ifdef __AMDGCN__

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#define HAVE_HALF
#define ATOMIC_ADD_64 atom_add
#define ATOMIC_MAX_64 atom_max

#else

#ifdef __F16C__
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#define HAVE_HALF
#endif
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef unsigned long size_t;
typedef unsigned long uintptr_t;
#define VECTOR(T, n) typedef T T##n __attribute__((ext_vector_type(n)));
#define VECTORS(T) VECTOR(T, 2) VECTOR(T, 3) VECTOR(T, 4) VECTOR(T, 8) VECTOR(T, 16)
// clang-format off
VECTORS(char) VECTORS(uchar) VECTORS(short) VECTORS(ushort) VECTORS(int) VECTORS(uint) VECTORS(long) VECTORS(ulong)
VECTORS(float) VECTORS(double)
// clang-format on
#ifdef HAVE_HALF
    VECTORS(half)
#endif
#undef VECTOR
#undef VECTORS

#define OVERLOAD static inline __attribute__((overloadable))
#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2

        size_t lyra_id(uint which, uint axis);  // of the program that runs this
void lyra_barrier(void);
OVERLOAD size_t get_global_id(uint axis) { return lyra_id(0, axis); }
OVERLOAD size_t get_local_id(uint axis) { return lyra_id(1, axis); }
OVERLOAD size_t get_group_id(uint axis) { return lyra_id(2, axis); }
OVERLOAD size_t get_local_size(uint axis) { return lyra_id(3, axis); }
OVERLOAD size_t get_global_size(uint axis) { return lyra_id(4, axis); }
OVERLOAD size_t get_num_groups(uint axis) { return lyra_id(5, axis); }
OVERLOAD void barrier(uint fence) { lyra_barrier(); }

#define as_uint(v) __builtin_astype(v, uint)
#define as_int(v) __builtin_astype(v, int)
#define as_float(v) __builtin_astype(v, float)
#define as_ulong(v) __builtin_astype(v, ulong)
#define as_double(v) __builtin_astype(v, double)
#define as_half(v) __builtin_astype(v, half)
#define as_ushort(v) __builtin_astype(v, ushort)

// Integers: by way of wider ones.
#define EACH(X) X(int, uint, long) X(long, ulong, __int128)
#define DEFINE(T, U, W)                                                                    \
    OVERLOAD T mul_hi(T a, T b) { return (T)(((W)a * b) >> (8 * sizeof(T))); }             \
    OVERLOAD U mul_hi(U a, U b) { return (U)(((unsigned W)a * b) >> (8 * sizeof(T))); }    \
    OVERLOAD U rotate(U a, U b) { return b == 0 ? a : a << b | a >> (8 * sizeof(T) - b); } \
    OVERLOAD U clz(U a) {                                                                  \
        U n = 8 * sizeof(T);                                                               \
        while (a) {                                                                        \
            a >>= 1;                                                                       \
            --n;                                                                           \
        }                                                                                  \
        return n;                                                                          \
    }                                                                                      \
    OVERLOAD U popcount(U a) {                                                             \
        U n = 0;                                                                           \
        while (a) {                                                                        \
            n += a & 1;                                                                    \
            a >>= 1;                                                                       \
        }                                                                                  \
        return n;                                                                          \
    }                                                                                      \
    OVERLOAD T min(T a, T b) { return a < b ? a : b; }                                     \
    OVERLOAD U min(U a, U b) { return a < b ? a : b; }                                     \
    OVERLOAD T max(T a, T b) { return a > b ? a : b; }                                     \
    OVERLOAD U max(U a, U b) { return a > b ? a : b; }                                     \
    OVERLOAD T clamp(T a, T low, T high) { return min(max(a, low), high); }                \
    OVERLOAD U clamp(U a, U low, U high) { return min(max(a, low), high); }                \
    OVERLOAD U abs(T a) { return a < 0 ? (U)0 - (U)a : (U)a; }
EACH(DEFINE)
#undef DEFINE
#undef EACH
OVERLOAD uint add_sat(uint a, uint b) {
    const ulong s = (ulong)a + b;
    return s > 0xffffffff ? 0xffffffff : (uint)s;
}
OVERLOAD int add_sat(int a, int b) { return (int)clamp((long)a + b, -0x80000000l, 0x7fffffffl); }
OVERLOAD uint sub_sat(uint a, uint b) { return a < b ? 0 : a - b; }
OVERLOAD int sub_sat(int a, int b) { return (int)clamp((long)a - b, -0x80000000l, 0x7fffffffl); }
OVERLOAD uint hadd(uint a, uint b) { return (uint)(((ulong)a + b) >> 1); }
OVERLOAD int hadd(int a, int b) { return (int)(((long)a + b) >> 1); }
OVERLOAD uint rhadd(uint a, uint b) { return (uint)(((ulong)a + b + 1) >> 1); }
OVERLOAD uint abs_diff(uint a, uint b) { return a < b ? b - a : a - b; }
OVERLOAD uint abs_diff(int a, int b) { return (uint)abs((long)a - b); }
OVERLOAD uint mad24(uint a, uint b, uint c) { return a * b + c; }
OVERLOAD int mad24(int a, int b, int c) { return (int)((uint)a * (uint)b + (uint)c); }
OVERLOAD uint mad_hi(uint a, uint b, uint c) { return mul_hi(a, b) + c; }
OVERLOAD int mad_hi(int a, int b, int c) { return (int)((uint)mul_hi(a, b) + (uint)c); }
OVERLOAD ulong bitselect(ulong a, ulong b, ulong c) { return (a & ~c) | (b & c); }
OVERLOAD ulong upsample(uint high, uint low) { return (ulong)high << 32 | low; }
OVERLOAD uint select(uint a, uint b, uint c) { return c ? b : a; }

#define EACH(X) X(float, f, uint) X(double, , ulong)
#define DEFINE(T, f, U)                                                            \
    OVERLOAD T fma(T a, T b, T c) { return __builtin_fma##f(a, b, c); }            \
    OVERLOAD T sqrt(T a) { return __builtin_sqrt##f(a); }                          \
    OVERLOAD T fabs(T a) { return __builtin_fabs##f(a); }                          \
    OVERLOAD T fmin(T a, T b) { return a != a ? b : b != b ? a : a < b ? a : b; }  \
    OVERLOAD T fmax(T a, T b) { return a != a ? b : b != b ? a : a > b ? a : b; }  \
    OVERLOAD T floor(T a) { return __builtin_floor##f(a); }                        \
    OVERLOAD T ceil(T a) { return __builtin_ceil##f(a); }                          \
    OVERLOAD T trunc(T a) { return __builtin_trunc##f(a); }                        \
    OVERLOAD T rint(T a) { return __builtin_rint##f(a); }                          \
    OVERLOAD T copysign(T a, T b) { return __builtin_copysign##f(a, b); }          \
    OVERLOAD T ldexp(T a, int e) { return __builtin_ldexp##f(a, e); }              \
    OVERLOAD int isnan(T a) { return a != a; }                                     \
    OVERLOAD int isinf(T a) { return __builtin_fabs##f(a) == __builtin_inf##f(); } \
    OVERLOAD int isfinite(T a) { return __builtin_fabs##f(a) < __builtin_inf##f(); }
EACH(DEFINE)
#undef DEFINE
#undef EACH

// Atomics: work-items of the host take turns.
#define EACH(X) X(uint) X(int) X(ulong)
#define DEFINE(T)                                                                           \
    OVERLOAD T atomic_change(volatile T* p, T v) {                                          \
        const T before = *p;                                                                \
        *p = v;                                                                             \
        return before;                                                                      \
    }                                                                                       \
    OVERLOAD T atomic_add(volatile T* p, T v) { return atomic_change(p, *p + v); }          \
    OVERLOAD T atomic_sub(volatile T* p, T v) { return atomic_change(p, *p - v); }          \
    OVERLOAD T atomic_min(volatile T* p, T v) { return atomic_change(p, *p < v ? *p : v); } \
    OVERLOAD T atomic_max(volatile T* p, T v) { return atomic_change(p, *p > v ? *p : v); } \
    OVERLOAD T atomic_and(volatile T* p, T v) { return atomic_change(p, *p & v); }          \
    OVERLOAD T atomic_or(volatile T* p, T v) { return atomic_change(p, *p | v); }           \
    OVERLOAD T atomic_xor(volatile T* p, T v) { return atomic_change(p, *p ^ v); }          \
    OVERLOAD T atomic_inc(volatile T* p) { return atomic_change(p, *p + 1); }               \
    OVERLOAD T atomic_dec(volatile T* p) { return atomic_change(p, *p - 1); }               \
    OVERLOAD T atomic_cmpxchg(volatile T* p, T c, T v) { return atomic_change(p, *p == c ? v : *p); }
EACH(DEFINE)
#undef DEFINE
#undef EACH
#define ATOMIC_ADD_64 atomic_add
#define ATOMIC_MAX_64 atomic_max

#endif
