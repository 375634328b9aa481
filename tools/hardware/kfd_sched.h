// SPDX-License-Identifier: MIT
// The settings of the patched driver's scheduler (kfd-patches). What is changed is set back, also when the program fails or is
// ended by a signal.
#pragma once

#include <array>
#include <csignal>
#include <string>

#include <fcntl.h>

#include "output.h"
#include "thunk.h"

namespace timing {

struct Setting {
    const char* name;
    int file = -1;
    char before[64] = {};
    size_t length = 0;
};
/// In the order in which they are set back: with the policy the driver returns the queues that it has taken off.
inline std::array<Setting, 3> changed_settings{{{"policy"}, {"unmap"}, {"starvation_us"}}};

/// Calls only what a signal handler may call.
inline void set_back() {
    for (Setting& setting : changed_settings) {
        if (setting.file < 0) continue;
        constexpr char kWhy[] = "preempt_timing: a setting of kfd_sched is not as it was before\n";
        const bool good = pwrite(setting.file, setting.before, setting.length, 0) == static_cast<ssize_t>(setting.length);
        if (!good && write(STDERR_FILENO, kWhy, sizeof kWhy - 1) < 0) continue;
        close(setting.file);
        setting.file = -1;
    }
}

inline void set_back_and_end(int number) {
    set_back();
    std::signal(number, SIG_DFL);
    std::raise(number);
}

class SchedulerSettings {
public:
    explicit SchedulerSettings(const Gpu& gpu)
        : folder_("/sys/class/drm/renderD" + std::to_string(gpu.properties.DrmRenderMinor) + "/device/kfd_sched/") {}

    /// @return why nothing can be changed; empty: it can
    std::string obstacle() const {
        if (access(folder_.c_str(), F_OK) != 0) return "the driver has no kfd_sched: it always unmaps all queues";
        for (const Setting& setting : changed_settings) {
            if (access((folder_ + setting.name).c_str(), W_OK) != 0) return "kfd_sched may be written by root only";
        }
        return "";
    }
    /// The word in brackets, where there are several; empty: no such setting.
    std::string value(const char* name) const {
        const std::string line = line_of(folder_ + name);
        const size_t begin = line.find('['), end = line.find(']');
        return end == std::string::npos ? line : line.substr(begin + 1, end - begin - 1);
    }
    /// Keeps what is set, to set it back.
    void keep() const {
        std::atexit(set_back);
        for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGABRT, SIGSEGV, SIGBUS}) {
            if (std::signal(number, set_back_and_end) == SIG_IGN) std::signal(number, SIG_IGN);
        }
        for (Setting& setting : changed_settings) {
            const std::string now = value(setting.name);
            setting.length = now.copy(setting.before, sizeof setting.before);
            setting.file = open((folder_ + setting.name).c_str(), O_WRONLY | O_CLOEXEC);
            if (setting.file < 0 || setting.length == 0) fail(1, "cannot open kfd_sched/%s", setting.name);
        }
    }
    void set(const char* name, const std::string& value) const {
        for (const Setting& setting : changed_settings) {
            if (std::string(name) != setting.name) continue;
            if (pwrite(setting.file, value.data(), value.size(), 0) != static_cast<ssize_t>(value.size()))
                fail(1, "kfd_sched/%s does not take \"%s\"", name, value.c_str());
        }
    }

private:
    std::string folder_;
};

}  // namespace timing
