// SPDX-License-Identifier: MIT
// Writes 1 to the address in its arguments, then traps with number 2.
.include "kernel.inc"
KERNEL
  s_load_dwordx2 s[4:5], s[0:1], 0x0
  v_mov_b32 v1, 1
  v_mov_b32 v2, 0
  s_waitcnt lgkmcnt(0)
  global_store_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  s_trap 2
  s_endpgm
