//! group 128 lds 1024 vgprs 48 acc 20 sgprs 32
// Fewer VGPRs than AccVGPRs, of which memory operations, LDS and M0 name some.
  v_lshlrev_b32 v3, 2, v0
  s_add_u32 s6, s0, 0x1000
  s_addc_u32 s7, s1, 0
  .set n, 0
  .rept 28
    v_mad_u32_u24 v4, v0, n + 3, n
    v_accvgpr_write_b32 a[n], v4
    .set n, n + 1
  .endr
  v_accvgpr_mov_b32 a5, a27
  ds_write_b32 v3, a5
  ds_write_b32 v3, a6 offset:512
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_sub_u32 v5, 127, v0
  v_lshlrev_b32 v5, 2, v5
  ds_read_b32 a8, v5
  s_waitcnt lgkmcnt(0)
  v_lshlrev_b32 v9, 4, v0
  global_store_dwordx4 v9, a[8:11], s[6:7] offset:2048
  s_waitcnt vmcnt(0)
  global_load_dwordx2 a[12:13], v9, s[6:7] offset:2052
  s_mov_b64 s[8:9], s[6:7]
  s_mov_b32 s10, 0x2000
  s_mov_b32 s11, 0x00024fac
  buffer_store_dword a13, v3, s[8:11], 0 offen
  s_waitcnt vmcnt(0)
  buffer_load_dword a14, v3, s[8:11], 0 offen
  v_mov_b32 v2, 0
  s_mov_b32 s12, 0
  s_waitcnt vmcnt(0)
next:
  s_set_gpr_idx_on s12, gpr_idx(SRC0)
  v_accvgpr_read_b32 v6, a0
  s_nop 0
  v_accvgpr_read_b32 v7, a1
  s_set_gpr_idx_mode gpr_idx(DST)
  v_accvgpr_write_b32 a0, v7
  s_set_gpr_idx_off
  v_lshl_add_u32 v2, v2, 1, v6
  v_add_u32 v2, v2, v7
  s_add_u32 s12, s12, 1
  s_cmp_lt_u32 s12, 27
  s_cbranch_scc1 next
  .set n, 0
  .rept 28
    v_accvgpr_read_b32 v8, a[n]
    v_mad_u32_u24 v2, v2, 5, v8
    .set n, n + 1
  .endr
  finish v2, 128
