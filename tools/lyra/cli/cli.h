// SPDX-License-Identifier: MIT
// What all verbs share: exit codes, the table of verbs, errors of the user, talk on standard error.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

namespace lyra::cli {

enum ExitCode : int {
    kOk = 0,
    kFailed = 1,        ///< ran, and the result differs or failed
    kUsage = 2,         ///< the user's mistake, found before anything ran
    kGuestFault = 3,    ///< the GPU program did something it may not
    kTimedOut = 4,
    kOurBug = 70,
    kSkipped = 77,
    kInterrupted = 130,
};

/// The user can put it right: what, where, what to do. Becomes a line on standard error and kUsage.
class UserError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// Something around us does not work (a tool, the file system). Becomes a line on standard error and kFailed.
class EnvironmentError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The user pressed Ctrl-C, or the process was asked to end. Becomes kInterrupted.
class Interrupted : public std::exception {};

/// A verb adds its options to app and returns what runs when it is chosen; the return value is the exit code.
struct Verb {
    const char* name;
    const char* summary;
    std::function<int()> (*set_up)(CLI::App& app);
};

std::function<int()> set_up_run(CLI::App& app);
std::function<int()> set_up_guest(CLI::App& app);
std::function<int()> set_up_exec(CLI::App& app);
std::function<int()> set_up_replay(CLI::App& app);
std::function<int()> set_up_test(CLI::App& app);
std::function<int()> set_up_kfdtest(CLI::App& app);
std::function<int()> set_up_disasm(CLI::App& app);
std::function<int()> set_up_isa(CLI::App& app);
std::function<int()> set_up_waves(CLI::App& app);
std::function<int()> set_up_bench(CLI::App& app);
std::function<int()> set_up_measure(CLI::App& app);
std::function<int()> set_up_sim(CLI::App& app);
std::function<int()> set_up_sweep(CLI::App& app);
std::function<int()> set_up_timing(CLI::App& app);
std::function<int()> set_up_report(CLI::App& app);
std::function<int()> set_up_doctor(CLI::App& app);
std::function<int()> set_up_clean(CLI::App& app);
std::function<int()> set_up_help(CLI::App& app);
std::function<int()> set_up_completion(CLI::App& app);
std::function<int()> set_up_version(CLI::App& app);

/// -q: -1, nothing: 0, -v: 1 and more.
extern int verbosity;

/// A line on standard error, "lyra: " before it; not with -q.
void talk(const std::string& text);
/// The same, also with -q.
void complain(const std::string& text);

/// For CLI::Validator: numbers of compute units that the device can have. @return what is wrong
std::string check_compute_units(const std::string& text);

/// What a run in virtual time was, in one line: equal for equal runs. Or one that was recorded in the host's time.
std::string trace_summary(uint64_t hash, uint64_t events, uint64_t ns, bool virtual_time = true);

/// Set by SIGINT, SIGTERM and SIGHUP once catch_signals() was called.
extern volatile bool interrupted;
void catch_signals();

/// A status line that replaces itself; shown on terminals only.
class Progress {
public:
    Progress();
    ~Progress() { clear(); }
    void show(const std::string& text);
    void clear();

private:
    bool terminal_;
    bool shown_ = false;
};

}  // namespace lyra::cli
