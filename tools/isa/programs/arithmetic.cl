// SPDX-License-Identifier: MIT
// Programs of lyra_isa_compilers: arithmetic that C and IEEE decide to the last bit. The host compiles this file too.
#include "portable.h"

// Integers
// -----------------------------------------------------------------------------------------------------------------------

#define ARITHMETIC(name, T, U)                                                          \
    U name(ulong a, ulong b) {                                                          \
        const T x = (T)a, y = (T)b, z = (T)(b >> 7);                                    \
        const uint shift = (uint)b & (sizeof(T) * 8 - 1);                               \
        T r = (T)(x + y);                                                               \
        r = (T)(r * x - (T)(y ^ z));                                                    \
        r = (T)(r ^ (T)((U)x << shift) ^ (T)(y >> shift));                              \
        r = (T)(r + (x < y) + 2 * (y <= z) + 4 * (x == z));                             \
        r = (T)(r - (T)(~x & y) + (T)(x | z) + (T)(-y));                                \
        return (U)(r + (x > y ? x : y) * 3);                                            \
    }
ARITHMETIC(arithmetic_i8, char, uchar)
ARITHMETIC(arithmetic_u8, uchar, uchar)
ARITHMETIC(arithmetic_i16, short, ushort)
ARITHMETIC(arithmetic_u16, ushort, ushort)
ARITHMETIC(arithmetic_i32, int, uint)
ARITHMETIC(arithmetic_u32, uint, uint)
ARITHMETIC(arithmetic_i64, long, ulong)
ARITHMETIC(arithmetic_u64, ulong, ulong)

PROGRAM(integers) {
    const ulong a = IN(0), b = IN(1);
    OUT(0, arithmetic_i8(a, b));
    OUT(1, arithmetic_u8(a, b));
    OUT(2, arithmetic_i16(a, b));
    OUT(3, arithmetic_u16(a, b));
    OUT(4, arithmetic_i32(a, b));
    OUT(5, arithmetic_u32(a, b));
    OUT(6, arithmetic_i64(a, b));
    OUT(7, arithmetic_u64(a, b));
}

PROGRAM(divisions) {
    const ulong a = IN(0), b = IN(1) >> (IN(2) & 63);
    const ulong d = b + 3 * (b == 0);
    const uint d32 = (uint)b + 3 * ((uint)b == 0);
    long s = (long)b;
    s -= 7 * ((s == 0) | (s == -1));
    int s32 = (int)b;
    s32 -= 7 * ((s32 == 0) | (s32 == -1));
    short s16 = (short)b;
    s16 -= 7 * ((s16 == 0) | (s16 == -1));
    const uchar d8 = (uchar)((uchar)b | 1);
    OUT(0, a / d);
    OUT(1, a % d);
    OUT(2, (long)a / s);
    OUT(3, (long)a % s);
    OUT(4, (uint)a / d32);
    OUT(5, (uint)a % d32);
    OUT(6, (int)a / s32);
    OUT(7, (int)a % s32);
    OUT(8, (short)a / s16);
    OUT(9, (short)a % s16);
    OUT(10, (uchar)a / d8 * 256 + (uchar)a % d8);
    OUT(11, a / 1000003 + (uint)a / 7 + (int)a / -25 + (ushort)a / 10 + (long)a / 60);
}

PROGRAM(integer_functions) {
    const ulong a = IN(0), b = IN(1), c = IN(2);
    const uint x = (uint)a, y = (uint)b, z = (uint)c;
    const int sx = (int)a, sy = (int)b, sz = (int)c;
    OUT(0, mul_hi(a, b) ^ (ulong)mul_hi((long)a, (long)b));
    OUT(1, mul_hi(x, y) ^ (uint)mul_hi(sx, sy));
    OUT(2, rotate(a, b & 63) + rotate(x, y & 31));
    OUT(3, clz(a) * 1000000 + clz(x) * 10000 + popcount(a) * 100 + popcount(x));
    OUT(4, add_sat(x, y) ^ (uint)add_sat(sx, sy));
    OUT(5, sub_sat(x, y) ^ (uint)sub_sat(sx, sy));
    OUT(6, (uint)hadd(sx, sy) ^ hadd(x, y) ^ ((ulong)rhadd(x, y) << 32));
    // The library subtracts signed numbers: no difference of more than an int.
    OUT(7, abs_diff(x, y) ^ ((ulong)abs_diff(sx >> 1, sy >> 1) << 32));
    OUT(8, (uint)mad24(sx >> 8, sy >> 8, sz) ^ mad24(x >> 8, y >> 8, z));
    OUT(9, bitselect(a, b, c));
    OUT(10, upsample(x, y));
    OUT(11, (uint)clamp(sx, min(sy, sz), max(sy, sz)) ^ clamp(x, min(y, z), max(y, z)));
    OUT(12, select(x, y, z & 0x80000000u));
    OUT(13, (ulong)clamp((long)a, min((long)b, (long)c), max((long)b, (long)c)) ^ min(a, max(b, c)));
    OUT(14, abs(sx) + ((ulong)abs((long)b) << 1));
    OUT(15, mad_hi(x, y, z) ^ (uint)mad_hi(sx, sy, sz));
}

PROGRAM(sub_dwords) {
    ulong a = IN(0), b = IN(1);
    uchar bytes[8];
    short shorts[4];
    for (int i = 0; i < 8; ++i) bytes[i] = (uchar)(a >> (8 * i));
    for (int i = 0; i < 4; ++i) shorts[i] = (short)(b >> (16 * i));
    uint sum = 0;
    int signed_sum = 0;
    for (int i = 0; i < 8; ++i) {
        const char s = (char)bytes[i];
        const short h = shorts[i & 3];
        sum += (uint)bytes[i] * (ushort)h + (uchar)(bytes[i] + h) + (ushort)(h * 3 + s);
        signed_sum += s * h - (char)(s << 1) + (s < h) + (short)(h >> (s & 7)) + (s > (char)h ? s : (char)h);
        bytes[i] = (uchar)((bytes[i] ^ (h >> 3)) + s);
        shorts[i & 3] = (short)(h - bytes[(i * 5) & 7]);
    }
    OUT(0, sum);
    OUT(1, signed_sum);
    ulong packed = 0;
    for (int i = 0; i < 8; ++i) packed |= (ulong)bytes[i] << (8 * i);
    OUT(2, packed);
    OUT(3, (ushort)shorts[0] | (ulong)(ushort)shorts[1] << 16 | (ulong)(ushort)shorts[2] << 32 | (ulong)(ushort)shorts[3] << 48);
    OUT(4, (uint)(a >> 8 & 0xff) * (uint)(b >> 16 & 0xffff) + ((uint)a >> 24) + (ushort)((uint)b >> 11));
}

// Floating point
// -----------------------------------------------------------------------------------------------------------------

// Whatever the payload of a NaN, and whichever zero of a minimum.
#define F32(v) ((v) != (v) ? 0x7fc00000u : as_uint(v))
#define F64(v) ((v) != (v) ? 0x7ff8000000000000ul : as_ulong(v))
// Ordinary numbers, denormal ones, infinities: by the low bits.
float float_of(ulong v) {
    const uint bits = (uint)(v >> 32);
    const uint near_one = (bits & 0x807fffffu) | ((112u + (uint)(v & 31)) << 23);
    return as_float((v & 0x700) == 0 ? bits : (v & 0x700) == 0x100 ? bits & 0x83ffffffu : near_one);
}
double double_of(ulong v) {
    const ulong near_one = (v & 0x800ffffffffffffful) | ((1008ul + (v & 31)) << 52);
    return as_double((v & 0x700) == 0 ? v : (v & 0x700) == 0x100 ? v & 0x803ffffffffffffful : near_one);
}

PROGRAM(floats) {
    const float x = float_of(IN(0)), y = float_of(IN(1)), z = float_of(IN(2));
    OUT(0, F32(x + y));
    OUT(1, F32(x * y - z));
    OUT(2, F32(x / y));
    OUT(3, F32(fma(x, y, z)) | (ulong)F32(fma(-x, y, -z)) << 32);
    OUT(4, F32(sqrt(fabs(x))));
    OUT(5, (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * !(x > y) + 32 * !(x >= y) + 64 * (x != x));
    const float low = fmin(x, y) + 0.0f, high = fmax(x, z) + 0.0f;
    OUT(6, F32(low) | (ulong)F32(high) << 32);
    const float f = floor(x), c = ceil(x), t = trunc(x), r = rint(x);
    OUT(7, F32(f) ^ F32(c) * 3 ^ F32(t) * 5 ^ F32(r) * 7);
    const float in_range = fabs(x) < 2e9f ? x : 1.5f;
    OUT(8, (uint)(int)in_range | (ulong)(uint)fabs(in_range) << 32);
    OUT(9, (long)(in_range * 1e9f));
    OUT(10, F32((float)(int)IN(3)) | (ulong)F32((float)(uint)IN(3)) << 32);
    OUT(11, F32((float)IN(3)) | (ulong)F32((float)(long)IN(3)) << 32);
    float sum = 0.5f;
    for (int i = 0; i < 20; ++i) sum = sum * 0.75f + (float)((IN(i & 3) >> i) & 255) / (float)(i + 3);
    OUT(12, F32(sum));
    OUT(13, F32(copysign(x, y)) ^ F32(ldexp(z, (int)(IN(3) & 127) - 64)));
    const double d = (double)x * (double)y, back = d < 1e38 ? d : 1.0;
    OUT(14, F64(d) ^ F32((float)back));
    OUT(15, (x > y ? (uint)(y < z) : 5u) + ((isnan(x) != 0) + 2 * (isinf(y) != 0) + 4 * (isfinite(z) != 0)) * 16);
}

PROGRAM(doubles) {
    const double x = double_of(IN(0)), y = double_of(IN(1)), z = double_of(IN(2));
    OUT(0, F64(x + y));
    OUT(1, F64(x * y - z));
    OUT(2, F64(x / y));
    OUT(3, F64(fma(x, y, z)));
    OUT(4, F64(sqrt(fabs(x))));
    OUT(5, (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * !(x > y) + 32 * !(x >= y) + 64 * (x != x));
    const double low = fmin(x, y) + 0.0, high = fmax(x, z) + 0.0;
    OUT(6, F64(low) ^ F64(high) << 1);
    const double f = floor(x), c = ceil(x), t = trunc(x), r = rint(x);
    OUT(7, F64(f) ^ F64(c) * 3 ^ F64(t) * 5 ^ F64(r) * 7);
    const double in_range = fabs(x) < 9e18 ? x : 1.5;
    OUT(8, (long)in_range);
    OUT(9, (ulong)fabs(in_range));
    OUT(10, F64((double)(long)IN(3)));
    OUT(11, F64((double)IN(3)) ^ F64((double)(int)IN(3)) * 3);
    double sum = 0.5;
    for (int i = 0; i < 20; ++i) sum = sum * 0.75 + (double)((IN(i & 3) >> i) & 255) / (double)(i + 3);
    OUT(12, F64(sum));
    OUT(13, F64(copysign(x, y)) ^ F64(ldexp(z, (int)(IN(3) & 255) - 128)));
    OUT(14, F32((float)x));
    const double small = fabs(x) < 2e9 ? x : 7.25;
    OUT(15, (uint)(int)small | (ulong)(uint)fabs(small) << 32);
}

#ifdef HAVE_HALF
// Near one, denormal, or anything: half has few exponents. fma is left out, whose host version rounds twice.
half half_of(ulong v) {
    const ushort bits = (ushort)(v >> 16);
    return as_half((ushort)((v & 7) == 0 ? bits & 0xfbff : (v & 7) == 1 ? bits & 0x83ff : (bits & 0x83ff) | ((12 + (v >> 8 & 7)) << 10)));
}
#define F16(v) ((v) != (v) ? (ushort)0x7e00 : as_ushort(v))
PROGRAM(halves) {
    const half x = half_of(IN(0)), y = half_of(IN(1)), z = half_of(IN(2));
    const half sum = x + y, difference = x - z, product = x * y;
    OUT(0, F16(sum) | (uint)F16(difference) << 16 | (ulong)F16(product) << 32);
    const half quotient = x / y, mixed = product + z;
    OUT(1, F16(quotient) | (uint)F16(mixed) << 16);
    OUT(2, (x < y) + 2 * (x <= y) + 4 * (x == y) + 8 * (x != y) + 16 * !(x > y) + 32 * !(x >= y));
    OUT(3, F32((float)x * (float)z));
    const half from_float = (half)float_of(IN(3)), from_double = (half)(float)(int)(IN(3) & 0xffff);
    OUT(4, F16(from_float) | (uint)F16(from_double) << 16);
    OUT(5, (int)(float)x + (ushort)((uint)fabs((float)y)));
    half2 v = (half2)(x, y), w = (half2)(y, z);
    v = v * w + (half2)(z, x);
    v.y = -v.y;
    w = v - w.yx;
    OUT(6, F16(v.x) | (uint)F16(v.y) << 16 | (ulong)F16(w.x) << 32 | (ulong)F16(w.y) << 48);
    half array[6];
    for (int i = 0; i < 6; ++i) array[i] = half_of(IN(i & 3) >> i);
    half total = (half)0.25f;
    for (int i = 0; i < 12; ++i) total = total * array[(i * 5 + (int)(IN(0) & 3)) % 6] + array[i % 6];
    OUT(7, F16(total));
}
#endif

PROGRAM(vectors) {
    const int4 a = (int4)((int)IN(0), (int)(IN(0) >> 32), (int)IN(1), (int)(IN(1) >> 32));
    int4 b = a.wzyx * 3 + (a >> (int4)(1, 2, 3, 4));
    b.yw ^= a.xx;
    const int4 less = a < b;
    OUT(0, (uint)b.x ^ ((ulong)(uint)b.y << 32));
    OUT(1, (uint)b.z ^ ((ulong)(uint)b.w << 32));
    OUT(2, (less.x & 1) + (less.y & 2) + (less.z & 4) + (less.w & 8));
    float4 f = (float4)(float_of(IN(0)), float_of(IN(1)), float_of(IN(2)), 1.0f);
    f = f.yzwx * f + (float4)(0.5f, 0.25f, 2.0f, -1.0f);
    f.xz = f.xz * 2.0f - f.yw;
    OUT(3, F32(f.x) | (ulong)F32(f.y) << 32);
    OUT(4, F32(f.z) | (ulong)F32(f.w) << 32);
    uchar8 c = (uchar8)(1, 2, 3, 4, 5, 6, 7, 8) * (uchar8)((uchar)IN(2)) + (uchar8)((uchar)IN(3));
    c.even = c.odd + c.even.s3210;
    c.lo ^= c.hi;
    ulong packed = 0;
    for (int i = 0; i < 8; ++i) packed = packed << 8 | ((uchar*)&c)[i];
    OUT(5, packed);
    const ushort4 s = (ushort4)((ushort)IN(0), (ushort)IN(1), (ushort)IN(2), (ushort)IN(3));
    const ushort4 t = s * s.s3120 + (s >> (ushort4)(3));
    OUT(6, t.x | (uint)t.y << 16 | (ulong)t.z << 32 | (ulong)t.w << 48);
    const short2 p = (short2)((short)IN(0), (short)IN(1)), q = p * (short2)((short)IN(2)) - p.yx, low = p < q ? p : q;
    OUT(7, (ushort)q.x | (uint)(ushort)q.y << 16 | (ulong)(ushort)low.x << 32 | (ulong)(ushort)low.y << 48);
    const long2 l = (long2)((long)IN(0), (long)IN(1)) * (long2)((long)IN(2), 77) + (long2)(1, -1);
    OUT(8, l.x ^ (l.y >> 3));
    double2 d = (double2)(double_of(IN(0)), double_of(IN(1)));
    d = d.yx * 0.25 + d;
    OUT(9, F64(d.x) ^ F64(d.y) * 3);
    const int3 i3 = (int3)((int)IN(0), (int)IN(1), (int)IN(2)), j3 = i3.zxy * i3 + 1;
    OUT(10, (uint)(j3.x ^ j3.y ^ j3.z));
    uint4 gathered = (uint4)(0);
    for (int i = 0; i < 9; ++i) ((uint*)&gathered)[(IN(0) >> i) & 3] += (uint)(IN(1) >> i);  // indexed by lane
    OUT(11, gathered.x ^ gathered.y * 3 ^ gathered.z * 5 ^ gathered.w * 7);
}
