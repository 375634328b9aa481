//! group 64 vgprs 12 sgprs 64
// Calls, computed jumps, and the divergent branches that hardware keeps a stack for.
  v_mov_b32 v2, 1
  s_getpc_b64 s[20:21]
here:
  s_add_u32 s20, s20, double - here
  s_addc_u32 s21, s21, 0
  s_swappc_b64 s[22:23], s[20:21]
  s_call_b64 s[22:23], double
  s_mov_b32 s40, s0
  s_mov_b32 s41, s1
  s_mov_b32 s42, s2
  s_mov_b32 s43, s3
  v_cmp_gt_u32 s[24:25], 20, v0
  s_getpc_b64 s[26:27]
there:
  s_add_u32 s26, s26, small - there
  s_addc_u32 s27, s27, 0
  s_getreg_b32 s28, hwreg(HW_REG_MODE, 29, 3)
  s_cbranch_g_fork s[24:25], s[26:27]
  v_add_u32 v2, 100, v2
  s_branch join
small:
  v_add_u32 v2, 7, v2
  s_nop 0
join:
  s_cbranch_join s28
  s_mov_b64 exec, -1
  s_mov_b32 s0, s40
  s_mov_b32 s1, s41
  s_mov_b32 s2, s42
  s_mov_b32 s3, s43
  finish v2, 64
double:
  v_mad_u32_u24 v2, v2, 3, v0
  s_setpc_b64 s[22:23]
