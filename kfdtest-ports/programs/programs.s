// SPDX-License-Identifier: MIT
// Programs of the ports. s[0:1] and s[2:3] are their two arguments, s4 is the number of the work-group (s6 with scratch).
// Assembled when the tests are built; each begins where an entry point may.

.macro program name
  .p2align 8
\name:
.endm
// \lo:\hi = address of dword \index of the array at \base_lo:\base_hi
.macro element lo, hi, base_lo, base_hi, index
  s_lshl_b32 \lo, \index, 2
  s_add_u32 \lo, \lo, \base_lo
  s_addc_u32 \hi, \base_hi, 0
.endm

program nothing
  s_endpgm

// *second = *first
program copy_dword
  v_mov_b32 v10, s0
  v_mov_b32 v11, s1
  v_mov_b32 v12, s2
  v_mov_b32 v13, s3
  flat_load_dword v14, v[10:11] glc slc
  s_waitcnt 0
  flat_store_dword v[12:13], v14 glc slc
  s_endpgm

program forever
  s_branch forever

// *first += 1 by every work-group
program atomic_add
  v_mov_b32 v10, s0
  v_mov_b32 v11, s1
  v_mov_b32 v12, 1
  flat_atomic_add v13, v[10:11], v12 glc slc
  s_waitcnt 0
  s_endpgm

// The word that a group finds in its element of the second array is written there again and again, from a register that has to
// live through every context switch, until *first is 0x12345678. Turns are counted in a VGPR and in an SGPR: their difference
// goes to element + 4 KiB, their number to element + 8 KiB.
program iterate
  element s6, s7, s2, s3, s4
  s_load_dword s8, s[6:7], 0x0 glc
  v_mov_b32 v2, s6
  v_mov_b32 v3, s7
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v4, s8
  v_mov_b32 v5, 0
  s_mov_b32 s10, 0
next_turn:
  flat_store_dword v[2:3], v4
  v_add_u32 v5, 1, v5
  s_add_u32 s10, s10, 1
  s_load_dword s9, s[0:1], 0x0 glc
  s_waitcnt 0
  s_cmp_lg_u32 s9, 0x12345678
  s_cbranch_scc1 next_turn
  v_sub_u32 v6, s10, v5
  v_add_co_u32 v2, vcc, 0x1000, v2
  v_addc_co_u32 v3, vcc, 0, v3, vcc
  flat_store_dword v[2:3], v6
  v_add_co_u32 v2, vcc, 0x1000, v2
  v_addc_co_u32 v3, vcc, 0, v3, vcc
  flat_store_dword v[2:3], v5
  s_waitcnt 0
  s_endpgm

// A loop of floating-point work, then one turn is added to *first.
program work
  v_cvt_f32_u32 v2, s4
  v_mov_b32 v3, 1.0
  s_mov_b32 s5, 16
work_turn:
  v_mac_f32 v3, 0.5, v2
  v_sqrt_f32 v4, v3
  v_log_f32 v5, v4
  v_exp_f32 v5, v5
  v_add_f32 v3, v5, v4
  s_sub_u32 s5, s5, 1
  s_cmp_lg_u32 s5, 0
  s_cbranch_scc1 work_turn
  s_branch atomic_add

// As work, and the group leaves HW_ID of its wave in its element of the second array.
program where
  element s6, s7, s2, s3, s4
  s_getreg_b32 s8, hwreg(HW_REG_HW_ID)
  s_store_dword s8, s[6:7], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_branch work

// Waits until dword 0 of the buffer is 0xcafe, then dword 2 = dword 1.
program copy_on_signal
  s_load_dword s8, s[0:1], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_lg_u32 s8, 0xcafe
  s_cbranch_scc1 copy_on_signal
  s_load_dword s9, s[0:1], 0x4 glc
  s_waitcnt lgkmcnt(0)
  s_store_dword s9, s[0:1], 0x8 glc
  s_waitcnt lgkmcnt(0)
  s_endpgm

// copy_dword where one side may be scratch; its base is in s[4:5].
program scratch_copy
  s_mov_b32 flat_scratch_lo, s4
  s_mov_b32 flat_scratch_hi, s5
  s_branch copy_dword

// The group reads a dword of every page of a buffer, over and over, until dword 0 of the first array is 0x5678; each one must
// be the number of its page. Then 0x5678 goes to its element of the second array, or 0xbad when a page was wrong.
// The first array: the stop word, the pages, address lo, hi.
program read_pages
  element s6, s7, s2, s3, s4
  s_mov_b32 s15, 0x5678
  s_load_dwordx4 s[8:11], s[0:1], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_mov_b32 s12, s10
  s_mov_b32 s13, s11
read_all:
  s_mov_b32 s10, s12
  s_mov_b32 s11, s13
  s_mov_b32 s14, 0
read_page:
  v_mov_b32 v2, s10
  v_mov_b32 v3, s11
  flat_load_dword v4, v[2:3] glc slc
  s_waitcnt 0
  v_cmp_ne_u32 vcc, s14, v4
  s_cbranch_vccz page_right
  s_mov_b32 s15, 0xbad
page_right:
  s_add_u32 s10, s10, 0x1000
  s_addc_u32 s11, s11, 0
  s_add_u32 s14, s14, 1
  s_cmp_lt_u32 s14, s9
  s_cbranch_scc1 read_page
  s_load_dword s8, s[0:1], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_lg_u32 s8, 0x5678
  s_cbranch_scc1 read_all
  s_store_dword s15, s[6:7], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_endpgm

// GWS resource 0 becomes a semaphore with *first places.
program gws_init
  s_load_dword s8, s[0:1], 0x0 glc
  s_mov_b32 m0, 0
  s_waitcnt lgkmcnt(0)
  v_mov_b32 v0, s8
  ds_gws_init v0 gds
  s_waitcnt 0
  s_endpgm

// *first += 1 in steps that only the semaphore of GWS resource 0 keeps together
program gws_increment
  s_mov_b32 m0, 0
  s_nop 0
  ds_gws_sema_p gds
  s_waitcnt 0
  s_load_dword s8, s[0:1], 0x0 glc
  s_waitcnt 0
  s_add_u32 s8, s8, 1
  s_store_dword s8, s[0:1], 0x0 glc
  s_waitcnt 0
  ds_gws_sema_v gds
  s_waitcnt 0
  s_endpgm
