//! group 1024 lds 65536 vgprs 4 sgprs 16
// As many waves and as much LDS as a work-group can have, and as few registers.
  v_lshlrev_b32 v1, 6, v0
  ds_write_b32 v1, v0
  ds_write_b32 v1, v0 offset:60
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32 v2, 0xffc0, v1
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_add_u32 v2, v3 offset:60
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v2, v1 offset:60
  s_waitcnt lgkmcnt(0)
  v_mad_u32_u24 v3, v3, 3, v2
  finish v3, 1024
