// SPDX-License-Identifier: MIT
// Bit fields of the encodings as types (field::VOP3_src0::get(word)), and the encodings as a table; from formats.def.
#pragma once

#include "common/bits.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

/// Fields of the first two dwords of an instruction taken as one 64-bit word.
namespace field {
#define FIELD(format, name, low, width) using format##_##name = Bits<low, width>;
#include "gcn-interp/isa/formats.def"
#undef FIELD
}  // namespace field

struct FormatInfo {
    Format format;
    const char* name;
    uint32_t mask, match;
    uint8_t dwords;              ///< without literal, SDWA or DPP dword
    uint8_t op_low, op_bits;
};

inline constexpr FormatInfo kFormats[] = {
#define FORMAT(name, mask, match, dwords, op_low, op_bits) {Format::name, #name, mask, match, dwords, op_low, op_bits},
#include "gcn-interp/isa/formats.def"
#undef FORMAT
};

/// VOP3 opcodes of the e64 forms: base plus the row's own opcode. @source AMD Vega ISA document, "VOP3A opcodes"
inline constexpr unsigned kVop3OfVopc = 0x000, kVop3OfVop2 = 0x100, kVop3OfVop1 = 0x140, kVop3OfVintrp = 0x270;

/// Second-dword selectors in the SRC0 field of VOP1, VOP2, VOPC.
inline constexpr uint16_t kSrcSdwa = 249, kSrcDpp = 250;

/// Encoded as SADDR in FLAT: no scalar address.
inline constexpr uint16_t kSaddrOff = 0x7f;

/// FLAT: loads to LDS that have an opcode of their own, in place of a bit.
constexpr bool loads_lds_only(const InstInfo& row) {
    return row.format == Format::FLAT && row.has(flag::LdsDma) && !row.has(flag::SegFlat);
}

/// Address VGPRs that LLVM prints for an image operation: the digit of its IMG1..IMG4 profile.
constexpr unsigned image_address_dwords(const InstInfo& row) { return static_cast<unsigned>(row.profile->name[3] - '0'); }
/// Data VGPRs before DMASK, TFE and D16 are looked at.
constexpr unsigned image_data_dwords(const InstInfo& row) { return row.has(flag::Gather) ? 4 : row.has(flag::CmpSwap) ? 2 : 1; }

}  // namespace lyra::gcn
