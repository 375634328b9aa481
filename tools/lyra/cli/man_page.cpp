// SPDX-License-Identifier: MIT
// roff: a backslash begins an escape, a dot or an apostrophe at the start of a line a request; a plain - is a hyphen.
// @source groff_char(7), groff_man(7)
#include "tools/lyra/cli/man_page.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "qemu-hw/include/lyra.h"
#include "tools/lyra/cli/cli.h"

namespace lyra::cli {

namespace {

const struct {
    int code;
    const char* meaning;
} kExitCodes[] = {
    {kOk, "right"},
    {kFailed, "ran, and something failed or differs"},
    {kUsage, "usage: an option, an argument, a missing file, a program that does not compile"},
    {kGuestFault, "GPU fault: the kernel touched memory it may not, had an illegal instruction, or was refused"},
    {kTimedOut, "timed out"},
    {kOurBug, "a bug of Lyra's own, or a guest that died"},
    {kInterrupted, "interrupted"},
};

const struct {
    const char* name;
    const char* meaning;
} kVariables[] = {
    {"LYRA_BACKEND",
     "portable, avx2 or avx512: the code that runs vector instructions. By default the widest that the processor has"},
    {"LYRA_CACHE", "folder of everything that is made. By default $XDG_CACHE_HOME/lyra, then ~/.cache/lyra"},
};

/// Words to be typed: every character as it is on the keyboard.
std::string literal(std::string_view text) {
    std::string out;
    for (const char c : text) {
        switch (c) {
            case '\\': out += "\\e"; break;
            case '-': out += "\\-"; break;
            case '\'': out += "\\(aq"; break;
            case '`': out += "\\(ga"; break;
            case '^': out += "\\(ha"; break;
            case '~': out += "\\(ti"; break;
            default: out += c;
        }
    }
    return out;
}

/// A line of prose: a - inside a word is a hyphen, one before it belongs to an option or a number.
std::string prose(std::string_view text) {
    std::string out;
    char before = ' ';
    for (const char c : text) {
        const bool hyphen = std::isalnum(static_cast<unsigned char>(before));
        out += c == '-' && hyphen ? "-" : c == '\'' ? "'" : literal(std::string_view(&c, 1));
        before = c;
    }
    return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string bold(std::string_view text) { return "\\fB" + literal(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + literal(text) + "\\fR"; }

std::string joined(const std::vector<std::string>& words, const char* between) {
    return fmt::format("{}", fmt::join(words, between));
}

/// The line above an option's description, as "-j, --jobs N".
std::string option_head(const CommandOption& option) {
    std::string head;
    for (const std::string& name : option.names) head += (head.empty() ? "" : ", ") + bold(name);
    if (!option.value.empty()) head += " " + italic(option.value);
    return head;
}

/// What is beyond the description: choices, limits, default, and the options it goes with.
std::string option_facts(const CommandOption& option) {
    std::vector<std::string> facts;
    const bool named = option.value == "VERB" || option.value.find('|') != std::string::npos;  // the value's name says it
    if (!option.candidates.words.empty() && !named) facts.push_back("one of " + bold(joined(option.candidates.words, ", ")));
    if (!option.limits.empty()) facts.push_back(prose(option.limits));
    if (!option.default_value.empty()) facts.push_back("default " + bold(option.default_value));
    if (option.repeats) facts.push_back("may be repeated");
    if (!option.needs.empty()) facts.push_back("needs " + bold(joined(option.needs, ", ")));
    if (!option.excludes.empty()) facts.push_back("not with " + bold(joined(option.excludes, ", ")));
    return facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, "; "));
}

std::string options_of(const VerbNode& command) {
    std::vector<std::string> groups;
    for (const CommandOption& option : command.options) {
        if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
    }
    std::string text;
    for (const std::string& group : groups) {
        if (group != groups.front()) text += ".SS " + prose(group) + "\n";
        for (const CommandOption& option : command.options) {
            if (option.group == group)
                text += ".TP\n" + option_head(option) + "\n" + prose(option.description) + option_facts(option) + "\n";
        }
    }
    return text;
}

std::string operands_of(const VerbNode& command) {
    std::string text;
    for (const CommandOption& operand : command.operands) {
        if (!operand.description.empty())
            text += ".TP\n" + italic(operand.names[0]) + "\n" + prose(operand.description) + option_facts(operand) + "\n";
    }
    return text;
}

std::string synopsis(const VerbNode& command) {
    std::string text = ".B " + literal(joined(command.path, " ")) + "\n[\\fIOPTIONS\\fR]";
    if (!command.commands.empty()) text += command.path.size() == 1 ? " \\fIVERB\\fR ..." : " \\fICOMMAND\\fR ...";
    for (const CommandOption& operand : command.operands) {
        const std::string name = italic(operand.names[0]) + (operand.repeats ? " ..." : "");
        text += operand.required || command.runs_program ? " " + name : " [" + name + "]";
    }
    if (command.runs_program) text += " [\\fIARGS\\fR]";
    return text + "\n";
}

/// As it was written: tables in it are aligned by hand.
std::string footer(const VerbNode& command) {
    if (command.footer.empty()) return "";
    std::string text = ".PP\n.nf\n";
    std::string_view rest = command.footer;
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        const std::string out = literal(line);
        text += (out.starts_with('.') ? "\\&" : "") + out + "\n";
    }
    return text + ".fi\n";
}

/// Of the program: its verbs, each with a page. Of a verb: its commands, here.
std::string commands_of(const VerbNode& command) {
    std::string text = command.path.size() == 1 ? ".SH VERBS\n" : ".SH COMMANDS\n";
    for (const VerbNode& sub : command.commands) {
        if (command.path.size() == 1) {
            text += ".TP\n\\fB" + literal(man_page_name(sub)) + "\\fR(1)\n" + prose(sub.summary) + "\n";
        } else {
            text += ".SS " + literal(sub.path.back()) + "\n" + synopsis(sub) + ".PP\n" + prose(sub.summary) + "\n" +
                    operands_of(sub) + options_of(sub);
        }
    }
    return text;
}

std::string see_also(const VerbNode& command, const VerbNode& root) {
    std::vector<std::string> pages;
    if (command.path != root.path) pages.push_back(".BR lyra (1)");
    for (const VerbNode& verb : root.commands) {
        if (verb.path != command.path) pages.push_back(".BR " + literal(man_page_name(verb)) + " (1)");
    }
    return ".SH SEE ALSO\n" + joined(pages, ",\n") + "\n";
}

}  // namespace

std::string man_page_name(const VerbNode& command) { return joined(command.path, "-"); }

std::string man_page(const VerbNode& command, const VerbNode& root) {
    const std::string name = man_page_name(command);
    std::string title = name;
    for (char& c : title) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string text =
        ".\\\" SPDX-License-Identifier: MIT\n.\\\" Made by lyra help --man from the definitions of the options.\n";
    text += fmt::format(".TH {} 1 \"\" \"Lyra {}\" \"Lyra\"\n", literal(title), literal(lyra_version()));
    text += ".SH NAME\n" + literal(name) + " \\- " + prose(command.summary) + "\n";
    text += ".SH SYNOPSIS\n" + synopsis(command);
    text += ".SH DESCRIPTION\n" + prose(command.summary) + "\n" + operands_of(command) + footer(command);
    if (!command.commands.empty()) text += commands_of(command);
    text += ".SH OPTIONS\n" + options_of(command);
    text += ".SH EXIT STATUS\n";
    for (const auto& row : kExitCodes) text += fmt::format(".TP\n.B {}\n{}\n", row.code, prose(row.meaning));
    if (command.path == root.path) {
        text += ".SH ENVIRONMENT\n";
        for (const auto& row : kVariables) text += fmt::format(".TP\n.B {}\n{}\n", row.name, prose(row.meaning));
    }
    return text + see_also(command, root);
}

}  // namespace lyra::cli
