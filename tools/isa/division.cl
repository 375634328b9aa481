// SPDX-License-Identifier: MIT
// One division, square root or remainder per work-item, as the compiler expands them; lyra_isa_division compares.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define BINARY(name, T, expression)                                                     \
    kernel void name(global const T* in, global const T* other, global T* out) {        \
        const size_t i = get_global_id(0);                                              \
        const T x = in[i], y = other[i];                                                \
        out[i] = expression;                                                            \
    }
#define UNARY(name, T, expression)                                                      \
    kernel void name(global const T* in, global const T* other, global T* out) {        \
        const size_t i = get_global_id(0);                                              \
        const T x = in[i];                                                              \
        out[i] = expression;                                                            \
    }

BINARY(div_f16, half, x / y)
BINARY(div_f32, float, x / y)
BINARY(div_f64, double, x / y)
UNARY(rcp_f32, float, 1.0f / x)
UNARY(rcp_f64, double, 1.0 / x)
UNARY(sqrt_f32, float, sqrt(x))
UNARY(sqrt_f64, double, sqrt(x))
// Integers are divided by way of v_rcp_f32: quotient and remainder at once.
BINARY(div_u32, uint, (x / y) ^ ((x % y) * 0x9e3779b1u))
BINARY(div_i32, int, (int)((uint)(x / y) ^ ((uint)(x % y) * 0x9e3779b1u)))
BINARY(div_u64, ulong, (x / y) ^ ((x % y) * 0x9e3779b97f4a7c15ul))
BINARY(div_i64, long, (long)((ulong)(x / y) ^ ((ulong)(x % y) * 0x9e3779b97f4a7c15ul)))
