//! group 64 vgprs 20 sgprs 32
// Double precision, with its own rounding mode.
  v_cvt_f64_u32 v[4:5], v0
  v_add_f64 v[4:5], v[4:5], 1.0
  v_mov_b32 v6, 0
  v_mov_b32 v7, 0x40080000
  s_mov_b32 s9, 8
more:
  v_fma_f64 v[8:9], v[4:5], v[6:7], v[4:5]
  v_rcp_f64 v[10:11], v[8:9]
  v_div_scale_f64 v[12:13], vcc, v[8:9], v[4:5], v[8:9]
  v_div_fmas_f64 v[12:13], v[12:13], v[10:11], v[4:5]
  v_div_fixup_f64 v[12:13], v[12:13], v[4:5], v[8:9]
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 3
  v_mul_f64 v[14:15], v[12:13], v[10:11]
  v_min_f64 v[6:7], v[14:15], v[6:7]
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 0
  v_add_f64 v[4:5], v[4:5], |v[14:15]|
  v_cmp_lt_f64 vcc, v[4:5], v[8:9]
  v_cndmask_b32 v16, v14, v12, vcc
  s_sub_u32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 more
  v_cvt_f32_f64 v17, v[4:5]
  v_xor_b32 v2, v16, v17
  v_xor_b32 v2, v2, v5
  finish v2, 64
