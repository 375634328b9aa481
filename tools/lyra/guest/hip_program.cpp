// SPDX-License-Identifier: MIT
// Recognises and compiles HIP programs.
#include "tools/lyra/guest/hip_program.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "common/hash.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/process.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/guest/kernel_tree.h"

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

bool can_be_shared(const std::vector<std::string>& options) {
    return std::none_of(options.begin(), options.end(), [](const std::string& option) {
        for (const char* other : {"-static", "-fsanitize", "-no-pie", "-pg"})
            if (option.starts_with(other)) return true;
        return option == "-c" || option == "-S" || option == "-E" || option == "-r";
    });
}

// By the names that it imports, which are in its table of strings, each between two 0 bytes.
bool needs_own_process(const fs::path& object) {
    const std::string bytes = read_text(object);
    for (const std::string_view name :
         {"fork", "vfork", "_Fork", "clone", "daemon", "setenv", "putenv", "unsetenv", "clearenv"}) {
        const std::string word = '\0' + std::string(name) + '\0';
        if (bytes.find(word) != std::string::npos) return true;
    }
    return false;
}

namespace {

constexpr size_t kKeptPrograms = 200;
constexpr uintmax_t kLongestInclude = uintmax_t{1} << 20;

/// Where the program of such a command is kept: by the command, the compiler's root, and all files that hipcc.sh shows it.
fs::path kept_program(const fs::path& source, const std::vector<std::string>& argv, const std::string& root) {
    std::vector<fs::path> files{source};
    const fs::path folder = fs::absolute(source).parent_path();
    for (const auto& entry : fs::directory_iterator(folder)) {
        const std::string extension = entry.path().extension().string();
        for (const char* shown : {".h", ".hh", ".hpp", ".hip", ".cpp", ".inc"})
            if (extension == shown && entry.is_regular_file() && entry.file_size() <= kLongestInclude)
                files.push_back(entry.path());
    }
    std::sort(files.begin() + 1, files.end());
    std::string text = fmt::format("{}\n{}\n", fmt::join(argv, "\n"), root);
    for (const fs::path& file : files)
        text += fmt::format("{} {:016x}\n", file.filename().string(), hash_text(read_text(file)));
    return cache_dir() / "compiled" / fmt::format("{:016x}", hash_text(text));
}

void prune_programs(const fs::path& folder) {
    std::vector<std::pair<fs::file_time_type, fs::path>> all;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder)) all.emplace_back(entry.last_write_time(error), entry.path());
    std::sort(all.rbegin(), all.rend());
    for (size_t i = kKeptPrograms; i < all.size(); ++i) fs::remove(all[i].second, error);
}

/// For the guest's GPU, unless the user says something else; hipcc.sh compiles for the first chip of the table.
std::vector<std::string> with_chip(std::vector<std::string> options, const GuestOptions& guest) {
    const bool given = std::any_of(options.begin(), options.end(),
                                   [](const std::string& option) { return option.starts_with("--offload-arch"); });
    if (!given && guest.chip != kChips[0].name) options.push_back("--offload-arch=" + guest.chip);
    return options;
}

}  // namespace

void compile_hip(const fs::path& source, const fs::path& output, const std::vector<std::string>& given,
                 const GuestOptions& guest) {
    const std::vector<std::string> options = with_chip(given, guest);
    Command command;
    command.argv = {(source_dir() / "tools/guest/hipcc.sh").string(), "--cache", cache_dir().string()};
    const std::vector<std::string> root = root_arguments(guest);
    command.argv.insert(command.argv.end(), root.begin(), root.end());
    if (const fs::path tree = build_kernel_tree(guest); !tree.empty())
        command.argv.insert(command.argv.end(), {"--headers", (tree / "uapi/include").string()});
    std::vector<std::string> key = command.argv;
    key.insert(key.end(), options.begin(), options.end());
    // A root that is not there yet is made by hipcc.sh, with its own words when that fails; such a program is compiled anew.
    std::vector<std::string> named{(source_dir() / "tools/guest/build_root.sh").string(), "--cache", cache_dir().string(),
                                   "--print"};
    named.insert(named.end(), root.begin(), root.end());
    const Captured folder = capture(named, true);
    const fs::path kept = folder.status == 0 ? kept_program(source, key, folder.out) : fs::path();
    std::error_code error;
    if (!kept.empty() && fs::copy_file(kept, output, fs::copy_options::overwrite_existing, error)) {
        fs::last_write_time(kept, fs::file_time_type::clock::now(), error);
        return;
    }
    command.argv.insert(command.argv.end(), {source.string(), output.string()});
    command.argv.insert(command.argv.end(), options.begin(), options.end());
    bool silent = false;
    int status = 0;
    if (kept.empty()) {
        command.out = STDERR_FILENO;
        Child compiler(command);
        if (!compiler.wait()) throw Interrupted();
        status = compiler.status();
    } else {
        const Captured compiled = capture(command.argv, true);
        if (interrupted) throw Interrupted();
        fmt::print(stderr, "{}{}", compiled.out, compiled.err);
        silent = compiled.out.empty() && compiled.err.empty();
        status = compiled.status;
    }
    if (status != 0) throw UserError(fmt::format("{} does not compile", source.string()));
    if (!silent) return;  // its warnings are wanted the next time too
    fs::create_directories(kept.parent_path(), error);
    const fs::path part = fs::path(kept) += fmt::format(".{}", getpid());
    if (!fs::copy_file(output, part, fs::copy_options::overwrite_existing, error)) return;
    fs::rename(part, kept, error);
    prune_programs(kept.parent_path());
}

}  // namespace lyra::cli
