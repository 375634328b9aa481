// SPDX-License-Identifier: MIT
// --chip: of which chip a file is.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "facts/chips.h"
#include "tools/lyra/cli/cli.h"

namespace lyra::cli {

/// @param what  belongs to the chip
inline void add_chip_option(CLI::App& app, std::string& chip, std::string_view what = "code") {
    chip = facts_of(Chip::gfx900).name;
    app.add_option("--chip,--mcpu", chip, fmt::format("whose {} it is: {}", what, fmt::join(kChipNames, " or ")))
        ->capture_default_str()
        ->type_name(fmt::format("{}", fmt::join(kChipNames, "|")));
}

/// @throw UserError for a chip that the model does not have
inline Chip chip_named(const std::string& name) {
    if (const ChipFacts* chip = find_chip(name)) return chip->chip;
    throw UserError(fmt::format("unknown chip '{}'; known: {}", name, fmt::join(kChipNames, ", ")));
}

}  // namespace lyra::cli
