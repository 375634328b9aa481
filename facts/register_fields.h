// SPDX-License-Identifier: MIT
// A type for each field of facts/registers/fields.def: field::CP_HQD_PQ_CONTROL::QUEUE_SIZE::get(value).
#pragma once

#include <cstdint>

#include "common/bits.h"

namespace lyra::regs::field {

template <unsigned Low, unsigned Width>
struct Field : Bits<Low, Width> {
    static_assert(Low + Width <= 32);
    static constexpr unsigned kLow = Low, kWidth = Width;
    static constexpr uint32_t kMask = static_cast<uint32_t>(Bits<Low, Width>::kMask);
    /// A register with this value in the field and 0 elsewhere.
    static constexpr uint32_t of(uint32_t value) { return value << Low & kMask; }
    /// The field where it is, the other bits 0.
    static constexpr uint32_t in_place(uint32_t word) { return word & kMask; }
};

#define FIELD(reg, name, low, width)    \
    namespace reg {                     \
    using name = Field<(low), (width)>; \
    }
#define LIKE(reg, other) namespace reg = other;
#include "facts/registers/fields.def"
#undef FIELD
#undef LIKE

}  // namespace lyra::regs::field

namespace lyra {
namespace field = regs::field;  // where a member named regs hides the namespace
}
