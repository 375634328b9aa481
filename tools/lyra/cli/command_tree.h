// SPDX-License-Identifier: MIT
// The verbs and their options as data, read from their definitions, for manual pages and completion.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace lyra::cli {

/// What a shell offers for a word that the user has begun.
struct Candidates {
    std::vector<std::string> words;
    bool files = false;
    bool folders = false;
    bool any() const { return files || folders || !words.empty(); }
};

/// An option, or an argument that has its place (an operand).
struct CommandOption {
    std::vector<std::string> names;  ///< "-j", "--jobs"; of an operand its name alone, as "FILE"
    std::string value;               ///< name of the value, as "SIZE"; empty: the option has none
    std::string limits;              ///< of the value, as "1 to 64"; may be empty
    std::string default_value;       ///< may be empty
    std::string description;
    std::string group;               ///< heading that it stands under; "Options" is the usual one
    std::vector<std::string> needs;  ///< names of options
    std::vector<std::string> excludes;
    bool required = false;
    bool repeats = false;
    Candidates candidates;  ///< for its value
};

struct VerbNode {
    std::vector<std::string> path;  ///< "lyra", "sweep", "plan"
    std::string summary;
    std::string footer;
    std::vector<CommandOption> options;
    std::vector<CommandOption> operands;
    bool runs_program = false;  ///< all words from the first operand on are a program and its arguments
    std::vector<VerbNode> commands;
};

/// The whole tree below app, which has to be the program's root.
VerbNode command_tree(const CLI::App& app);

}  // namespace lyra::cli
