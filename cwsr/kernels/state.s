//! group 64 vgprs 32 sgprs 112
// What a wave has besides numbered registers: VCC, FLAT_SCRATCH, XNACK_MASK, M0, MODE, SCC, EXEC.
  s_mov_b32 vcc_lo, 0x11111111
  s_mov_b32 vcc_hi, 0x22222222
  s_mov_b32 flat_scratch_lo, 0x33333333
  s_mov_b32 flat_scratch_hi, 0x44444444
  s_mov_b32 xnack_mask_lo, 0x12121212
  s_mov_b32 xnack_mask_hi, 0x34343434
  s_mov_b32 m0, 0x55555555
  s_mov_b32 s15, 0x66666666
  s_mov_b32 s95, 0x77777777
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xc5
  v_mov_b32 v31, 0x1234
  v_cmp_gt_u32 s[20:21], 33, v0
  s_mov_b64 exec, s[20:21]
  v_mov_b32 v30, 0x4321
  s_mov_b64 exec, 0
  s_nop 0
  s_cbranch_execnz wrong
  s_mov_b64 exec, -1
  s_cmp_eq_u32 s15, s15
  s_nop 0
  s_cselect_b32 s16, 0x100, 2
  s_cmp_eq_u32 s15, s95
  s_nop 0
  s_cselect_b32 s19, 0x100, 2
  s_getreg_b32 s17, hwreg(HW_REG_MODE)
  s_xor_b32 s18, vcc_lo, flat_scratch_hi
  s_add_u32 s18, s18, vcc_hi
  s_xor_b32 s18, s18, flat_scratch_lo
  s_xor_b32 s18, s18, xnack_mask_lo
  s_add_u32 s18, s18, xnack_mask_hi
  s_add_u32 s18, s18, m0
  s_add_u32 s18, s18, s95
  s_add_u32 s18, s18, s16
  s_add_u32 s18, s18, s17
  s_add_u32 s18, s18, s19
  s_mov_b64 vcc, 0
  s_nop 0
  s_cbranch_vccnz wrong
  s_getreg_b32 s17, hwreg(HW_REG_TRAPSTS)
  s_add_u32 s18, s18, s17
  v_add_u32 v2, s18, v31
  v_add_u32 v2, v2, v30
wrong:
  finish v2, 64
