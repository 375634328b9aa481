// SPDX-License-Identifier: MIT
// Trace events of single waves.
#pragma once

#include "common/env.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// "dispatch=3 group=1,0,0 wave=0": which wave it is, as a line of the log.
/// @param has_group  its TTMPs say of which group it is
void log_identity(Env& env, const Wave& wave, bool has_group);

/// For when tracing is on. @param args  of the event, after compute unit and slot
template <class Event, class... Args>
void emit_of_wave(Env& env, unsigned cu, const Wave& wave, Args... args) {
    emit<Event>(env.tracer, env.now_ns(), cu, wave.slot, args...);
    // A wave that is restored has no TTMPs yet; one that ends in its trap handler, such as after its save, has the handler's.
    const bool ends_in_handler = Event::kId == EventId::wave_end && wave.priv();
    if (env.log_packets) log_identity(env, wave, !wave.restoring && !ends_in_handler);
}

}  // namespace lyra::gcn
