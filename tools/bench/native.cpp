// SPDX-License-Identifier: MIT
// The loops of kernels.cl in C++. Built with -O3 -march=native: only `lyra bench` calls them, on the machine that built them.
#include "tools/bench/native.h"

#include <cmath>

namespace lyra::bench::native {

void saxpy(const float* __restrict x, const float* __restrict y, float* __restrict out, float a, int n) {
    for (int i = 0; i < n; ++i) out[i] = std::fma(a, x[i], y[i]);
}

void vector_add(const float* __restrict x, const float* __restrict y, float* __restrict out, int n) {
    for (int i = 0; i < n; ++i) out[i] = x[i] + y[i];
}

// The same order of additions per element as the kernels; the loop over columns is inside, where it can be vectorised.
void matmul(const float* __restrict a, const float* __restrict b, float* __restrict c, int n) {
    for (int row = 0; row < n; ++row) {
        float* __restrict out = c + row * n;
        for (int col = 0; col < n; ++col) out[col] = 0;
        for (int k = 0; k < n; ++k) {
            const float left = a[row * n + k];
            for (int col = 0; col < n; ++col) out[col] = std::fma(left, b[k * n + col], out[col]);
        }
    }
}

void mandelbrot(int* out, int n, int limit) {
    for (int py = 0; py < n; ++py) {
        for (int px = 0; px < n; ++px) {
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
    }
}

void nbody(const float* __restrict body, float* __restrict out, int n) {
    for (int i = 0; i < n; ++i) {
        const float mx = body[4 * i], my = body[4 * i + 1], mz = body[4 * i + 2];
        float ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; ++j) {
            const float dx = body[4 * j] - mx, dy = body[4 * j + 1] - my, dz = body[4 * j + 2] - mz;
            const float inverse = 1.0f / std::sqrt(std::fma(dx, dx, std::fma(dy, dy, std::fma(dz, dz, 0.01f))));
            const float s = body[4 * j + 3] * inverse * inverse * inverse;
            ax = std::fma(dx, s, ax);
            ay = std::fma(dy, s, ay);
            az = std::fma(dz, s, az);
        }
        out[4 * i] = ax;
        out[4 * i + 1] = ay;
        out[4 * i + 2] = az;
        out[4 * i + 3] = 0;
    }
}

void reduction(const float* __restrict in, float* __restrict out, int groups) {
    for (int g = 0; g < groups; ++g) {
        float part[256];
        for (int l = 0; l < 256; ++l) part[l] = in[g * 256 + l];
        for (int step = 128; step > 0; step /= 2) {
            for (int l = 0; l < step; ++l) part[l] += part[l + step];
        }
        out[g] = part[0];
    }
}

void histogram(const uint32_t* __restrict in, uint32_t* __restrict bins, int groups, int each) {
    for (int g = 0; g < groups; ++g) {
        uint32_t* mine = bins + g * 256;
        for (int l = 0; l < 256; ++l) mine[l] = 0;
        for (int i = 0; i < each * 256; ++i) ++mine[in[g * 256 * each + i] & 255];
    }
}

void integer_hash(uint32_t* out, int n, int rounds) {
    for (int i = 0; i < n; ++i) {
        uint32_t h = static_cast<uint32_t>(i) + 0x9e3779b9u;
        for (int r = 0; r < rounds; ++r) {
            h ^= h >> 16;
            h *= 0x85ebca6bu;
            h ^= h >> 13;
            h *= 0xc2b2ae35u;
            h ^= h >> 16;
            h = (h << 5 | h >> 27) + static_cast<uint32_t>(i);
        }
        out[i] = h;
    }
}

void stencil_f64(const double* __restrict in, double* __restrict out, int n) {
    for (int y = 1; y < n - 1; ++y) {
        for (int x = 1; x < n - 1; ++x) {
            const int at = y * n + x;
            out[at] = std::fma(0.5, in[at], 0.125 * ((in[at - 1] + in[at + 1]) + (in[at - n] + in[at + n])));
        }
    }
}

namespace {

float normal(float d) {
    const float k = 1.0f / (1.0f + 0.2316419f * std::fabs(d));
    const float poly = k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f))));
    const float tail = 0.39894228f * std::exp(-0.5f * d * d) * poly;
    return d > 0 ? 1.0f - tail : tail;
}

}  // namespace

void black_scholes(const float* price, const float* strike, float* call, float rate, float sigma, float years, int n) {
    const float root = std::sqrt(years);
    for (int i = 0; i < n; ++i) {
        const float s = price[i], k = strike[i];
        const float d1 = (std::log(s / k) + (rate + 0.5f * sigma * sigma) * years) / (sigma * root);
        const float d2 = d1 - sigma * root;
        call[i] = s * normal(d1) - k * std::exp(-rate * years) * normal(d2);
    }
}

}  // namespace lyra::bench::native
