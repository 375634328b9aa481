// SPDX-License-Identifier: MIT
#include "gcn-interp/cu/wave_event.h"

#include <fmt/format.h>

namespace lyra::gcn {

void log_identity(Env& env, const Wave& wave, bool has_group) {
    const std::string group =
        has_group ? fmt::format(" group={},{},{}", wave.ttmp[8], wave.ttmp[9], wave.ttmp[10]) : std::string();
    env.log(LogLevel::Debug, fmt::format("dispatch={}{} wave={}", wave.dispatch, group, wave.wave_in_group));
}

}  // namespace lyra::gcn
