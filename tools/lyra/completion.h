// SPDX-License-Identifier: MIT
// Scripts that tell a shell what may stand where on lyra's command line.
#pragma once

#include <string>

#include "tools/lyra/command_tree.h"

namespace lyra::cli {

std::string bash_completion(const Command& root);
std::string zsh_completion(const Command& root);
std::string fish_completion(const Command& root);

}  // namespace lyra::cli
