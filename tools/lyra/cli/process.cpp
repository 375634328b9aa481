// SPDX-License-Identifier: MIT
// fork, exec, and an orderly end.
#include "tools/lyra/cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string_view>

#include "tools/lyra/cli/cli.h"

namespace lyra::cli {

namespace {

void place(int from, int to) {
    if (from == Command::kInherit || (from < 0 && to != STDIN_FILENO)) return;
    if (from < 0) from = open("/dev/null", O_RDONLY);
    if (from == to)
        fcntl(to, F_SETFD, 0);
    else
        dup2(from, to);
}

[[noreturn]] void become(const Command& command, std::vector<char*>& argv, pid_t parent) {
    if (command.own_group) setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);  // the parent died before the request was made
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) signal(number, SIG_DFL);
    place(command.in, STDIN_FILENO);
    place(command.out, STDOUT_FILENO);
    place(command.err, STDERR_FILENO);
    for (const int descriptor : command.keep) fcntl(descriptor, F_SETFD, 0);
    for (const auto& [name, value] : command.environment) setenv(name.c_str(), value.c_str(), 1);
    execvp(argv[0], argv.data());
    const std::string text = fmt::format("lyra: cannot start {}: {}\n", argv[0], std::strerror(errno));
    (void)!write(STDERR_FILENO, text.data(), text.size());
    _exit(127);
}

}  // namespace

Child::Child(const Command& command) : own_group_(command.own_group) {
    std::vector<char*> argv;
    argv.reserve(command.argv.size() + 1);
    for (const std::string& word : command.argv) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) throw EnvironmentError(fmt::format("cannot start {}: {}", argv[0], std::strerror(errno)));
    if (pid_ == 0) become(command, argv, parent);
    if (own_group_) setpgid(pid_, pid_);  // in both, so that it holds whoever runs first
}

bool Child::ended() {
    int status = 0;
    rusage usage{};
    if (!ended_ && wait4(pid_, &status, WNOHANG, &usage) == pid_) {
        ended_ = true;
        peak_bytes_ = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
        status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return ended_;
}

uint64_t Child::dirty_bytes_beside(std::vector<uint64_t> sizes) const {
    std::ifstream smaps(fmt::format("/proc/{}/smaps", pid_));
    uint64_t by_share = 0, by_mapping = 0, amount = 0;
    bool left_out = false;
    for (std::string line; std::getline(smaps, line);) {
        const auto is = [&](std::string_view key) {
            return line.starts_with(key) && std::sscanf(line.c_str() + key.size(), "%" SCNu64 " kB", &amount) == 1;
        };
        if (is("Size:")) {
            const auto size = std::find(sizes.begin(), sizes.end(), amount * 1024);
            left_out = size != sizes.end();
            if (left_out) sizes.erase(size);
        } else if (!left_out && is("Pss_Dirty:")) {
            by_share += amount;
        } else if (!left_out && (is("Shared_Dirty:") || is("Private_Dirty:"))) {
            by_mapping += amount;
        }
    }
    // A page that is mapped twice, as generated code is, counts once; before Linux 6.0 nothing says which those are.
    const uint64_t kilobytes = by_share != 0 ? by_share : by_mapping;
    return sizes.empty() ? kilobytes * 1024 : 0;
}

bool Child::wait(double seconds) {
    const auto start = std::chrono::steady_clock::now();
    while (!ended()) {
        if (interrupted) return false;
        if (seconds > 0 && std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds)) return false;
        usleep(10000);
    }
    return true;
}

void Child::stop() {
    const pid_t target = own_group_ ? -pid_ : pid_;
    for (int tries = 0; !ended(); ++tries) {
        if (tries == 0) kill(target, SIGTERM);
        if (tries == 200) kill(target, SIGKILL);
        usleep(10000);
    }
    // Whatever the child left behind in its group. Only once: the process id may be reused later.
    if (own_group_) kill(target, SIGKILL);
    own_group_ = false;
}

Captured capture(const std::vector<std::string>& argv, bool keep_err, double seconds) {
    int out[2], err[2];
    if (pipe2(out, O_CLOEXEC) != 0) throw EnvironmentError("cannot make a pipe");
    if (pipe2(err, O_CLOEXEC) != 0) throw EnvironmentError("cannot make a pipe");
    Command command;
    command.argv = argv;
    command.out = out[1];
    command.err = keep_err ? err[1] : Command::kInherit;
    Child child(command);
    close(out[1]);
    close(err[1]);
    Captured result;
    const auto start = std::chrono::steady_clock::now();
    pollfd wait_for[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    while (wait_for[0].fd >= 0 || wait_for[1].fd >= 0) {
        result.timed_out = seconds > 0 && std::chrono::steady_clock::now() - start > std::chrono::duration<double>(seconds);
        if (interrupted || result.timed_out) break;
        if (poll(wait_for, 2, 100) <= 0) continue;
        for (int i = 0; i < 2; ++i) {
            if (!wait_for[i].revents) continue;
            char chunk[65536];
            const ssize_t got = read(wait_for[i].fd, chunk, sizeof chunk);
            if (got > 0)
                (i ? result.err : result.out).append(chunk, static_cast<size_t>(got));
            else
                wait_for[i].fd = -1;
        }
    }
    close(out[0]);
    close(err[0]);
    if (!interrupted && !result.timed_out) child.wait();
    child.stop();
    result.status = child.status();
    result.peak_bytes = child.peak_bytes();
    return result;
}

std::pair<int, int> stream_pair() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) throw EnvironmentError("cannot make a socket pair");
    return {ends[0], ends[1]};
}

}  // namespace lyra::cli
