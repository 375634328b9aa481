// SPDX-License-Identifier: MIT
// Test only: the encodings on which decode()/disassemble() are known to differ from LLVM 19.1.7 and 21.1.8, each with its
// reason.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "gcn-interp/isa/llvm_oracle.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn::test {

/// One encoding as both sides see it; text is empty and size 0 where it was rejected.
struct Comparison {
    const uint32_t* words;
    Decoded llvm, ours;
    Chip chip = Chip::gfx900;
    unsigned version = 19;  ///< of LLVM
    bool agrees() const { return llvm.size == ours.size && llvm.text == ours.text; }
    bool llvm_starts(std::string_view prefix) const { return std::string_view(llvm.text).starts_with(prefix); }
    bool only_ours(std::string_view prefix) const { return !llvm.size && std::string_view(ours.text).starts_with(prefix); }
    unsigned encoding() const { return words[0] >> 26; }
};

struct KnownDifference {
    const char* name;
    const char* reason;
    bool (*applies)(const Comparison&);
    unsigned newer_than = 0;  ///< of these versions only
};

inline constexpr KnownDifference kKnownDifferences[] = {
    {"no row yet", "isa/without_row.def names the operation; we reject",
     [](const Comparison& c) {
         return !c.ours.size && std::any_of(std::begin(kWithoutRow), std::end(kWithoutRow), [&](const WithoutRow& row) {
             return c.chip == row.chip && c.llvm_starts(row.name);
         });
     }},
    {"DPP of 64 bits", "LLVM prints no control where it is not row_newbcast, the only one that its assembler takes; we reject",
     [](const Comparison& c) {
         const std::string_view text = c.llvm.text, name = text.substr(0, text.find(' '));
         const bool wide = name.find("f64") != name.npos || name == "v_mov_b64_dpp" || name.starts_with("v_cvt_pk_f32_");
         return (between(Chip::gfx90a, Chip::gfx942) & only(c.chip)) != 0 && !c.ours.size && name.ends_with("_dpp") && wide &&
                text.find(" row_newbcast") == text.npos;
     }},
    {"v_cvt_pk_f32_fp8 and v_cvt_pk_f32_bf8 with clamp or omod",
     "LLVM has the bits; no document says what they do to a pair of results, we reject",
     [](const Comparison& c) {
         const std::string_view text = c.llvm.text;
         const bool modified =
             text.find(" clamp") != text.npos || text.find(" mul:") != text.npos || text.find(" div:") != text.npos;
         return (c.llvm_starts("v_cvt_pk_f32_fp8") || c.llvm_starts("v_cvt_pk_f32_bf8")) && modified && !c.ours.size;
     }},
    {"image operations of gfx90a", "LLVM has some left, we have none",
     [](const Comparison& c) { return c.chip == Chip::gfx90a && !c.ours.size && c.llvm_starts("image_"); }},
    {"flat offset bit 12",
     "LLVM prints 13 bits as an unsigned offset; the ISA document says that the top bit is ignored in FLAT instructions",
     [](const Comparison& c) { return c.llvm_starts("flat_") && c.ours.size == 8 && (c.words[0] & 0x1000); }},
    {"VOPC e64 destination is not a register", "the field has 8 bits; LLVM prints a constant for 128 and above, we reject",
     [](const Comparison& c) {
         return c.llvm_starts("v_cmp") && !c.ours.size && (c.words[0] >> 26) == 0x34 && (c.words[0] & 0x80);
     }},
    {"constant in place of a VGPR",
     "LLVM lets a constant stand for a source that must be a VGPR, or for the SGPR that a lane is read to; we reject",
     [](const Comparison& c) {
         return (c.llvm_starts("v_readfirstlane_b32") || c.llvm_starts("v_readlane_b32") || c.llvm_starts("v_swap_b32") ||
                 c.llvm_starts("v_mqsad_u32_u8") || c.llvm_starts("v_mfma_") || c.llvm_starts("v_smfmac_") ||
                 c.llvm_starts("v_accvgpr_mov_b32") || c.llvm_starts("v_accvgpr_read_b32")) &&
                !c.ours.size;
     }},
    {"VOP3 interpolation with a constant", "LLVM lets a constant stand for a VGPR, we reject",
     [](const Comparison& c) { return c.llvm_starts("v_interp_") && !c.ours.size && (c.words[0] >> 26) == 0x34; }},
    {"neg of an integer source", "LLVM prints sext() for the bit, which only SDWA has; we ignore it",
     [](const Comparison& c) { return c.ours.size == c.llvm.size && c.llvm.text.find("sext(") != std::string::npos; }},
    {"floating-point constant as a 64-bit address",
     "LLVM prints the 32-bit spelling for scalar operands that must be registers: of 1/(2*pi), and of literals that are inline "
     "constants",
     [](const Comparison& c) {
         if (!c.llvm_starts("s_rfe_b64") && !c.llvm_starts("s_setpc_b64") && !c.llvm_starts("s_movrels_b64")) return false;
         const uint32_t source = c.words[0] & 0xff, magnitude = c.words[1] & 0x7fffffff;
         return c.ours.size == c.llvm.size &&
                (source == 248 ||
                 (source == 255 && (c.words[1] == 0x3e22f983 || magnitude == 0x3f000000 || magnitude == 0x3f800000 ||
                                    magnitude == 0x40000000 || magnitude == 0x40800000)));
     }},
    {"image atomic with four data registers",
     "LLVM prints five for DMASK and TFE that ask for four; images are decoded for their length only",
     [](const Comparison& c) {
         const int registers = std::popcount(c.words[0] & 0xf00) + static_cast<int>(c.words[0] >> 16 & 1);
         return c.llvm_starts("image_atomic_") && c.ours.size == 8 && registers == 4;
     }},
    {"v_nop and v_clrexcp with SDWA or DPP",
     "they read no source; LLVM takes the next dword as part of them when some of its bits are zero, we never do",
     [](const Comparison& c) {
         return (c.llvm_starts("v_nop") || c.llvm_starts("v_clrexcp")) &&
                ((c.words[0] & 0x1ff) == 249 || (c.words[0] & 0x1ff) == 250);
     }},

    {"data registers of images", "LLVM 21 counts others; images are decoded for their length only",
     [](const Comparison& c) { return c.llvm_starts("image_gather4") || c.llvm_starts("image_atomic_"); }, 19},
    {"op_sel of integer dot products", "LLVM 21 has it no more; we print it and do nothing about it",
     [](const Comparison& c) {
         const std::string_view ours = c.ours.text;
         return (ours.starts_with("v_dot4_") || ours.starts_with("v_dot8_")) && ours.find(" op_sel") != ours.npos;
     },
     19},
    {"modifiers of integer sources", "LLVM 21 rejects them; we ignore the bits, as LLVM 19 does",
     [](const Comparison& c) {
         const bool modified = (c.words[0] >> 8 & 7) != 0 || c.words[1] >> 29 != 0;
         return c.encoding() == 0x34 && modified && c.only_ours("v_") && c.ours.text.find("16 ") != std::string::npos;
     },
     19},
    {"v_cmpx_* that write SGPRs beside EXEC", "LLVM 21 has only EXEC; the ISA document lets the destination be any SGPRs",
     [](const Comparison& c) { return c.encoding() == 0x34 && c.only_ours("v_cmpx_") && (c.words[0] & 0xff) != 126; }, 19},
    {"EXEC as the address of GLOBAL", "LLVM 21 rejects it",
     [](const Comparison& c) { return c.only_ours("global_") && (c.words[1] >> 16 & 0x7f) == 126; }, 19},
    {"long encodings of v_pk_fmac_f16", "LLVM 21 has some; no document does, we reject",
     [](const Comparison& c) { return c.llvm_starts("v_pk_fmac_f16_") && !c.ours.size; }, 19},
    {"clamp and op_sel of v_alignbit_b32 and v_alignbyte_b32", "LLVM 21 has them; of clamp we reject, op_sel we ignore",
     [](const Comparison& c) { return c.llvm_starts("v_alignb") && (c.words[0] >> 11 & 0x1f) != 0; }, 19},
    {"v_readfirstlane_b32 to M0", "LLVM 21 rejects it",
     [](const Comparison& c) { return c.only_ours("v_readfirstlane_b32 m0"); }, 19},
    {"modes of ds_swizzle_b32", "LLVM 21 prints names that LLVM 19 has for later chips only",
     [](const Comparison& c) { return c.llvm_starts("ds_swizzle_b32 ") && c.llvm.text.find(":swizzle(") != std::string::npos; },
     19},
    {"literals between 128 and 255", "LLVM 21 prints 0 and so on, as if v_madak's and v_madmk's were numbers of constants",
     [](const Comparison& c) {
         const std::string_view text = c.llvm.text;
         const bool literal = text.starts_with("v_madak_f") || text.starts_with("v_madmk_f") || text.starts_with("v_fmaak_f") ||
                              text.starts_with("v_fmamk_f");
         return literal && c.ours.size == c.llvm.size && c.words[1] - 128 < 128;
     },
     19},
    {"matrix instructions that add what no calculation would", "LLVM 21 rejects apertures, SCC and the like as addend",
     [](const Comparison& c) { return c.only_ours("v_mfma_") && c.ours.text.find(", src_") != std::string::npos; }, 19},
    {"buffer operations that gfx942 has no more", "LLVM 21 rejects them; we have them, as LLVM 19 does",
     [](const Comparison& c) {
         return c.chip == Chip::gfx942 && (c.only_ours("buffer_wbinvl1") || c.only_ours("buffer_store_lds_dword"));
     },
     19},
};

/// The row that covers this difference, or null.
inline const KnownDifference* known_difference(const Comparison& c) {
    for (const KnownDifference& row : kKnownDifferences)
        if (c.version > row.newer_than && row.applies(c)) return &row;
    return nullptr;
}

}  // namespace lyra::gcn::test
