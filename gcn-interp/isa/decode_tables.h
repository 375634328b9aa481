// SPDX-License-Identifier: MIT
// Look-up tables of decode(), computed by the compiler from formats.def and the instruction rows: format by leading bits,
// Op by opcode. Two rows with one opcode do not compile.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>

#include "gcn-interp/isa/fields.h"

namespace lyra::gcn {

/// Position in kFormats by the top nine bits of the first dword; no format's mask looks below bit 23.
inline constexpr auto kFormatByTop = [] {
    std::array<uint8_t, 512> table{};
    for (unsigned top = 0; top < table.size(); ++top) {
        table[top] = 0xff;
        for (unsigned i = 0; i < std::size(kFormats) && table[top] == 0xff; ++i)
            if (((top << 23) & kFormats[i].mask) == kFormats[i].match) table[top] = static_cast<uint8_t>(i);
    }
    return table;
}();

/// What make() gives for each chip, by its number.
template <class Make>
constexpr auto for_each_chip(Make make) {
    std::array<decltype(make(Chip{})), kAllChips.size()> each{};
    for (const Chip chip : kAllChips) each[static_cast<std::size_t>(chip)] = make(chip);
    return each;
}

/// Op by opcode, one table per format, of one chip.
constexpr auto ops_of(Chip chip) {
    std::array<std::array<Op, 256>, static_cast<std::size_t>(Format::Invalid)> table{};
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const InstInfo& row = kInstInfo[i];
        if (row.format == Format::VOP3 || !row.on(chip)) continue;
        table[static_cast<std::size_t>(row.format)][row.opcode] = static_cast<Op>(i);
    }
    return table;
}
inline constexpr auto kOps = for_each_chip(ops_of);

constexpr unsigned vop3_base(Format format) {
    switch (format) {
        case Format::VOP2: return kVop3OfVop2;
        case Format::VOP1: return kVop3OfVop1;
        case Format::VINTRP: return kVop3OfVintrp;
        default: return 0;
    }
}

constexpr auto vop3_ops_of(Chip chip) {
    std::array<Op, 1024> table{};
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const InstInfo& row = kInstInfo[i];
        const bool vector = row.format == Format::VOPC || row.format == Format::VOP1 || row.format == Format::VOP2 ||
                            row.format == Format::VOP3 || row.format == Format::VINTRP;
        if (!vector || !row.on(chip) || row.has(flag::NoE64)) continue;
        table[row.opcode + vop3_base(row.format)] = static_cast<Op>(i);
    }
    return table;
}
inline constexpr auto kVop3Ops = for_each_chip(vop3_ops_of);

/// No two rows of one chip share an opcode, and every opcode fits its field.
constexpr bool rows_are_distinct(Chip chip) {
    std::array<std::array<bool, 1024>, static_cast<std::size_t>(Format::Invalid)> seen{};
    for (std::size_t i = 1; i < kOpCount; ++i) {
        const InstInfo& row = kInstInfo[i];
        if (!row.on(chip)) continue;
        for (const FormatInfo& format : kFormats)
            if (format.format == row.format && row.opcode >> format.op_bits) return false;
        bool& mark = seen[static_cast<std::size_t>(row.format)][row.opcode];
        if (mark) return false;
        mark = true;
    }
    return true;
}
static_assert(std::all_of(kAllChips.begin(), kAllChips.end(), rows_are_distinct));

}  // namespace lyra::gcn
