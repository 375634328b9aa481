// SPDX-License-Identifier: MIT
// report(): count, trace and rate-limited log of guest faults.
#include "common/env.h"

#include <fmt/format.h>

namespace lyra {

namespace {
constexpr uint32_t kLoggedPerFault = 32;
}

void report(Env& env, Fault fault, std::string_view detail) {
    const FaultInfo& info = fault_info(fault);
    env.stats.add(fault);
    emit<event::fault>(env.tracer, env.now_ns(), static_cast<uint32_t>(fault));
    uint32_t& logged = env.logged[static_cast<size_t>(fault)];
    if (logged >= kLoggedPerFault) return;
    ++logged;
    const bool gap = std::string_view(info.name).starts_with("Todo");
    env.log(gap ? LogLevel::Todo : LogLevel::Guest,
            fmt::format("{}: {}{}", info.text, detail, logged == kLoggedPerFault ? " (further ones are only counted)" : ""));
}

}  // namespace lyra
