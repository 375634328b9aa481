// SPDX-License-Identifier: MIT
// What a guest can be made of: the table tools/guest/guests.tsv.
#pragma once

#include <string>
#include <vector>

namespace lyra::cli {

struct GuestTable {
    struct Without {
        std::string release, kernel, why;
    };
    std::vector<std::string> kernels, releases;  ///< the first of each is the default
    std::vector<Without> without;                ///< combinations that do not work

    /// @return why a guest of that release cannot have that kernel, or ""
    std::string objection(const std::string& release, const std::string& kernel) const;
};

/// Read once. Throws EnvironmentError when the table is missing or malformed.
const GuestTable& guest_table();

/// Compare versions such as 6.1 and 6.12 by their numbers. @return whether a is older than b
bool older_kernel(const std::string& a, const std::string& b);

}  // namespace lyra::cli
