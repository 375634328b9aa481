//! group 5 3 9 valid 3 2 9 lds 512 vgprs 12 sgprs 16
// A work-group cut at the edge of its grid, with work-items in three dimensions; some lanes of its waves do not exist.
  unpack_ids
  v_mad_u32_u24 v3, v1, 5, v0
  v_mad_u32_u24 v3, v2, 15, v3
  v_lshlrev_b32 v4, 2, v0
  v_mov_b32 v5, 1
  s_mov_b32 m0, -1
  ds_add_u32 v4, v5
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v6, v4
  s_waitcnt lgkmcnt(0)
  v_mul_u32_u24 v6, v6, v3
  s_bcnt1_i32_b64 s6, exec
  v_add_u32 v6, s6, v6
  v_mov_b32 v0, v3
  finish v6, 135
