// SPDX-License-Identifier: MIT
// Instructions by operation and encoding, as `lyra disasm` and `lyra exec` print them.
#pragma once

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

#include "qemu-hw/include/lyra.h"

namespace lyra::cli {

/// Number of instructions by mnemonic (without _e32, _e64, _sdwa, _dpp) and format, such as {"v_add_f32", "VOP3"}.
using Histogram = std::map<std::pair<std::string, std::string>, uint64_t>;

/// What a device has counted, which was asked to.
Histogram histogram_of(lyra_device* device);

/// A line for each, the most frequent first, and the sum.
void print_histogram(std::FILE* to, const Histogram& histogram);
/// {"total": N, "instructions": [{"name", "format", "count"}, ...]} in the same order.
nlohmann::json histogram_json(const Histogram& histogram);

}  // namespace lyra::cli
