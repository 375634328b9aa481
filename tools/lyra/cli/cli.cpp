// SPDX-License-Identifier: MIT
// Talk on standard error, the progress line, and the flag that signals set.
#include "tools/lyra/cli/cli.h"

#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>

namespace lyra::cli {

int verbosity = 0;
volatile bool interrupted = false;

void complain(const std::string& text) { fmt::print(stderr, "lyra: {}\n", text); }

std::string check_compute_units(const std::string& text) {
    unsigned units = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), units);
    const bool number = error == std::errc{} && end == text.data() + text.size();
    if (number && units >= 1 && units <= 64 && (units <= 4 || units % 4 == 0)) return "";
    return "the number of compute units is 1 to 4, or a multiple of 4 up to 64, not " + text;
}

std::string trace_summary(uint64_t hash, uint64_t events, uint64_t ns, bool virtual_time) {
    return fmt::format("trace hash {:016x}, {} events, {} time {}.{:09} s", hash, events, virtual_time ? "virtual" : "device",
                       ns / 1'000'000'000, ns % 1'000'000'000);
}

void talk(const std::string& text) {
    if (verbosity >= 0) complain(text);
}

void catch_signals() {
    struct sigaction action{};
    action.sa_handler = [](int) { interrupted = true; };
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaction(number, &action, nullptr);
    signal(SIGPIPE, SIG_IGN);
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) && verbosity >= 0) {}

void Progress::show(const std::string& text) {
    if (!terminal_) return;
    fmt::print(stderr, "\r\033[K{}", text);
    std::fflush(stderr);
    shown_ = true;
}

void Progress::clear() {
    if (shown_) fmt::print(stderr, "\r\033[K");
    shown_ = false;
}

}  // namespace lyra::cli
