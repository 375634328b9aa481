// SPDX-License-Identifier: MIT
// A program for the guest: an executable as it is, or a HIP source file compiled with the guest's hipcc.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tools/lyra/guest/machine.h"

namespace lyra::cli {

/// Tell from its content and name what a file is; throws UserError when it is neither, or missing.
bool is_hip_source(const std::filesystem::path& file);

/// These options let a program become a shared object as well.
bool can_be_shared(const std::vector<std::string>& options);

/// The program calls what has to come before HIP is up: it forks, or sets variables that HIP reads.
bool needs_own_process(const std::filesystem::path& object);

/// Compile natively into output with the hipcc of that guest. The compiler's messages go to standard error. Throws UserError
/// when it fails. What was compiled before without a message, from the same
/// files of the source's folder, is taken from the cache.
void compile_hip(const std::filesystem::path& source, const std::filesystem::path& output,
                 const std::vector<std::string>& options, const GuestOptions& guest);

}  // namespace lyra::cli
