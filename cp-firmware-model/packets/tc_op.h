// SPDX-License-Identifier: MIT
// Atomic operations of packets, from facts/packets/tc_op.def.
#pragma once

#include <cstdint>

#include "common/bits.h"
#include "facts/atomics.h"

namespace lyra::tc_op {

/// Parts of a code in a packet.
using Operation = Bits<0, 5>;
using Wide = Bits<5, 1>;

enum Code : uint32_t {
#define TC_OP(name, code, op) name = code,
#include "facts/packets/tc_op.def"
};

/// The value that an operation stores. @param operation  without the bits above it @return false: there is none such
template <class T>
bool value(uint32_t operation, T old, T src, T cmp, T& value) {
    switch (operation) {
#define TC_OP(name, code, op) \
    case name: value = atomics::next<atomics::AtomicOp::op>(old, src, cmp); return true;
#include "facts/packets/tc_op.def"
        default: return false;
    }
}

}  // namespace lyra::tc_op
