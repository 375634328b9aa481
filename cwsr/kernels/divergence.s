//! group 128 vgprs 12 sgprs 32
// Loops that lanes leave at different times, one inside the other.
  v_mov_b32 v2, 0
  v_and_b32 v3, 7, v0
  s_mov_b64 s[10:11], exec
outer:
  v_bfe_u32 v4, v0, 2, 2
  s_mov_b64 s[12:13], exec
inner:
  v_add_u32 v2, v2, v3
  v_lshl_add_u32 v2, v4, 3, v2
  v_subrev_co_u32 v4, vcc, 1, v4
  v_cmp_lt_i32 vcc, -1, v4
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz inner
  s_mov_b64 exec, s[12:13]
  v_sub_u32 v3, v3, 1
  v_cmp_lt_i32 vcc, 0, v3
  s_and_b64 exec, exec, vcc
  s_cbranch_execnz outer
  s_mov_b64 exec, s[10:11]
  v_cmp_gt_u32 vcc, 77, v0
  s_and_saveexec_b64 s[14:15], vcc
  s_cbranch_execz none
  v_mul_lo_u32 v2, v2, 3
none:
  s_or_b64 exec, exec, s[14:15]
  finish v2, 128
