// SPDX-License-Identifier: MIT
// Recognises and compiles HIP programs.
#include "tools/lyra/hip_program.h"

#include <unistd.h>

#include <cstring>
#include <fstream>

#include "tools/lyra/cli.h"
#include "tools/lyra/kernel_tree.h"
#include "tools/lyra/process.h"
#include "tools/lyra/work_dir.h"

namespace lyra::cli {

namespace fs = std::filesystem;

bool is_hip_source(const fs::path& file) {
    if (!fs::exists(file)) throw UserError(fmt::format("there is no file {}", file.string()));
    if (!fs::is_regular_file(file)) throw UserError(fmt::format("{} is not a file", file.string()));
    std::ifstream stream(file, std::ios::binary);
    char magic[4] = {};
    if (!stream.read(magic, 2) && stream.bad()) throw UserError(fmt::format("cannot read {}", file.string()));
    stream.read(magic + 2, 2);
    if (std::memcmp(magic, "\177ELF", 4) == 0 || std::memcmp(magic, "#!", 2) == 0) return false;
    for (const char* extension : {".hip", ".cpp", ".cc", ".cxx", ".cu", ".c"}) {
        if (file.extension() == extension) return true;
    }
    throw UserError(
        fmt::format("{} is neither an executable nor a HIP source file (.hip, .cpp, .cc, .cxx, .cu, .c)", file.string()));
}

void compile_hip(const fs::path& source, const fs::path& output, const std::vector<std::string>& options,
                 const GuestOptions& guest) {
    Command command;
    command.argv = {(source_dir() / "tools/guest/hipcc.sh").string(), "--cache", cache_dir().string()};
    const std::vector<std::string> root = root_arguments(guest);
    command.argv.insert(command.argv.end(), root.begin(), root.end());
    if (const fs::path tree = build_kernel_tree(guest); !tree.empty())
        command.argv.insert(command.argv.end(), {"--headers", (tree / "uapi/include").string()});
    command.argv.insert(command.argv.end(), {source.string(), output.string()});
    command.argv.insert(command.argv.end(), options.begin(), options.end());
    command.out = STDERR_FILENO;
    Child compiler(command);
    if (!compiler.wait()) throw Interrupted();
    if (compiler.status() != 0) throw UserError(fmt::format("{} does not compile", source.string()));
}

}  // namespace lyra::cli
