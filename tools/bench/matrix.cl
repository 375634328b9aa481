// SPDX-License-Identifier: MIT
// Products of matrices by matrix instructions of gfx90a, for `lyra bench`: c = a * b', all n x n, one wave for a tile of 16
// x 16. A lane has elements of row LANE % 16 that follow one another in k, and four elements of a column of the tile.
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef double double4_ __attribute__((ext_vector_type(4)));
typedef int int4_ __attribute__((ext_vector_type(4)));
typedef short short4_ __attribute__((ext_vector_type(4)));
typedef half half4_ __attribute__((ext_vector_type(4)));
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define LANE __builtin_amdgcn_workitem_id_x()
#define TILES (n / 16)
#define ROW (__builtin_amdgcn_workgroup_id_x() / TILES * 16)
#define COLUMN (__builtin_amdgcn_workgroup_id_x() % TILES * 16)

// DEPTH elements of a lane; ROW_OF(r) is where element r of the result lies.
#define PRODUCT(name, Input, Piece, Result, Output, DEPTH, multiply, ROW_OF)                                                  \
    __kernel __attribute__((reqd_work_group_size(64, 1, 1))) void name(__global const Input* a, __global const Input* b,      \
                                                                       __global Output* c, int n) {                           \
        const int place = LANE % 16, part = LANE / 16;                                                                        \
        __global const Piece* left = (__global const Piece*)(a + (ROW + place) * n) + part;                                   \
        __global const Piece* right = (__global const Piece*)(b + (COLUMN + place) * n) + part;                               \
        Result sum = 0;                                                                                                       \
        for (int k = 0; k < n / DEPTH; k += 4) sum = multiply(left[k], right[k], sum, 0, 0, 0);                               \
        for (int r = 0; r < 4; ++r) c[(ROW + ROW_OF) * n + COLUMN + place] = sum[r];                                          \
    }

PRODUCT(mfma_f32, float, float, float4_, float, 1, __builtin_amdgcn_mfma_f32_16x16x4f32, 4 * part + r)
PRODUCT(mfma_f64, double, double, double4_, double, 1, __builtin_amdgcn_mfma_f64_16x16x4f64, part + 4 * r)
PRODUCT(mfma_f16, half, half4_, float4_, float, 4, __builtin_amdgcn_mfma_f32_16x16x16f16, 4 * part + r)
PRODUCT(mfma_bf16, short, short4_, float4_, float, 4, __builtin_amdgcn_mfma_f32_16x16x16bf16_1k, 4 * part + r)
PRODUCT(mfma_i8, char, int, int4_, int, 4, __builtin_amdgcn_mfma_i32_16x16x16i8, 4 * part + r)
