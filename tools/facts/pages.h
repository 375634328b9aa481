// SPDX-License-Identifier: MIT
// What is made of the rows of facts/ beside code: pages of the documentation, dictionaries of
// fuzzers.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace lyra::facts {

/// The page registers.md of the specification.
std::string registers_page();
/// The page packets.md of the specification.
std::string packets_page();

/// For libFuzzer's -dict. @param name  pm4, sdma or aql @return empty: there is no such dictionary
std::string dictionary(std::string_view name);

/// "7:4", or "7" of a single bit.
inline std::string bit_range(unsigned low, unsigned width) {
    return width == 1 ? fmt::format("{}", low) : fmt::format("{}:{}", low + width - 1, low);
}

inline constexpr std::string_view kMadeOfRows =
    "This page is made of the rows of the tables by `lyra_facts`; a test compares it with them. Do not edit it.";

}  // namespace lyra::facts
