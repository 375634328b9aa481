// SPDX-License-Identifier: MIT
// A decoded instruction, and the table of all instructions made from the .def rows beside this file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "facts/chips.h"

namespace lyra::gcn {

/// The encoding an instruction was found in. @source AMD Vega ISA document, chapter "Microcode formats"; LLVM 19
enum class Format : uint8_t {
    SOP2,
    SOPK,
    SOP1,
    SOPC,
    SOPP,
    SMEM,
    VOP1,
    VOP2,
    VOPC,             // 32-bit forms (plus literal)
    VOP1_SDWA,
    VOP2_SDWA,
    VOPC_SDWA,
    VOP1_DPP,
    VOP2_DPP,
    VOP3,                         // VOP3A, VOP3B and the e64 forms of VOP1/VOP2/VOPC
    VOP3P,
    VINTRP,
    DS,
    FLAT,
    MUBUF,
    MTBUF,
    MIMG,
    EXP,
    Invalid,
};

constexpr bool is_sdwa(Format f) { return f == Format::VOP1_SDWA || f == Format::VOP2_SDWA || f == Format::VOPC_SDWA; }
constexpr bool is_dpp(Format f) { return f == Format::VOP1_DPP || f == Format::VOP2_DPP; }

/// Whose instruction set: gfx906 has the dot products and two more operations, and fused v_fma_mix for v_mad_mix; gfx908 has
/// AccVGPRs and matrix instructions; gfx90a packed f32, and no graphics; gfx942 8-bit floats and sparse matrices.
using lyra::Chip;

/// One enumerator per row of the .def tables: the base operation, whatever its encoding (v_add_f32 for e32, e64, SDWA, DPP).
/// FLAT rows are one per opcode; Inst::seg tells flat, scratch or global.
enum class Op : uint16_t;

/// Source operand numbers as encoded: 0..127 scalar, 128..208 inline integers, 235..239 apertures, 240..248 inline floats,
/// 251 VCCZ, 252 EXECZ, 253 SCC, 254 LDS_DIRECT, 255 literal, 256..511 VGPR.
inline constexpr uint16_t kSrcLiteral = 255;
inline constexpr uint16_t kSrcVgpr0 = 256;
inline constexpr uint16_t kNoOperand = 0xffff;

/// A decoded instruction. Fields that its format lacks are zero (operands: kNoOperand).
/// Implied operands are filled in, so that every encoding of an operation looks alike:
///   carry-in rows     src[2] = VCC, or the SGPR pair of VOP3;  carry-out rows and VOPC: sdst = VCC or the encoded pair
///   VOP2              src[1] is already 256 + VGPR;  v_madmk: D = src[0] * literal + src[1];  v_madak: src[0] * src[1] +
///   literal SOPK              dst when SDST is written, src[0] when it is only read;  imm is sign-extended even for unsigned
///   compares SMEM              loads: dst;  stores and atomics: src[0] = data, atomics with GLC also dst FLAT, MUBUF loads:
///   dst;  stores: vdata;  atomics: vdata, with GLC also dst DS                imm = 16-bit offset; read2/write2 rows: imm =
///   offset0, imm2 = offset1, in elements SGPR ranges       rounded down to their alignment (2, or 4 from four dwords on)
///   matrix operations   neg_hi = CBSZ, op_sel = ABID, neg = BLGP (f64 of gfx942: signs);  op_sel_hi: sources in AccVGPRs, bit
///   2 the destination, too;  sparse ones: src[2] = the register of indices, C is D
///   v_pk_fmac_f16       op_sel_hi as the packed operations have it
struct Inst {
    Op op{};
    Format format = Format::Invalid;
    uint8_t size_bytes = 0;          ///< 4, 8 or 12 with literal
    uint16_t dst = kNoOperand;       ///< scalar formats: scalar operand number; vector formats: VGPR number 0..255
    uint16_t sdst = kNoOperand;      ///< scalar (mask) destination of VOPC, VOP3B, SDWA; readlane's scalar destination
    uint16_t src[3] = {kNoOperand, kNoOperand, kNoOperand};
    uint32_t literal = 0;            ///< 32-bit literal, also of s_setreg_imm32 and v_madmk/madak
    int32_t imm = 0;                 ///< SIMM16 (sign-extended), memory offset (signed as the format says), DS offset0
    uint8_t imm2 = 0;                ///< DS offset1
    uint8_t neg = 0, abs = 0;        ///< bit n: source n (VOP3P: neg = neg_lo)
    uint8_t neg_hi = 0, op_sel = 0, op_sel_hi = 0;
    uint8_t omod = 0;                ///< 0 none, 1 *2, 2 *4, 3 /2
    bool clamp = false;
    // SDWA. sel: 0..3 byte 0..3, 4 word 0, 5 word 1, 6 dword. dst_unused: 0 pad, 1 sext, 2 preserve.
    uint8_t dst_sel = 6, dst_unused = 0, src_sel[2] = {6, 6};
    bool sext[2] = {false, false};
    // DPP
    uint16_t dpp_ctrl = 0;
    uint8_t row_mask = 0xf, bank_mask = 0xf;
    bool bound_ctrl = false;         ///< true: a lane without a source reads 0; false: it is not written
    // memory
    uint16_t vaddr = kNoOperand;     ///< VGPR number
    uint16_t vdata = kNoOperand;     ///< VGPR number of store data / DS data0
    uint16_t vdata2 = kNoOperand;    ///< DS data1
    uint16_t saddr = kNoOperand;  ///< scalar base: SGPR pair (FLAT), SBASE (SMEM), SRSRC first SGPR (MUBUF); kNoOperand = off
    uint16_t soffset = kNoOperand;  ///< scalar offset operand (SMEM, MUBUF)
    uint8_t seg = 0;  ///< FLAT: 0 flat, 1 scratch, 2 global
    bool glc = false, slc = false, nv = false, lds = false, tfe = false, gds = false, offen = false, idxen = false;
    bool scc =
        false;  ///< memory formats of chips with AccVGPRs: coherent with the system. gfx942: GLC is SC0, SLC NT, this SC1
    bool acc = false;  ///< memory formats: what they move is in AccVGPRs: dst, vdata and vdata2 number those
    bool imm_offset = false;  ///< SMEM: imm is in use
    uint8_t dfmt = 0, nfmt = 0;  ///< MTBUF
    // graphics, only so that lengths and text are right
    uint8_t dmask = 0;  ///< MIMG; EXP: enable bits
    bool unorm = false, da = false, r128 = false, lwe = false, d16 = false;  ///< MIMG (r128 is A16 on GFX9)
    uint16_t ssamp = kNoOperand;  ///< MIMG: first SGPR of the sampler descriptor
    uint8_t attr = 0, attr_chan = 0;  ///< interpolation: attribute and channel; EXP: target in attr
    bool high = false;  ///< VOP3 interpolation: high half
    bool compr = false, done = false, vm = false;  ///< EXP
};

}  // namespace lyra::gcn
