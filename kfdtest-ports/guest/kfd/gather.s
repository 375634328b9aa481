// SPDX-License-Identifier: MIT
// Every wave counts itself, then waits until as many are there as the arguments say: it ends only when all fit at once.
// Arguments: address of the counter, number of waves.
.include "kernel.inc"
KERNEL
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  s_load_dword s6, s[0:1], 0x8
  v_mov_b32 v1, 1
  v_mov_b32 v2, 0
  s_mov_b64 exec, 1
  s_waitcnt lgkmcnt(0)
  global_atomic_add v2, v1, s[4:5]
wait:
  s_sleep 8
  global_load_dword v3, v2, s[4:5] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s7, v3
  s_cmp_lt_u32 s7, s6
  s_cbranch_scc1 wait
  s_endpgm
