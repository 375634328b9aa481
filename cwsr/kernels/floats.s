//! group 64 vgprs 12 sgprs 32
// A long loop of float arithmetic in changing rounding and denormal modes.
  v_cvt_f32_u32 v6, v0
  v_mov_b32 v5, 1.0
  s_mov_b32 s9, 60
more:
  v_fma_f32 v5, v5, v6, 0.5
  v_rcp_f32 v6, v5
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1
  v_add_f32 v7, v5, v6
  v_div_scale_f32 v8, vcc, v7, v5, v7
  v_div_fmas_f32 v8, v8, v6, v7
  v_div_fixup_f32 v8, v8, v5, v7
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xc2
  v_sqrt_f32 v9, |v8|
  v_mul_f32 v5, v9, v6 clamp
.if on_gfx942
  v_fmac_f32 v6, v5, v7
.else
  v_mac_f32 v6, v5, v7
.endif
  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0xf0
  s_sub_u32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 more
  v_xor_b32 v2, v5, v6
  v_xor_b32 v2, v2, v8
  finish v2, 64
