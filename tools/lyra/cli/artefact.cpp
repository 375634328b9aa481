// SPDX-License-Identifier: MIT
#include "tools/lyra/cli/artefact.h"

#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/process.h"
#include "tools/lyra/cli/work_dir.h"

namespace lyra::cli {

namespace fs = std::filesystem;

fs::path build_artefact(const char* script, const std::vector<std::string>& arguments) {
    std::vector<std::string> argv{(source_dir() / script).string(), "--cache", cache_dir().string()};
    argv.insert(argv.end(), arguments.begin(), arguments.end());
    const Captured result = capture(argv, false);
    std::string path = result.out;
    while (!path.empty() && path.back() == '\n') path.pop_back();
    path = path.substr(path.rfind('\n') + 1);
    if (interrupted) throw Interrupted();
    if (result.status == kUsage) throw UserError(fmt::format("{}: see above", script));
    if (result.status != 0 || path.empty()) throw EnvironmentError(fmt::format("{} failed", script));
    return path;
}

}  // namespace lyra::cli
