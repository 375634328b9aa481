//! group 64 vgprs 512 acc 256 sgprs 32
// Every VGPR and AccVGPR has a value of its own, and all of them are read at the end.
  .set n, 1
  .rept 255
    v_mul_u32_u24 v[n], 0x100 + n, v0
    .set n, n + 1
  .endr
  .set n, 0
  .rept 256
    v_mul_u32_u24 v1, 0x300 + n, v0
    v_accvgpr_write_b32 a[n], v1
    .set n, n + 1
  .endr
  s_nop 0
  .set n, 0
  .rept 256
    v_accvgpr_read_b32 v1, a[n]
    v_mad_u32_u24 v2, v2, 5, v1
    .set n, n + 1
  .endr
  .set n, 3
  .rept 253
    v_mad_u32_u24 v2, v2, 5, v[n]
    .set n, n + 1
  .endr
  finish v2, 64
