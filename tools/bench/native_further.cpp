// SPDX-License-Identifier: MIT
// The further kernels of kernels.cl in C++. Built as native.cpp is.
#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "tools/bench/native.h"

namespace lyra::bench::native {

void fft(const float* __restrict in, const float* __restrict roots, float* __restrict out, int groups) {
    constexpr int kHalf = kFftPoints / 2;
    for (int g = 0; g < groups; ++g) {
        float points[2][2 * kFftPoints];
        float *from = points[0], *to = points[1];
        std::copy_n(in + g * 2 * kFftPoints, 2 * kFftPoints, from);
        for (int span = 1; span < kFftPoints; span *= 2) {
            for (int t = 0; t < kHalf; ++t) {
                const int k = t & (span - 1), at = 2 * t - k;
                const float *root = roots + 2 * (k * (kHalf / span)), *u = from + 2 * t, *v = u + 2 * kHalf;
                const float re = std::fma(v[0], root[0], -(v[1] * root[1])), im = std::fma(v[0], root[1], v[1] * root[0]);
                to[2 * at] = u[0] + re;
                to[2 * at + 1] = u[1] + im;
                to[2 * (at + span)] = u[0] - re;
                to[2 * (at + span) + 1] = u[1] - im;
            }
            std::swap(from, to);
        }
        std::copy_n(from, 2 * kFftPoints, out + g * 2 * kFftPoints);
    }
}

void spmv_csr(const int* start, const int* column, const float* value, const float* x, float* y, int rows) {
    for (int row = 0; row < rows; ++row) {
        float sum = 0;
        for (int i = start[row]; i < start[row + 1]; ++i) sum = std::fma(value[i], x[column[i]], sum);
        y[row] = sum;
    }
}

void sha256(const uint32_t* message, uint32_t* digest, int n) {
    static constexpr uint32_t kConstants[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
        0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
        0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
        0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
        0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
        0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
    const auto rotr = [](uint32_t x, int by) { return std::rotr(x, by); };
    for (int i = 0; i < n; ++i) {
        uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
        for (int block = 0; block < 2; ++block) {
            uint32_t w[64];
            for (int t = 0; t < 16; ++t) {
                const uint32_t padding = t == 0 ? 0x80000000u : t == 15 ? 512u : 0u;
                w[t] = block == 0 ? message[t * n + i] : padding;
            }
            for (int t = 16; t < 64; ++t) {
                const uint32_t early = w[t - 15], late = w[t - 2];
                w[t] = w[t - 16] + w[t - 7] + (rotr(early, 7) ^ rotr(early, 18) ^ early >> 3) +
                       (rotr(late, 17) ^ rotr(late, 19) ^ late >> 10);
            }
            auto [a, b, c, d, e, f, g, h] = state;
            for (int t = 0; t < 64; ++t) {
                const uint32_t first =
                    h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + (g ^ (e & (f ^ g))) + kConstants[t] + w[t];
                const uint32_t second = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) | (c & (a | b)));
                h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
            }
            const uint32_t mixed[8] = {a, b, c, d, e, f, g, h};
            for (int t = 0; t < 8; ++t) state[t] += mixed[t];
        }
        for (int t = 0; t < 8; ++t) digest[t * n + i] = state[t];
    }
}

namespace {

/// A half that is no denormal, infinity or NaN.
float float_of_normal(uint16_t half) {
    return std::bit_cast<float>((half & 0x8000u) << 16 | ((half & 0x7fffu) + (112u << 10)) << 13);
}

}  // namespace

void dot_f16_i8(const uint16_t* __restrict a, const uint16_t* __restrict b, const int8_t* __restrict c,
                const int8_t* __restrict d, uint32_t* __restrict out, int n, int steps) {
    for (int i = 0; i < n; ++i) out[i] = out[n + i] = 0;
    for (int k = 0; k < steps; ++k) {
        for (int i = 0; i < n; ++i) {
            const int at = k * n + i;
            float sum = std::bit_cast<float>(out[i]);
            for (int j = 0; j < 2; ++j) sum = std::fma(float_of_normal(a[2 * at + j]), float_of_normal(b[2 * at + j]), sum);
            out[i] = std::bit_cast<uint32_t>(sum);
            int count = 0;
            for (int j = 0; j < 4; ++j) count += c[4 * at + j] * d[4 * at + j];
            out[n + i] += static_cast<uint32_t>(count);
        }
    }
}

void sort(const uint32_t* in, uint32_t* out, int groups) {
    std::copy_n(in, groups * kSortKeys, out);
    for (int g = 0; g < groups; ++g) std::sort(out + g * kSortKeys, out + (g + 1) * kSortKeys);
}

}  // namespace lyra::bench::native
