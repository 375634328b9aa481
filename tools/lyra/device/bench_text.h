// SPDX-License-Identifier: MIT
// The results of `lyra bench` as tables.
#pragma once

#include <nlohmann/json.hpp>

namespace lyra::cli {

/// Print what `lyra bench --json` would print, on standard output.
void print_bench(const nlohmann::json& result);

}  // namespace lyra::cli
