// SPDX-License-Identifier: MIT
// bash gets tables and one function that reads them; zsh's _arguments and fish's complete take the definitions themselves.
#include "tools/lyra/cli/completion.h"

#include <fmt/format.h>

namespace lyra::cli {

namespace {

std::string joined(const std::vector<std::string>& words, const char* between) {
    return fmt::format("{}", fmt::join(words, between));
}

/// root and all below it, each before its own.
std::vector<const VerbNode*> all_commands(const VerbNode& root) {
    std::vector<const VerbNode*> found{&root};
    for (const VerbNode& sub : root.commands) {
        const auto below = all_commands(sub);
        found.insert(found.end(), below.begin(), below.end());
    }
    return found;
}

/// What may be a command's operand, whichever its place.
Candidates operand_candidates(const VerbNode& command) {
    Candidates all;
    for (const CommandOption& operand : command.operands) {
        all.files |= operand.candidates.files;
        all.folders |= operand.candidates.folders;
        all.words.insert(all.words.end(), operand.candidates.words.begin(), operand.candidates.words.end());
    }
    return all;
}

/// Prepares text for single quotes: nothing in there is special but the quote itself.
std::string in_quotes(std::string text) {
    for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
    return text;
}

// --- bash

/// @file and @dir stand for what exists.
std::string bash_row(const std::string& key, const Candidates& candidates) {
    std::vector<std::string> words = candidates.words;
    if (candidates.files) words.push_back("@file");
    if (candidates.folders && !candidates.files) words.push_back("@dir");
    return fmt::format("    '{}') echo '{}' ;;\n", in_quotes(key), in_quotes(joined(words, " ")));
}

// In bash's COMP_WORDS, `--option=value` is three words, and so is `a:b`.
const char kBashFunction[] = R"bash(_lyra() {
    local path=lyra program= option= word i
    for ((i = 1; i < COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $word == = && -n $option ]]; then
            continue
        elif [[ -n $option ]]; then
            option=
        elif [[ $word == = || $word == : ]]; then
            ((i++))
        elif [[ $word == -* ]]; then
            if [[ " $(_lyra_words "$path" values) " == *" $word "* ]]; then option=$word; fi
        elif [[ " $(_lyra_words "$path" commands) " == *" $word "* ]]; then
            path+=" $word"
        elif [[ -n $(_lyra_words "$path" program) ]]; then
            program=$word
            break
        fi
    done
    local cur=${COMP_WORDS[COMP_CWORD]} words
    [[ $cur == = ]] && cur=
    if [[ -n $program ]]; then
        words=@file
    elif [[ -n $option ]]; then
        words=$(_lyra_values "$path $option")
    elif [[ $cur == -* ]]; then
        words="$(_lyra_words "$path" flags) $(_lyra_words "$path" values)"
    else
        words="$(_lyra_words "$path" commands) $(_lyra_values "$path")"
    fi
    COMPREPLY=()
    for word in $words; do
        case $word in
        @file)
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$cur")
            ;;
        @dir)
            compopt -o filenames 2>/dev/null
            while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -d -- "$cur")
            ;;
        "$cur"*) COMPREPLY+=("$word") ;;
        esac
    done
}
complete -F _lyra lyra
)bash";

// --- zsh

/// In a specification of _arguments, ':' separates and ']' ends a description.
std::string zsh_text(const std::string& text, const char* special) {
    std::string out;
    for (const char c : text) {
        if (std::string_view(special).find(c) != std::string_view::npos) out += '\\';
        out += c;
    }
    return in_quotes(out);
}

/// What follows the colon of a value: words in parentheses, or a command; one in braces is read as zsh reads it.
std::string zsh_action(const Candidates& candidates) {
    const std::string files = candidates.files ? "_files" : candidates.folders ? "_files -/" : "";
    if (candidates.words.empty()) return files.empty() ? " " : files;
    const std::string words = "(" + joined(candidates.words, " ") + ")";
    return files.empty() ? words : fmt::format(R"({{_alternative "words\:value\:{}" "files\:file\:{}"}})", words, files);
}

/// '(-j --jobs)'{-j,--jobs=}'[text]:N: '
std::string zsh_option(const CommandOption& option) {
    const std::string text = "[" + zsh_text(option.description, "[]\\") + "]";
    const std::string value =
        option.value.empty() ? ""
                             : fmt::format(":{}:{}", zsh_text(option.value, ":\\"), in_quotes(zsh_action(option.candidates)));
    const std::string mark = option.repeats ? "*" : "";
    std::string out;
    for (const std::string& name : option.names) {
        const std::string end = option.value.empty() ? "" : name.starts_with("--") ? "=" : "+";
        const std::string others = option.repeats || option.names.size() < 2 ? "" : "(" + joined(option.names, " ") + ")";
        out += fmt::format("        '{}{}{}{}{}{}' \\\n", others, mark, name, end, text, value);
    }
    return out;
}

std::string zsh_function(const VerbNode& command) {
    std::string text =
        fmt::format("_{}() {{\n    local context state state_descr line\n    typeset -A opt_args\n    _arguments -C \\\n",
                    joined(command.path, "_"));
    for (const CommandOption& option : command.options) text += zsh_option(option);
    if (!command.commands.empty()) {
        text +=
            "        '1:command:->command' \\\n        '*:: :->words'\n    case $state in\n    command)\n        local -a "
            "commands=(\n";
        for (const VerbNode& sub : command.commands)
            text += fmt::format("            '{}:{}'\n", sub.path.back(), in_quotes(sub.summary));
        text += "        )\n        _describe command commands\n        ;;\n    words)\n        case $words[1] in\n";
        for (const VerbNode& sub : command.commands)
            text += fmt::format("        {}) _{} ;;\n", sub.path.back(), joined(sub.path, "_"));
        return text + "        esac\n        ;;\n    esac\n}\n";
    }
    if (command.runs_program) return text + "        '1:program:_files' \\\n        '*::argument:_files'\n}\n";
    for (const CommandOption& operand : command.operands) {
        text += fmt::format("        '{}:{}:{}' \\\n", operand.repeats ? "*" : "", zsh_text(operand.names[0], ":\\"),
                            in_quotes(zsh_action(operand.candidates)));
    }
    return text + "        && return 0\n}\n";
}

// --- fish

std::string fish_quoted(const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    return "'" + out + "'";
}

std::string fish_candidates(const Candidates& candidates) {
    std::string words = joined(candidates.words, " ");
    if (candidates.folders && !candidates.files) words += " (__fish_complete_directories)";
    return (candidates.files ? " -F" : "") + (words.empty() ? "" : " -a " + fish_quoted(words));
}

std::string fish_option(const CommandOption& option) {
    std::string text;
    for (const std::string& name : option.names)
        text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (!option.value.empty()) text += option.candidates.files ? " -r" : " -x";
    return text + (option.value.empty() ? "" : fish_candidates(option.candidates)) + " -d " + fish_quoted(option.description);
}

}  // namespace

std::string bash_completion(const VerbNode& root) {
    std::string words, values;
    for (const VerbNode* command : all_commands(root)) {
        const std::string path = joined(command->path, " ");
        std::vector<std::string> flags, with_value, subs;
        for (const CommandOption& option : command->options) {
            auto& list = option.value.empty() ? flags : with_value;
            list.insert(list.end(), option.names.begin(), option.names.end());
            if (!option.candidates.any()) continue;
            for (const std::string& name : option.names) values += bash_row(path + " " + name, option.candidates);
        }
        for (const VerbNode& sub : command->commands) subs.push_back(sub.path.back());
        words += fmt::format("    '{0} flags') echo '{1}' ;;\n    '{0} values') echo '{2}' ;;\n", path, joined(flags, " "),
                             joined(with_value, " "));
        if (!subs.empty()) words += fmt::format("    '{} commands') echo '{}' ;;\n", path, joined(subs, " "));
        if (command->runs_program) words += fmt::format("    '{} program') echo yes ;;\n", path);
        if (const Candidates operands = operand_candidates(*command); operands.any()) values += bash_row(path, operands);
    }
    return "# SPDX-License-Identifier: MIT\n# Made by lyra completion bash from the definitions of the options.\n"
           "# command, kind: the words of that kind\n_lyra_words() {\n    case \"$1 $2\" in\n" +
           words +
           "    esac\n}\n"
           "# command and option, or command alone for its operands: what may stand there\n_lyra_values() {\n    case $1 in\n" +
           values + "    esac\n}\n" + kBashFunction;
}

std::string zsh_completion(const VerbNode& root) {
    std::string text =
        "#compdef lyra\n# SPDX-License-Identifier: MIT\n# Made by lyra completion zsh from the definitions of the options.\n";
    for (const VerbNode* command : all_commands(root)) text += zsh_function(*command);
    // From a folder of $fpath this file is itself the function's body; otherwise it was sourced.
    return text + "if [[ $funcstack[1] == _lyra ]]; then\n    _lyra \"$@\"\nelse\n    compdef _lyra lyra\nfi\n";
}

std::string fish_completion(const VerbNode& root) {
    std::vector<std::string> paths;
    for (const VerbNode* command : all_commands(root)) paths.push_back(fish_quoted(joined(command->path, " ")));
    std::string text = fmt::format(
        "# SPDX-License-Identifier: MIT\n# Made by lyra completion fish from the definitions of the options.\n"
        "# Is this the command, as in __lyra_at sweep plan?\n"
        "function __lyra_at\n    set -l path lyra\n    set -l commands {}\n"
        "    set -l words (commandline -opc)\n"
        "    for word in $words[2..-1]\n        contains -- \"$path $word\" $commands; and set path \"$path $word\"\n    end\n"
        "    test \"$path\" = \"lyra$argv\"\nend\n"
        "complete -c lyra -f\n",
        joined(paths, " "));
    for (const VerbNode* command : all_commands(root)) {
        std::string path = joined(command->path, " ").substr(4);
        const std::string where = "complete -c lyra -n " + fish_quoted("__lyra_at " + fish_quoted(path));
        for (const CommandOption& option : command->options) text += where + fish_option(option) + "\n";
        for (const VerbNode& sub : command->commands)
            text += fmt::format("{} -a {} -d {}\n", where, sub.path.back(), fish_quoted(sub.summary));
        if (const Candidates operands = operand_candidates(*command); operands.any())
            text += where + fish_candidates(operands) + "\n";
    }
    return text;
}

}  // namespace lyra::cli
