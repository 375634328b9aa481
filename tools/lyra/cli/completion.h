// SPDX-License-Identifier: MIT
// Scripts that tell a shell what may stand where on lyra's command line.
#pragma once

#include <string>

#include "tools/lyra/cli/command_tree.h"

namespace lyra::cli {

std::string bash_completion(const VerbNode& root);
std::string zsh_completion(const VerbNode& root);
std::string fish_completion(const VerbNode& root);

}  // namespace lyra::cli
