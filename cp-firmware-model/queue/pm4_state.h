// SPDX-License-Identifier: MIT
// What a queue slot remembers of PM4 packets: of its ring, and of the buffers that an AQL packet names; steps 3 and 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "common/snapshot.h"

namespace lyra {

/// The CP has two levels of indirect buffers below the ring; one more is allowed for the buffer of an AQL packet.
inline constexpr size_t kMaxIndirectBuffers = 3;

/// A PM4 indirect buffer being executed (the ring itself is not on the stack).
struct IndirectBuffer {
    uint64_t base = 0;  ///< GPU virtual address
    uint32_t size_dw = 0;
    uint32_t next_dw = 0;  ///< position of the next packet
    uint32_t vmid = 0;
    void visit(StateVisitor& v);
};

/// An end-of-pipe action of RELEASE_MEM: done when every dispatch that was launched before it has ended.
struct EndOfPipe {
    uint64_t after_dispatch = 0;  ///< newest dispatch it waits for, 0 when none
    uint64_t address = 0, data = 0;
    uint32_t vmid = 0;
    uint32_t context_id = 0;
    uint8_t data_sel = 0, int_sel = 0;
    bool write_back = false, invalidate = false;  ///< the L2, before the data is written
    uint64_t due_ns = 0;                          ///< virtual time: when that is done; 0: not begun
    void visit(StateVisitor& v);
};

struct Pm4State {
    std::vector<IndirectBuffer> ib_stack;
    std::vector<uint64_t> dispatches;         ///< ids of PM4 dispatches not known complete, oldest first
    std::deque<EndOfPipe> end_of_pipe;        ///< RELEASE_MEMs whose dispatches still run, oldest first
    uint64_t reported_dw = 0;                 ///< Hqd::rptr_dw as last written to the report address
    uint32_t drop_dwords = 0;                 ///< COND_EXEC: dwords of the ring still to be skipped
    uint64_t indirect_base = 0;               ///< gfx ring: SET_BASE, where dimensions of indirect grids lie
    uint32_t packet_progress = 0;             ///< a packet in several steps: register written, bytes copied
    uint64_t unmap_deadline_ns = 0;           ///< of an UNMAP_QUEUES or RUN_LIST that waits for queues
    uint32_t chained = 0;                     ///< chained buffers since the last packet of the ring
    uint64_t short_packet_at = ~uint64_t{0};  ///< ring position of a packet whose end has not been written yet
    void visit(StateVisitor& v);
};

}  // namespace lyra
