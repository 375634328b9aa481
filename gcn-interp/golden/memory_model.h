// SPDX-License-Identifier: MIT
// The reference model of memory instructions: DS, FLAT with GLOBAL and SCRATCH, MUBUF, MTBUF and SMEM. One lane after the
// other, byte by byte; what an operation does is read from its mnemonic.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::golden {

enum class PageRights : uint8_t { Absent, ReadOnly, All };

/// Global memory of the wave's address space: pages of 4 KiB from first on, nothing elsewhere.
struct GlobalMemory {
    static constexpr uint64_t kPage = 4096;
    uint64_t first = 0;
    std::vector<PageRights> pages;
    std::vector<uint8_t> bytes;  ///< of all pages, in the order of their addresses
};

/// Why an instruction ends the wave's program.
enum Complaint : uint32_t {
    kNoComplaint = 0,
    kAperture = 1,   ///< an address that is none: outside of an aperture's memory, not canonical, a misaligned atomic
    kViolation = 2,  ///< a page that is not there or may not be written
};

/// All that a memory instruction can reach.
struct MemoryMachine {
    gcn::Wave& wave;
    GlobalMemory& memory;
    std::span<uint8_t> lds;  ///< of the work-group
    std::span<uint8_t> gds;  ///< of the address space
    uint64_t shader_clock = 0, reference_clock = 0;
    struct Stored {
        uint64_t address;
        uint8_t byte;
    };
    std::vector<Stored> stored{};  ///< result: every byte that was written to global memory, in the order of lanes
    bool open = false;             ///< result: two NaNs met in an addition, and which one stays is not public
};

/// True when the reference model has the operation: all of the formats but global wave sync and ordered count.
bool models_memory(gcn::Op op);

/// Execute one instruction.
/// @return what the lanes complain of, Complaint bits or'ed; when there are any, how much was done is open
uint32_t execute_memory(MemoryMachine& machine, const gcn::Inst& inst);

}  // namespace lyra::golden
