// SPDX-License-Identifier: MIT
// For the tests of the reference model: random instructions of a row and an encoding, and waves with operands that matter to
// them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::golden::test {

using Random = std::mt19937_64;

/// All rows of the vector ALU.
std::vector<gcn::Op> vector_rows();
/// The encodings that a row allows.
std::vector<gcn::Format> formats_of(gcn::Op op);
/// The chip that has the row.
gcn::Chip chip_of(gcn::Op op);
/// One of those that have the row in this format.
gcn::Chip random_chip(gcn::Op op, gcn::Format format, Random& random);

/// A random instruction: encoded, then decoded, so only what programs can contain. One with format Invalid when all tries
/// were rejected.
gcn::Inst random_inst(gcn::Op op, gcn::Format format, Random& random);

/// A random number of a type, often a corner: zeros, denormals, infinities, NaNs, ones, largest, near powers of two.
uint64_t corner(gcn::Type type, Random& random);

/// One wave with registers of its own.
struct WaveCopy {
    static constexpr unsigned kVgprs = 48;
    std::unique_ptr<gcn::VgprRow[]> rows = std::make_unique<gcn::VgprRow[]>(kVgprs);
    gcn::Wave wave;
    WaveCopy();
    WaveCopy(const WaveCopy& other) : WaveCopy() { *this = other; }
    WaveCopy& operator=(const WaveCopy& other);
};
/// EXEC, MODE and all registers; the instruction's sources get numbers of their type, some of them related to each other.
void fill(WaveCopy& copy, const gcn::Inst& inst, Random& random);

}  // namespace lyra::golden::test
