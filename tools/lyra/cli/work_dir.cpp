// SPDX-License-Identifier: MIT
// Folders and small files.
#include "tools/lyra/cli/work_dir.h"

#include <dlfcn.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "qemu-hw/include/lyra.h"
#include "tools/lyra/cli/cli.h"

namespace lyra::cli {

namespace fs = std::filesystem;

WorkDir::WorkDir() {
    std::error_code error;
    fs::path base = fs::temp_directory_path(error);
    std::string name = ((error ? fs::path("/tmp") : base) / "lyra.XXXXXX").string();
    if (!mkdtemp(name.data())) throw EnvironmentError(fmt::format("cannot make {}: {}", name, std::strerror(errno)));
    path_ = name;
}

WorkDir::~WorkDir() {
    std::error_code error;
    fs::remove_all(path_, error);
}

fs::path cache_dir() {
    const auto variable = [](const char* name) -> std::string {
        const char* value = std::getenv(name);
        return value ? value : "";
    };
    fs::path dir = variable("LYRA_CACHE");
    if (dir.empty() && !variable("XDG_CACHE_HOME").empty()) dir = fs::path(variable("XDG_CACHE_HOME")) / "lyra";
    if (dir.empty()) dir = fs::path(variable("HOME")) / ".cache" / "lyra";
    std::error_code error;
    fs::create_directories(dir, error);
    if (error) throw EnvironmentError(fmt::format("cannot make {}: {}", dir.string(), error.message()));
    return dir;
}

fs::path source_dir() {
    const char* elsewhere = std::getenv("LYRA_DATA_DIR");
    return elsewhere && *elsewhere ? elsewhere : LYRA_SOURCE_DIR;
}

fs::path library_dir() {
    Dl_info info{};
    if (!dladdr(reinterpret_cast<void*>(&lyra_version), &info) || !info.dli_fname) {
        throw EnvironmentError("cannot tell where liblyra is");
    }
    return fs::canonical(info.dli_fname).parent_path();
}

fs::path own_program() {
    static const fs::path found = fs::canonical("/proc/self/exe");  // the link is dead once a build has replaced the file
    return found;
}

std::string shell_quote(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return quoted + "'";
}

std::string comma_safe(const std::string& text) {
    std::string safe;
    for (const char c : text) safe += c == ',' ? std::string(",,") : std::string(1, c);
    return safe;
}

void write_text(const fs::path& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    file.close();
    if (!file) throw EnvironmentError(fmt::format("cannot write {}", path.string()));
}

std::string read_input(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    std::error_code error;
    if (fs::is_directory(path, error) || !file || !(file.peek() == EOF || text << file.rdbuf()))
        throw UserError(fmt::format("cannot read '{}'", path.string()));
    return text.str();
}

std::string read_text(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace lyra::cli
