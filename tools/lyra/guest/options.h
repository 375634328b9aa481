// SPDX-License-Identifier: MIT
// What a guest is to be, as the user says it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "facts/chips.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/guest/table.h"

namespace lyra::cli {

/// Options of a guest; add_guest_options() gives the verbs the same flags for them.
struct GuestOptions {
    std::string vram = "2G", mem = "4G", accel = "tcg";
    std::string chip = kChips[0].name;  ///< what the GPU is, and programs are compiled for
    std::string kernel = guest_table().kernels.front(), release = guest_table().releases.front();   ///< rows of guests.tsv
    std::vector<std::string> packages;    ///< Debian packages that the compiler's root and the guest have beside their own
    unsigned cus = 8;
    unsigned xccs = 0;  ///< of a chip with several; 0: as many as its row says
    unsigned smp = 0;                     ///< 0: as many as suit the host, in a deterministic or recorded guest 1
    bool stock_driver = false;            ///< Debian's amdgpu.ko itself; with KVM always
    std::string kernel_tree;  ///< the user's own kernel, a source tree; kernel is the row of guests.tsv that is nearest
    std::vector<std::string> debug;  ///< what that kernel is to look for, parts of tools/guest/kernel
    bool gdb = false;  ///< the guest waits for a debugger
    std::string kfd;  ///< another driver: "lyra", a source tree or a .ko; empty: Debian's
    bool deterministic = false;  ///< virtual time, no disk, no clock of the host: equal runs
    uint64_t seed = 1;  ///< of everything random in a deterministic guest
    std::vector<std::string> timing;  ///< timing parameters to replace, NAME=VALUE
    bool snapshot = false;  ///< go on from a saved machine, which is made when it is not there, if the other options allow it
    double timeout_s = 0;  ///< 0: no limit
    std::string share, log, trace, record;  ///< empty: none
    std::vector<std::string> kernel_events;  ///< of the guest's kernel (kernel_events.h) for the trace of a deterministic run
    std::vector<std::string> device_options;  ///< more properties of the device, NAME=VALUE
    std::vector<std::string> kernel_words;  ///< more words for the kernel's command line
    std::vector<std::string> qemu_words;  ///< more words for QEMU's command line
};

/// The arguments of the scripts of tools/guest that choose the guest's userland.
std::vector<std::string> root_arguments(const GuestOptions& options);
/// These and the kernel. Throws UserError when they cannot be combined.
std::vector<std::string> image_arguments(const GuestOptions& options);

/// The GPU alone; refuses chips that no guest can have.
CLI::Option* add_guest_chip_option(CLI::App& app, std::string& chip);
/// GPU, kernel and driver.
void add_kernel_options(CLI::App& app, GuestOptions& options);
/// These and all others.
void add_guest_options(CLI::App& app, GuestOptions& options);

/// Guests go on from a saved machine, unless it is switched off.
void add_snapshot_option(CLI::App& app, GuestOptions& options);

/// "512M", "2G": QEMU's spelling of sizes, in bytes. 0: not a size
uint64_t bytes_of(const std::string& text);

}  // namespace lyra::cli
