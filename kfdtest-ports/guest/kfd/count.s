// SPDX-License-Identifier: MIT
// x = x * factor + seed, rounds times in each of steps; a work-group tells after each step how far it is,
// and reads the number of steps again: whoever writes 0 there ends the grid.
// Arguments: results (8 bytes), progress (8), steps, rounds, seed, factor. Work-groups of 64.
// Registers that readers of a saved wave rely on: s[8:11] steps, rounds, seed, factor; s13 steps done; s14 rounds left in this
// step; v1 number of the work-item in the grid; v2 x.
.include "kernel.inc"
KERNEL
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx4 s[8:11], s[0:1], 0x10
  s_lshl_b32 s12, s2, 6
  v_add_u32 v1, s12, v0
  s_waitcnt lgkmcnt(0)
  v_add_u32 v2, s10, v1
  v_mov_b32 v5, s11
  v_mov_b32 v7, 0
  s_mov_b32 s13, 0
  s_lshl_b32 s15, s2, 2
  v_mov_b32 v4, s15
step:
  s_mov_b32 s14, s9
round:
  v_mul_lo_u32 v2, v2, v5
  v_add_u32 v2, s10, v2
  s_sub_u32 s14, s14, 1
  s_cmp_lg_u32 s14, 0
  s_cbranch_scc1 round
  s_add_u32 s13, s13, 1
  v_mov_b32 v3, s13
  s_mov_b64 s[16:17], exec
  s_mov_b64 exec, 1
  global_store_dword v4, v3, s[6:7]
  s_mov_b64 exec, s[16:17]
  global_load_dword v6, v7, s[0:1] offset:16 glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v6
  s_cmp_lt_u32 s13, s8
  s_cbranch_scc1 step
  v_lshlrev_b32 v4, 2, v1
  global_store_dword v4, v2, s[4:5]
  s_endpgm
