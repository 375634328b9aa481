// SPDX-License-Identifier: MIT
// Manual pages in roff's macro package man.
#pragma once

#include <string>

#include "tools/lyra/cli/command_tree.h"

namespace lyra::cli {

/// "lyra-run" for lyra(1)'s verb run; the file is this and ".1".
std::string man_page_name(const VerbNode& command);
/// The page of the program or of a verb; a verb's own sub-commands stand in its page. root is the whole tree.
std::string man_page(const VerbNode& command, const VerbNode& root);

}  // namespace lyra::cli
