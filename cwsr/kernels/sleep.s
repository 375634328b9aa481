//! group 192 vgprs 8 sgprs 16
// Waves that sleep, and one of them that wakes the others of its work-group.
  v_mov_b32 v2, 1
  s_mov_b32 s6, 0
again:
  s_sleep 1
  v_mad_u32_u24 v2, v2, 3, v0
  s_sleep 100
  s_setprio 2
  v_xor_b32 v2, s6, v2
  s_sleep 127
  s_wakeup
  s_setprio 0
  s_add_u32 s6, s6, 1
  s_cmp_lt_u32 s6, 4
  s_cbranch_scc1 again
  finish v2, 192
