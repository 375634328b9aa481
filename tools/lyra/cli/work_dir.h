// SPDX-License-Identifier: MIT
// Where things are: one temporary folder per run, the cache, the source tree, the library of the device.
#pragma once

#include <filesystem>
#include <string>

namespace lyra::cli {

/// A temporary folder, removed with everything in it at the end.
class WorkDir {
public:
    WorkDir();   ///< throws EnvironmentError
    ~WorkDir();
    WorkDir(const WorkDir&) = delete;
    WorkDir& operator=(const WorkDir&) = delete;
    const std::filesystem::path& path() const { return path_; }

private:
    std::filesystem::path path_;
};

/// $LYRA_CACHE, else $XDG_CACHE_HOME/lyra, else ~/.cache/lyra. Made when it is missing.
std::filesystem::path cache_dir();
/// The source tree that this program was built from, or where a package has put its scripts and tables; $LYRA_DATA_DIR when it
/// is set.
std::filesystem::path source_dir();
/// Folder of the liblyra.so that this program uses; the virtual machine gets the same.
std::filesystem::path library_dir();
/// This program itself.
std::filesystem::path own_program();

/// text in single quotes for a POSIX shell.
std::string shell_quote(const std::string& text);
/// text for an option of QEMU, which ends at a comma; two commas are one.
std::string comma_safe(const std::string& text);
/// Throws EnvironmentError.
void write_text(const std::filesystem::path& path, const std::string& text);
/// A file that the user has named. Throws UserError.
std::string read_input(const std::filesystem::path& path);
/// Empty when the file cannot be read.
std::string read_text(const std::filesystem::path& path);

}  // namespace lyra::cli
