// SPDX-License-Identifier: MIT
// lyra doctor, lyra clean: shell scripts, because ./lyra runs them also where this program cannot be built yet.
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/work_dir.h"

namespace lyra::cli {

namespace {

/// Does not return: the script takes this process's place, so that nothing of the cache is in use.
[[noreturn]] int become_script(const char* name, const std::vector<std::string>& arguments) {
    const std::string script = (source_dir() / "tools/setup" / name).string();
    std::vector<char*> argv{const_cast<char*>(script.c_str())};
    for (const std::string& each : arguments) argv.push_back(const_cast<char*>(each.c_str()));
    argv.push_back(nullptr);
    execv(script.c_str(), argv.data());
    throw EnvironmentError(fmt::format("cannot start {}: {}", script, std::strerror(errno)));
}

}  // namespace

std::function<int()> set_up_doctor(CLI::App& app) {
    auto json = std::make_shared<bool>(false);
    app.add_flag("--json", *json, "as JSON");
    app.footer("Exit code 1: something is wrong; the remedy stands below it.");
    return [json] {
        std::vector<std::string> arguments;
        if (*json) arguments.push_back("--json");
        return become_script("doctor.sh", arguments);
    };
}

std::function<int()> set_up_clean(CLI::App& app) {
    struct Options {
        bool all = false, dry_run = false;
    };
    auto options = std::make_shared<Options>();
    app.add_flag("--all", options->all, "everything that Lyra has made in the cache, not only what is stale");
    app.add_flag("-n,--dry-run", options->dry_run, "only say what would be removed");
    return [options] {
        std::vector<std::string> arguments;
        if (options->all) arguments.push_back("--all");
        if (options->dry_run) arguments.push_back("--dry-run");
        return become_script("clean.sh", arguments);
    };
}

}  // namespace lyra::cli
