// SPDX-License-Identifier: MIT
// What an executing instruction asks of the compute unit that its wave is on; step 6 of the data flow.
#pragma once

#include <cstdint>
#include <mutex>

#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// s_sendmsg ids that leave the wave. @source LLVM AMDGPU SIDefines.h SendMsg
enum class Message : uint8_t { Interrupt = 1, SaveWave = 4, GetDoorbell = 10 };

/// DS_GWS_* instructions: semaphores and barriers that all compute units share. @source AMD Vega ISA document
enum class GwsOp : uint8_t { Init, SemaV, SemaBr, SemaP, SemaReleaseAll, Barrier };
enum class GwsAnswer : uint8_t {
    Done,
    Wait,     ///< until gws_done() or gws_again()
    Refused,  ///< not a resource of the wave's address space: a memory violation
};

/// The part of the GDS that belongs to an address space. It is the wave's alone for as long as this object exists.
struct GdsWindow {
    uint8_t* host = nullptr;
    uint32_t bytes = 0;
    bool ordered = false;  ///< it has ordered-append counters
    std::unique_lock<std::mutex> hold{};
};

/// Few instructions need any of this: what a vector or a memory instruction touches is in its ExecContext.
class WaveServices {
public:
    virtual ~WaveServices() = default;
    /// s_memtime: shader clock, cycles. s_memrealtime: reference clock, 10 ns ticks.
    virtual uint64_t shader_clock() = 0;
    virtual uint64_t reference_clock() = 0;
    /// A DS_GWS_* instruction. @param resource within those of the wave's VMID; value of the first active lane
    virtual GwsAnswer gws(const Wave&, GwsOp, uint32_t, uint32_t) { return GwsAnswer::Refused; }
    /// A DS instruction with the GDS bit.
    virtual GdsWindow gds(uint32_t) { return {}; }
};

}  // namespace lyra::gcn
