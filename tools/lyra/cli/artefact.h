// SPDX-License-Identifier: MIT
// What the scripts of the source tree build once and keep in the cache.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lyra::cli {

/// Runs a script of the source tree (its path there), which builds something that is not in the cache yet. @return the folder
/// of it
/// @throws UserError         it has refused its arguments (exit status 2), after its own words on standard error
/// @throws EnvironmentError  it failed, after its own words on standard error
std::filesystem::path build_artefact(const char* script, const std::vector<std::string>& arguments);

}  // namespace lyra::cli
