// SPDX-License-Identifier: MIT
// Every register that the model knows, from facts/registers/*.def: constants, names, values after reset, and which block of the
// model owns it. Constants are dword numbers in BAR5 (byte offset / 4), as the driver counts them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>

#include "facts/chips.h"

namespace lyra::regs {

/// Whoever has reads and writes of a register. Storage: nobody, it keeps what is written.
enum class Owner : uint8_t { Storage, Nbio, Hdp, Ih, GfxHub, MmHub, Grbm, Psp, Smu, Notify, Counters, Cp, Sdma0, Sdma1 };
inline constexpr unsigned kOwners = 14;

/// First dword of an SDMA engine, the same on all chips.
inline constexpr uint32_t kSdmaBase[] = {ip_block(Chip::gfx900, "SDMA0").base[0], ip_block(Chip::gfx900, "SDMA1").base[0]};
/// Dwords from an engine's first register to that of its first ring, and from a ring to the next: GFX, PAGE, RLC0, RLC1.
inline constexpr uint32_t kSdmaRings = 0x80, kSdmaRingStride = 0x60;

// --- constants: GC::CP_MEC_CNTL, NBIO::MM_INDEX, SDMA0::F32_CNTL ---

#define REG(block, name, byte, reset, owner)     \
    namespace block {                            \
    inline constexpr uint32_t name = (byte) / 4; \
    }
#define REG_ARRAY(block, name, first, byte, count, owner) \
    namespace block {                                     \
    inline constexpr uint32_t name = (byte) / 4;          \
    }
#include "facts/registers/gc.def"
#include "facts/registers/lyra.def"
#include "facts/registers/misc.def"
#include "facts/registers/nbio.def"
#undef REG
#undef REG_ARRAY

namespace GC {
#define CPREG(name, byte, bank, reset, read, write) inline constexpr uint32_t name = (byte) / 4;
#include "facts/registers/cp.def"
#undef CPREG
#define HQDREG(name, byte, reset) inline constexpr uint32_t name = (byte) / 4;
#include "facts/registers/hqd.def"
#undef HQDREG
}  // namespace GC

#define SDMA_RING_REG(name, offset, reset, access)
namespace SDMA0 {
#define SDMA_REG(name, offset, reset, access) inline constexpr uint32_t name = kSdmaBase[0] + (offset);
#include "facts/registers/sdma.def"
#undef SDMA_REG
}  // namespace SDMA0
namespace SDMA1 {
#define SDMA_REG(name, offset, reset, access) inline constexpr uint32_t name = kSdmaBase[1] + (offset);
#include "facts/registers/sdma.def"
#undef SDMA_REG
}  // namespace SDMA1
#undef SDMA_RING_REG

/// The registers of a memory hub. The two hubs have the same in different places.
struct Hub {
#define HUB_REG(name, gfx, mm, owner) uint32_t name;
#define HUB_ARRAY(name, first, gfx, mm, count, owner) uint32_t name;
#include "facts/registers/hub.def"
#undef HUB_REG
#undef HUB_ARRAY
};
inline constexpr Hub kGfxHub = {
#define HUB_REG(name, gfx, mm, owner) (gfx) / 4,
#define HUB_ARRAY(name, first, gfx, mm, count, owner) (gfx) / 4,
#include "facts/registers/hub.def"
#undef HUB_REG
#undef HUB_ARRAY
};
inline constexpr Hub kMmHub = {
#define HUB_REG(name, gfx, mm, owner) (mm) / 4,
#define HUB_ARRAY(name, first, gfx, mm, count, owner) (mm) / 4,
#include "facts/registers/hub.def"
#undef HUB_REG
#undef HUB_ARRAY
};

// --- rows ---

/// Which register a row is. Those of both hubs are one, and those of all SDMA engines and rings: SDMA_F32_CNTL,
/// SDMA_RING_RB_CNTL.
enum class Register : uint16_t {
#define REG(block, name, byte, reset, owner) name,
#define REG_ARRAY(block, name, first, byte, count, owner) name,
#include "facts/registers/gc.def"
#include "facts/registers/lyra.def"
#include "facts/registers/misc.def"
#include "facts/registers/nbio.def"
#undef REG
#undef REG_ARRAY
#define HUB_REG(name, gfx, mm, owner) name,
#define HUB_ARRAY(name, first, gfx, mm, count, owner) name,
#include "facts/registers/hub.def"
#undef HUB_REG
#undef HUB_ARRAY
#define CPREG(name, byte, bank, reset, read, write) name,
#include "facts/registers/cp.def"
#undef CPREG
#define HQDREG(name, byte, reset) name,
#include "facts/registers/hqd.def"
#undef HQDREG
#define SDMA_REG(name, offset, reset, access) SDMA_##name,
#define SDMA_RING_REG(name, offset, reset, access) SDMA_RING_##name,
#include "facts/registers/sdma.def"
#undef SDMA_REG
#undef SDMA_RING_REG
    Count
};

struct Row {
    const char* block;
    const char* name;
    uint32_t dw;  ///< of the first
    uint32_t count;  ///< dwords
    uint32_t reset;
    Owner owner;
    Register id;
};

/// Owner column of hub.def: nobody, or the hub whose register it is.
enum class HubOwner : uint8_t { Storage, Hub };
constexpr Owner owner_of(HubOwner owner, Owner hub) { return owner == HubOwner::Hub ? hub : Owner::Storage; }

inline constexpr Row kRows[] = {
#define REG(block, name, byte, reset, owner) {#block, #name, (byte) / 4, 1, reset, Owner::owner, Register::name},
#define REG_ARRAY(block, name, first, byte, count, owner) {#block, #name, (byte) / 4, count, 0, Owner::owner, Register::name},
#include "facts/registers/gc.def"
#include "facts/registers/lyra.def"
#include "facts/registers/misc.def"
#include "facts/registers/nbio.def"
#undef REG
#undef REG_ARRAY

#define HUB_ROW(name, gfx, mm, count, owner)                                                      \
    {"GC", #name, (gfx) / 4, count, 0, owner_of(HubOwner::owner, Owner::GfxHub), Register::name}, \
        {"MMHUB", #name, (mm) / 4, count, 0, owner_of(HubOwner::owner, Owner::MmHub), Register::name},
#define HUB_REG(name, gfx, mm, owner) HUB_ROW(name, gfx, mm, 1, owner)
#define HUB_ARRAY(name, first, gfx, mm, count, owner) HUB_ROW(name, gfx, mm, count, owner)
#include "facts/registers/hub.def"
#undef HUB_REG
#undef HUB_ARRAY
#undef HUB_ROW

#define CPREG(name, byte, bank, reset, read, write) {"GC", #name, (byte) / 4, 1, reset, Owner::Cp, Register::name},
#include "facts/registers/cp.def"
#undef CPREG
#define HQDREG(name, byte, reset) {"GC", #name, (byte) / 4, 1, reset, Owner::Cp, Register::name},
#include "facts/registers/hqd.def"
#undef HQDREG

#define SDMA_REG(name, offset, reset, access)                                                          \
    {"SDMA0", "SDMA0_" #name, kSdmaBase[0] + (offset), 1, reset, Owner::Sdma0, Register::SDMA_##name}, \
        {"SDMA1", "SDMA1_" #name, kSdmaBase[1] + (offset), 1, reset, Owner::Sdma1, Register::SDMA_##name},
#define SDMA_RING(engine, ring, number, name, offset, reset)                 \
    {"SDMA" #engine,                                                         \
     "SDMA" #engine "_" #ring "_" #name,                                     \
     kSdmaBase[engine] + kSdmaRings + (number) * kSdmaRingStride + (offset), \
     1,                                                                      \
     reset,                                                                  \
     Owner::Sdma##engine,                                                    \
     Register::SDMA_RING_##name},
#define SDMA_RING_REG(name, offset, reset, access) \
    SDMA_RING(0, GFX, 0, name, offset, reset)      \
    SDMA_RING(0, PAGE, 1, name, offset, reset)     \
    SDMA_RING(0, RLC0, 2, name, offset, reset)     \
    SDMA_RING(0, RLC1, 3, name, offset, reset)     \
    SDMA_RING(1, GFX, 0, name, offset, reset)      \
    SDMA_RING(1, PAGE, 1, name, offset, reset)     \
    SDMA_RING(1, RLC0, 2, name, offset, reset)     \
    SDMA_RING(1, RLC1, 3, name, offset, reset)
#include "facts/registers/sdma.def"
#undef SDMA_REG
#undef SDMA_RING
#undef SDMA_RING_REG
};

/// Numbers of the rows, in the order of their registers.
inline constexpr auto kInOrder = [] {
    std::array<uint16_t, std::size(kRows)> order{};
    for (uint16_t n = 0; n < order.size(); ++n) order[n] = n;
    std::sort(order.begin(), order.end(), [](uint16_t a, uint16_t b) { return kRows[a].dw < kRows[b].dw; });
    return order;
}();

// A register has one row, so that it has one name and one owner.
static_assert([] {
    for (size_t n = 1; n < kInOrder.size(); ++n)
        if (kRows[kInOrder[n - 1]].dw + kRows[kInOrder[n - 1]].count > kRows[kInOrder[n]].dw) return false;
    return true;
}());

/// The row of a register. @return nullptr: there is none
constexpr const Row* find(uint32_t dw) {
    const auto after = std::upper_bound(kInOrder.begin(), kInOrder.end(), dw,
                                        [](uint32_t number, uint16_t row) { return number < kRows[row].dw; });
    if (after == kInOrder.begin()) return nullptr;
    const Row& row = kRows[*(after - 1)];
    return dw - row.dw < row.count ? &row : nullptr;
}

// --- chips that have registers elsewhere ---

struct Move {
    ChipMask chips;
    uint32_t first, count, to;  ///< dwords
};

inline constexpr Move kMoves[] = {
#define MOVE(chips, first, count, to) {chips, first, count, to},
#define SDMA_MOVE(chips, first, count, to) \
    {chips, kSdmaBase[0] + (first), count, kSdmaBase[0] + (to)}, {chips, kSdmaBase[1] + (first), count, kSdmaBase[1] + (to)},
#include "facts/registers/moves.def"
#undef MOVE
#undef SDMA_MOVE
};

/// Dwords from an XCC's registers to those of the next, and which belong to an XCC when the lower 16 bits are these.
/// @source Linux 6.12 gfx_v9_4_3.c gfx_v9_4_3_normalize_xcc_reg_offset()
inline constexpr uint32_t kXccStride = ip_block(Chip::gfx942, "XCC1").base[0] - ip_block(Chip::gfx942, "GC").base[0];
constexpr bool in_xcc(uint32_t local) { return (local >= 0x2000 && local < 0x3400) || (local >= 0xa000 && local < kXccStride); }

// --- fields; their types: register_fields.h ---

struct FieldRow {
    Register reg;
    const char* name;
    uint8_t low, width;
    constexpr uint32_t mask() const { return static_cast<uint32_t>(((uint64_t{1} << width) - 1) << low); }
    constexpr uint32_t get(uint32_t value) const { return (value & mask()) >> low; }
};

inline constexpr FieldRow kFields[] = {
#define FIELD(reg, name, low, width) {Register::reg, #name, low, width},
#define LIKE(reg, other)
#include "facts/registers/fields.def"
#undef FIELD
#undef LIKE
};

struct FieldRange {
    uint16_t first = 0, count = 0;
};

/// The rows in kFields of each Register.
inline constexpr auto kFieldRanges = [] {
    std::array<FieldRange, static_cast<size_t>(Register::Count)> ranges{};
    for (uint16_t n = 0; n < std::size(kFields); ++n) {
        FieldRange& range = ranges[static_cast<size_t>(kFields[n].reg)];
        if (range.count == 0) range.first = n;
        ++range.count;
    }
#define FIELD(reg, name, low, width)
#define LIKE(reg, other) ranges[static_cast<size_t>(Register::reg)] = ranges[static_cast<size_t>(Register::other)];
#include "facts/registers/fields.def"
#undef FIELD
#undef LIKE
    return ranges;
}();

// The fields of a register are together, in 32 bits, and none has a bit of another.
static_assert([] {
    for (size_t n = 0; n < std::size(kFields); ++n) {
        const FieldRow& field = kFields[n];
        const FieldRange& range = kFieldRanges[static_cast<size_t>(field.reg)];
        if (n - range.first >= range.count || field.width == 0 || field.low + field.width > 32) return false;
        for (size_t before = range.first; before < n; ++before)
            if ((kFields[before].mask() & field.mask()) != 0) return false;
    }
    return true;
}());

/// The fields of each dword of a row. Empty: it has none, or fields.def does not have them.
constexpr std::span<const FieldRow> fields_of(const Row& row) {
    const FieldRange& range = kFieldRanges[static_cast<size_t>(row.id)];
    return std::span(kFields).subspan(range.first, range.count);
}

}  // namespace lyra::regs
