// SPDX-License-Identifier: MIT
// Operands that are constants; step 6 of the data flow.
#include "gcn-interp/translator/scalar_use.h"

#include "gcn-interp/exec/scalar.h"

namespace lyra::gcn {

Constant constant_of(const Inst& inst, unsigned operand, unsigned dwords, bool is_float) {
    if (operand == kSrcLiteral) return {dwords == 1, inst.literal};  // how 64-bit operands extend it differs
    if (operand >= 128 && operand <= 192) return {true, operand - 128u};
    if (operand >= 193 && operand <= 208) {
        const auto value = static_cast<uint64_t>(192 - static_cast<int64_t>(operand));
        return {true, dwords == 1 ? lo32(value) : value};
    }
    if (operand < 240 || operand > 248) return {};
    if (dwords == 1) return {true, scalar::detail::kFloat32[operand - 240]};
    return {is_float, scalar::detail::kFloat64[operand - 240]};
}

}  // namespace lyra::gcn
