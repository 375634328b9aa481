//! group 64 vgprs 256 sgprs 112
// Every register has a value of its own, and all of them are read at the end. An odd factor keeps the low bits of each.
  .set n, 1
  .rept 255
    v_mul_u32_u24 v[n], 0x100 + n, v0
    .set n, n + 1
  .endr
  .set n, 6
  .rept 96
    s_movk_i32 s[n], 0x100 + n
    .set n, n + 1
  .endr
  s_nop 0
  .set n, 3
  .rept 253
    v_mad_u32_u24 v2, v2, 5, v[n]
    .set n, n + 1
  .endr
  .set n, 7
  .rept 95
    s_mul_i32 s6, s6, 5
    s_add_u32 s6, s6, s[n]
    .set n, n + 1
  .endr
  v_add_u32 v2, s6, v2
  finish v2, 64
