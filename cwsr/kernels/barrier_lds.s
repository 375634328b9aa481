//! group 256 lds 2048 vgprs 8 sgprs 16
// Four waves exchange values through LDS, with a barrier before each read.
  v_lshlrev_b32 v1, 2, v0
  v_mul_u32_u24 v2, 7, v0
  ds_write_b32 v1, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_sub_u32 v3, 0xff, v0
  v_lshlrev_b32 v3, 2, v3
  ds_read_b32 v4, v3
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_write_b32 v1, v4 offset:1024
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v5, v3 offset:1024
  s_waitcnt lgkmcnt(0)
  v_add_u32 v4, v4, v5
  finish v4, 256
