//! group 64 vgprs 8 sgprs 16 trap
// MODE.VSKIP: vector instructions do nothing, scalar ones and traps go on.
  v_mov_b32 v2, 3
  s_mov_b32 s6, 1
  s_setvskip s6, 0
  v_mov_b32 v2, 4
  s_nop 0
  s_add_u32 s7, s6, 5
  v_mov_b32 v3, 5
  s_trap 1
  v_mov_b32 v2, 6
  s_setvskip 0, 0
  s_trap 1
  v_add_u32 v2, v2, v0
  v_add_u32 v2, s7, v2
  finish v2, 64
