// SPDX-License-Identifier: MIT
// CLI11 keeps a value's name, its checks and its choices as one text, as "NAME:{trixie,sid}" or "N:INT in [1 - 64]".
#include "tools/lyra/cli/command_tree.h"

#include <algorithm>

namespace lyra::cli {

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    size_t begin = 0;
    for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1)
        parts.push_back(text.substr(begin, end - begin));
    parts.push_back(text.substr(begin));
    return parts;
}

void append(std::vector<std::string>& words, const std::vector<std::string>& more) {
    for (const std::string& word : more) {
        if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
}

/// FILE and DIR, with or without more after them, stand for what exists; a word in lower case stands for itself.
void read_value_name(const std::string& name, Candidates& candidates) {
    const std::vector<std::string> parts = split(name, '|');
    for (const std::string& part : parts) {
        if (part.starts_with("FILE")) {
            candidates.files = true;
        } else if (part.starts_with("DIR")) {
            candidates.folders = true;
        } else if (parts.size() > 1 && part.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos) {
            append(candidates.words, {part});
        }
    }
}

/// What a check says of the value: choices, a kind of file, or limits. Names of mere C++ types tell the user nothing.
void read_check(const std::string& check, CommandOption& option) {
    if (check.starts_with('{') && check.ends_with('}')) {
        append(option.candidates.words, split(check.substr(1, check.size() - 2), ','));
    } else if (check == "FILE" || check == "PATH(existing)") {
        option.candidates.files = true;
    } else if (check == "DIR") {
        option.candidates.folders = true;
    } else if (const size_t range = check.find(" in ["); range != std::string::npos && check.ends_with(']')) {
        option.limits = check.substr(range + 5, check.size() - range - 6);
        if (const size_t dash = option.limits.find(" - "); dash != std::string::npos) option.limits.replace(dash, 3, " to ");
    } else if (check == "POSITIVE") {
        option.limits = "more than 0";
    } else if (check == "NONNEGATIVE") {
        option.limits = "0 or more";
    }
}

std::vector<std::string> names_of(const std::set<CLI::Option*>& options) {
    std::vector<std::string> names;
    for (const CLI::Option* option : options) names.push_back(option->get_name());
    std::sort(names.begin(), names.end());  // the set is in the order of addresses
    return names;
}

CommandOption read_option(const CLI::Option& from, const std::vector<std::string>& verbs) {
    CommandOption option;
    if (from.get_positional()) option.names.push_back(from.get_name(true));
    for (const std::string& name : from.get_snames()) option.names.push_back("-" + name);
    for (const std::string& name : from.get_lnames()) option.names.push_back("--" + name);
    option.description = from.get_description();
    option.group = from.get_group();
    option.default_value = from.get_default_str();
    option.needs = names_of(from.get_needs());
    option.excludes = names_of(from.get_excludes());
    option.required = from.get_required();
    if (from.get_items_expected_max() == 0) return option;

    const std::vector<std::string> parts = split(from.get_type_name(), ':');
    option.value = parts[0];
    option.repeats = from.get_expected_max() >= CLI::detail::expected_max_vector_size;
    read_value_name(option.value, option.candidates);
    if (from.get_positional()) read_value_name(option.names[0], option.candidates);
    if (option.value == "VERB") append(option.candidates.words, verbs);
    for (size_t i = 1; i < parts.size(); ++i) read_check(parts[i], option);
    return option;
}

VerbNode read_command(const CLI::App& app, const CLI::App& root, std::vector<std::string> path,
                      const std::vector<std::string>& verbs) {
    VerbNode command;
    path.push_back(app.get_name());
    command.path = path;
    command.summary = app.get_description();
    if (&app == &root || app.get_footer() != root.get_footer()) command.footer = app.get_footer();  // an App inherits it
    command.runs_program = app.get_prefix_command();
    for (const CLI::Option* option : app.get_options()) {
        (option->get_positional() ? command.operands : command.options).push_back(read_option(*option, verbs));
    }
    // Its words are not options of CLI11's.
    if (command.runs_program) {
        CommandOption& program = command.operands.emplace_back();
        program.names = {"PROGRAM"};
        program.candidates.files = true;
    }
    for (const CLI::App* sub : app.get_subcommands(std::function<bool(const CLI::App*)>())) {
        command.commands.push_back(read_command(*sub, root, path, verbs));
    }
    return command;
}

}  // namespace

VerbNode command_tree(const CLI::App& app) {
    std::vector<std::string> verbs;
    for (const CLI::App* sub : app.get_subcommands(std::function<bool(const CLI::App*)>())) verbs.push_back(sub->get_name());
    return read_command(app, app, {}, verbs);
}

}  // namespace lyra::cli
