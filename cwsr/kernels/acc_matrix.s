//! group 64 vgprs 96 acc 32 sgprs 32
// Matrix multiply-adds of every kind of sum, on accumulators that live through the whole program; all of them are read at the
// end.
  .macro clear from, to
    .set n, \from
    .rept \to - \from + 1
      v_accvgpr_write_b32 a[n], 0
      .set n, n + 1
    .endr
  .endm
  v_cvt_f32_u32 v1, v0
  v_mul_f32 v2, 0.5, v1
  v_cvt_pkrtz_f16_f32 v4, v1, v2
  v_cvt_pkrtz_f16_f32 v5, v2, 1.0
  v_cvt_pkrtz_f16_f32 v6, v2, v1
  v_cvt_pkrtz_f16_f32 v7, -1.0, v2
  v_cvt_f64_u32 v[8:9], v0
  v_fma_f64 v[10:11], v[8:9], 0.5, 1.0
  v_mul_u32_u24 v3, 0x10203, v0
  v_mov_b32 v12, 0
  v_mov_b32 v13, 0
  v_mov_b32 v14, 0
  v_mov_b32 v15, 0
  clear 0, 63
  .rept 3
    v_mfma_f32_32x32x8f16 a[0:15], v[4:5], v[6:7], a[0:15]
    v_mfma_f32_16x16x4f32 a[16:19], v1, v2, a[16:19] blgp:3
    .if on_gfx942
      v_mfma_i32_16x16x32_i8 a[20:23], v[0:1], v[2:3], a[20:23]
    .else
      v_mfma_i32_16x16x16i8 a[20:23], v0, v3, a[20:23]
    .endif
    v_mfma_f32_4x4x4bf16_1k v[12:15], v[4:5], v[6:7], v[12:15] cbsz:2 abid:3
    v_mfma_f64_16x16x4f64 a[24:31], v[8:9], v[10:11], a[24:31]
    v_mfma_f32_32x32x1f32 a[32:63], v2, v1, a[32:63] cbsz:1 abid:1
    v_add_u32 v3, v3, v0
    v_fma_f32 v2, v2, 0.5, 1.0
  .endr
  s_nop 7
  s_nop 7
  s_nop 7
  v_mov_b32 v16, 0
  v_mov_b32 v17, 0x9e3779b1
  .set n, 0
  .rept 64
    v_accvgpr_read_b32 v18, a[n]
    v_mul_lo_u32 v16, v16, v17
    v_xor_b32 v16, v16, v18
    .set n, n + 1
  .endr
  .set n, 12
  .rept 4
    v_mul_lo_u32 v16, v16, v17
    v_xor_b32 v16, v16, v[n]
    .set n, n + 1
  .endr
  finish v16, 64
