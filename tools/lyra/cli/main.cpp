// SPDX-License-Identifier: MIT
// The program `lyra`: chooses the verb and turns every error into an exit code.
#include "qemu-hw/include/lyra.h"
#include "tools/lyra/cli/cli.h"

using namespace lyra::cli;

namespace {

constexpr Verb kVerbs[] = {
    {"run", "run a HIP program in a guest with the GPU", set_up_run},
    {"guest", "open a shell in a guest with the GPU", set_up_guest},
    {"exec", "run one kernel in this process, without a guest", set_up_exec},
    {"replay", "let the device do again what a recording has, without the guest", set_up_replay},
    {"test", "run all tests", set_up_test},
    {"kfdtest", "run the kernel driver's test suite in guests", set_up_kfdtest},
    {"disasm", "disassemble a code object, count its instructions", set_up_disasm},
    {"isa", "list instructions, show coverage", set_up_isa},
    {"bench", "time kernels beside PoCL and native code", set_up_bench},
    {"measure", "run clients of several priorities in a guest under a scheduling policy, and measure", set_up_measure},
    {"sim", "simulate queues of several priorities under a scheduling policy", set_up_sim},
    {"sweep", "run an experiment's configurations as jobs of any job engine", set_up_sweep},
    {"timing", "make a timing table of what was measured on a GPU", set_up_timing},
    {"report", "one HTML page about results of experiments", set_up_report},
    {"waves", "list the waves of a saved queue", set_up_waves},
    {"doctor", "say what this machine has of what Lyra needs, and the remedy for what is wrong", set_up_doctor},
    {"clean", "remove what is stale in the cache", set_up_clean},
    {"help", "tell the options of a verb, write manual pages", set_up_help},
    {"completion", "print a script that completes lyra's command line in a shell", set_up_completion},
    {"version", "print the version", set_up_version},
};

// On the program and on every verb, so that they may stand before or after it.
void add_verbosity(CLI::App& app) {
    app.add_flag("-v,--verbose", [](int64_t n) { verbosity = static_cast<int>(n); }, "say more");
    app.add_flag("-q,--quiet", [](int64_t) { verbosity = -1; }, "say nothing but errors");
}

int run_program(int argc, char** argv) {
    CLI::App app("An emulated AMD GFX9 compute GPU.", "lyra");
    app.set_version_flag("--version", lyra_version());
    add_verbosity(app);
    app.require_subcommand(1);
    app.footer(
        "lyra VERB --help tells the options of a verb. Exit codes: 0 right, 1 failed, 2 usage, 3 GPU fault, 4 timed out.");
    int result = kOk;
    for (const Verb& verb : kVerbs) {
        CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
        add_verbosity(*sub);
        sub->final_callback([&result, action = verb.set_up(*sub)] { result = action(); });
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int code = app.exit(error, std::cout, std::cerr);
        return code == 0 ? kOk : kUsage;
    }
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run_program(argc, argv);
    } catch (const UserError& error) {
        complain(error.what());
        return kUsage;
    } catch (const EnvironmentError& error) {
        complain(error.what());
        return kFailed;
    } catch (const Interrupted&) {
        return kInterrupted;
    } catch (const std::exception& error) {
        complain(fmt::format("internal error: {}", error.what()));
        return kOurBug;
    }
}
