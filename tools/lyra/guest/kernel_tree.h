// SPDX-License-Identifier: MIT
// The user's own kernel: which tables hold for it, its build, and how to look into it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/lyra/guest/options.h"

namespace lyra::cli {

/// The newest row of guests.tsv that is not newer than this source tree: its firmware and its table of kfdtest cases are taken.
/// @throws UserError  it is no kernel's source tree, or one that is older than all rows
std::string nearest_kernel(const std::filesystem::path& tree);

/// Values of --debug.
std::vector<std::string> debug_parts();

/// Builds options.kernel_tree as far as it has changed; once in a process. @return the folder of build_tree.sh, empty without a
/// tree
std::filesystem::path build_kernel_tree(const GuestOptions& options);

/// The command that attaches a debugger to a guest which waits at this socket.
std::string debugger_command(const GuestOptions& options, const std::filesystem::path& built,
                             const std::filesystem::path& socket);

/// How to read the memory of a kernel that has panicked.
std::string vmcore_advice(const GuestOptions& options, const std::filesystem::path& vmcore);

}  // namespace lyra::cli
