// SPDX-License-Identifier: MIT
// Machines that were saved when their driver was loaded, so that guests go on from there in place of booting.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lyra::cli {

/// The memories of a machine as files of a folder.
struct MemoryFiles {
    std::filesystem::path folder;
    bool goes_on = false;  ///< from what the files hold: they are not written, each guest has its own changes

    std::filesystem::path ram() const { return folder / "ram"; }
    std::filesystem::path vram() const { return folder / "vram"; }
    std::filesystem::path state() const { return folder / "state"; }
    std::filesystem::path serial() const { return folder / "serial"; }
    /// Words of QEMU's command line that make memory backends `ram` and `vram`, with sizes in QEMU's spelling.
    std::vector<std::string> words(const std::string& mem, const std::string& vram_size) const;
};

/// Speaks with QEMU's monitor until a machine that was started with MemoryFiles::words() goes on.
class GoOn {
public:
    /// @param monitor  our end of the socket
    /// @param stopped  the machine had stopped itself when it was saved: it has to be told when it is there
    GoOn(int monitor, const MemoryFiles& memory, bool stopped);
    /// What QEMU says.
    void feed(const char* data, size_t bytes);

private:
    int monitor_;
    bool stopped_;
    std::string text_;
};

/// A saved machine in the cache, by all that it is made of.
class GuestSnapshot {
public:
    /// @param recipe  whatever it depends on, as text
    explicit GuestSnapshot(std::string recipe);

    bool there() const;
    MemoryFiles files() const { return {folder_, true}; }

    /// Where a machine that is to become it keeps its memories while it boots; nobody else makes it meanwhile.
    class Making;
    /// It cannot be gone on from, or is of no use any more.
    void remove() const;

private:
    std::string recipe_;
    std::filesystem::path folder_;
};

/// Holds the lock. Nothing is left behind when it is not kept.
class GuestSnapshot::Making {
public:
    explicit Making(const GuestSnapshot& snapshot);
    ~Making();
    Making(const Making&) = delete;
    Making& operator=(const Making&) = delete;

    /// While this process waited for the lock another one has made it.
    bool needless() const { return needless_; }
    MemoryFiles files() const { return {folder_, false}; }
    /// Let a machine boot until it says "ready" on its port lyra.control, or in virtual time until it stops itself, save it and
    /// end it.
    /// @param argv  QEMU's command line with files(). Its chardev `control` is made here, unless the machine stops itself.
    /// @return why there is none; empty when it is kept
    std::string keep(std::vector<std::string> argv, double seconds, bool stops_itself);

private:
    const GuestSnapshot& snapshot_;
    int lock_ = -1;
    bool needless_ = false;
    std::filesystem::path folder_;
};

}  // namespace lyra::cli
