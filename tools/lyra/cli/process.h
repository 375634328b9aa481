// SPDX-License-Identifier: MIT
// Child processes that never outlive us.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace lyra::cli {

struct Command {
    std::vector<std::string> argv;
    std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours
    bool own_group = true;      ///< a process group of its own: Ctrl-C reaches us only, and we end it
    int in = -1, out = -1, err = -1;  ///< descriptors for 0, 1, 2; -1: 0 is /dev/null, 1 and 2 are ours; kInherit: ours
    std::vector<int> keep;      ///< further descriptors that stay open in the child, under the same number
    static constexpr int kInherit = -2;
};

class Child {
public:
    explicit Child(const Command& command);  ///< throws EnvironmentError
    ~Child() { stop(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    /// Has it ended? status() is valid then.
    bool ended();
    /// Exit status, or 128 + signal number.
    int status() const { return status_; }
    /// Memory that it has written, now, without the mappings of exactly these sizes, of which there has to be one each. Pages
    /// that are as their file has them do not count: they are the host's page cache, and all guests share them. 0: not known
    uint64_t dirty_bytes_beside(std::vector<uint64_t> sizes) const;
    /// Most memory that it had at a time; when it has ended.
    uint64_t peak_bytes() const { return peak_bytes_; }
    /// Wait to its end, or until `interrupted` is set, or for so many seconds (0: no limit).
    /// @return false: it still runs
    bool wait(double seconds = 0);
    /// End it: SIGTERM, two seconds later SIGKILL, to its whole group.
    void stop();

private:
    pid_t pid_ = -1;
    bool own_group_ = true;
    bool ended_ = false;
    int status_ = -1;
    uint64_t peak_bytes_ = 0;
};

struct Captured {
    int status = -1;
    bool timed_out = false;
    uint64_t peak_bytes = 0;  ///< most memory that it had at a time
    std::string out, err;
};

/// Run to the end and keep what it writes. err is kept only with keep_err, else it goes to our standard error.
Captured capture(const std::vector<std::string>& argv, bool keep_err, double seconds = 0);

/// A socket pair: first stays with us (closed in children), second is for the child.
std::pair<int, int> stream_pair();

}  // namespace lyra::cli
