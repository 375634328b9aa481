// SPDX-License-Identifier: MIT
// Programs of lyra_isa_compilers, as HIP: templates, virtual functions, lambdas, bit fields, 128 bits, LDS, variables of the
// device, atomics, and what passes between lanes. Without HIP's headers, so that every clang compiles it; the host does too.
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long;

#if defined(__HIP__)
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
__device__ static inline u32 local_id() { return __builtin_amdgcn_workitem_id_x(); }
__device__ static inline u32 group_id() { return __builtin_amdgcn_workgroup_id_x(); }
__device__ static inline void barrier() {
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
template <class T>
__device__ inline T add_at(T* p, T v) {
    return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
__device__ inline T max_at(T* p, T v) {
    return __hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}
template <class T>
__device__ inline T exchange_at(T* p, T v) {
    return __hip_atomic_exchange(p, v, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_WORKGROUP);
}
#else
#define __global__
#define __device__
#define __shared__ static
#define __constant__
extern "C" u64 lyra_id(u32 which, u32 axis);
extern "C" void lyra_barrier();
static inline u32 local_id() { return static_cast<u32>(lyra_id(1, 0)); }
static inline u32 group_id() { return static_cast<u32>(lyra_id(2, 0)); }
static inline void barrier() { lyra_barrier(); }
// Work-items of the host take turns.
template <class T>
inline T exchange_at(T* p, T v) {
    const T before = *p;
    *p = v;
    return before;
}
template <class T>
inline T add_at(T* p, T v) {
    return exchange_at(p, static_cast<T>(*p + v));
}
template <class T>
inline T max_at(T* p, T v) {
    return exchange_at(p, *p > v ? *p : v);
}
#endif

constexpr u32 kGroup = 128, kInputs = 8, kOutputs = 16;
#define NOINLINE __attribute__((noinline))
#define PROGRAM(name) extern "C" __global__ __attribute__((visibility("default"))) void name(u64* out, const u64* in)
#define ITEM (group_id() * kGroup + local_id())
#define IN(k) in[ITEM * kInputs + (k)]
#define OUT(k, ...) out[ITEM * kOutputs + (k)] = static_cast<u64>(__VA_ARGS__)

__device__ inline u32 mixed(u32 v) {
    v = (v ^ (v >> 16)) * 0x7feb352du;
    v = (v ^ (v >> 15)) * 0x846ca68bu;
    return v ^ (v >> 16);
}
__device__ inline u64 bits(double v) { return __builtin_bit_cast(u64, v); }

// Templates
// ----------------------------------------------------------------------------------------------------------------------

template <class T, int n>
struct Matrix {
    T v[n][n];
    __device__ Matrix operator*(const Matrix& o) const {
        Matrix r;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                r.v[i][j] = T(0);
                for (int k = 0; k < n; ++k) r.v[i][j] = static_cast<T>(r.v[i][j] + v[i][k] * o.v[k][j]);
            }
        }
        return r;
    }
};
template <class T, int n>
__device__ T power_trace(u64 seed, int exponent) {
    Matrix<T, n> m, r;
    for (int i = 0; i < n * n; ++i) {
        m.v[i / n][i % n] = static_cast<T>(static_cast<i16>((seed >> (i % 48)) & 15) - 7);
        r.v[i / n][i % n] = static_cast<T>(i / n == i % n);
    }
    for (int i = 0; i < exponent; ++i) r = i & 1 ? m * r : r * m;
    T t = 0;
    for (int i = 0; i < n; ++i) t = static_cast<T>(t + r.v[i][i]);
    return t;
}
PROGRAM(matrices) {
    OUT(0, static_cast<u32>(power_trace<i32, 3>(IN(0), 9)));
    OUT(1, bits(power_trace<double, 4>(IN(1), 5)));
    OUT(2, __builtin_bit_cast(u32, power_trace<float, 3>(IN(2), 4)));
    OUT(3, static_cast<u16>(power_trace<i16, 5>(IN(3), 3)));
    OUT(4, power_trace<u64, 2>(IN(4), static_cast<int>(IN(5) & 31)));
    OUT(5, static_cast<u8>(power_trace<u8, 4>(IN(6), 2)));
}

// Calls
// --------------------------------------------------------------------------------------------------------------------------

struct Shape {
    __device__ virtual i32 area() const { return 0; }
    __device__ virtual i32 scaled(i32 by) const { return area() * by; }
};
struct Square : Shape {
    i32 side;
    __device__ explicit Square(i32 s) : side(s) {}
    __device__ i32 area() const override { return side * side; }
};
struct Box : Square {
    i32 other;
    __device__ Box(i32 s, i32 o) : Square(s), other(o) {}
    __device__ i32 area() const override { return side * other; }
    __device__ i32 scaled(i32 by) const override { return Square::scaled(by) + 1; }
};
__device__ NOINLINE double op_add(double x, i32 n) { return x + n; }
__device__ NOINLINE double op_scale(double x, i32 n) { return x * (1.0 + n % 3); }
__device__ NOINLINE double op_negate(double x, i32) { return -x; }
__device__ NOINLINE double op_loop(double x, i32 n) {
    for (i32 i = 0; i < n % 7; ++i) x = x / 2 + i;
    return x;
}
PROGRAM(indirect_calls) {
    const i32 i = static_cast<i32>(ITEM);
    const Square square(i & 255);
    const Box box(i & 127, 3);
    const Shape* shape = mixed(i) & 1 ? static_cast<const Shape*>(&square) : &box;
    OUT(0, static_cast<u32>(shape->scaled(i % 50 + 1) * 10 + shape->area()));
    double (*const operations[])(double, i32) = {op_add, op_scale, op_negate, op_loop};
    double x = 1.0;
    for (i32 step = 0; step < 6; ++step) x = operations[mixed(i * 8 + step) & 3](x, i);
    OUT(1, bits(x));
}

template <class F>
__device__ NOINLINE u64 fold(const u64* words, u32 n, F f) {
    u64 r = 1;
    for (u32 i = 0; i < n; ++i) r = f(r, words[i], i);
    return r;
}
PROGRAM(lambdas) {
    const u64 a = IN(0);
    const u32 n = 3 + ITEM % 5;
    OUT(0, fold(&in[ITEM * kInputs], n, [=](u64 r, u64 w, u32 i) { return r * 3 + (w ^ a) + i; }));
    u32 odd = 0;
    OUT(1, fold(&in[ITEM * kInputs], n, [&odd](u64 r, u64 w, u32) {
            odd += w & 1;
            return r ^ (w >> 3);
        }));
    OUT(2, odd);
}

// Data
// ---------------------------------------------------------------------------------------------------------------------------

struct Fields {
    u32 a : 3, b : 7, c : 22;
    i32 d : 5, e : 11, f : 16;
    u64 g : 40, h : 24;
};
PROGRAM(bit_fields) {
    Fields f;
    f.a = IN(0), f.b = IN(1), f.c = IN(2), f.d = static_cast<i32>(IN(3) & 31) - 16, f.e = static_cast<i32>(IN(4) & 2047) - 1024,
    f.f = static_cast<i16>(IN(5));
    f.g = IN(6), f.h = IN(7);
    f.a += 3;
    f.b *= f.a;
    f.c -= f.b;
    f.f ^= f.d;
    f.g += f.h;
    OUT(0, f.a | static_cast<u64>(f.b) << 3 | static_cast<u64>(f.c) << 10 | static_cast<u64>(f.g) << 24);
    OUT(1, static_cast<u64>(f.d + 100) ^ static_cast<u64>(f.e + 100000) << 16 ^ static_cast<u64>(static_cast<u32>(f.f)) << 32 ^
               f.h);
    Fields many[4] = {f, f, f, f};
    for (u32 i = 0; i < 12; ++i) {
        Fields& m = many[(IN(0) >> i) & 3];
        m.b += i;
        m.e ^= static_cast<i32>(i * 77) - 400;
        m.h -= m.b;
    }
    OUT(2, many[0].h + many[1].h * 3 + many[2].h * 5 + static_cast<u64>(many[3].e + 5000));
}

PROGRAM(wide) {
    using u128 = unsigned __int128;
    const u64 a = IN(0), b = IN(1);
    const u128 x = static_cast<u128>(a) << 64 | b;
    const u128 r = x * (a | 1) + (x >> (b % 127)) - (static_cast<u128>(b) << (a % 127));
    OUT(0, static_cast<u64>(r));
    OUT(1, static_cast<u64>(r >> 64));
    const __int128 s = static_cast<__int128>(x) >> (a & 63);
    OUT(2, static_cast<u64>(s >> 40));
    OUT(3, (x < r) + 2 * (s < 0) + 4 * (static_cast<__int128>(r) > s));
    u64 carry = 0, low = a;
    OUT(4, __builtin_add_overflow(a, b, &low) + 2 * __builtin_sub_overflow(a, b, &carry));
    OUT(5, low ^ carry * 3);
    i32 product = 0;
    OUT(6, __builtin_mul_overflow(static_cast<i32>(a) >> 14, static_cast<i32>(b) >> 14, &product));
    OUT(7, static_cast<u32>(product));
    OUT(8, __builtin_bswap64(a) ^ __builtin_bswap32(static_cast<u32>(b)) ^ __builtin_bitreverse64(b) ^
               __builtin_bitreverse32(static_cast<u32>(a)));
    OUT(9, __builtin_popcountl(a) + 100 * __builtin_clzl(a | 1) + 10000 * __builtin_ctzl(b | 1ul << 63) +
               1000000 * __builtin_parity(static_cast<u32>(b)));
}

__constant__ u32 primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53};
__device__ u32 table[3][8] = {{1, 2, 3, 4, 5, 6, 7, 8}, {10, 20, 30, 40, 50, 60, 70, 80}, {9, 8, 7, 6, 5, 4, 3, 2}};
__device__ u32* rows[] = {table[2], table[0], table[1]};
PROGRAM(variables) {
    const u64 a = IN(0);
    OUT(0, primes[a & 15] * rows[a % 3][(a >> 8) & 7] + rows[1][ITEM & 7]);
    static const char text[] = "one wave has sixty-four lanes";
    OUT(1, text[(a >> 4) % (sizeof text - 1)] + (sizeof text << 8));
}

// Work-groups
// --------------------------------------------------------------------------------------------------------------------

PROGRAM(sorting) {
    __shared__ u64 keys[kGroup];
    const u32 i = local_id();
    keys[i] = IN(0) >> 16 << 8 | i;  // no two alike
    for (u32 size = 2; size <= kGroup; size *= 2) {
        for (u32 step = size / 2; step > 0; step /= 2) {
            barrier();
            const u32 other = i ^ step;
            if (other > i && (keys[i] > keys[other]) == ((i & size) == 0)) {
                const u64 key = keys[i];
                keys[i] = keys[other];
                keys[other] = key;
            }
        }
    }
    barrier();
    OUT(0, keys[i]);
}

PROGRAM(counters) {
    __shared__ u32 buckets[32];
    __shared__ u64 wide[2];
    __shared__ i32 last;
    const u32 i = local_id();
    if (i < 32) buckets[i] = 0;
    if (i < 2) wide[i] = 0;
    if (i == 0) last = -1;
    barrier();
    const u64 v = IN(0);
    add_at(&buckets[v & 31], 1u);
    add_at(&wide[0], v);
    max_at(&wide[1], v);
    exchange_at(&last, static_cast<i32>(i));  // in any order
    barrier();
    OUT(0, buckets[i & 31]);
    OUT(1, wide[i & 1]);
    OUT(2, last >= 0 && last < static_cast<i32>(kGroup));
    add_at(&out[group_id() * kGroup * kOutputs + 8], v);
    add_at(reinterpret_cast<float*>(&out[group_id() * kGroup * kOutputs + 9]),
           static_cast<float>(v & 255));  // exact in every order
}
