// SPDX-License-Identifier: MIT
// Which scalar and vector registers an instruction touches, so that its neighbours can be put in another order; step 6 of the
// data flow.
#pragma once

#include <bitset>
#include <cstdint>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/config.h"

namespace lyra::gcn {

/// Scalar operand numbers 0 to 127, and SCC.
inline constexpr unsigned kSccBit = 128, kScalarBits = 129;
using ScalarSet = std::bitset<kScalarBits>;
using VectorSet = std::bitset<kMaxVgprRows>;

struct Uses {
    ScalarSet reads, writes;
    VectorSet vector_reads;
};

/// An operand number that is a scalar register which the wave has. A number past the allocation is another register.
inline bool is_scalar_register(unsigned operand, const CodeConfig& config) {
    if (operand < kFlatScratchLo) return operand < config.sgprs;
    return operand < kTtmp0 || operand == kM0 || operand == kExecLo || operand == kExecHi;
}
/// The same for `dwords` of them, none of which another name begins with.
inline bool are_scalar_registers(unsigned operand, unsigned dwords, const CodeConfig& config) {
    const unsigned last = operand + dwords - 1;
    if (operand < kFlatScratchLo && last >= kFlatScratchLo) return false;
    if (operand < kTtmp0 && last >= kTtmp0) return false;
    return is_scalar_register(operand, config) && (dwords == 1 || (operand != kM0 && is_scalar_register(last, config)));
}

/// The 32 or 64 bits of an operand that is a constant, with 64 as an integer's sign or a double's bits.
struct Constant {
    bool is_constant = false;
    uint64_t bits = 0;
};
Constant constant_of(const Inst& inst, unsigned operand, unsigned dwords, bool is_float);

}  // namespace lyra::gcn
