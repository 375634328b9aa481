//! group 64 vgprs 12 sgprs 32 trap repair
// Illegal instructions and memory violations, after which the second-level handler lets the wave go on.
  v_mov_b32 v2, 17
  v_mov_b32 v4, 0
  v_mov_b32 v5, 0x7fff
  v_mov_b32 v3, 7
  .long 0xbfff0000
  v_mad_u32_u24 v2, v2, 5, v0
  global_store_dword v[4:5], v2, off
  s_nop 0
  v_add_u32 v2, v2, v3
  .long 0xbfff0000
  s_nop 0
  v_mov_b32 v5, 0x8000
  global_load_dword v3, v[4:5], off
  v_add_u32 v2, v2, v3
  finish v2, 64
