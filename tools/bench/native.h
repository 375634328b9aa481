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

// native_further.cpp
constexpr int kFftPoints = 512, kSortKeys = 512;  // of a work-group
void fft(const float* in, const float* roots, float* out, int groups);
void spmv_csr(const int* start, const int* column, const float* value, const float* x, float* y, int rows);
void sha256(const uint32_t* message, uint32_t* digest, int n);
void dot_f16_i8(const uint16_t* a, const uint16_t* b, const int8_t* c, const int8_t* d, uint32_t* out, int n, int steps);
void sort(const uint32_t* in, uint32_t* out, int groups);

}  // namespace lyra::bench::native
