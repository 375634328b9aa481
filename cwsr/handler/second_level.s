// SPDX-License-Identifier: MIT
// A second-level trap handler for tests, with the duties of the runtime's: it reports a trap or exception to the driver by
// MSG_INTERRUPT and parks the wave in a loop of its own, where a debugger or the destruction of the queue finds it.
// At its TMA: word 0 counts s_trap 1, which is a service and returns; with bit 0 of word 1 set, illegal instructions are
// skipped and memory violations forgotten, and both counted in word 2; with bit 1 set, watched accesses are forgotten, counted
// in word 3. From the first level: ttmp[0:1] PC and cause, ttmp12 STATUS, ttmp[14:15] the TMA, IB_STS in ttmp11 or ttmp13.
// Free: ttmp2, 3. On gfx942, whose waves can halt where they are, they do so and are not parked.

.ifdef .amdgcn.gfx_generation_minor
.set on_gfx942, .amdgcn.gfx_generation_minor == 4
.else
.set on_gfx942, .option.machine_version_minor == 4
.endif

  s_bfe_u32 ttmp2, ttmp1, 0x80010  // TrapID
  s_cmp_eq_u32 ttmp2, 1
  s_cbranch_scc1 service
  s_cmp_lg_u32 ttmp2, 0
  s_cbranch_scc1 report
  s_bitcmp1_b32 ttmp12, 13
  s_cbranch_scc1 report
  s_load_dword ttmp2, ttmp[14:15], 0x4 glc
  s_waitcnt lgkmcnt(0)
  s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)
  s_bitcmp1_b32 ttmp2, 1
  s_cbranch_scc0 not_watched
  s_and_b32 ttmp3, ttmp3, 0x7080
  s_cbranch_scc1 forget_watch
  s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)
not_watched:
  s_bitcmp1_b32 ttmp2, 0
  s_mov_b32 ttmp2, 0
  s_cbranch_scc0 report
  s_bitcmp1_b32 ttmp3, 11
  s_cbranch_scc1 skip
  s_bitcmp1_b32 ttmp3, 8
  s_cbranch_scc0 report
  // Memory violation: MEM_VIOL and XNACK_ERROR away, and on
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 8, 1), 0
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 28, 1), 0
  s_mov_b32 ttmp2, 1
  s_atomic_add ttmp2, ttmp[14:15], 0x8
  s_branch leave
skip:
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 11, 1), 0
  s_mov_b32 ttmp2, 1
  s_atomic_add ttmp2, ttmp[14:15], 0x8
  s_branch next
forget_watch:
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 7, 1), 0
  s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 12, 3), 0
  s_mov_b32 ttmp2, 1
  s_atomic_add ttmp2, ttmp[14:15], 0xc
  s_branch leave
service:
  s_mov_b32 ttmp2, 1
  s_atomic_add ttmp2, ttmp[14:15], 0x0
  // The PC of a host trap is not that of an s_trap
  s_bitcmp1_b32 ttmp1, 24
  s_cbranch_scc1 leave
next:
  s_add_u32 ttmp0, ttmp0, 4
  s_addc_u32 ttmp1, ttmp1, 0
  s_branch leave

// ttmp14 = what happened, one bit each: 0 abort (s_trap 2), 1 any other trap, 2 arithmetic, 3 illegal instruction,
// 4 page fault, 5 address outside every aperture
report:
  s_mov_b32 ttmp14, 2
  s_cmp_eq_u32 ttmp2, 2
  s_cselect_b32 ttmp14, 1, ttmp14
  s_cmp_lg_u32 ttmp2, 0
  s_cbranch_scc1 send
  s_getreg_b32 ttmp3, hwreg(HW_REG_TRAPSTS)
  s_bitcmp1_b32 ttmp3, 11
  s_cselect_b32 ttmp14, 8, ttmp14
  s_and_b32 ttmp2, ttmp3, 0x7f
  s_cselect_b32 ttmp14, 4, ttmp14
  s_bitcmp1_b32 ttmp3, 8
  s_cbranch_scc0 send
  s_bitcmp1_b32 ttmp3, 28
  s_cselect_b32 ttmp14, 16, 32
send:
  s_mov_b64 ttmp[2:3], exec
  s_mov_b32 exec_lo, 0x80000000
  s_sendmsg sendmsg(MSG_GET_DOORBELL)
wait_for_doorbell:
  s_nop 7
  s_bitcmp0_b32 exec_lo, 31
  s_cbranch_scc0 wait_for_doorbell
  s_and_b32 ttmp15, exec_lo, 0x3ff
  s_mov_b64 exec, ttmp[2:3]
  s_lshl_b32 ttmp14, ttmp14, 10
  s_or_b32 ttmp14, ttmp14, ttmp15
  s_mov_b32 ttmp2, m0
  s_mov_b32 m0, ttmp14
  s_nop 0
  s_sendmsg sendmsg(MSG_INTERRUPT)
  s_mov_b32 m0, ttmp2
.if !on_gfx942
  // The real PC to ttmp7 and ttmp11[22:7]; ttmp6[30] says that the wave is parked
  s_bitset1_b32 ttmp6, 30
  s_mov_b32 ttmp7, ttmp0
  s_and_b32 ttmp1, ttmp1, 0xffff
  s_lshl_b32 ttmp1, ttmp1, 7
  s_andn2_b32 ttmp11, ttmp11, 0x7fff80
  s_or_b32 ttmp11, ttmp11, ttmp1
  s_getpc_b64 ttmp[0:1]
after_getpc:
  s_add_u32 ttmp0, ttmp0, parked - after_getpc
  s_addc_u32 ttmp1, ttmp1, 0
.endif
  s_bitset1_b32 ttmp12, 13
  s_bitset1_b32 ttmp12, 18

leave:
  s_and_b32 ttmp1, ttmp1, 0xffff
.if on_gfx942
  s_lshr_b32 ttmp2, ttmp13, 26
.else
  s_lshr_b32 ttmp2, ttmp11, 26
.endif
  s_setreg_b32 hwreg(HW_REG_IB_STS, 15, 6), ttmp2
  s_and_b64 exec, exec, exec
  s_and_b64 vcc, vcc, vcc
  s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
  s_rfe_b64 ttmp[0:1]

// A parked wave runs here when somebody takes its halt away without giving it its PC back.
parked:
  s_trap 2
  s_branch parked
