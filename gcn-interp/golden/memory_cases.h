// SPDX-License-Identifier: MIT
// For the tests of the memory model: random memory instructions, and waves, memory and LDS in which they find something.
#pragma once

#include "gcn-interp/golden/cases.h"
#include "gcn-interp/golden/memory_model.h"

namespace lyra::golden::test {

/// A row in one of its segments (FLAT, 0 elsewhere).
struct MemoryRow {
    gcn::Op op;
    unsigned seg;
};
/// All rows of a format, of FLAT those of one segment.
std::vector<MemoryRow> memory_rows(gcn::Format format, unsigned seg = 0);

/// A random instruction: encoded, then decoded. One with format Invalid when all tries were rejected.
gcn::Inst random_memory_inst(const MemoryRow& row, Random& random);

/// What one instruction can reach.
struct MemoryState {
    static constexpr uint64_t kFirst = 0x7f1234500000;
    static constexpr uint32_t kLdsBuffer = 12 * 1024, kLdsBase = 1024, kGds = 4096;
    WaveCopy copy;
    GlobalMemory memory;
    std::vector<uint8_t> lds = std::vector<uint8_t>(kLdsBuffer), gds = std::vector<uint8_t>(kGds);
};
/// Addresses mostly where something is: side by side, all one, scattered, overlapping, misaligned; now and then outside.
void fill(MemoryState& state, const gcn::Inst& inst, Random& random);

}  // namespace lyra::golden::test
