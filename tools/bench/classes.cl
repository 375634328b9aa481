// SPDX-License-Identifier: MIT
// Loops of 64 equal instructions each, for the time of one instruction of a class. Inline assembly: for gfx9 only.
#define LOOP(text, ...)                                                     \
    for (int i = 0; i < n; ++i) {                                           \
        __asm__ volatile(".rept 64\n" text "\n.endr" : : __VA_ARGS__);      \
    }
// Every register that the loops name holds 1.0: no denormals, whose cost on the host is not the point.
#define SETUP                                                                                                                      \
    __asm__ volatile(".irp r,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n v_mov_b32 v\\r, 1.0\n.endr"          \
                     : : : "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", \
                           "v25", "v26", "v27", "v28", "v29", "v30", "v31")
#define LANE __builtin_amdgcn_workitem_id_x()

__kernel void empty(void) {}
#define VALU(name, text, ...)                                               \
    __kernel void name(__global uint* p, int n) {                           \
        SETUP;                                                              \
        for (int i = 0; i < n; ++i) {                                       \
            __asm__ volatile(".rept 64\n" text "\n.endr" : : : __VA_ARGS__);\
        }                                                                   \
    }
VALU(valu_f32, "v_add_f32 v10, v11, v12", "v10")
VALU(valu_fma_f32, "v_fma_f32 v10, v11, v12, v10", "v10")
VALU(valu_int, "v_add_u32 v10, v11, v12", "v10")
VALU(valu_f64, "v_fma_f64 v[10:11], v[12:13], v[14:15], v[10:11]", "v10", "v11")
VALU(valu_exp, "v_exp_f32 v10, v11", "v10")
VALU(valu_rsq, "v_rsq_f32 v10, v11", "v10")
VALU(valu_compare, "v_cmp_lt_f32 vcc, v10, v11", "vcc")
VALU(valu_sgpr, "v_add_f32 v10, s4, v11", "v10")
VALU(valu_dpp, "v_add_u32_dpp v10, v11, v12 row_shr:1 row_mask:0xf bank_mask:0xf", "v10")
VALU(salu, "s_add_u32 s20, s21, s22", "s20", "scc")
VALU(branch, "s_nop 0\ns_branch 0", "memory")

// The mix of docs/spec/isa.md 5, twice: 10 fma, 4 add, 3 mul, 5 integer add, 2 shifts, 2 and, 2 xor, mov, compare,
// cndmask, one SGPR operand.
__kernel void valu_mix(__global uint* p, int n) {
    SETUP;
    for (int i = 0; i < n; ++i) {
        __asm__ volatile(
            ".rept 2\n"
            "v_fma_f32 v10, v11, v12, v13\n v_add_f32 v14, v15, v16\n v_fma_f32 v17, v10, v12, v13\n v_mul_f32 v18, v19, v20\n"
            "v_add_u32 v21, v22, v23\n v_fma_f32 v24, v11, v12, v18\n v_lshlrev_b32 v25, 3, v21\n v_fma_f32 v26, v14, v12, v13\n"
            "v_and_b32 v27, v21, v25\n v_xor_b32 v28, v27, v21\n v_add_u32 v29, v28, v23\n v_fma_f32 v30, v11, v17, v13\n"
            "v_add_f32 v31, v30, v16\n v_mul_f32 v10, v31, v20\n v_fma_f32 v13, v11, v12, v13\n v_add_u32 v22, v29, v23\n"
            "v_fma_f32 v16, v24, v12, v13\n v_mov_b32 v20, v19\n v_cmp_lt_f32 vcc, v16, v20\n v_cndmask_b32 v15, v16, v20, vcc\n"
            "v_add_f32 v14, v15, v31\n v_fma_f32 v17, v14, v12, v10\n v_lshlrev_b32 v25, 5, v22\n v_and_b32 v27, v25, v29\n"
            "v_xor_b32 v28, v27, v25\n v_add_u32 v29, v28, v21\n v_fma_f32 v18, v17, v12, v15\n v_mul_f32 v24, v18, v19\n"
            "v_add_u32 v21, v29, v28\n v_fma_f32 v26, v24, v12, v26\n v_add_f32 v30, v26, v18\n v_add_f32 v31, s4, v30\n"
            ".endr"
            : : : "v10", "v11", "v12", "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26",
                  "v27", "v28", "v29", "v30", "v31", "vcc");
    }
}

__kernel void load_contiguous(__global uint* p, int n) {
    LOOP("global_load_dword v10, %0, off", "v"(p + LANE) : "v10", "memory")
}
__kernel void load_uniform(__global uint* p, int n) {
    LOOP("global_load_dword v10, %0, off", "v"(p + (LANE & 0)) : "v10", "memory")
}
__kernel void load_scattered(__global uint* p, int n) {
    LOOP("global_load_dword v10, %0, off", "v"(p + ((LANE * 7) & 63)) : "v10", "memory")
}
__kernel void store_contiguous(__global uint* p, int n) {
    LOOP("global_store_dword %0, v10, off", "v"(p + LANE) : "v10", "memory")
}
__kernel void scalar_load(__global uint* p, int n) {
    LOOP("s_load_dwordx2 s[20:21], %0, 0x0", "s"(p) : "s20", "s21", "memory")
}
__kernel void lds_read(__global uint* p, int n) {
    __local uint x[64];
    LOOP("ds_read_b32 v10, %0", "v"((uint)(x + LANE)) : "v10", "memory")
}
__kernel void lds_read_uniform(__global uint* p, int n) {
    __local uint x[64];
    LOOP("ds_read_b32 v10, %0", "v"((uint)(x + (LANE & 0))) : "v10", "memory")
}
__kernel void lds_write(__global uint* p, int n) {
    __local uint x[64];
    LOOP("ds_write_b32 %0, v10", "v"((uint)(x + LANE)) : "v10", "memory")
}
__kernel void lds_atomic(__global uint* p, int n) {
    __local uint x[64];
    LOOP("ds_add_u32 %0, v10", "v"((uint)(x + LANE)) : "v10", "memory")
}
