// SPDX-License-Identifier: MIT
// Matrix products of one wave by matrix instructions, for gfx908, gfx90a and gfx942.
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef double double4_ __attribute__((ext_vector_type(4)));
typedef int int4_ __attribute__((ext_vector_type(4)));
#define LANE __builtin_amdgcn_workitem_id_x()

// c (16 x 16) = a (16 x depth) * b (depth x 16)
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void product_f32(__global const float* a, __global const float* b,
                                                                          __global float* c, int depth) {
    const int place = LANE % 16, part = LANE / 16;
    float4_ sum = 0;
    for (int k = 0; k < depth; k += 4)
        sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[place * depth + k + part], b[(k + part) * 16 + place], sum, 0, 0, 0);
    for (int r = 0; r < 4; ++r) c[(4 * part + r) * 16 + place] = sum[r];
}

#ifndef __gfx908__
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void product_f64(__global const double* a, __global const double* b,
                                                                          __global double* c, int depth) {
    const int place = LANE % 16, part = LANE / 16;
    double4_ sum = 0;
    for (int k = 0; k < depth; k += 4)
        sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[place * depth + k + part], b[(k + part) * 16 + place], sum, 0, 0, 0);
    for (int r = 0; r < 4; ++r) c[(part + 4 * r) * 16 + place] = sum[r];
}
#endif

#ifndef __gfx942__
// A lane has four elements that follow one another in k.
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void product_i8(__global const int* a, __global const int* b,
                                                                         __global int* c) {
    const int place = LANE % 16, part = LANE / 16;
    int4_ sum = 0;
    sum = __builtin_amdgcn_mfma_i32_16x16x16i8(a[LANE], b[LANE], sum, 0, 0, 0);
    for (int r = 0; r < 4; ++r) c[(4 * part + r) * 16 + place] = sum[r];
}
#else
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef half half4_ __attribute__((ext_vector_type(4)));
typedef half half8_ __attribute__((ext_vector_type(8)));

// A lane has eight elements that follow one another in k.
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void product_i8(__global const long* a, __global const long* b,
                                                                         __global int* c) {
    const int place = LANE % 16, part = LANE / 16;
    int4_ sum = 0;
    sum = __builtin_amdgcn_mfma_i32_16x16x32_i8(a[LANE], b[LANE], sum, 0, 0, 0);
    for (int r = 0; r < 4; ++r) c[(4 * part + r) * 16 + place] = sum[r];
}

__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void product_fp8(__global const long* a, __global const long* b,
                                                                          __global float* c) {
    const int place = LANE % 16, part = LANE / 16;
    float4_ sum = 0;
    sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a[LANE], b[LANE], sum, 0, 0, 0);
    for (int r = 0; r < 4; ++r) c[(4 * part + r) * 16 + place] = sum[r];
}

// Of A a lane has four of eight elements that follow one another in k; the second byte of index says which.
__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void product_sparse(__global const half4_* a, __global const half8_* b,
                                                                             __global const int* index, __global float* c) {
    const int place = LANE % 16, part = LANE / 16;
    float4_ sum = 0;
    sum = __builtin_amdgcn_smfmac_f32_16x16x32_f16(a[LANE], b[LANE], sum, index[LANE], 0, 1);
    for (int r = 0; r < 4; ++r) c[(4 * part + r) * 16 + place] = sum[r];
}
#endif
