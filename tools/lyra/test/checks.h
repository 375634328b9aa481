// SPDX-License-Identifier: MIT
// The tables of `lyra test`: what is done in the guest, and which commands of this program have to do what.
#pragma once

#include <string>
#include <vector>

namespace lyra::cli {

/// Shell text that runs in a booted guest. All checks share one guest and run in the order: after boot, programs, at the end.
struct GuestCheck {
    const char* name;
    const char* script;
    int status;                              ///< expected exit status
    std::vector<const char*> contains;       ///< each is part of the output
    std::vector<const char*> lacks;          ///< none is part of the output
    unsigned timeout_s = 120;
    const char* since = nullptr;             ///< first kernel that has what is checked; nullptr: all
    const char* before = nullptr;            ///< first kernel that no longer has it; nullptr: none
};
const std::vector<GuestCheck>& checks_after_boot();
/// Of a guest with gfx90a, and with gfx942.
const std::vector<GuestCheck>& checks_of_gfx90a();
const std::vector<GuestCheck>& checks_of_gfx942();
const std::vector<GuestCheck>& checks_of_eight_xccs();
const std::vector<GuestCheck>& checks_at_the_end();
/// In a guest of their own, with the programs of kfdtest-ports/guest/kfd, debug_target, faults and vector_add.
const std::vector<GuestCheck>& checks_of_the_driver();

/// A call of this program, from the top of the source tree.
struct CommandCheck {
    const char* name;
    std::vector<const char*> arguments;
    int status;
    const char* out;                         ///< exact standard output, nullptr: not looked at
    const char* err_contains;                ///< part of standard error, nullptr: not looked at
    unsigned timeout_s = 180;
};
const std::vector<CommandCheck>& command_checks();

/// A HIP program that is compiled and run in the guest: it has to print PASSED and to exit with 0.
struct GuestProgram {
    const char* name;                        ///< of the check
    const char* file;                        ///< of the executable
    const char* source;                      ///< from the top of the source tree
    std::vector<std::string> options;        ///< for the compiler
    const char* arguments;
};
const std::vector<GuestProgram>& guest_programs();

/// Programs that want Debian packages beside the guest's own: those of examples/packages, but for the one that takes minutes.
const std::vector<GuestProgram>& package_programs();
/// These packages, of the release kPackagesRelease.
std::vector<std::string> example_packages();
constexpr const char* kPackagesRelease = "trixie";

}  // namespace lyra::cli
