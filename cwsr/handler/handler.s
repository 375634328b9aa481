// SPDX-License-Identifier: MIT
// A first-level trap handler for tests: save and restore of a wave; traps and exceptions go to a second-level handler, whose
// address is the first quadword at TMA, its own TMA the second one, and a debugger's flag the third one. Without it s_trap is
// stepped over and exceptions halt the wave.
// It keeps the protocol and the record of the driver's handler (cwsr/layout.h) and shares no code with it.
// Free in the handler before the record exists: ttmp2, 3, 12, 14, 15. The others hold what the launch or a debugger put there.

// LLVM has the number of the chip under a name that depends on the ABI.
.ifdef .amdgcn.gfx_generation_stepping
.set on_gfx90a, .amdgcn.gfx_generation_stepping == 10
.set on_gfx942, .amdgcn.gfx_generation_minor == 4
.else
.set on_gfx90a, .option.machine_version_stepping == 10
.set on_gfx942, .option.machine_version_minor == 4
.endif
// One file of VGPRs and AccVGPRs, in units of 8; the first AccVGPR is in units of 4.
.set has_acc_vgprs, on_gfx90a | on_gfx942

// What of IB_STS tells a replay (FIRST_REPLAY, RCNT) waits in bits 31:26 of ttmp11, of ttmp13 on gfx942, while a handler runs.
.macro keep_ib_sts_in to
  s_getreg_b32 ttmp14, hwreg(HW_REG_IB_STS, 15, 6)
  s_lshl_b32 ttmp14, ttmp14, 26
  s_and_b32 \to, \to, 0x3ffffff
  s_or_b32 \to, \to, ttmp14
  s_setreg_imm32_b32 hwreg(HW_REG_IB_STS, 15, 6), 0
.endm
.macro keep_ib_sts
.if on_gfx942
  keep_ib_sts_in ttmp13
.else
  keep_ib_sts_in ttmp11
.endif
.endm
.macro bring_back_ib_sts
.if on_gfx942
  s_lshr_b32 ttmp14, ttmp13, 26
.else
  s_lshr_b32 ttmp14, ttmp11, 26
.endif
  s_setreg_b32 hwreg(HW_REG_IB_STS, 15, 6), ttmp14
.endm
// A debugger's flag goes to bit 23 of the same register.
.macro keep_flag_in to, flag
  s_bitset0_b32 \to, 23
  s_lshl_b32 \flag, \flag, 23
  s_or_b32 \to, \to, \flag
.endm
.macro vgpr_bytes to
.if has_acc_vgprs
  s_getreg_b32 \to, hwreg(HW_REG_GPR_ALLOC, 6, 6)
  s_add_u32 \to, \to, 1
  s_lshl_b32 \to, \to, 11
.else
  s_getreg_b32 \to, hwreg(HW_REG_GPR_ALLOC, 8, 6)
  s_add_u32 \to, \to, 1
  s_lshl_b32 \to, \to, 10
.endif
.endm
// Of them, those before the first AccVGPR
.macro plain_vgpr_bytes to
.if has_acc_vgprs
  s_getreg_b32 \to, hwreg(HW_REG_GPR_ALLOC, 12, 6)
  s_add_u32 \to, \to, 1
  s_lshl_b32 \to, \to, 10
.else
  vgpr_bytes \to
.endif
.endm
.macro sgpr_count to
  s_getreg_b32 \to, hwreg(HW_REG_GPR_ALLOC, 24, 3)
  s_add_u32 \to, \to, 1
  s_lshl_b32 \to, \to, 4
.endm
// ttmp[14:15] = address of the hardware registers in the record that EXEC names
.macro hwreg_address
  vgpr_bytes ttmp14
  sgpr_count ttmp15
  s_lshl_b32 ttmp15, ttmp15, 2
  s_add_u32 ttmp14, ttmp14, ttmp15
  s_add_u32 ttmp14, ttmp14, exec_lo
  s_addc_u32 ttmp15, exec_hi, 0
  s_and_b32 ttmp15, ttmp15, 0xffff
.endm
// ttmp[0:1] = record, ttmp2 = not zero in the first wave, ttmp[8:11] = buffer over the record, 4 bytes per lane
.macro take_record
  s_and_b32 ttmp2, exec_hi, 0x4000000
  s_mov_b32 ttmp0, exec_lo
  s_and_b32 ttmp1, exec_hi, 0xffff
  s_mov_b32 ttmp8, ttmp0
  s_or_b32 ttmp9, ttmp1, 0x40000
  s_mov_b32 ttmp10, 0x1000000
  s_mov_b32 ttmp11, 0x807fac
  s_mov_b64 exec, -1
.endm

  s_branch trap
  s_branch restore

trap:
  s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
  s_andn2_b32 ttmp12, ttmp12, 0x20006
  s_getreg_b32 ttmp15, hwreg(HW_REG_TRAPSTS)
  s_bfe_u32 ttmp2, ttmp1, 0x80010
  s_cbranch_scc1 second_level
  s_bitcmp1_b32 ttmp12, 13
  s_cbranch_scc0 running
  // Halted, and not by a trap: its save, or the instructions behind its PC cannot be fetched.
wait_for_save:
  s_bitcmp1_b32 ttmp15, 10
  s_cbranch_scc1 save
  s_sleep 16
  s_getreg_b32 ttmp15, hwreg(HW_REG_TRAPSTS)
  s_branch wait_for_save
running:
  // Memory violation, illegal instruction, host trap
  s_and_b32 ttmp2, ttmp15, 0x400900
  s_cbranch_scc1 second_level
  // Exceptions that the wave has enabled; one bit enables all four watches
  s_and_b32 ttmp2, ttmp15, 0xff
  s_and_b32 ttmp3, ttmp15, 0x7080
  s_cbranch_scc0 no_watch
  s_bitset1_b32 ttmp2, 7
no_watch:
  s_getreg_b32 ttmp3, hwreg(HW_REG_MODE, 12, 9)
  s_and_b32 ttmp2, ttmp2, ttmp3
  s_cbranch_scc1 second_level
  // A single step comes before the save
  s_getreg_b32 ttmp2, hwreg(HW_REG_MODE, 11, 1)
  s_cmp_lg_u32 ttmp2, 0
  s_cbranch_scc1 second_level
  s_bitcmp1_b32 ttmp15, 10
  s_cbranch_scc1 save

second_level:
  keep_ib_sts
  s_getreg_b32 ttmp14, hwreg(HW_REG_TMA_LO)
  s_getreg_b32 ttmp15, hwreg(HW_REG_TMA_HI)
  s_lshl_b64 ttmp[14:15], ttmp[14:15], 8
  s_sext_i32_i16 ttmp15, ttmp15
  s_load_dword ttmp2, ttmp[14:15], 0x10 glc
  s_waitcnt lgkmcnt(0)
.if on_gfx942
  keep_flag_in ttmp13, ttmp2
.else
  keep_flag_in ttmp11, ttmp2
.endif
  s_load_dwordx2 ttmp[2:3], ttmp[14:15], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_load_dwordx2 ttmp[14:15], ttmp[14:15], 0x8 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u64 ttmp[2:3], 0
  s_cbranch_scc1 no_second_level
  s_setpc_b64 ttmp[2:3]
no_second_level:
  s_bitcmp1_b32 ttmp1, 24
  s_cbranch_scc1 leave
  s_bfe_u32 ttmp2, ttmp1, 0x80010
  s_cbranch_scc1 step_over
  s_bitset1_b32 ttmp12, 13
  // Not at an s_endpgm, where a halted wave could not be saved
  s_sub_u32 ttmp0, ttmp0, 8
  s_subb_u32 ttmp1, ttmp1, 0
  s_branch leave
step_over:
  s_add_u32 ttmp0, ttmp0, 4
  s_addc_u32 ttmp1, ttmp1, 0
leave:
  s_and_b32 ttmp1, ttmp1, 0xffff
  bring_back_ib_sts
  s_and_b64 exec, exec, exec
  s_and_b64 vcc, vcc, vcc
  s_lshr_b32 ttmp2, ttmp12, 3
  s_setreg_b32 hwreg(HW_REG_STATUS, 3, 29), ttmp2
  s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp12
  s_rfe_b64 ttmp[0:1]

save:
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_mov_b32 ttmp14, 0
  s_setreg_b32 hwreg(HW_REG_TRAPSTS, 10, 1), ttmp14
  keep_ib_sts
  s_mov_b64 ttmp[2:3], exec
  s_mov_b64 exec, 0
  s_sendmsg sendmsg(MSG_SAVEWAVE)
wait_for_record:
  s_sleep 2
  s_cbranch_execz wait_for_record

  hwreg_address
  s_store_dwordx4 ttmp[4:7], ttmp[14:15], 0x50 glc
  s_store_dwordx4 ttmp[8:11], ttmp[14:15], 0x60 glc
  s_store_dword ttmp13, ttmp[14:15], 0x74 glc
  s_mov_b32 ttmp4, m0
  s_store_dword ttmp4, ttmp[14:15], 0x0 glc
  s_store_dwordx2 ttmp[0:1], ttmp[14:15], 0x4 glc
  s_store_dwordx2 ttmp[2:3], ttmp[14:15], 0xc glc
  s_store_dword ttmp12, ttmp[14:15], 0x14 glc
  s_getreg_b32 ttmp5, hwreg(HW_REG_TRAPSTS)
  s_store_dword ttmp5, ttmp[14:15], 0x18 glc
  s_mov_b64 ttmp[6:7], xnack_mask
  s_store_dwordx2 ttmp[6:7], ttmp[14:15], 0x1c glc
  s_getreg_b32 ttmp5, hwreg(HW_REG_MODE)
  s_store_dword ttmp5, ttmp[14:15], 0x24 glc
  s_waitcnt lgkmcnt(0)

  // SGPRs, 16 at a time through s0 to s15
  take_record
  vgpr_bytes ttmp4
  s_add_u32 ttmp6, ttmp0, ttmp4
  s_addc_u32 ttmp7, ttmp1, 0
  sgpr_count ttmp5
  s_mov_b32 m0, 0
save_sgprs:
  s_movrels_b64 s[0:1], s[0:1]
  s_movrels_b64 s[2:3], s[2:3]
  s_movrels_b64 s[4:5], s[4:5]
  s_movrels_b64 s[6:7], s[6:7]
  s_movrels_b64 s[8:9], s[8:9]
  s_movrels_b64 s[10:11], s[10:11]
  s_movrels_b64 s[12:13], s[12:13]
  s_movrels_b64 s[14:15], s[14:15]
  s_store_dwordx4 s[0:3], ttmp[6:7], 0x0 glc
  s_store_dwordx4 s[4:7], ttmp[6:7], 0x10 glc
  s_store_dwordx4 s[8:11], ttmp[6:7], 0x20 glc
  s_store_dwordx4 s[12:15], ttmp[6:7], 0x30 glc
  s_waitcnt lgkmcnt(0)
  s_add_u32 ttmp6, ttmp6, 64
  s_addc_u32 ttmp7, ttmp7, 0
  s_add_u32 m0, m0, 16
  s_cmp_lt_u32 m0, ttmp5
  s_cbranch_scc1 save_sgprs

  s_mov_b32 ttmp3, 0
  buffer_store_dword v0, off, ttmp[8:11], ttmp3 glc slc
  buffer_store_dword v1, off, ttmp[8:11], ttmp3 offset:256 glc slc
  buffer_store_dword v2, off, ttmp[8:11], ttmp3 offset:512 glc slc
  buffer_store_dword v3, off, ttmp[8:11], ttmp3 offset:768 glc slc

  // LDS, by the first wave, when no other one uses it any more
  s_getreg_b32 ttmp6, hwreg(HW_REG_LDS_ALLOC, 12, 9)
  s_cmp_eq_u32 ttmp6, 0
  s_cbranch_scc1 save_vgprs
  s_barrier
  s_cmp_eq_u32 ttmp2, 0
  s_cbranch_scc1 save_vgprs
  vgpr_bytes ttmp3
  s_lshl_b32 ttmp5, ttmp5, 2
  s_add_u32 ttmp3, ttmp3, ttmp5
  s_add_u32 ttmp3, ttmp3, 128
  v_mbcnt_lo_u32_b32 v2, -1, 0
  v_mbcnt_hi_u32_b32 v2, -1, v2
  v_lshlrev_b32 v2, 2, v2
save_lds:
  ds_read_b32 v0, v2
  s_waitcnt lgkmcnt(0)
  buffer_store_dword v0, off, ttmp[8:11], ttmp3 glc slc
  v_add_u32 v2, 0x100, v2
  s_add_u32 ttmp3, ttmp3, 0x100
  s_sub_u32 ttmp6, ttmp6, 1
  s_cmp_lg_u32 ttmp6, 0
  s_cbranch_scc1 save_lds

save_vgprs:
  plain_vgpr_bytes ttmp4
  s_mov_b32 ttmp3, 1024
  s_mov_b32 m0, 4
  s_cmp_ge_u32 ttmp3, ttmp4
  s_cbranch_scc1 saved_vgprs
  s_set_gpr_idx_on m0, gpr_idx(SRC0)
save_four:
  v_mov_b32 v0, v0
  v_mov_b32 v1, v1
  v_mov_b32 v2, v2
  v_mov_b32 v3, v3
  buffer_store_dword v0, off, ttmp[8:11], ttmp3 glc slc
  buffer_store_dword v1, off, ttmp[8:11], ttmp3 offset:256 glc slc
  buffer_store_dword v2, off, ttmp[8:11], ttmp3 offset:512 glc slc
  buffer_store_dword v3, off, ttmp[8:11], ttmp3 offset:768 glc slc
  s_add_u32 m0, m0, 4
  s_add_u32 ttmp3, ttmp3, 1024
  s_cmp_lt_u32 ttmp3, ttmp4
  s_cbranch_scc1 save_four
  s_set_gpr_idx_off
saved_vgprs:
.if has_acc_vgprs
  // AccVGPRs, from where the VGPRs end
  vgpr_bytes ttmp4
  s_mov_b32 m0, 0
  s_cmp_ge_u32 ttmp3, ttmp4
  s_cbranch_scc1 saved
  s_set_gpr_idx_on m0, gpr_idx(SRC0)
save_four_acc:
  v_accvgpr_read_b32 v0, a0
  v_accvgpr_read_b32 v1, a1
  v_accvgpr_read_b32 v2, a2
  v_accvgpr_read_b32 v3, a3
  buffer_store_dword v0, off, ttmp[8:11], ttmp3 glc slc
  buffer_store_dword v1, off, ttmp[8:11], ttmp3 offset:256 glc slc
  buffer_store_dword v2, off, ttmp[8:11], ttmp3 offset:512 glc slc
  buffer_store_dword v3, off, ttmp[8:11], ttmp3 offset:768 glc slc
  s_add_u32 m0, m0, 4
  s_add_u32 ttmp3, ttmp3, 1024
  s_cmp_lt_u32 ttmp3, ttmp4
  s_cbranch_scc1 save_four_acc
  s_set_gpr_idx_off
saved:
.endif
  s_endpgm_saved

restore:
  hwreg_address
  take_record
  vgpr_bytes ttmp4
  sgpr_count ttmp5
  s_getreg_b32 ttmp6, hwreg(HW_REG_LDS_ALLOC, 12, 9)
  s_cmp_eq_u32 ttmp2, 0
  s_cselect_b32 ttmp6, 0, ttmp6
  s_lshl_b32 ttmp6, ttmp6, 8
  s_add_u32 ttmp3, ttmp14, 128
  s_sub_u32 ttmp3, ttmp3, ttmp0
  s_mov_b32 m0, 0
restore_lds:
  s_cmp_ge_u32 m0, ttmp6
  s_cbranch_scc1 restore_vgprs
  buffer_load_dword off, ttmp[8:11], ttmp3 lds
  s_add_u32 ttmp3, ttmp3, 0x100
  s_add_u32 m0, m0, 0x100
  s_branch restore_lds

restore_vgprs:
.if has_acc_vgprs
  plain_vgpr_bytes ttmp3
  s_mov_b32 m0, 0
restore_four_acc:
  s_cmp_ge_u32 ttmp3, ttmp4
  s_cbranch_scc1 restored_acc
  buffer_load_dword v0, off, ttmp[8:11], ttmp3 glc slc
  buffer_load_dword v1, off, ttmp[8:11], ttmp3 offset:256 glc slc
  buffer_load_dword v2, off, ttmp[8:11], ttmp3 offset:512 glc slc
  buffer_load_dword v3, off, ttmp[8:11], ttmp3 offset:768 glc slc
  s_waitcnt vmcnt(0)
  s_set_gpr_idx_on m0, gpr_idx(DST)
  v_accvgpr_write_b32 a0, v0
  v_accvgpr_write_b32 a1, v1
  v_accvgpr_write_b32 a2, v2
  v_accvgpr_write_b32 a3, v3
  s_set_gpr_idx_off
  s_and_b32 m0, m0, 0xff
  s_add_u32 m0, m0, 4
  s_add_u32 ttmp3, ttmp3, 1024
  s_branch restore_four_acc
restored_acc:
  plain_vgpr_bytes ttmp4
.endif
  s_mov_b32 ttmp3, 1024
  s_mov_b32 m0, 4
restore_four:
  s_cmp_ge_u32 ttmp3, ttmp4
  s_cbranch_scc1 restore_first
  buffer_load_dword v0, off, ttmp[8:11], ttmp3 glc slc
  buffer_load_dword v1, off, ttmp[8:11], ttmp3 offset:256 glc slc
  buffer_load_dword v2, off, ttmp[8:11], ttmp3 offset:512 glc slc
  buffer_load_dword v3, off, ttmp[8:11], ttmp3 offset:768 glc slc
  s_waitcnt vmcnt(0)
  s_set_gpr_idx_on m0, gpr_idx(DST)
  v_mov_b32 v0, v0
  v_mov_b32 v1, v1
  v_mov_b32 v2, v2
  v_mov_b32 v3, v3
  s_set_gpr_idx_off
  s_and_b32 m0, m0, 0xff
  s_add_u32 m0, m0, 4
  s_add_u32 ttmp3, ttmp3, 1024
  s_branch restore_four
restore_first:
  s_mov_b32 ttmp3, 0
  buffer_load_dword v0, off, ttmp[8:11], ttmp3 glc slc
  buffer_load_dword v1, off, ttmp[8:11], ttmp3 offset:256 glc slc
  buffer_load_dword v2, off, ttmp[8:11], ttmp3 offset:512 glc slc
  buffer_load_dword v3, off, ttmp[8:11], ttmp3 offset:768 glc slc
  s_waitcnt vmcnt(0)

  // SGPRs from the top down, so that s0 to s15 come last
  s_mov_b32 m0, ttmp5
  s_mov_b64 ttmp[6:7], ttmp[14:15]
restore_sgprs:
  s_sub_u32 ttmp6, ttmp6, 64
  s_subb_u32 ttmp7, ttmp7, 0
  s_load_dwordx16 s[0:15], ttmp[6:7], 0x0 glc
  s_sub_u32 m0, m0, 16
  s_waitcnt lgkmcnt(0)
  s_movreld_b64 s[0:1], s[0:1]
  s_movreld_b64 s[2:3], s[2:3]
  s_movreld_b64 s[4:5], s[4:5]
  s_movreld_b64 s[6:7], s[6:7]
  s_movreld_b64 s[8:9], s[8:9]
  s_movreld_b64 s[10:11], s[10:11]
  s_movreld_b64 s[12:13], s[12:13]
  s_movreld_b64 s[14:15], s[14:15]
  s_cmp_lg_u32 m0, 0
  s_cbranch_scc1 restore_sgprs

  s_load_dword ttmp8, ttmp[14:15], 0x0 glc
  s_load_dwordx2 ttmp[0:1], ttmp[14:15], 0x4 glc
  s_load_dwordx2 ttmp[2:3], ttmp[14:15], 0xc glc
  s_load_dword ttmp12, ttmp[14:15], 0x14 glc
  s_load_dword ttmp4, ttmp[14:15], 0x18 glc
  s_load_dwordx2 ttmp[6:7], ttmp[14:15], 0x1c glc
  s_load_dword ttmp5, ttmp[14:15], 0x24 glc
  s_waitcnt lgkmcnt(0)
  s_mov_b32 m0, ttmp8
  s_mov_b64 exec, ttmp[2:3]
  s_mov_b64 xnack_mask, ttmp[6:7]
  // All but SAVECTX, which may have been raised again meanwhile
  s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, 10), ttmp4
  s_lshr_b32 ttmp4, ttmp4, 11
  s_setreg_b32 hwreg(HW_REG_TRAPSTS, 11, 21), ttmp4
  s_setreg_b32 hwreg(HW_REG_MODE), ttmp5
  s_load_dwordx4 ttmp[4:7], ttmp[14:15], 0x50 glc
  s_load_dwordx4 ttmp[8:11], ttmp[14:15], 0x60 glc
  s_load_dword ttmp13, ttmp[14:15], 0x74 glc
  s_waitcnt lgkmcnt(0)
  s_and_b32 ttmp1, ttmp1, 0xffff
  bring_back_ib_sts
  s_and_b64 exec, exec, exec
  s_and_b64 vcc, vcc, vcc
  s_lshr_b32 ttmp2, ttmp12, 3
  s_setreg_b32 hwreg(HW_REG_STATUS, 3, 29), ttmp2
  s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp12
  // No wave touches LDS before all of it is back
  s_barrier
  s_rfe_b64 ttmp[0:1]
