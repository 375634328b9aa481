//! group 64 vgprs 40 sgprs 48
// Registers that M0 names: S_SET_GPR_IDX in all its modes, and S_MOVREL. Vector instructions between on and off are indexed.
  .set n, 4
  .rept 8
    v_mad_u32_u24 v[n], v0, n, 11
    .set n, n + 1
  .endr
  v_mov_b32 v2, 0
  s_mov_b32 s8, 0
next:
  s_set_gpr_idx_on s8, gpr_idx(SRC0)
  v_mov_b32 v3, v4
  s_nop 0
  v_add_u32 v3, v5, v3
  s_set_gpr_idx_off
  v_add_u32 v2, v2, v3
  s_set_gpr_idx_on s8, gpr_idx(DST)
  v_mov_b32 v12, v2
  s_set_gpr_idx_mode gpr_idx(SRC0,DST)
  v_mov_b32 v22, v4
  s_set_gpr_idx_mode gpr_idx(SRC1)
  v_xor_b32 v2, v2, v6
  s_set_gpr_idx_off
  s_mov_b32 m0, s8
  s_movreld_b32 s20, s8
  s_movrels_b32 s9, s20
  s_lshl_b32 s10, s8, 1
  s_mov_b32 m0, s10
  s_movreld_b64 s[30:31], s[8:9]
  v_add_u32 v2, s9, v2
  s_add_u32 s8, s8, 1
  s_cmp_lt_u32 s8, 4
  s_cbranch_scc1 next
  v_add_u32 v2, v2, v12
  v_add_u32 v2, v2, v15
  v_add_u32 v2, v2, v24
  v_add_u32 v2, s33, v2
  v_add_u32 v2, s36, v2
  finish v2, 64
