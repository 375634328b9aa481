// SPDX-License-Identifier: MIT
// Reference model of buffer data formats: components in memory, and what they are in registers.
#pragma once

#include <array>
#include <cstdint>

#include "gcn-interp/golden/memory_parts.h"

namespace lyra::golden {

/// BUF_DATA_FORMAT and BUF_NUM_FORMAT, unfolded.
struct TypedFormat {
    std::vector<unsigned> widths;  ///< in bits, the lowest first; empty: no format
    unsigned number = 0;
    unsigned bytes() const;
    bool integers() const { return number == 4 || number == 5; }
};
TypedFormat typed_format(unsigned data_format, unsigned number_format);

/// The four components as a register of 32 bits has them; those that the format lacks are 0, 0, 0, 1.
std::array<uint32_t, 4> components_of(const TypedFormat& format, const Bytes& element);
Bytes element_of(const TypedFormat& format, const std::array<uint32_t, 4>& components);

/// To and from 16 bits of a register.
uint32_t narrow(const TypedFormat& format, uint32_t component);
uint32_t widen(const TypedFormat& format, uint32_t half);

}  // namespace lyra::golden
