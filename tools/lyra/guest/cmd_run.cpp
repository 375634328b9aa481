// SPDX-License-Identifier: MIT
// lyra run: a HIP program in a guest; its output and exit status become ours.
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <iostream>
#include <iterator>

#include "tools/lyra/cli/cli.h"
#include "tools/lyra/guest/hip_program.h"
#include "tools/lyra/guest/machine.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
    GuestOptions guest;
    std::vector<std::string> words;      ///< program and its arguments
    std::vector<std::string> compiler;
    std::string input;
    bool times = false;
};

void write_all(int descriptor, const char* data, size_t bytes) {
    while (bytes) {
        const ssize_t done = write(descriptor, data, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return;  // the reader has gone: the program runs on, as it would natively with SIGPIPE ignored
        data += done;
        bytes -= static_cast<size_t>(done);
    }
}

void print_times(const GuestResult& result, double compile_s) {
    fmt::print(stderr, "{:<28}{:7.2f} s\n", "compile", compile_s);
    double last = !result.times.empty() && result.times[0].first == "resumed" ? result.times[0].second : 0;
    const double begun = last;
    const char* stage_of[][2] = {{"init", "kernel boot"},
                                 {"modprobe", "guest set-up"},
                                 {"driver", "load amdgpu"},
                                 {"job", "program"},
                                 {"end", "collect"}};
    for (const auto& [stamp, seconds] : result.times) {
        if (stamp == "resumed") continue;
        const char* title = stamp.c_str();
        for (const auto& row : stage_of) {
            if (stamp == row[0]) title = row[1];
        }
        fmt::print(stderr, "{:<28}{:7.2f} s\n", title, seconds - last);
        last = seconds;
    }
    fmt::print(stderr, "{:<28}{:7.2f} s\n", begun == 0 ? "QEMU start and firmware" : "QEMU start, saved machine",
               result.total_s - (last - begun));
    fmt::print(stderr, "{:<28}{:7.2f} s\n", "total", compile_s + result.total_s);
}

int run(Options& options) {
    catch_signals();
    if (options.words.empty()) throw UserError("a program is needed: lyra run [OPTIONS] PROGRAM [ARGS]");
    const fs::path program = options.words[0];
    const bool source = is_hip_source(program);
    if (!options.input.empty() && options.input != "-" && !fs::exists(options.input)) {
        throw UserError(fmt::format("there is no file {}", options.input));
    }
    if (!options.guest.kernel_events.empty() && options.guest.trace.ends_with(".tsv"))
        throw UserError("--kernel-events: a trace in text (.tsv) has only the GPU's events");
    GuestMachine guest(options.guest);
    Progress progress;
    WorkDir work;
    GuestJob job;
    const auto start = std::chrono::steady_clock::now();
    if (source) {
        progress.show("compiling ...");
        // A guest that goes on from a saved machine has a process in which HIP is up; the program is loaded there.
        const fs::path object = work.path() / "program.so", executable = work.path() / "program";
        if (guest.may_go_on() && can_be_shared(options.compiler)) {
            std::vector<std::string> words = options.compiler;
            words.insert(words.end(), {"-fPIC", "-shared"});
            compile_hip(program, object, words, options.guest);
        }
        if (fs::exists(object) && !needs_own_process(object)) {
            job.files.emplace_back("program.so", object);
            job.warm = options.words;
            job.warm[0] = "./program";
        } else {
            compile_hip(program, executable, options.compiler, options.guest);
            job.files.emplace_back("program", executable);
        }
    } else {
        job.files.emplace_back("program", program);
    }
    const std::chrono::duration<double> compile = std::chrono::steady_clock::now() - start;
    progress.clear();
    guest.prepare();
    if (job.warm.empty()) {
        job.run = "#!/bin/sh\nchmod +x program\nexec ./program";
        for (size_t i = 1; i < options.words.size(); ++i) job.run += " " + shell_quote(options.words[i]);
        job.run += "\n";
    } else {
        job.run = "#!/bin/sh\nexec /usr/lib/lyra/warm --now\n";  // should it have to boot
    }
    if (options.input == "-") {
        write_text(work.path() / "stdin", std::string(std::istreambuf_iterator<char>(std::cin), {}));
        options.input = (work.path() / "stdin").string();
    }
    if (!options.input.empty()) job.files.emplace_back("stdin", options.input);

    progress.show("starting the guest ...");
    const auto sink = [&](int descriptor) {
        return [&progress, descriptor](const char* data, size_t bytes) {
            progress.clear();
            write_all(descriptor, data, bytes);
        };
    };
    const GuestResult result = guest.run(job, sink(STDOUT_FILENO), sink(STDERR_FILENO));
    progress.clear();
    const int code = report(result, options.guest);
    if (options.times) print_times(result, compile.count());
    return code;
}

}  // namespace

std::function<int()> set_up_run(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_guest_options(app, options->guest);
    add_snapshot_option(app, options->guest);
    app.add_option("--hipcc", options->compiler, "another option for the compiler, such as -O0")
        ->allow_extra_args(false)
        ->type_name("OPTION");
    app.add_option("--stdin", options->input, "file that the program reads as standard input, - for ours")->type_name("FILE");
    app.add_flag("--times", options->times, "print on standard error where the time went");
    app.prefix_command();
    app.footer(
        "lyra run [OPTIONS] PROGRAM [ARGS]\n"
        "PROGRAM is a HIP source file or an executable. Its output and its exit status become those of this command;\n"
        "2: PROGRAM is missing or does not compile, 4: --timeout, 70: the guest died.");
    return [options, &app] {
        options->words = app.remaining();
        return run(*options);
    };
}

}  // namespace lyra::cli
