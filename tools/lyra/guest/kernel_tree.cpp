// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/kernel_tree.h"

#include <algorithm>
#include <map>
#include <sstream>

#include "tools/lyra/cli/artefact.h"
#include "tools/lyra/cli/work_dir.h"

namespace lyra::cli {

namespace fs = std::filesystem;

namespace {

/// A number of a kernel's Makefile, which begins with VERSION = and PATCHLEVEL =.
std::string makefile_value(const std::string& text, const std::string& name) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (line.rfind(name + " = ", 0) == 0) return line.substr(name.size() + 3);
    }
    return "";
}

}  // namespace

std::string nearest_kernel(const fs::path& tree) {
    const std::string text = read_text(tree / "Makefile");
    const std::string version = makefile_value(text, "VERSION"), patch = makefile_value(text, "PATCHLEVEL");
    if (version.empty() || patch.empty() || !fs::exists(tree / "Kbuild"))
        throw UserError(fmt::format("{} is not the source tree of a kernel", tree.string()));
    const std::string wanted = version + "." + patch;
    std::string nearest;
    for (const std::string& kernel : guest_table().kernels) {
        if (!older_kernel(wanted, kernel) && (nearest.empty() || older_kernel(nearest, kernel))) nearest = kernel;
    }
    if (nearest.empty()) throw UserError(fmt::format("{} is Linux {}, older than any that is known", tree.string(), wanted));
    return nearest;
}

std::vector<std::string> debug_parts() {
    std::vector<std::string> parts;
    for (const auto& entry : fs::directory_iterator(source_dir() / "tools/guest/kernel")) {
        if (entry.path().extension() == ".config" && entry.path().stem() != "guest")
            parts.push_back(entry.path().stem().string());
    }
    std::sort(parts.begin(), parts.end());
    return parts;
}

fs::path build_kernel_tree(const GuestOptions& options) {
    if (options.kernel_tree.empty()) return {};
    static std::map<std::string, fs::path> built;
    const std::string debug = fmt::format("{}", fmt::join(options.debug, ","));
    fs::path& folder = built[options.kernel_tree + "\n" + debug];
    if (folder.empty()) folder = build_artefact("tools/guest/build_tree.sh", {"--debug", debug, options.kernel_tree});
    return folder;
}

std::string debugger_command(const GuestOptions& options, const fs::path& built, const fs::path& socket) {
    const std::string build = (built / "build").string();
    // Before start_kernel() nothing is mapped where the kernel believes that it is.
    return fmt::format(
        "gdb -iex {} {} -ex {} -ex 'thbreak start_kernel' -ex continue -ex {}",
        shell_quote(fmt::format("add-auto-load-safe-path {}:{}", build, fs::canonical(options.kernel_tree).string())),
        shell_quote(build + "/vmlinux"), shell_quote("target remote " + socket.string()), shell_quote("lx-symbols " + build));
}

std::string vmcore_advice(const GuestOptions& options, const fs::path& vmcore) {
    const fs::path build = build_kernel_tree(options) / "build";
    return fmt::format(
        "the kernel's memory: {}\nlyra: read it with `crash {} {}`; its command for the driver's symbols is `mod -s amdgpu {}`",
        vmcore.string(), shell_quote((build / "vmlinux").string()), shell_quote(vmcore.string()),
        (build / "drivers/gpu/drm/amd/amdgpu/amdgpu.ko").string());
}

}  // namespace lyra::cli
