// SPDX-License-Identifier: MIT
// Context save of a queue's waves from the request to its descriptor, and the way back; steps 3 and 5 of the data flow.
// @source docs/spec/front-end.md 6.1, 6.3, 6.5, 6.6
#pragma once

#include <cstdint>
#include <vector>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/mec/aql.h"
#include "cp-firmware-model/mec/pm4.h"
#include "cp-firmware-model/queue/hqd.h"
#include "cwsr/control_stack.h"

namespace lyra {

/// What a step of a save has found.
enum class SaveResult : uint8_t {
    Waiting,  ///< for waves
    Saved,    ///< no wave of the queue is left: finish() may follow
    Lost,     ///< its waves are dead, and the queue with them
};

/// Saves the waves of queues, as many queues at a time as leave their slots. What it remembers of each is in Hqd::save.
///
///     Idle ----begin()----> Grace --------> Collecting --------> Storing ----finish()----> Idle
///      ^                      |   waves had     |    all waves     |       no wave left,
///      |<------cancel()-------+   their time    |    ask: layout,  |       descriptor written
///      |                                        |    grants        |
///      +<---------- lose() ---------------------+------------------+
///          no room in the area, waves that can never store, memory that cannot be written
///
/// Until Grace ends waves end by themselves and the save can be taken back. Nobody gets a record before every wave asks for
/// one, so that no record is written over one which a wave still reads in its restore.
class SaveCoordinator {
public:
    SaveCoordinator(Env& env, CpBus& bus, Dispatcher& dispatcher, Pm4Processor& pm4, AqlProcessor& aql)
        : env_(env), bus_(bus), dispatcher_(dispatcher), pm4_(pm4), aql_(aql) {}

    /// The queue's waves can be saved: save area and trap handler are there.
    bool can_save(const Hqd& hqd);
    void begin(Hqd& hqd) { hqd.save.state = SaveState::Grace; }
    /// Only in Grace, or when the waves are dead.
    void cancel(Hqd& hqd) { hqd.save.state = SaveState::Idle; }
    /// As far as a save that has begun comes now.
    SaveResult step(Hqd& hqd);
    /// After Saved: what was in flight, the control stack and the registers that describe the area.
    void finish(Hqd& hqd);
    /// The queue is dead: it keeps the error until it is destroyed.
    void lose(Hqd& hqd);

    // restore.cpp
    /// A queue that has just been mapped: its grids, and the groups that are to be restored.
    void resume(Hqd& hqd);
    /// The registers tell the truth: an empty stack when all groups have their place.
    void watch_restore(Hqd& hqd);

private:
    bool grace_is_over(const Hqd& hqd) const;
    void ask(Hqd& hqd);
    Fault grant(Hqd& hqd);
    /// The save area of an XCC as the registers have it, within the widths of their fields.
    cwsr::Area area_of(const Hqd& hqd, unsigned xcc);
    bool has_saved_waves(const Hqd& hqd);
    bool describe(Hqd& hqd, unsigned xcc, uint32_t stack_offset, uint32_t wave_end);
    bool resume_groups(Hqd& hqd, unsigned xcc);
    void kill(Hqd& hqd);
    void stamp(Hqd& hqd, unsigned first);

    Env& env_;
    CpBus& bus_;
    Dispatcher& dispatcher_;
    Pm4Processor& pm4_;
    AqlProcessor& aql_;
};

}  // namespace lyra
