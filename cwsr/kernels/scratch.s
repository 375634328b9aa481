//! group 128 vgprs 12 sgprs 32 scratch
// Private memory through SCRATCH and FLAT, from the slot that the wave was given.
  s_add_u32 flat_scratch_lo, s2, s5
  s_addc_u32 flat_scratch_hi, s3, 0
  s_mov_b32 s7, 0
fill:
  v_mov_b32 v2, s7
  v_mad_u32_u24 v3, v0, 5, v2
  scratch_store_dword v2, v3, off
  s_add_u32 s7, s7, 4
  s_cmp_lt_u32 s7, 24
  s_cbranch_scc1 fill
  s_mov_b32 s6, 8
  scratch_load_dword v4, off, s6 offset:4
  s_getreg_b32 s8, hwreg(HW_REG_SH_MEM_BASES, 0, 16)
  s_lshl_b32 s8, s8, 16
  v_mov_b32 v6, 16
  v_mov_b32 v7, s8
  flat_load_dword v5, v[6:7]
  s_waitcnt vmcnt(0) lgkmcnt(0)
  v_add_u32 v4, v4, v5
  flat_store_dword v[6:7], v4
  s_waitcnt vmcnt(0) lgkmcnt(0)
  flat_atomic_add v8, v[6:7], v0 glc
  s_waitcnt vmcnt(0) lgkmcnt(0)
  scratch_load_dword v9, off, s6 offset:8
  s_waitcnt vmcnt(0)
  v_add_u32 v4, v8, v9
  finish v4, 128
