//! group 64 lds 1024 vgprs 64 sgprs 80 scratch
// At least one instruction of every encoding that a compute wave has.
  s_add_u32 flat_scratch_lo, s2, s5
  s_addc_u32 flat_scratch_hi, s3, 0
  s_add_u32 s6, s0, 0x1000
  s_addc_u32 s7, s1, 0
  v_lshlrev_b32 v3, 2, v0
  v_mov_b32 v4, 0x3c003c00
  v_mov_b32 v5, 0x40004200
// SOP1, SOP2, SOPK, SOPC, SOPP
  s_not_b32 s8, s4
  s_brev_b64 s[10:11], s[6:7]
  s_flbit_i32_b64 s9, s[10:11]
  s_bfe_u32 s12, s8, 0x80004
  s_lshl2_add_u32 s13, s12, s9
  s_cmp_gt_u32 s13, s12
  s_cselect_b64 s[14:15], s[10:11], s[12:13]
  s_movk_i32 s16, 0x7ff
  s_addk_i32 s16, 0x11
  s_mulk_i32 s16, 0x3
  s_cmpk_lg_u32 s16, 0x55
  s_cmovk_i32 s17, 0x66
  s_bitcmp1_b32 s16, 4
  s_nop 3
  s_cbranch_scc1 over
  s_add_u32 s16, s16, 99
over:
// SMEM
  s_store_dwordx4 s[12:15], s[6:7], 0x10
  s_mov_b32 s50, 0x20
  s_store_dword s16, s[6:7], s50
  s_waitcnt lgkmcnt(0)
  s_load_dwordx2 s[18:19], s[6:7], 0x14
  s_load_dword s20, s[6:7], s50
  s_mov_b64 s[24:25], s[6:7]
  s_mov_b32 s26, 0x2000
  s_mov_b32 s27, 0x00024fac
  s_buffer_store_dwordx2 s[8:9], s[24:27], 0x30
  s_waitcnt lgkmcnt(0)
  s_buffer_load_dwordx4 s[28:31], s[24:27], 0x28
  s_movk_i32 s21, 3
  s_atomic_or s21, s[6:7], 0x40 glc
  s_buffer_atomic_smax s16, s[24:27], 0x44
  s_dcache_wb
  s_waitcnt lgkmcnt(0)
// VOP1, VOP2, VOPC, VOP3, VOP3P, with SDWA and DPP
  v_cvt_f32_ubyte1 v6, v3
.if on_gfx90a
  v_mul_f32 v7, v6, v6
.else
  v_mul_legacy_f32 v7, v6, v6
.endif
.if on_gfx942
  v_fmaak_f32 v7, v7, v6, 0x41200000
.else
  v_madak_f32 v7, v7, v6, 0x41200000
.endif
  v_cmp_class_f32 vcc, v7, v6
  v_cmpx_le_u32 exec, 0, v0
  v_addc_co_u32 v8, vcc, v3, v3, vcc
  v_cmp_ne_u16 s[32:33], v3, v8
  v_perm_b32 v9, v7, v8, v3
  v_mad_i64_i32 v[10:11], s[34:35], v9, v8, v[6:7]
  v_readlane_b32 s36, v10, 5
  v_writelane_b32 v9, s36, 7
  v_readfirstlane_b32 s37, v11
  v_pk_fma_f16 v12, v4, v5, v4 op_sel:[0,1,0] neg_lo:[1,0,0]
.if on_gfx90a
  v_fma_mix_f32 v13, v4, v5, v6 op_sel_hi:[1,0,0]
.else
.if on_gfx942
  v_fma_mix_f32 v13, v4, v5, v6 op_sel_hi:[1,0,0]
.else
  v_mad_mix_f32 v13, v4, v5, v6 op_sel_hi:[1,0,0]
.endif
.endif
  v_add_u32_sdwa v14, v3, v8 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:WORD_0
  v_cmp_gt_u16_sdwa s[38:39], v3, v8 src0_sel:WORD_0 src1_sel:WORD_0
  v_cvt_f16_u16_sdwa v15, v3 dst_sel:WORD_0 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1
  v_add_u32_dpp v16, v3, v8 row_shr:3 row_mask:0xf bank_mask:0xf
  v_mov_b32_dpp v17, v3 quad_perm:[3,1,0,2] row_mask:0xf bank_mask:0xf
  v_mov_b32_dpp v18, v3 wave_ror:1 row_mask:0xa bank_mask:0xf
// DS
  ds_write_b64 v3, v[8:9]
  ds_write2_b32 v3, v3, v9 offset0:100 offset1:130
  ds_swizzle_b32 v19, v8 offset:swizzle(SWAP,4)
  ds_bpermute_b32 v20, v3, v9
  ds_read2st64_b32 v[22:23], v3 offset0:0 offset1:1
  ds_add_rtn_f32 v24, v3, v6 offset:8
  s_waitcnt lgkmcnt(0)
// FLAT, GLOBAL, SCRATCH
  v_mov_b32 v26, s6
  v_mov_b32 v27, s7
  v_add_co_u32 v26, vcc, v26, v3
  v_addc_co_u32 v27, vcc, 0, v27, vcc
  flat_store_dword v[26:27], v9 offset:256
  s_waitcnt vmcnt(0) lgkmcnt(0)
  flat_load_ubyte_d16_hi v28, v[26:27] offset:257
  global_store_dwordx3 v3, v[8:10], s[6:7] offset:1024
  global_load_dwordx2 v[30:31], v3, s[6:7] offset:1028
  v_mov_b32 v25, 24
  scratch_store_short v25, v9, off
  scratch_load_sshort v32, v25, off
  s_waitcnt vmcnt(0) lgkmcnt(0)
// MUBUF, MTBUF
  buffer_store_dword v10, v3, s[24:27], 0 offen offset:2048
  s_movk_i32 s51, 0x800
  s_waitcnt vmcnt(0)
  buffer_load_dwordx2 v[34:35], v3, s[24:27], s51 offen
  buffer_store_format_xy v[8:9], v0, s[24:27], s51 idxen offset:8
  buffer_load_format_x v36, v0, s[24:27], s51 idxen
  tbuffer_store_format_xy v[8:9], v3, s[24:27], 0 format:[BUF_DATA_FORMAT_16_16,BUF_NUM_FORMAT_UINT] offen offset:3072
  s_waitcnt vmcnt(0)
  tbuffer_load_format_x v37, v3, s[24:27], 0 format:[BUF_DATA_FORMAT_8_8_8_8,BUF_NUM_FORMAT_UINT] offen offset:3072
  buffer_atomic_umax v3, v25, s[24:27], 0 offen offset:4000
  s_waitcnt vmcnt(0)
  s_barrier
  s_sethalt 0
  s_setprio 1
  s_getreg_b32 s40, hwreg(HW_REG_GPR_ALLOC)
  s_xor_b32 s16, s16, s40
// All of it together
  s_xor_b32 s16, s16, s18
  s_add_u32 s16, s16, s19
  s_xor_b32 s16, s16, s20
  s_add_u32 s16, s16, s28
  s_xor_b32 s16, s16, s31
  s_add_u32 s16, s16, s17
  s_xor_b32 s16, s16, s32
  s_add_u32 s16, s16, s37
  s_xor_b32 s16, s16, s38
  v_mov_b32 v2, s16
  .irp n, 6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,22,23,24,28,30,31,32,34,35,36,37
    v_mad_u32_u24 v2, v2, 5, v\n
  .endr
  finish v2, 64
