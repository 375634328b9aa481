// SPDX-License-Identifier: MIT
// What the log of the guest's kernel complains about.
#pragma once

#include <string>

namespace lyra::cli {

/// What the guest's kernel said that it does not say while the GPU is well: @return the first such line, or "".
std::string kernel_complaint(const std::string& test, const std::string& dmesg);

/// The first thing that a kernel's log complains about, with what belongs to it: at most 100 lines. "" when all is well.
std::string kernel_splat(const std::string& log);

}  // namespace lyra::cli
