//! group 128 lds 1024 vgprs 16 sgprs 32
// Atomics on global memory, LDS and by scalar instructions. Those that return a value have a word of their own.
  s_add_u32 s6, s0, 0x1000
  s_addc_u32 s7, s1, 0
  v_lshlrev_b32 v2, 2, v0
  v_mov_b32 v3, 5
  v_mov_b32 v12, 0
  v_mov_b32 v10, 0
  s_mov_b32 s10, 3
  ds_write_b32 v2, v12
again:
  global_atomic_add v4, v2, v3, s[6:7] glc
  global_atomic_add v12, v3, s[6:7] offset:512
  global_atomic_smax v5, v2, v0, s[6:7] offset:1024 glc
  s_waitcnt vmcnt(0)
  v_add_u32 v10, v10, v4
  v_add_u32 v10, v10, v5
  ds_add_rtn_u32 v6, v2, v3
  ds_inc_u32 v12, v3 offset:512
  ds_max_rtn_i32 v7, v2, v0 offset:516
  s_waitcnt lgkmcnt(0)
  v_add_u32 v10, v10, v6
  v_xor_b32 v10, v10, v7
  v_mov_b32 v8, v10
  v_mov_b32 v9, v4
  global_atomic_cmpswap v11, v2, v[8:9], s[6:7] offset:2048 glc
  s_waitcnt vmcnt(0)
  v_add_u32 v10, v10, v11
  s_mov_b32 s11, 7
  s_atomic_add s11, s[6:7], 0x700
  s_mov_b64 s[12:13], 9
  s_atomic_xor_x2 s[12:13], s[6:7], 0x708
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s10, s10, 1
  s_cmp_lg_u32 s10, 0
  s_cbranch_scc1 again
  finish v10, 128
