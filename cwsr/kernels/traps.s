//! group 128 vgprs 8 sgprs 32 trap
// S_TRAP in a loop: the second-level handler counts and returns.
  v_mov_b32 v2, 0
  s_mov_b32 s6, 4
more:
  s_trap 1
  v_mad_u32_u24 v2, v2, 5, v0
  s_trap 1
  s_sub_u32 s6, s6, 1
  s_cmp_lg_u32 s6, 0
  s_cbranch_scc1 more
  finish v2, 128
