//! group 64 vgprs 12 sgprs 32
// A long loop of integer arithmetic with carries.
  v_mov_b32 v4, v0
  v_mov_b32 v5, 0x3f800000
  s_mov_b32 s9, 90
  s_mov_b32 s10, 0x12345678
more:
  v_mad_u64_u32 v[8:9], vcc, v4, v4, v[4:5]
  v_addc_co_u32 v4, vcc, v8, v9, vcc
  s_add_u32 s10, s10, s9
  s_addc_u32 s11, s11, s10
  v_mul_hi_u32 v6, v4, v8
  v_alignbit_b32 v5, v5, v6, 7
  v_subb_co_u32 v5, vcc, v5, v4, vcc
  s_sub_u32 s9, s9, 1
  s_cmp_lg_u32 s9, 0
  s_cbranch_scc1 more
  v_xor_b32 v2, v4, v5
  v_add_u32 v2, s11, v2
  finish v2, 64
