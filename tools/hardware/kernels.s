// SPDX-License-Identifier: MIT
// The two kernels of preempt_timing.cpp. kernels.inc has them as words, so that no assembler is needed to build it; a test
// assembles them again for gfx900, gfx906 and gfx908 and compares.
// At their start: s[0:1] address of the arguments, s2 number of the work-group, v0 work-item.

// Never ends by itself. Each wave reads the clock again and again; a long gap between two readings is a time in which it was
// off the GPU. Its record has the longest one since the host has begun a new epoch: the last reading before it and the first
// one after it. Arguments: address of {stop, epoch}, address of the records, shortest gap in clock ticks, waves in a
// work-group.
.globl victim
victim:
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  s_load_dwordx2 s[8:9], s[0:1], 0x10
  v_readfirstlane_b32 s3, v0
  s_lshr_b32 s3, s3, 6
  s_waitcnt lgkmcnt(0)
  s_mul_i32 s2, s2, s9
  s_add_u32 s2, s2, s3
  s_lshl_b32 s2, s2, 4
  s_add_u32 s6, s6, s2
  s_addc_u32 s7, s7, 0
  v_mov_b32 v1, 0
  s_mov_b64 exec, 1
  s_mov_b32 s16, 0  // epoch of the record
  s_mov_b32 s17, 0  // its gap
  s_memrealtime s[10:11]
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v2, s10  // {now, 0}: the wave runs
  v_mov_b32 v3, s11
  v_mov_b32 v4, 0
  v_mov_b32 v5, 0
  global_store_dwordx4 v1, v[2:5], s[6:7]
look_for_stop:
  s_movk_i32 s14, 4096
read_clock:
  s_memrealtime s[12:13]
  s_waitcnt lgkmcnt(0)
  s_sub_u32 s15, s12, s10
  s_cmp_gt_u32 s15, s8
  s_cbranch_scc1 gap
next:
  s_mov_b64 s[10:11], s[12:13]
  s_sub_u32 s14, s14, 1
  s_cmp_lg_u32 s14, 0
  s_cbranch_scc1 read_clock
  global_load_dword v6, v1, s[4:5] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s18, v6
  s_cmp_eq_u32 s18, 0
  s_cbranch_scc1 look_for_stop
  s_endpgm
gap:
  global_load_dword v6, v1, s[4:5] offset:4 glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s18, v6
  s_cmp_eq_u32 s18, s16
  s_cbranch_scc1 same_epoch
  s_mov_b32 s16, s18
  s_mov_b32 s17, 0
same_epoch:
  s_cmp_le_u32 s15, s17
  s_cbranch_scc1 next
  s_mov_b32 s17, s15
  v_mov_b32 v2, s10
  v_mov_b32 v3, s11
  v_mov_b32 v4, s12
  v_mov_b32 v5, s13
  global_store_dwordx4 v1, v[2:5], s[6:7]
  s_branch next

// Stores the clock. Arguments: its address.
.globl stamp
stamp:
  s_memrealtime s[4:5]
  s_load_dwordx2 s[6:7], s[0:1], 0x0
  v_mov_b32 v1, 0
  s_mov_b64 exec, 1
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v2, s4
  v_mov_b32 v3, s5
  global_store_dwordx2 v1, v[2:3], s[6:7]
  s_endpgm
