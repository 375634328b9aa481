// SPDX-License-Identifier: MIT
// The options of a guest on the command line.
#include "tools/lyra/guest/options.h"

#include <bit>
#include <cctype>
#include <charconv>
#include <filesystem>

#include "qemu-hw/include/lyra.h"
#include "tools/lyra/guest/kernel_tree.h"

namespace lyra::cli {

namespace {

/// Refuses, before anything is started, what the device would refuse.
std::string check_vram(const std::string& text) {
    const uint64_t bytes = bytes_of(text);
    const bool good = std::has_single_bit(bytes) && bytes >= LYRA_VRAM_MIN && bytes <= LYRA_VRAM_MAX;
    if (good) return "";
    return fmt::format("the size of VRAM is a power of two from {}M to {}G, such as 2G, not {}", LYRA_VRAM_MIN >> 20,
                       LYRA_VRAM_MAX >> 30, text);
}

std::string check_mem(const std::string& text) {
    return bytes_of(text) >= uint64_t{1} << 30 ? "" : "the guest needs a size of 1G at least, such as 4G, not " + text;
}

std::string guest_chips() {
    std::string names;
    for (const ChipFacts& chip : kChips)
        if (chip.guest) names += fmt::format("{}{}", names.empty() ? "" : "|", chip.name);
    return names;
}

std::string check_chip(const std::string& name) {
    const ChipFacts* const chip = find_chip(name);
    if (!chip) return fmt::format("unknown chip '{}'; known: {}", name, guest_chips());
    if (chip->guest) return "";
    return fmt::format("{0} cannot be the GPU of a guest (docs/design/chips.md says why); lyra exec --chip {0} runs kernels",
                       name);
}

}  // namespace

uint64_t bytes_of(const std::string& text) {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string unit(end, text.data() + text.size());
    const unsigned shift = unit == "G" || unit == "g" ? 30 : unit == "M" || unit == "m" ? 20 : 64;
    return error != std::errc{} || shift == 64 || value >> 24 ? 0 : value << shift;
}

std::vector<std::string> root_arguments(const GuestOptions& options) {
    return {"--release", options.release, "--packages", fmt::format("{}", fmt::join(options.packages, ","))};
}

std::vector<std::string> image_arguments(const GuestOptions& options) {
    const std::string why = guest_table().objection(options.release, options.kernel);
    if (!why.empty() && options.kernel_tree.empty())
        throw UserError(fmt::format("--release {} does not work with --kernel {}: {}", options.release, options.kernel, why));
    std::vector<std::string> arguments = root_arguments(options);
    arguments.insert(arguments.end(), {"--kernel", options.kernel});
    return arguments;
}

CLI::Option* add_guest_chip_option(CLI::App& app, std::string& chip) {
    return app.add_option("--chip", chip, "what the GPU is; HIP programs are compiled for it")
        ->check(CLI::Validator(check_chip, ""))
        ->capture_default_str()
        ->type_name(guest_chips());
}

void add_kernel_options(CLI::App& app, GuestOptions& options) {
    add_guest_chip_option(app, options.chip);
    CLI::Option* kernel = app.add_option("--kernel", options.kernel, "the guest's kernel")
                              ->check(CLI::IsMember(guest_table().kernels))
                              ->capture_default_str()
                              ->type_name("VERSION");
    CLI::Option* tree = app.add_option("--kernel-tree", options.kernel_tree,
                                       "your own kernel: a source tree, 6.1 or later, which is built as a whole outside of it")
                            ->check(CLI::ExistingDirectory)
                            ->each([&options](const std::string& folder) { options.kernel = nearest_kernel(folder); })
                            ->excludes(kernel)
                            ->type_name("DIR");
    app.add_option("--debug", options.debug, "what that kernel looks for; it fails the run with its words")
        ->needs(tree)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::IsMember(debug_parts()))
        ->type_name("PARTS");
    app.add_flag("--gdb", options.gdb, "wait for a debugger before that kernel starts; the command for it is printed")
        ->needs(tree);
    app.add_option("--kfd", options.kfd,
                   "another driver than Debian's: lyra (with the patches of kfd-patches/), a kernel tree with changes of your "
                   "own, or a .ko file")
        ->excludes(tree)
        ->type_name("lyra|DIR|FILE.ko");
}

void add_guest_options(CLI::App& app, GuestOptions& options) {
    app.add_option("--vram", options.vram, "size of the GPU's memory, a power of two")
        ->check(CLI::Validator(check_vram, ""))
        ->capture_default_str()
        ->type_name("SIZE");
    app.add_option("--cus", options.cus, "number of compute units: 1 to 4, or a multiple of 4 up to 64")
        ->check(CLI::Validator(check_compute_units, ""))
        ->capture_default_str()
        ->type_name("N");
    app.add_option("--xccs", options.xccs, "number of XCCs of gfx942, which share the compute units (default: 2)")
        ->check(CLI::IsMember({2, 4, 8}))
        ->type_name("2|4|8");
    app.add_option("--mem", options.mem, "size of the guest's memory")
        ->check(CLI::Validator(check_mem, ""))
        ->capture_default_str()
        ->type_name("SIZE");
    app.add_option(
           "--smp", options.smp,
           "number of the guest's processors (default: those of the host, 4 at most; 1 with --deterministic or --record)")
        ->check(CLI::Range(1, 64))
        ->type_name("N");
    add_kernel_options(app, options);
    CLI::Option* tree = app.get_option("--kernel-tree");
    app.add_option("--release", options.release, "Debian release of the guest's userland and of hipcc")
        ->check(CLI::IsMember(guest_table().releases))
        ->capture_default_str()
        ->type_name("NAME");
    app.add_option("--packages", options.packages,
                   "more Debian packages of that release for the compiler and the guest, such as libhipcub-dev,librocprim-dev")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("NAMES")
        ->check(CLI::Validator(
            [](const std::string& name) {
                const bool good =
                    !name.empty() &&
                    std::islower(static_cast<unsigned char>(name[0])) + std::isdigit(static_cast<unsigned char>(name[0])) !=
                        0 &&
                    name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+.-") == std::string::npos;
                return good ? std::string() : fmt::format("'{}' is not the name of a Debian package", name);
            },
            ""));
    app.add_option("--accel", options.accel, "how the guest's processors run")
        ->check(CLI::IsMember({"tcg", "kvm"}))
        ->capture_default_str()
        ->type_name("tcg|kvm");
    app.add_flag("--stock-driver", options.stock_driver,
                 "load Debian's amdgpu.ko itself: under TCG 10 s slower than its copy without ftrace's table (KVM: always)")
        ->excludes(tree);
    CLI::Option* deterministic = app.add_flag(
        "--deterministic", options.deterministic,
        "virtual time: every run has the same events at the same times; prints a hash of the GPU's events at the end");
    app.add_option("--seed", options.seed, "seed of everything random in a deterministic guest")
        ->needs(deterministic)
        ->capture_default_str()
        ->type_name("N");
    app.add_option("--timing", options.timing, "a timing parameter of virtual time (docs/design/timing.md)")
        ->needs(deterministic)
        ->allow_extra_args(false)
        ->type_name("NAME=VALUE");
    app.add_option("--share", options.share, "folder of the host that the guest sees as /mnt/share")
        ->check(CLI::ExistingDirectory)
        ->type_name("DIR");
    app.add_option("--timeout", options.timeout_s, "give up after so many seconds")
        ->check(CLI::NonNegativeNumber)
        ->type_name("S");
    app.add_option("--log", options.log, "write the boot log there")->type_name("FILE");
    CLI::Option* trace =
        app.add_option("--trace", options.trace, "write a Perfetto trace of the GPU")->type_name("FILE.pftrace");
    app.add_option("--record", options.record,
                   "write a recording of everything that reaches the GPU, for lyra replay; the guest has one processor")
        ->type_name("FILE");
    app.add_option("--kernel-events", options.kernel_events,
                   "into it trace events of the guest's kernel too, such as amdkfd or sched:sched_switch")
        ->needs(deterministic)
        ->needs(trace)
        ->delimiter(',')
        ->allow_extra_args(false)
        ->type_name("EVENTS")
        ->check(CLI::Validator(
            [](const std::string& text) {
                const bool good = !text.empty() &&
                                  text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:*") ==
                                      std::string::npos;
                return good ? std::string() : fmt::format("'{}' is not SYSTEM or SYSTEM:EVENT", text);
            },
            ""));
    app.add_option("--device", options.device_options, "another property of the device")
        ->allow_extra_args(false)
        ->type_name("NAME=VALUE")
        ->group("For experts");
    app.add_option("--append", options.kernel_words, "another word for the kernel's command line")
        ->allow_extra_args(false)
        ->type_name("WORD")
        ->group("For experts");
    app.add_option("--qemu", options.qemu_words, "another word for QEMU's command line")
        ->allow_extra_args(false)
        ->type_name("WORD")
        ->group("For experts");
}

void add_snapshot_option(CLI::App& app, GuestOptions& options) {
    options.snapshot = true;
    app.add_flag_callback(
        "--no-snapshot", [&options] { options.snapshot = false; },
        "boot the guest, in place of going on from one that was saved with its driver loaded");
}

}  // namespace lyra::cli
