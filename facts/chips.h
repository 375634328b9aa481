// SPDX-License-Identifier: MIT
// What differs from chip to chip, one row each (facts/chips.def), and the hardware blocks of each (facts/ip_blocks.def).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string_view>

namespace lyra {

enum class Chip : uint8_t {
#define CHIP(name, ...) name,
#include "facts/chips.def"
#undef CHIP
};

/// A compute unit of every GFX9 chip. @source AMD Vega ISA document
inline constexpr unsigned kSimdsPerCu = 4;

struct ChipFacts {
    const char* name;
    Chip chip;
    bool guest;                     ///< the driver of a guest can be told that this is it
    uint8_t elf_machine;            ///< e_flags 7:0 of its code objects
    unsigned engines;               ///< shader engines, of an XCC
    unsigned cus_per_engine;        ///< the most that an engine has
    unsigned scratch_slots_per_cu;  ///< waves of a compute unit that may have scratch
    unsigned waves_per_simd;
    unsigned vgprs_per_simd;        ///< rows of 64 lanes of 32 bits
    unsigned vgpr_granule;          ///< waves get multiples of so many; RSRC1.VGPRS and saved waves count them
    unsigned sgprs_per_simd;
    unsigned sgpr_granule;
    uint32_t lds_bytes;             ///< of a compute unit
    uint32_t lds_granule;           ///< bytes; RSRC2.LDS_SIZE and saved waves count them
    unsigned sdma_queues;           ///< of user processes, of an SDMA engine
    unsigned sdma_count_bits = 22;  ///< of COPY_LINEAR.count
    /// A wave's VGPRs end with AccVGPRs, which begin where COMPUTE_PGM_RSRC3.ACCUM_OFFSET says.
    bool acc_vgprs = false;
    /// A wave has as many AccVGPRs as VGPRs, which matrix instructions and moves reach only.
    bool acc_file = false;
    bool packed_work_item_ids = false;  ///< x, y and z in v0, ten bits each
    bool debug_per_vmid = false;        ///< a word of SPI_GDBG_PER_VMID_CNTL for each, in MAP_PROCESS too
    bool shape_in_vbios = false;        ///< the driver wants table gfx_info of the VBIOS
    bool row_newbcast = false;          ///< a DPP control, the only one of 64-bit operands
    bool cache_scopes = false;          ///< GLC, SLC and SCC are SC0, NT and SC1: how far memory is coherent
    /// Waves begin with FLAT_SCRATCH set ("architected flat scratch"); SCRATCH instructions say whether they use their VGPR.
    bool flat_scratch_from_start = false;
    bool denormals_in_memory = false;  ///< sums of f32 in memory keep them, whatever MODE says; else they flush them
    bool packet_in_ttmp11 = false;  ///< waves begin with the slot of their packet there, else in TTMP6
    bool sdma_started_by_psp = false;  ///< the driver does not start the engines whose firmware the PSP has loaded
    /// Accelerated compute dies, each with a graphics hub, a command processor and engines of its own; and how many it may
    /// have.
    unsigned xccs = 1, most_xccs = 1;

    constexpr bool has_acc() const { return acc_vgprs || acc_file; }
    constexpr unsigned waves_per_cu() const { return kSimdsPerCu * waves_per_simd; }
};

inline constexpr ChipFacts kChips[] = {
#define CHIP(chip_name, ...) {.name = #chip_name, .chip = Chip::chip_name, __VA_ARGS__},
#include "facts/chips.def"
#undef CHIP
};

constexpr const ChipFacts& facts_of(Chip chip) { return kChips[static_cast<size_t>(chip)]; }

/// Row of a name such as "gfx900", nullptr without one.
constexpr const ChipFacts* find_chip(std::string_view name) {
    for (const ChipFacts& row : kChips)
        if (name == row.name) return &row;
    return nullptr;
}

inline constexpr auto kAllChips = [] {
    std::array<Chip, std::size(kChips)> chips{};
    for (size_t i = 0; i < chips.size(); ++i) chips[i] = kChips[i].chip;
    return chips;
}();

/// For lists in messages.
inline constexpr auto kChipNames = [] {
    std::array<const char*, std::size(kChips)> names{};
    for (size_t i = 0; i < names.size(); ++i) names[i] = kChips[i].name;
    return names;
}();

/// A bit for each chip.
using ChipMask = uint8_t;
static_assert(std::size(kChips) <= 8 * sizeof(ChipMask));
constexpr ChipMask only(Chip chip) { return static_cast<ChipMask>(1u << static_cast<unsigned>(chip)); }
inline constexpr ChipMask kEveryChip = (1u << std::size(kChips)) - 1;
/// The chips above and from a row of chips.def on.
constexpr ChipMask before(Chip chip) { return static_cast<ChipMask>(only(chip) - 1u); }
constexpr ChipMask since(Chip chip) { return kEveryChip & static_cast<ChipMask>(~before(chip)); }
/// Two rows and those between them.
constexpr ChipMask between(Chip first, Chip last) { return static_cast<ChipMask>(since(first) & (before(last) | only(last))); }

/// A fact that must be the same for all chips where it is used. A new row with another value does not compile: that place then
/// has to ask facts_of() the chip that it works for.
template <class T>
consteval T same_for_all_chips(T ChipFacts::* fact) {
    for (const ChipFacts& row : kChips)
        if (row.*fact != kChips[0].*fact) throw "chips differ";
    return kChips[0].*fact;
}

/// The largest value that any chip has, for room that is reserved.
template <class T>
consteval T most_of_all_chips(T ChipFacts::* fact) {
    T most = 0;
    for (const ChipFacts& row : kChips) most = row.*fact > most ? row.*fact : most;
    return most;
}

/// One hardware block of the chips in the mask.
struct IpBlock {
    uint16_t hardware_id;
    const char* name;
    ChipMask chips;
    std::array<uint8_t, 3> version;  ///< major, minor, revision
    uint8_t instance;
    uint8_t segments;
    std::array<uint32_t, 9> base;  ///< first dword of each register segment
};

inline constexpr IpBlock kIpBlocks[] = {
#define IP_BLOCK(id, name, chips, major, minor, revision, ...) \
    IP_INSTANCE(id, name, 0, chips, major, minor, revision, __VA_ARGS__)
#define IP_INSTANCE(id, name, instance, chips, major, minor, revision, ...) \
    {id, #name, chips, {major, minor, revision}, instance, std::initializer_list<uint32_t>{__VA_ARGS__}.size(), {__VA_ARGS__}},
#include "facts/ip_blocks.def"
#undef IP_INSTANCE
#undef IP_BLOCK
};

/// The block of a chip by its name; every chip has each of them (facts/chips_test.cpp).
constexpr const IpBlock& ip_block(Chip chip, std::string_view name) {
    for (const IpBlock& row : kIpBlocks)
        if (name == row.name && (row.chips & only(chip)) != 0) return row;
    throw "no such block";
}

}  // namespace lyra
