// SPDX-License-Identifier: MIT
// lyra help, lyra completion: what the definitions of the options tell of themselves.
#include <filesystem>
#include <iostream>

#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/completion.h"
#include "tools/lyra/cli/man_page.h"
#include "tools/lyra/cli/work_dir.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

/// What `lyra WORDS --help` prints.
int print_help(const CLI::App& root, const std::vector<std::string>& words) {
    const CLI::App* app = &root;
    std::string path = root.get_name();
    for (const std::string& word : words) {
        const auto found = app->get_subcommands([&](const CLI::App* sub) { return sub->check_name(word); });
        if (found.empty()) throw UserError(fmt::format("{} has no command {}; see {} --help", path, word, path));
        app = found[0];
        path += " " + app->get_name();
    }
    std::cout << app->get_formatter()->make_help(app, path, CLI::AppFormatMode::Normal);
    return kOk;
}

void write_page(const fs::path& folder, const VerbNode& command, const VerbNode& root) {
    write_text(folder / (man_page_name(command) + ".1"), man_page(command, root));
}

int write_pages(const VerbNode& root, const fs::path& folder) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) throw UserError(fmt::format("cannot make the folder {}: {}", folder.string(), error.message()));
    write_page(folder, root, root);
    for (const VerbNode& verb : root.commands) write_page(folder, verb, root);
    return kOk;
}

}  // namespace

std::function<int()> set_up_help(CLI::App& app) {
    struct Options {
        std::vector<std::string> words;
        std::string man;
    };
    auto options = std::make_shared<Options>();
    const CLI::Option* words =
        app.add_option("VERB", options->words, "whose options to tell, as lyra VERB --help does")->type_name("VERB");
    app.add_option("--man", options->man, "write manual pages there instead: lyra.1 and one for each verb")
        ->type_name("DIR")
        ->excludes(const_cast<CLI::Option*>(words));
    return [options, root = app.get_parent()] {
        return options->man.empty() ? print_help(*root, options->words) : write_pages(command_tree(*root), options->man);
    };
}

std::function<int()> set_up_completion(CLI::App& app) {
    auto shell = std::make_shared<std::string>();
    app.add_option("SHELL", *shell, "whose script it is")
        ->required()
        ->check(CLI::IsMember({"bash", "zsh", "fish"}))
        ->type_name("NAME");
    app.footer(
        "bash: lyra completion bash >~/.local/share/bash-completion/completions/lyra\n"
        "zsh:  lyra completion zsh >_lyra in a folder of $fpath\n"
        "fish: lyra completion fish >~/.config/fish/completions/lyra.fish");
    return [shell, root = app.get_parent()] {
        const VerbNode tree = command_tree(*root);
        std::cout << (*shell == "bash"  ? bash_completion(tree)
                      : *shell == "zsh" ? zsh_completion(tree)
                                        : fish_completion(tree));
        return kOk;
    };
}

}  // namespace lyra::cli
