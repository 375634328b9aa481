// SPDX-License-Identifier: MIT
// One kernel for each function of ocml_functions.def, in the type T (float, double or half): lyra_isa_ocml compares.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

#define FUNCTION(name, call, bound32, bound64, bound16, low, high, reference)                                                          \
    kernel void f_##name(global const T* xs, global const T* ys, global const T* zs, global const int* ns, global T* out) {            \
        const size_t i = get_global_id(0);                                                                                             \
        const T x = xs[i], y = ys[i], z = zs[i];                                                                                       \
        const int n = ns[i];                                                                                                           \
        out[i] = call;                                                                                                                 \
    }
#ifdef T_IS_FLOAT
#define FLOAT_FUNCTION FUNCTION
#else
#define FLOAT_FUNCTION(...)
#endif
#include "ocml_functions.def"
