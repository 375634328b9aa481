// SPDX-License-Identifier: MIT
// What users do to the driver's scheduler, all at once for a while: queues come and go, processes are killed, stopped by a
// debugger and evicted, settings change, the GPU is reset. Every grid that no reset has ended has to be right; the kernel's log
// says the rest. usage: races SECONDS SEED WITH...      WITH: settings, kill, debug, evict, reset
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/counting.h"
#include "kfdtest-ports/guest/kfd/debug_session.h"
#include "kfdtest-ports/guest/kfd/driver_view.h"

using namespace lyra::guest;

namespace {

constexpr double kPatience = 120;
constexpr unsigned kWorkers = 3, kMostQueues = 4;
constexpr const char* kDebugged = "races.debugged";  ///< there while the debugged program is to go on
constexpr uint32_t kGroups = 7, kRounds = 500, kEndless = ~0u;
constexpr std::array<unsigned, 3> kPriorities = {2, AqlQueue::kNormalPriority, 15};

enum What : unsigned { Grids, Lost, Killed, Settings, Suspended, Evicted, Reset, kWhats };
constexpr std::array<const char*, kWhats> kNames = {"grids",     "lost to a reset", "killed", "settings",
                                                    "suspended", "evicted",         "resets"};

struct Shared {
    std::array<std::atomic<uint64_t>, kWhats> count;
    std::atomic<uint64_t> reset_steps;  ///< one when a reset begins, one when it has ended
};
Shared* shared = nullptr;

/// Whether there has been a reset since then, or was one.
class ResetWatch {
public:
    bool saw() const { return steps_ % 2 != 0 || shared->reset_steps != steps_; }

private:
    uint64_t steps_ = shared->reset_steps;
};

class Random {
public:
    explicit Random(unsigned seed) : engine_(seed) {}
    unsigned below(unsigned n) { return static_cast<unsigned>(engine_() % n); }
    template <class List>
    auto& of(List& list) {
        return list[below(static_cast<unsigned>(list.size()))];
    }

private:
    std::mt19937 engine_;
};

/// Some queues with grids, for some milliseconds. @return false: a grid has not ended or is wrong, and no reset was the reason
bool use_queues(Random& random, unsigned most_ms) {
    const ResetWatch resets;
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    std::vector<std::unique_ptr<AqlQueue>> queues;
    std::vector<std::unique_ptr<Counting>> grids;
    for (unsigned n = 1 + random.below(kMostQueues); n != 0; --n) {
        queues.push_back(std::make_unique<AqlQueue>(gpu, 64, random.of(kPriorities)));
        grids.push_back(std::make_unique<Counting>(gpu, kGroups, kEndless, kRounds, random.below(1000)));
        grids.back()->start(*queues.back(), code);
        sleep_ms(random.below(most_ms / 4));
        if (random.below(3) != 0) continue;
        queues.back()->update(0);
        sleep_ms(random.below(most_ms / 8));
        queues.back()->update(100);
    }
    sleep_ms(random.below(most_ms));
    for (const auto& grid : grids) grid->stop();
    for (size_t n = 0; n < queues.size(); ++n) {
        const bool good = wait_for(kPatience, [&] { return resets.saw() || grids[n]->done(*queues[n]); }) && grids[n]->right();
        if (!good && !resets.saw()) {
            std::printf("queue %u of %zu: progress %u\n%s%s", static_cast<unsigned>(n), queues.size(), grids[n]->progress(),
                        read_file("/sys/kernel/debug/kfd/sched").c_str(), read_file("/sys/kernel/debug/kfd/rls").c_str());
            std::fflush(stdout);
            return false;
        }
        ++shared->count[good ? Grids : Lost];
    }
    return true;
}

/// A process of its own does that. @param kill_ms  it is killed then, whatever it does; 0: never
bool in_a_process(Random& random, unsigned most_ms, unsigned kill_ms) {
    const unsigned seed = random.below(~0u);
    const ResetWatch resets;
    const pid_t child = fork_child();
    if (child == 0) {
        Random own(seed);
        std::_Exit(use_queues(own, most_ms) ? 0 : 1);
    }
    if (kill_ms != 0) {
        sleep_ms(kill_ms);
        kill(child, SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    // A reset may also make calls of the process fail.
    return kill_ms != 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 0) || resets.saw();
}

void write_setting(const std::string& folder, const char* name, const char* value) {
    const int file = open((folder + name).c_str(), O_WRONLY);
    require(file >= 0, folder + name);
    if (write(file, value, std::strlen(value)) >= 0) ++shared->count[Settings];
    close(file);
}

void change_settings(Random& random, const std::string& folder) {
    struct Setting {
        const char* name;
        std::vector<const char*> values;
    };
    static const std::array<Setting, 6> settings = {{{"policy", {"none", "fixed", "ageing", "edf", "share", "quantum"}},
                                                     {"unmap", {"all", "process", "queue", "static"}},
                                                     {"detection", {"poll", "adaptive", "notify"}},
                                                     {"period_us", {"500", "2000", "10000"}},
                                                     {"starvation_us", {"0", "5000", "50000"}},
                                                     {"inherit", {"0", "1"}}}};
    const Setting& setting = random.of(settings);
    write_setting(folder, setting.name, random.of(setting.values));
    sleep_ms(random.below(100));
}

/// The program that is debugged, with its own runtime information.
int debugged(unsigned seed) {
    Gpu gpu;
    kfd_ioctl_runtime_enable_args runtime{};
    runtime.mode_mask = KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK;
    require(gpu.call(AMDKFD_IOC_RUNTIME_ENABLE, &runtime) == 0, "RUNTIME_ENABLE");
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu, 64, kPriorities[seed % kPriorities.size()]);
    Counting grid(gpu, kGroups, kEndless, kRounds, 1);
    grid.start(queue, code);
    while (access(kDebugged, F_OK) == 0) sleep_ms(20);
    grid.stop();
    return wait_for(60, [&] { return grid.done(queue); }) && grid.right() ? 0 : 1;
}

bool debug_one(Random& random, char* program) {
    std::string seed = std::to_string(random.below(100));
    char mode[] = "debugged";
    char* arguments[] = {program, mode, seed.data(), nullptr};
    close(creat(kDebugged, 0600));
    DebugSession session(arguments);
    for (unsigned turns = 1 + random.below(10); turns != 0 && session.serve(20 + random.below(100)); --turns) {
        std::vector<uint32_t> ids;
        for (const kfd_queue_snapshot_entry& entry : session.queues()) ids.push_back(entry.queue_id);
        if (ids.empty()) continue;
        session.suspend(ids);
        ++shared->count[Suspended];
        session.serve(random.below(50));
        session.resume(ids);
    }
    unlink(kDebugged);
    return session.finish() == 0;
}

/// A process of its own debugs one that it starts.
bool debug(Random& random, char* program) {
    const ResetWatch resets;
    const unsigned seed_of_it = random.below(~0u);
    const pid_t child = fork_child();
    if (child == 0) {
        Random own(seed_of_it);
        std::_Exit(debug_one(own, program) ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || resets.saw();
}

void evict(Random& random, const std::string& file) {
    read_file(file);
    ++shared->count[Evicted];
    sleep_ms(200 + random.below(1000));
}

void reset(Random& random, const std::string& file) {
    ++shared->reset_steps;
    read_file(file);
    ++shared->reset_steps;
    ++shared->count[Reset];
    sleep_ms(3000 + random.below(5000));
}

/// A process that does something again and again. @return its id
template <class Turn>
pid_t repeat(double end, unsigned seed, Turn turn) {
    const pid_t child = fork_child();
    if (child != 0) return child;
    Random random(seed);
    while (now_s() < end) {
        if (!turn(random)) std::_Exit(1);
    }
    std::_Exit(0);
}

}  // namespace

int main(int count, char** arguments) {
    if (count == 3 && std::string(arguments[1]) == "debugged") return debugged(static_cast<unsigned>(std::atoi(arguments[2])));
    if (count < 3) fail("usage: races SECONDS SEED [settings|kill|debug|evict|reset]...");
    const double end = now_s() + std::atof(arguments[1]);
    auto seed = static_cast<unsigned>(std::atoi(arguments[2]));
    const auto with = [&](const char* what) {
        return std::any_of(arguments + 3, arguments + count, [&](const char* word) { return std::strcmp(word, what) == 0; });
    };
    void* at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(at != MAP_FAILED, "mmap");
    shared = new (at) Shared{};
    slots();  // mounts debugfs

    std::vector<std::pair<const char*, pid_t>> children;
    const auto add = [&](const char* name, auto turn) { children.emplace_back(name, repeat(end, ++seed, turn)); };
    for (unsigned n = 0; n < kWorkers; ++n) add("queues", [](Random& random) { return in_a_process(random, 400, 0); });
    if (with("kill"))
        add("kill", [](Random& random) {
            ++shared->count[Killed];
            return in_a_process(random, 400, 1 + random.below(500));
        });
    if (with("settings")) {
        const std::string file = find_below("/sys/class/drm/", "device/kfd_sched/policy");
        if (file.empty()) fail("the driver has no scheduler");
        add("settings", [folder = file.substr(0, file.rfind('/') + 1)](Random& random) {
            change_settings(random, folder);
            return true;
        });
    }
    if (with("debug")) add("debug", [program = arguments[0]](Random& random) { return debug(random, program); });
    for (const auto& [word, name] : {std::pair("evict", "amdgpu_evict_vram"), std::pair("reset", "amdgpu_gpu_recover")}) {
        if (!with(word)) continue;
        const std::string file = debugfs_file(name);
        if (std::strcmp(word, "evict") == 0)
            add(word, [file](Random& random) { return evict(random, file), true; });
        else
            add(word, [file](Random& random) { return reset(random, file), true; });
    }
    bool good = true;
    for (const auto& [name, child] : children) {
        int status = 1;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        std::printf("%s has failed, status %x\n", name, static_cast<unsigned>(status));
        good = false;
    }
    for (unsigned n = 0; n < kWhats; ++n)
        std::printf("%s %llu\n", kNames[n], static_cast<unsigned long long>(shared->count[n].load()));
    if (!good) fail("failed");
    std::printf("races: PASSED\n");
    return 0;
}
