// SPDX-License-Identifier: MIT
// Every register that the model knows, from facts/registers/*.def: constants, names, values after reset, and which block of the
// model owns it. Constants are dword numbers in BAR5 (byte offset / 4), as the driver counts them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace lyra::regs {

/// Whoever has reads and writes of a register. Storage: nobody, it keeps what is written.
enum class Owner : uint8_t { Storage, Nbio, Hdp, Ih, GfxHub, MmHub, Grbm, Psp, Smu, Notify, Counters, Cp, Sdma0, Sdma1 };
inline constexpr unsigned kOwners = 14;

/// First dword of an SDMA engine. @source the IP bases of the discovery table
inline constexpr uint32_t kSdmaBase[] = {0x1260, 0x1860};
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

struct Row {
    const char* block;
    const char* name;
    uint32_t dw;  ///< of the first
    uint32_t count;  ///< dwords
    uint32_t reset;
    Owner owner;
};

/// Owner column of hub.def: nobody, or the hub whose register it is.
enum class HubOwner : uint8_t { Storage, Hub };
constexpr Owner owner_of(HubOwner owner, Owner hub) { return owner == HubOwner::Hub ? hub : Owner::Storage; }

inline constexpr Row kRows[] = {
#define REG(block, name, byte, reset, owner) {#block, #name, (byte) / 4, 1, reset, Owner::owner},
#define REG_ARRAY(block, name, first, byte, count, owner) {#block, #name, (byte) / 4, count, 0, Owner::owner},
#include "facts/registers/gc.def"
#include "facts/registers/lyra.def"
#include "facts/registers/misc.def"
#include "facts/registers/nbio.def"
#undef REG
#undef REG_ARRAY

#define HUB_ROW(name, gfx, mm, count, owner)                                      \
    {"GC", #name, (gfx) / 4, count, 0, owner_of(HubOwner::owner, Owner::GfxHub)}, \
        {"MMHUB", #name, (mm) / 4, count, 0, owner_of(HubOwner::owner, Owner::MmHub)},
#define HUB_REG(name, gfx, mm, owner) HUB_ROW(name, gfx, mm, 1, owner)
#define HUB_ARRAY(name, first, gfx, mm, count, owner) HUB_ROW(name, gfx, mm, count, owner)
#include "facts/registers/hub.def"
#undef HUB_REG
#undef HUB_ARRAY
#undef HUB_ROW

#define CPREG(name, byte, bank, reset, read, write) {"GC", #name, (byte) / 4, 1, reset, Owner::Cp},
#include "facts/registers/cp.def"
#undef CPREG
#define HQDREG(name, byte, reset) {"GC", #name, (byte) / 4, 1, reset, Owner::Cp},
#include "facts/registers/hqd.def"
#undef HQDREG

#define SDMA_REG(name, offset, reset, access)                                   \
    {"SDMA0", "SDMA0_" #name, kSdmaBase[0] + (offset), 1, reset, Owner::Sdma0}, \
        {"SDMA1", "SDMA1_" #name, kSdmaBase[1] + (offset), 1, reset, Owner::Sdma1},
#define SDMA_RING(engine, ring, number, name, offset, reset)                 \
    {"SDMA" #engine,                                                         \
     "SDMA" #engine "_" #ring "_" #name,                                     \
     kSdmaBase[engine] + kSdmaRings + (number) * kSdmaRingStride + (offset), \
     1,                                                                      \
     reset,                                                                  \
     Owner::Sdma##engine},
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

}  // namespace lyra::regs
