// SPDX-License-Identifier: MIT
// QEMU's monitor of a guest: keeps the memory of one whose kernel has panicked.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lyra::cli {

/// Speaks QMP with QEMU over a socket. QEMU pauses a guest whose kernel says through its pvpanic device that it has panicked;
/// the monitor then has its memory written to a file and ends QEMU.
/// @source QEMU docs/interop/qmp-spec.rst, docs/specs/pvpanic.rst, docs/specs/vmcoreinfo.rst; qapi/dump.json
class GuestMonitor {
public:
    /// socket: ours; vmcore: the file, compressed as makedumpfile does it.
    GuestMonitor(int socket, std::filesystem::path vmcore) : socket_(socket), vmcore_(std::move(vmcore)) {}

    /// More of QEMU's command line; theirs is the other end of the socket.
    static std::vector<std::string> words(int theirs);
    /// What QEMU says.
    void feed(const char* data, size_t bytes);

    /// The kernel has panicked, and its memory is in the file.
    bool has_vmcore() const { return has_vmcore_; }
    /// Why it is not there, though the kernel has panicked; or "".
    const std::string& error() const { return error_; }

private:
    void take(const std::string& line);
    void say(const std::string& text) const;

    int socket_;
    std::filesystem::path vmcore_;
    std::string buffer_, error_;
    bool has_vmcore_ = false, panicked_ = false;
};

}  // namespace lyra::cli
