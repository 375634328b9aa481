// SPDX-License-Identifier: MIT
// Assumptions about the scheduler's firmware (firmware.def) as one struct of choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lyra {

enum class FirmwareChoice : uint8_t { Keep, Preempt, Defer, Reject, Stop, On, Off, Cut, Full, Packet };

struct FirmwareInfo {
    const char* name;     ///< as in a property
    const char* choices;  ///< that make sense for it, divided by spaces
    FirmwareChoice free_running, virtual_time;
    const char* text;
    const char* driver;
};

struct Firmware {
#define FIRMWARE(name, choices, free_running, virtual_time, text, driver) FirmwareChoice name = FirmwareChoice::free_running;
#include "common/firmware.def"
#undef FIRMWARE

    static Firmware defaults(bool virtual_time);

    /// Replace choices. @param text "name=choice,name=choice", may be empty @return what is wrong with it; empty when all were
    /// taken
    std::string set(std::string_view text);
    /// All choices as set() takes them.
    std::string text() const;
};

/// The table. @return nullptr past its end
const FirmwareInfo* firmware_info(size_t index);
const char* name_of(FirmwareChoice choice);

}  // namespace lyra
