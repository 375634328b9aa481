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

// A transform of 512 points per work-group: radix 2 in Stockham's order, nine passes over LDS.
#define POINTS 512
__kernel __attribute__((reqd_work_group_size(POINTS / 2, 1, 1)))
void fft(__global const float2* in, __global const float2* roots, __global float2* out) {
    __local float2 points[2][POINTS];
    const int t = get_local_id(0), base = get_group_id(0) * POINTS;
    points[0][t] = in[base + t];
    points[0][t + POINTS / 2] = in[base + t + POINTS / 2];
    int from = 0;
    for (int span = 1; span < POINTS; span *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const int k = t & (span - 1), to = 2 * t - k;
        const float2 root = roots[k * (POINTS / 2 / span)];
        const float2 u = points[from][t], v = points[from][t + POINTS / 2];
        const float re = fma(v.x, root.x, -(v.y * root.y)), im = fma(v.x, root.y, v.y * root.x);
        points[1 - from][to] = (float2)(u.x + re, u.y + im);
        points[1 - from][to + span] = (float2)(u.x - re, u.y - im);
        from = 1 - from;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + t] = points[from][t];
    out[base + t + POINTS / 2] = points[from][t + POINTS / 2];
}

// A row per work-item: the lanes of a wave leave the loop one after the other.
__kernel void spmv_csr(__global const int* start, __global const int* column, __global const float* value,
                       __global const float* x, __global float* y, int rows) {
    const int row = get_global_id(0);
    if (row >= rows) return;
    float sum = 0;
    for (int i = start[row]; i < start[row + 1]; ++i) sum = fma(value[i], x[column[i]], sum);
    y[row] = sum;
}

__constant uint sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
#define ROTR(x, n) rotate(x, 32u - n)
// A message of 64 bytes per work-item, which makes two blocks: itself, and padding. Word t of message i is at t * n + i.
__kernel void sha256(__global const uint* message, __global uint* digest, int n) {
    const int i = get_global_id(0);
    uint state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
#pragma unroll 1
    for (int block = 0; block < 2; ++block) {
        uint w[16];
#pragma unroll
        for (int t = 0; t < 16; ++t) {
            const uint padding = t == 0 ? 0x80000000u : t == 15 ? 512u : 0u;
            w[t] = block == 0 ? message[t * n + i] : padding;
        }
        uint a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
#pragma unroll
        for (int t = 0; t < 64; ++t) {
            if (t >= 16) {
                const uint early = w[(t + 1) & 15], late = w[(t + 14) & 15];
                w[t & 15] += (ROTR(early, 7) ^ ROTR(early, 18) ^ early >> 3) + w[(t + 9) & 15] +
                             (ROTR(late, 17) ^ ROTR(late, 19) ^ late >> 10);
            }
            const uint choice = g ^ (e & (f ^ g));
            const uint first = h + (ROTR(e, 6) ^ ROTR(e, 11) ^ ROTR(e, 25)) + choice + sha256_constants[t] + w[t & 15];
            const uint second = (ROTR(a, 2) ^ ROTR(a, 13) ^ ROTR(a, 22)) + ((a & b) | (c & (a | b)));
            h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
        }
        state[0] += a, state[1] += b, state[2] += c, state[3] += d;
        state[4] += e, state[5] += f, state[6] += g, state[7] += h;
    }
#pragma unroll
    for (int t = 0; t < 8; ++t) digest[t * n + i] = state[t];
}

// Two products per work-item: of vectors of halves, summed up in f32, and of vectors of bytes, summed up in integers. A step
// takes two halves and four bytes of each vector, which lie beside those of the next work-item.
__kernel void dot_f16_i8(__global const half* a, __global const half* b, __global const char4* c, __global const char4* d,
                         __global uint* out, int n, int steps) {
    const int i = get_global_id(0);
    float sum = 0;
    int count = 0;
    for (int k = 0; k < steps; ++k) {
        const int at = k * n + i;
        const float2 x = vload_half2(at, a), y = vload_half2(at, b);
        sum = fma(x.y, y.y, fma(x.x, y.x, sum));
        const char4 p = c[at], q = d[at];
        count += p.x * q.x + p.y * q.y + p.z * q.z + p.w * q.w;
    }
    out[i] = as_uint(sum);
    out[n + i] = as_uint(count);
}

// 512 keys per work-group, in place in LDS.
#define KEYS 512
__kernel __attribute__((reqd_work_group_size(KEYS / 2, 1, 1))) void sort_bitonic(__global const uint* in, __global uint* out) {
    __local uint keys[KEYS];
    const int t = get_local_id(0), base = get_group_id(0) * KEYS;
    keys[t] = in[base + t];
    keys[t + KEYS / 2] = in[base + t + KEYS / 2];
    for (int size = 2; size <= KEYS; size *= 2) {
        for (int step = size / 2; step > 0; step /= 2) {
            barrier(CLK_LOCAL_MEM_FENCE);
            const int low = 2 * t - (t & (step - 1)), high = low + step;
            const uint x = keys[low], y = keys[high];
            const bool swap = (x > y) == ((low & size) == 0);
            keys[low] = swap ? y : x;
            keys[high] = swap ? x : y;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    out[base + t] = keys[t];
    out[base + t + KEYS / 2] = keys[t + KEYS / 2];
}
