// SPDX-License-Identifier: MIT
// report(): count, trace and rate-limited log of guest faults.
#include "common/env.h"

#include <atomic>

#include <fmt/format.h>

namespace lyra {

namespace {
constexpr uint32_t kLoggedPerFault = 32;
}

std::string Strict::set(std::string_view text) {
    while (!text.empty()) {
        const size_t comma = text.find(',');
        const std::string_view word = text.substr(0, comma);
        bool* const which = word == "tlb" ? &tlb : word == "hdp" ? &hdp : word == "l2" ? &l2 : nullptr;
        if (which == nullptr) return fmt::format("strict '{}': must be some of tlb, hdp and l2, divided by commas", word);
        *which = true;
        text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    }
    return {};
}

void Env::visit(StateVisitor& v) {
    v("stats", stats);
    v("clock", clock);
    v("vram_traffic", vram_traffic);
    v("system_traffic", system_traffic);
    v("logged", logged);
}

void report(Env& env, Fault fault, std::string_view detail) {
    const FaultInfo& info = fault_info(fault);
    env.stats.add(fault);
    emit<event::fault>(env.tracer, env.now_ns(), static_cast<uint32_t>(fault));
    // Several threads of the device may report at once.
    const std::atomic_ref<uint32_t> counter(env.logged[static_cast<size_t>(fault)]);
    if (counter.load(std::memory_order_relaxed) >= kLoggedPerFault) return;
    const uint32_t logged = counter.fetch_add(1, std::memory_order_relaxed) + 1;
    if (logged > kLoggedPerFault) return;
    const bool gap = std::string_view(info.name).starts_with("Todo");
    env.log(gap ? LogLevel::Todo : LogLevel::Guest,
            fmt::format("{}: {}{}", info.text, detail, logged == kLoggedPerFault ? " (further ones are only counted)" : ""));
}

}  // namespace lyra
