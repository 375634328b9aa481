// SPDX-License-Identifier: MIT
// The kernels that `lyra bench` times: the same source for Lyra and for PoCL. Rounding is the same everywhere, so that results
// can be compared bit for bit wherever no library function of OpenCL's own accuracy is called.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#pragma OPENCL FP_CONTRACT OFF

__kernel void saxpy(__global const float* x, __global float* y, __global float* out, float a, int n) {
    const int i = get_global_id(0);
    if (i < n) out[i] = fma(a, x[i], y[i]);
}

__kernel void vector_add(__global const float* x, __global const float* y, __global float* out, int n) {
    const int i = get_global_id(0);
    if (i < n) out[i] = x[i] + y[i];
}

__kernel void matmul_naive(__global const float* a, __global const float* b, __global float* c, int n) {
    const int col = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum = fma(a[row * n + k], b[k * n + col], sum);
    c[row * n + col] = sum;
}

#define TILE 16
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1))) void matmul_tiled(__global const float* a, __global const float* b,
                                                                                __global float* c, int n) {
    __local float ta[TILE][TILE], tb[TILE][TILE];
    const int lx = get_local_id(0), ly = get_local_id(1), col = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int t = 0; t < n; t += TILE) {
        ta[ly][lx] = a[row * n + t + lx];
        tb[ly][lx] = b[(t + ly) * n + col];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; ++k) sum = fma(ta[ly][k], tb[k][lx], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    c[row * n + col] = sum;
}

__kernel void mandelbrot(__global int* out, int n, int limit) {
    const int px = get_global_id(0), py = get_global_id(1);
    const float cx = -2.0f + px * (3.0f / 512), cy = -1.5f + py * (3.0f / 512);
    float x = 0, y = 0;
    int i = 0;
    while (i < limit && x * x + y * y < 4.0f) {
        const float next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        ++i;
    }
    out[py * n + px] = i;
}

__kernel void nbody(__global const float4* body, __global float4* out, int n) {
    const int i = get_global_id(0);
    const float4 me = body[i];
    float ax = 0, ay = 0, az = 0;
    for (int j = 0; j < n; ++j) {
        const float4 other = body[j];
        const float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
        const float r2 = fma(dx, dx, fma(dy, dy, fma(dz, dz, 0.01f)));
        const float inverse = rsqrt(r2);
        const float s = other.w * inverse * inverse * inverse;
        ax = fma(dx, s, ax);
        ay = fma(dy, s, ay);
        az = fma(dz, s, az);
    }
    out[i] = (float4)(ax, ay, az, 0);
}

#define GROUP 256
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void reduction(__global const float* in, __global float* out) {
    __local float part[GROUP];
    const int l = get_local_id(0);
    part[l] = in[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int step = GROUP / 2; step > 0; step /= 2) {
        if (l < step) part[l] += part[l + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (l == 0) out[get_group_id(0)] = part[0];
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void histogram(__global const uint* in, __global uint* bins, int each) {
    __local uint mine[GROUP];
    const int l = get_local_id(0), base = get_group_id(0) * GROUP * each;
    mine[l] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < each; ++i) atomic_inc(&mine[in[base + i * GROUP + l] & 255]);
    barrier(CLK_LOCAL_MEM_FENCE);
    // One row per work-group, so that the kernel may run any number of times.
    bins[get_group_id(0) * GROUP + l] = mine[l];
}

__kernel void integer_hash(__global uint* out, int rounds) {
    const uint i = get_global_id(0);
    uint h = i + 0x9e3779b9u;
    for (int r = 0; r < rounds; ++r) {
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h = rotate(h ^ (h >> 16), 5u) + i;
    }
    out[i] = h;
}

__kernel void stencil_f64(__global const double* in, __global double* out, int n) {
    const int x = get_global_id(0) + 1, y = get_global_id(1) + 1, at = y * n + x;
    out[at] = fma(0.5, in[at], 0.125 * ((in[at - 1] + in[at + 1]) + (in[at - n] + in[at + n])));
}

float normal(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * fabs(d));
    const float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.39894228f * exp(-0.5f * d * d) * poly;
    return d > 0 ? 1.0f - tail : tail;
}
__kernel void black_scholes(__global const float* price, __global const float* strike, __global float* call, float rate, float sigma,
                            float years) {
    const int i = get_global_id(0);
    const float root = sqrt(years), s = price[i], k = strike[i];
    const float d1 = (log(s / k) + (rate + 0.5f * sigma * sigma) * years) / (sigma * root);
    const float d2 = d1 - sigma * root;
    call[i] = s * normal(d1) - k * exp(-rate * years) * normal(d2);
}
