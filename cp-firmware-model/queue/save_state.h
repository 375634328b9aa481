// SPDX-License-Identifier: MIT
// What a queue slot remembers of a context save, and of the restore; steps 3 and 5 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/snapshot.h"
#include "cp-firmware-model/cp_bus.h"
#include "cwsr/control_stack.h"
#include "facts/mqd.h"

namespace lyra {

inline constexpr unsigned kFlightWords = mqd::lyra_flight_dwords;

/// How far the save of a queue's waves has come. @see SaveCoordinator
enum class SaveState : uint8_t {
    Idle,
    Grace,       ///< waves may end by themselves; nothing new is launched
    Collecting,  ///< all have been asked to save themselves: this cannot be taken back
    Storing,     ///< each has its record
};

/// Context save and restore of a queue.
struct QueueSave {
    SaveState state = SaveState::Idle;
    uint64_t after_ns = 0;     ///< end of the grace period; 0: there is none
    bool flight_lost = false;  ///< the words of flight made no sense when the queue was mapped
    bool restoring = false;    ///< saved work-groups still wait for their place
    /// Of a save that is going on; each XCC has an area of its own.
    struct Part {
        cwsr::Area area;
        std::vector<uint32_t> stack_words;  ///< of its control stack, from area.stack_offset up
        void visit(StateVisitor& v);
    };
    std::array<Part, kMaxXccs> parts;
    std::array<uint32_t, kFlightWords> flight{};  ///< flight.h; zero when nothing is in flight
    void visit(StateVisitor& v);
    /// Waves have been asked.
    bool committed() const { return state == SaveState::Collecting || state == SaveState::Storing; }
};

}  // namespace lyra
