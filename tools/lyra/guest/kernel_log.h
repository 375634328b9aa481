// SPDX-License-Identifier: MIT
// What the log of the guest's kernel complains about.
#pragma once

#include <string>
#include <vector>

namespace lyra::cli {

/// What the guest's kernel said that it does not say while the GPU is well: @return the first such line, or "".
std::string kernel_complaint(const std::string& test, const std::string& dmesg);

/// The first thing that a kernel's log complains about, with what belongs to it: at most 100 lines. "" when all is well.
std::string kernel_splat(const std::string& log);

/// The first of those parts of --debug of which the kernel does not say that it is on, "" when all are. A kernel may be built
/// with one that is off.
std::string kernel_lacks(const std::vector<std::string>& parts, const std::string& log);

}  // namespace lyra::cli
