// SPDX-License-Identifier: MIT
// Queues leave their slots: drained, with their waves saved, or killed; step 3 of the data flow.
#pragma once

#include <cstdint>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/mec/aql.h"
#include "cp-firmware-model/mec/pm4.h"
#include "cp-firmware-model/queue/hqd.h"
#include "cp-firmware-model/unmap/save_coordinator.h"

namespace lyra {

/// Takes queues out of their slots. A dequeue is requested by UNMAP_QUEUES, by the end of a quantum, or by a write to
/// CP_HQD_DEQUEUE_REQUEST; from then on whoever asked, and the queue's pipe in its turns, looks at it until it is out.
/// The states and what leads from one to the next are drawn in unmapper.cpp.
class Unmapper {
public:
    Unmapper(Env& env, CpBus& bus, Dispatcher& dispatcher, Pm4Processor& pm4, AqlProcessor& aql)
        : env_(env), bus_(bus), dispatcher_(dispatcher), pm4_(pm4), aql_(aql), saves_(env, bus, dispatcher, pm4, aql) {}

    SaveCoordinator& saves() { return saves_; }

    /// Ask a queue to leave its slot. Reset kills its waves, the others let them end. Ends with look().
    void request(Hqd& hqd, Dequeue kind);
    /// Take back a dequeue that has not ended. @return false: its waves are being saved or killed, it goes on
    bool cancel(Hqd& hqd);
    /// Finish a requested dequeue when nothing of the queue runs any more. @return true: the slot is free
    bool look(Hqd& hqd);

    /// Kill the waves of a queue; its dispatches end without any completion.
    void kill_waves(Hqd& hqd);
    /// Free the slot at once, without writing the MQD.
    void drop(Hqd& hqd);

    /// CP_IQ_WAIT_TIME2: SCH_WAVE 15:8 is the time that waves get before they are saved.
    void set_wait_times(uint32_t value);
    void reset() { sch_wave_ = kSchWaveReset; }
    void visit(StateVisitor& v) { v("sch_wave", sch_wave_); }

private:
    /// What a look at a queue that leaves has found.
    enum class Found : uint8_t {
        Runs,     ///< something that has to end first
        Drained,  ///< nothing
        Saved,    ///< no wave; all have stored their records
        Dead,     ///< waves that were killed
    };
    Found advance(Hqd& hqd);
    bool drained(const Hqd& hqd) const { return pm4_.drained(hqd) && (!hqd.is_aql() || aql_.drained(hqd)); }
    void begin_wait(Hqd& hqd, Dequeue kind);
    bool seen(Hqd& hqd, bool met);
    void leave(Hqd& hqd);
    void save_positions(Hqd& hqd);
    void give_back_gws(Hqd& hqd);

    Env& env_;
    CpBus& bus_;
    Dispatcher& dispatcher_;
    Pm4Processor& pm4_;
    AqlProcessor& aql_;
    SaveCoordinator saves_;
    static constexpr uint32_t kSchWaveReset = 0x40;  ///< @source Linux 6.12 gc_9_0_default.h
    uint32_t sch_wave_ = kSchWaveReset;              ///< grace period, in the unit of CP_IQ_WAIT_TIME2
};

}  // namespace lyra
