// SPDX-License-Identifier: MIT
// Replacing timing parameters by text.
#include "common/timing.h"

#include <charconv>

#include <fmt/format.h>

namespace lyra {

namespace {

constexpr uint64_t Timing::* kMembers[] = {
#define TIMING(name, ...) &Timing::name,
#include "common/timing.def"
#undef TIMING
};

std::string set_one(Timing& timing, std::string_view word) {
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    for (size_t i = 0; i < std::size(kTimings); ++i) {
        const TimingInfo& info = kTimings[i];
        if (name != info.name) continue;
        const std::string_view digits = equals == std::string_view::npos ? "" : word.substr(equals + 1);
        uint64_t value = 0;
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
        const bool number = error == std::errc{} && end == digits.data() + digits.size();
        if (!number || value < info.smallest || value > info.largest) {
            return fmt::format("timing parameter {}: '{}' is no number from {} to {}", name, digits, info.smallest,
                               info.largest);
        }
        timing.*kMembers[i] = value;
        return {};
    }
    return fmt::format("there is no timing parameter '{}'", name);
}

}  // namespace

uint64_t Timing::get(std::string_view name) const {
    for (size_t i = 0; i < std::size(kTimings); ++i)
        if (name == kTimings[i].name) return this->*kMembers[i];
    return 0;
}

std::string Timing::set(std::string_view text) {
    while (!text.empty()) {
        const size_t comma = text.find(',');
        if (const std::string wrong = set_one(*this, text.substr(0, comma)); !wrong.empty()) return wrong;
        text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    }
    return {};
}

}  // namespace lyra
