// SPDX-License-Identifier: MIT
// enum Op and the table kInstInfo, both made from the .def rows: what every instruction is called, reads and writes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gcn-interp/isa/inst.h"

namespace lyra::gcn {

enum class Op : uint16_t {
    Invalid = 0,
#define ROW(format, op, name, ...) name,
#include "gcn-interp/isa/rows.inc"
};

/// Number of Op values, Invalid among them: the length of arrays keyed by Op.
inline constexpr std::size_t kOpCount = 1
#define ROW(format, op, name, ...) +1
#include "gcn-interp/isa/rows.inc"
    ;

constexpr std::size_t op_index(Op op) { return static_cast<std::size_t>(op); }

/// What an operand is; see profiles.def.
enum class Kind : uint8_t { None, Float, Int, Uint, Bits, Mask, Addr, Imm };

enum class Type : uint8_t {
#define TYPE(name, kind, bits, dwords) name,
#include "gcn-interp/isa/profiles.def"
#undef TYPE
};

struct TypeInfo {
    const char* name;
    Kind kind;
    uint16_t bits;     ///< of one element
    uint8_t dwords;    ///< registers the operand takes
};

inline constexpr TypeInfo kTypeInfo[] = {
#define TYPE(name, kind, bits, dwords) {#name, Kind::kind, bits, dwords},
#include "gcn-interp/isa/profiles.def"
#undef TYPE
};
constexpr const TypeInfo& info(Type type) { return kTypeInfo[static_cast<std::size_t>(type)]; }

/// Operand types of an instruction. One constexpr object per PROFILE row: lyra::gcn::profile::F32_F32_F32.
struct Profile {
    const char* name;
    Type dst;
    Type src[3];
    constexpr unsigned sources() const {
        unsigned n = 0;
        while (n < 3 && src[n] != Type::NONE) ++n;
        return n;
    }
    /// No operand. GCC with -fsanitize=undefined compares no addresses at compile time.
    constexpr bool none() const { return dst == Type::NONE && sources() == 0; }
};

namespace profile {
#define PROFILE(name, d, s0, s1, s2) inline constexpr Profile name{#name, Type::d, {Type::s0, Type::s1, Type::s2}};
#include "gcn-interp/isa/profiles.def"
#undef PROFILE
}  // namespace profile

/// Facts beyond operand types, or'ed in the fourth column of the rows.
namespace flag {
enum Flag : uint64_t {
    Clamp = 1ull << 0,           ///< VOP3 clamp bit allowed
    Omod = 1ull << 1,            ///< VOP3 output modifier allowed
    OpSel = 1ull << 2,           ///< VOP3 op_sel allowed (16-bit halves)
    IntModsIgnored = 1ull << 3,  ///< neg/abs of integer sources are accepted and do nothing
    FloatMods = 1ull << 4,       ///< neg/abs apply although the sources are untyped (v_cndmask_b32)
    CarryIn = 1ull << 5,         ///< reads a lane mask: VCC in VOP2/SDWA/DPP, src2 in VOP3
    CarryOut = 1ull << 6,        ///< writes a lane mask: VCC in VOP2/SDWA/DPP, sdst in VOP3 (VOP3B)
    ReadsVcc = 1ull << 7,        ///< reads VCC in every encoding (v_div_fmas, branches)
    ReadsDst = 1ull << 8,        ///< the old destination is an input, or part of it is kept
    WritesExec = 1ull << 9,      ///< v_cmpx, and scalar
    ScalarDst = 1ull << 10,      ///< vector operation with a scalar destination (Inst::sdst)
    Literal = 1ull << 11,        ///< a literal always follows
    MadMk = 1ull << 12,          ///< D = S0 * literal + S1
    MadAk = 1ull << 13,          ///< D = S0 * S1 + literal
    Mix = 1ull << 14,            ///< v_mad_mix family: neg_hi is abs
    NoE64 = 1ull << 15,          ///< VOP1/VOP2 row without VOP3 form
    NoSdwa = 1ull << 16,
    NoDpp = 1ull << 17,
    Interp = 1ull << 18,
    Load = 1ull << 19,
    Store = 1ull << 20,
    Atomic = 1ull << 21,         ///< returns the old value when GLC is set (DS: when the name has _rtn)
    CmpSwap = 1ull << 22,        ///< data is new value then compare value
    D16 = 1ull << 23,            ///< 16-bit register half, low; MIMG: D16 bit allowed
    D16Hi = 1ull << 24,          ///< 16-bit register half, high
    Converts = 1ull << 25,       ///< converts by the descriptor's (MTBUF: the instruction's) format
    LdsDma = 1ull << 26,         ///< MUBUF, SCRATCH, GLOBAL: LDS bit allowed
    Two = 1ull << 27,            ///< DS read2/write2: offset0, offset1 in elements
    TwoSt64 = 1ull << 28,        ///< DS st64: offsets in 64 elements
    Src2 = 1ull << 29,           ///< DS src2: second address from LDS
    Swizzle = 1ull << 30,
    Gws = 1ull << 31,            ///< global wave sync, ordered count: the GDS bit must be set
    Sampler = 1ull << 32,        ///< MIMG with sampler descriptor
    Gather = 1ull << 33,
    SegFlat = 1ull << 34,        ///< the opcode exists as flat_
    SegScratch = 1ull << 35,     ///< ... scratch_
    SegGlobal = 1ull << 36,      ///< ... global_
    NoGds = 1ull << 37,          ///< DS: LDS only
    // What no operand names: see isa/effects.h, which adds what follows from format, operand types and the flags above.
    ReadsScc = 1ull << 38,
    WritesScc = 1ull << 39,
    ReadsExec = 1ull << 40,      ///< scalar; vector operations read EXEC but for NoExec
    NoExec = 1ull << 41,
    ReadsM0 = 1ull << 42,        ///< in all forms
    WritesM0 = 1ull << 43,
    ReadsPc = 1ull << 44,
    WritesPc = 1ull << 45,
    ReadsSgprs = 1ull << 46,     ///< selected by M0 or MODE.CSP
    WritesSgprs = 1ull << 47,
    ReadsControl = 1ull << 48,   ///< MODE (without float fields), STATUS, TRAPSTS
    WritesControl = 1ull << 49,
    ReadsHwreg = 1ull << 50,     ///< the register that the immediate names
    WritesHwreg = 1ull << 51,
    ReadsMode = 1ull << 52,      ///< MODE's float fields, although no operand is a float
    NoMode = 1ull << 53,         ///< not MODE's float fields, although an operand is a float
    Raises = 1ull << 54,         ///< floating-point exceptions, although no source is a float
    NoException = 1ull << 55,    ///< none, although a source is a float
    ReadsClock = 1ull << 56,
    Asks = 1ull << 57,           ///< leaves something to the compute unit
    NoMemory = 1ull << 58,       ///< MIMG: looks at the descriptor only
    Matrix = 1ull << 59,         ///< matrix multiply-add: see isa/matrix_shape.h
    WideDpp = 1ull << 60,        ///< 64-bit operands: DPP with row_newbcast only, on chips that have it
    Fused = 1ull << 61,          ///< Matrix: one rounding for the products of a lane and their addend
    Truncated = 1ull << 62,      ///< Matrix: products are aligned, and what does not fit is cut off, before they are added
    Sparse = 1ull << 63,         ///< Matrix: of four elements of A two are there
};
}  // namespace flag

struct InstInfo {
    const char* name;        ///< LLVM's mnemonic without _e32, _e64, _sdwa, _dpp; flat_ for FLAT rows
    Format format;           ///< the row's own format: SOP2 ... EXP, never an SDWA or DPP one
    ChipMask chips;          ///< that have the row
    uint16_t opcode;         ///< in that format; VOP3 opcode of VOPC +0, VOP2 +0x100, VOP1 +0x140, VINTRP +0x270
    const Profile* profile;
    uint64_t flags;
    constexpr bool has(uint64_t f) const { return (flags & f) != 0; }
    constexpr bool on(Chip chip) const { return (chips & only(chip)) != 0; }
    constexpr unsigned dst_dwords() const { return info(profile->dst).dwords; }
    constexpr unsigned src_dwords(unsigned n) const { return info(profile->src[n]).dwords; }
    /// Source n takes neg and abs.
    constexpr bool float_source(unsigned n) const {
        const Kind kind = info(profile->src[n]).kind;
        return kind == Kind::Float || (has(flag::FloatMods) && kind == Kind::Bits);
    }
    /// VOP1 and VOP2: the chip has the DPP form.
    constexpr bool has_dpp(Chip chip) const {
        return !has(flag::NoDpp) && (!has(flag::WideDpp) || facts_of(chip).row_newbcast);
    }
};

namespace detail {
using namespace flag;
inline constexpr const char* kRowNames[] = {
#define ROW(format, op, name, ...) #name,
#include "gcn-interp/isa/rows.inc"
};
/// LLVM's name of a row: some share it with a row of other chips, from which Op has to tell them.
constexpr const char* mnemonic(const char* row) {
    for (const std::string_view suffix : {"_vop3", "_fused", "_gfx942"}) {
        std::string_view name = row;
        if (!name.ends_with(suffix)) continue;
        name.remove_suffix(suffix.size());
        for (const char* other : kRowNames)
            if (name == other) return other;
    }
    return row;
}
/// The last column of a row; nothing means every chip.
constexpr ChipMask chips() { return kEveryChip; }
constexpr ChipMask chips(ChipMask mask) { return mask; }
inline constexpr InstInfo kInstInfo[kOpCount] = {
    {"invalid", Format::Invalid, 0, 0, &profile::NONE, 0},
#define ROW(format, op, name, prof, flags, ...) \
    {mnemonic(#name), Format::format, chips(__VA_ARGS__), op, &profile::prof, flags},
#include "gcn-interp/isa/rows.inc"
};
}  // namespace detail
using detail::kInstInfo;

/// What a chip has and the tables lack.
struct WithoutRow {
    Chip chip;
    const char* name;  ///< LLVM's mnemonic, as InstInfo::name, of global_ where there is no flat_
};
inline constexpr std::array<WithoutRow, 0
#define WITHOUT_ROW(chip, name) +1
#include "gcn-interp/isa/without_row.def"
#undef WITHOUT_ROW
                            >
    kWithoutRow{{
#define WITHOUT_ROW(chip, name) {Chip::chip, #name},
#include "gcn-interp/isa/without_row.def"
#undef WITHOUT_ROW
    }};

constexpr const InstInfo& info(Op op) { return kInstInfo[op_index(op)]; }

/// Compile-time view of a row: OpTraits<Op::v_add_f32>::kInfo.
template <Op kOp>
struct OpTraits {
    static constexpr const InstInfo& kInfo = kInstInfo[op_index(kOp)];
};

/// Decode one instruction.
/// @param words      code, little endian dwords
/// @param available  dwords that may be read; an instruction that needs more is Invalid
/// @return the instruction, or format Invalid with size_bytes 4 where LLVM 19 rejects the encoding
Inst decode(const uint32_t* words, std::size_t available, Chip chip = Chip::gfx900);

/// The instruction as LLVM 19's disassembler prints it for the chip, without leading blank or comment.
std::string disassemble(const Inst& inst, Chip chip = Chip::gfx900);

}  // namespace lyra::gcn
