// SPDX-License-Identifier: MIT
// Firmware assumptions by text.
#include "common/firmware.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace lyra {

namespace {

constexpr const char* kChoiceNames[] = {"keep", "preempt", "defer", "reject", "stop", "on", "off", "cut", "full", "packet"};

struct Row {
    std::string name;
    FirmwareInfo info;
    FirmwareChoice Firmware::* member;
};

std::string property_name(std::string name) {
    std::replace(name.begin(), name.end(), '_', '-');
    return name;
}

/// Never destroyed: a device may be made while the process ends.
const std::vector<Row>& rows() {
    static const auto* const table = [] {
        auto* made = new std::vector<Row>{
#define FIRMWARE(name, choices, free_running, virtual_time, text, driver)                          \
    {property_name(#name),                                                                         \
     {nullptr, choices, FirmwareChoice::free_running, FirmwareChoice::virtual_time, text, driver}, \
     &Firmware::name},
#include "common/firmware.def"
#undef FIRMWARE
        };
        for (Row& row : *made) row.info.name = row.name.c_str();
        return made;
    }();
    return *table;
}

bool has_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const size_t space = words.find(' ');
        if (words.substr(0, space) == word) return true;
        words = space == std::string_view::npos ? "" : words.substr(space + 1);
    }
    return false;
}

std::string set_one(Firmware& firmware, std::string_view word) {
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    for (const Row& row : rows()) {
        if (name != row.name) continue;
        const std::string_view choice = equals == std::string_view::npos ? "" : word.substr(equals + 1);
        const auto* const found = std::find(std::begin(kChoiceNames), std::end(kChoiceNames), choice);
        if (found == std::end(kChoiceNames) || !has_word(row.info.choices, choice))
            return fmt::format("firmware {}: '{}' is none of: {}", name, choice, row.info.choices);
        firmware.*row.member = static_cast<FirmwareChoice>(found - std::begin(kChoiceNames));
        return {};
    }
    return fmt::format("there is no firmware assumption '{}'", name);
}

}  // namespace

const char* name_of(FirmwareChoice choice) { return kChoiceNames[static_cast<size_t>(choice)]; }

const FirmwareInfo* firmware_info(size_t index) { return index < rows().size() ? &rows()[index].info : nullptr; }

Firmware Firmware::defaults(bool virtual_time) {
    Firmware firmware;
    for (const Row& row : rows()) firmware.*row.member = virtual_time ? row.info.virtual_time : row.info.free_running;
    return firmware;
}

std::string Firmware::set(std::string_view text) {
    while (!text.empty()) {
        const size_t comma = text.find(',');
        if (const std::string wrong = set_one(*this, text.substr(0, comma)); !wrong.empty()) return wrong;
        text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
    }
    return {};
}

std::string Firmware::text() const {
    std::string all;
    for (const Row& row : rows()) all += fmt::format("{}{}={}", all.empty() ? "" : ",", row.name, name_of(this->*row.member));
    return all;
}

}  // namespace lyra
