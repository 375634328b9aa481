// SPDX-License-Identifier: MIT
// The loops of kernels.cl in C++, compiled for the machine they are built on: what the host can do at best without threads.
#pragma once

#include <cstdint>

namespace lyra::bench::native {

void saxpy(const float* x, const float* y, float* out, float a, int n);
void vector_add(const float* x, const float* y, float* out, int n);
void matmul(const float* a, const float* b, float* c, int n);
void mandelbrot(int* out, int n, int limit);
void nbody(const float* body, float* out, int n);
void reduction(const float* in, float* out, int groups);
void histogram(const uint32_t* in, uint32_t* bins, int groups, int each);
void integer_hash(uint32_t* out, int n, int rounds);
void stencil_f64(const double* in, double* out, int n);
void black_scholes(const float* price, const float* strike, float* call, float rate, float sigma, float years, int n);

}  // namespace lyra::bench::native
