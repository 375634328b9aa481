// SPDX-License-Identifier: MIT
// What a queue slot remembers of AQL packets; steps 3 and 4 of the data flow.
#pragma once

#include <cstdint>
#include <deque>

#include "common/snapshot.h"
#include "cp-firmware-model/packets/aql.h"

namespace lyra {

/// A packet of an AQL queue between fetch and retirement.
struct AqlInFlight {
    uint64_t index = 0;
    uint64_t dispatch = 0;           ///< dispatch id, 0 when none
    uint64_t completion_signal = 0;  ///< address, 0 when none
    uint64_t start_ts = 0;
    bool done = false;
    bool write_back = false;  ///< the L2, before the completion signal: the packet releases to the system
    void visit(StateVisitor& v);
};

struct AqlState {
    std::deque<AqlInFlight> in_flight;
    uint64_t fetch_index = 0;
    uint64_t halted_on_signal = 0;     ///< address of queue_inactive_signal while its value must become 0
    bool head_examined_empty = false;  ///< head slot was INVALID; wait for the next doorbell
    bool fetched = false;  ///< head holds the packet at fetch_index
    bool ib_started = false;  ///< the head packet's indirect buffer is on Pm4State::ib_stack
    bool ib_polling = false;
    bool once_in_flight = false;  ///< the packet once_index gives its scratch back when it is done
    bool once_waiting = false;  ///< and the runtime has been told
    uint64_t once_index = 0;
    uint64_t head_start_ts = 0;  ///< GPU clock when the head packet was first looked at; 0 = not yet
    uint64_t write_index = 0;  ///< first packet that may not be looked at
    AqlPacket head;
    void visit(StateVisitor& v);
};

}  // namespace lyra
