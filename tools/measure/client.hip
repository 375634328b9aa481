// SPDX-License-Identifier: MIT
// A client of experiments that `lyra measure` runs in the guest: launches kernels as its arguments say, checks that each did
// all of its work once, and prints a line of JSON after each experiment.
//
//   client NAME=VALUE... [/ NAME=VALUE... ...]    clients of one process, a thread and a stream each; the names are those of
//                                                 Options
//
// A client runs its warm-up, makes the file ready=, and waits for the file start=. A latency-critical one makes a number of
// kernels and then the file stop=; the others go on until that file is there. With halt each client ends after its kernel. Exit
// status 1: work was lost or done twice.
//
// With experiment=FILE (tools/lyra/results/measure_job.cpp) a client makes its queue and then waits for the file warm.ID; FILE
// has more words, and the files are start and stop. Then up.ID, which says that the queue is there, ready.ID, done.ID, and
// stuck, when no client of the process has finished a kernel for as long as watch_ms= says, are lines that it writes to the
// pipe `events`: who waits for them needs no time of the processor.
#include <fcntl.h>
#include <hip/hip_runtime.h>
#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr unsigned kWave = 64;
/// All of a compute unit's LDS: a group that asks for it gets a unit only when no other group has LDS there.
constexpr unsigned kWholeLds = 65536;
constexpr unsigned kSleepClocks = 127 * 64;  // s_sleep 127

void check(hipError_t error, const char* what) {
    if (error == hipSuccess) return;
    std::fprintf(stderr, "client: %s: %s\n", what, hipGetErrorString(error));
    std::_Exit(2);
}

struct Options {
    std::map<std::string, std::string> words;

    std::string text(const char* name, const char* otherwise) const {
        const auto it = words.find(name);
        return it == words.end() ? otherwise : it->second;
    }
    double number(const char* name, double otherwise) const {
        const auto it = words.find(name);
        return it == words.end() ? otherwise : std::atof(it->second.c_str());
    }
};

/// A grid of so many empty work-groups, which no experiment has, tells the reader of the device's events that one begins or
/// ends.
constexpr unsigned kMarkGroups = 4099;
/// One of so many tells whose queue it is; the runtime has others. It is the first of a client in an experiment.
constexpr unsigned kClientGroups = 4098;

constexpr unsigned kStep = 1664525, kAdd = 1013904223;
/// Registers that a wave has whatever it does: 24.
#define LYRA_HOLD(value) asm volatile("" : "+v"(value) : : "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23")

__device__ void count(unsigned wave, unsigned value, unsigned* waves_done, unsigned* sums) {
    atomicAdd(&sums[wave], value);
    if (threadIdx.x % kWave == 0) atomicAdd(&waves_done[wave], 1u);
}

/// Waits without using anything, and counts itself in its group's and its wave's cell. One wave of each group sleeps, the
/// others wait for it at a barrier: they are as much to save, and cost an emulator nothing meanwhile.
__global__ void work(unsigned sleeps, unsigned* waves_done, unsigned* sums) {
    extern __shared__ unsigned lds[];
    const unsigned wave = (blockIdx.x * blockDim.x + threadIdx.x) / kWave;
    unsigned value = threadIdx.x + wave;
    lds[threadIdx.x] = value;
    __syncthreads();
    if (threadIdx.x < kWave) {
        for (unsigned n = 0; n < sleeps; ++n) {
            asm volatile("s_sleep 127" : "+v"(value) : : "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23");
            value = value * kStep + kAdd;
        }
    }
    __syncthreads();
    // The neighbour's word has to have survived, too.
    count(wave, value ^ lds[threadIdx.x ^ 1], waves_done, sums);
}

/// What a lane finds in its 16 bytes of each KiB of the data, as one number.
__host__ __device__ unsigned of_lane(unsigned lane) { return (lane + 1) + 3 * (lane ^ 5) + 5 * (2 * lane) + 7 * (lane * lane); }
__global__ void fill(uint4* data) {
    const unsigned at = blockIdx.x * blockDim.x + threadIdx.x, lane = at % kWave;
    data[at] = make_uint4(lane + 1, lane ^ 5, 2 * lane, lane * lane);
}

/// As work(), but all waves load, a KiB a round. @param data  of 1 << kib KiB
__global__ void load(unsigned rounds, const uint4* data, unsigned kib, unsigned* waves_done, unsigned* sums) {
    extern __shared__ unsigned lds[];
    const unsigned wave = (blockIdx.x * blockDim.x + threadIdx.x) / kWave, lane = threadIdx.x % kWave;
    unsigned value = threadIdx.x + wave;
    lds[threadIdx.x] = value;
    __syncthreads();
    for (unsigned n = 0; n < rounds; ++n) {
        const uint4 each = data[((wave * 61 + n) & ((1u << kib) - 1)) * kWave + lane];
        value += each.x + 3 * each.y + 5 * each.z + 7 * each.w;
        LYRA_HOLD(value);
    }
    __syncthreads();
    count(wave, value ^ lds[threadIdx.x ^ 1], waves_done, sums);
}

/// As work(), but all waves write a word of LDS and read it again, round by round.
__global__ void local(unsigned rounds, unsigned* waves_done, unsigned* sums) {
    extern __shared__ unsigned lds[];
    const unsigned wave = (blockIdx.x * blockDim.x + threadIdx.x) / kWave;
    // Said to be LDS: a volatile access by way of a generic pointer is a flat one.
    auto* own = (volatile unsigned __attribute__((address_space(3)))*)(lds + threadIdx.x);
    unsigned value = threadIdx.x + wave;
    const auto round = [&] {
        *own = value;
        value = *own * kStep + kAdd;
        LYRA_HOLD(value);
    };
    constexpr unsigned kUnrolled = 8;
    unsigned n = 0;
    for (; n + kUnrolled <= rounds; n += kUnrolled) {
#pragma unroll
        for (unsigned k = 0; k < kUnrolled; ++k) round();
    }
    for (; n < rounds; ++n) round();
    *own = threadIdx.x + wave;
    __syncthreads();
    count(wave, value ^ lds[threadIdx.x ^ 1], waves_done, sums);
}

enum class Kind { Sleep, Stream, Lds };

/// So many times value * kStep + kAdd, as one such step.
struct Steps {
    explicit Steps(unsigned rounds) {
        for (unsigned n = 0; n < rounds; ++n) {
            step *= kStep;
            add = add * kStep + kAdd;
        }
    }
    unsigned step = 1, add = 0;
};

/// Of a wave whose lanes did so many rounds.
unsigned expected_sum(Kind kind, unsigned group, unsigned group_size, unsigned wave_in_group, unsigned rounds,
                      const Steps& steps) {
    const bool stepped = kind == Kind::Lds || (kind == Kind::Sleep && wave_in_group == 0);
    unsigned sum = 0;
    const unsigned wave = group * (group_size / kWave) + wave_in_group;
    for (unsigned lane = 0; lane < kWave; ++lane) {
        const unsigned thread = wave_in_group * kWave + lane;
        unsigned value = thread + wave;
        if (stepped) value = value * steps.step + steps.add;
        if (kind == Kind::Stream) value += rounds * of_lane(lane);
        sum += value ^ ((thread ^ 1) + wave);
    }
    return sum;
}

double now_us() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

void sleep_until(double us) {
    timespec t{};
    t.tv_sec = static_cast<time_t>(us / 1e6);
    t.tv_nsec = static_cast<long>((us - static_cast<double>(t.tv_sec) * 1e6) * 1e3);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {}
}

bool there(const std::string& path) {
    struct stat status{};
    return stat(path.c_str(), &status) == 0;
}

void make_file(const std::string& path) {
    if (FILE* file = std::fopen(path.c_str(), "w")) std::fclose(file);
}

void tell(const std::string& event) {
    const int pipe = open("events", O_WRONLY);
    const std::string line = event + "\n";
    if (pipe < 0 || write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
        std::fprintf(stderr, "client: cannot tell %s\n", event.c_str());
    if (pipe >= 0) close(pipe);
}

__global__ void empty() {}

/// What stays from experiment to experiment: the queue.
class Stream {
public:
    explicit Stream(const Options& o) {
        check(hipSetDeviceFlags(hipDeviceScheduleBlockingSync), "hipSetDeviceFlags");
        int least = 0, greatest = 0;
        check(hipDeviceGetStreamPriorityRange(&least, &greatest), "hipDeviceGetStreamPriorityRange");
        const std::string priority = o.text("priority", "normal");
        const int value = priority == "high" ? greatest : priority == "low" ? least : 0;
        if (const auto mask = static_cast<uint64_t>(o.number("cu_mask", 0))) {
            // Such a stream has no priority of its own.
            const uint32_t words[] = {static_cast<uint32_t>(mask), static_cast<uint32_t>(mask >> 32)};
            check(hipExtStreamCreateWithCUMask(&stream_, 2, words), "hipExtStreamCreateWithCUMask");
        } else {
            check(hipStreamCreateWithPriority(&stream_, hipStreamNonBlocking, value), "hipStreamCreateWithPriority");
        }
        if (const auto groups = static_cast<unsigned>(o.number("idle_groups", 0))) add_idle_queue(greatest, groups);
    }

    hipStream_t get() const { return stream_; }

    void mark_experiment() {
        empty<<<kMarkGroups, kWave, 0, stream_>>>();
        check(hipGetLastError(), "launch");
        check(hipStreamSynchronize(stream_), "hipStreamSynchronize");
    }

private:
    /// A queue of the highest priority that has nothing to do after one empty kernel.
    static void add_idle_queue(int priority, unsigned groups) {
        hipStream_t stream = nullptr;
        check(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority), "hipStreamCreateWithPriority");
        empty<<<groups, kWave, 0, stream>>>();
        check(hipGetLastError(), "launch");
        check(hipStreamSynchronize(stream), "hipStreamSynchronize");
    }

    hipStream_t stream_ = nullptr;
};

/// Memory of the GPU that the host reads; freed with the experiment.
class Counters {
public:
    explicit Counters(size_t count) { check(hipHostMalloc(reinterpret_cast<void**>(&words_), count * 4, 0), "hipHostMalloc"); }
    ~Counters() { check(hipHostFree(words_), "hipHostFree"); }
    Counters(const Counters&) = delete;
    Counters& operator=(const Counters&) = delete;

    unsigned* get() const { return words_; }
    unsigned& operator[](size_t n) { return words_[n]; }

private:
    unsigned* words_ = nullptr;
};

/// What clients of one process know of each other's kernels.
class Link {
public:
    Link() { check(hipEventCreateWithFlags(&event_, hipEventDisableTiming), "hipEventCreate"); }

    /// After the launch of a kernel in the stream.
    void launched(hipStream_t stream) {
        const std::lock_guard lock(mutex_);
        check(hipEventRecord(event_, stream), "hipEventRecord");
        running_ = true;
        changed_.notify_all();
    }
    void done() {
        const std::lock_guard lock(mutex_);
        running_ = false;
        ++kernels_;
        changed_.notify_all();
    }
    uint64_t kernels() {
        const std::lock_guard lock(mutex_);
        return kernels_;
    }

    /// What comes into the stream waits for the present kernel, or the next one. @return false: ended before there was one
    template <class Ended>
    bool let_wait(hipStream_t stream, Ended ended) {
        std::unique_lock lock(mutex_);
        while (!running_) {
            if (ended()) return false;
            changed_.wait_for(lock, std::chrono::milliseconds(1));
        }
        check(hipStreamWaitEvent(stream, event_, 0), "hipStreamWaitEvent");
        return true;
    }
    /// Until another kernel than the so-many-th is done. @return false: ended before
    template <class Ended>
    bool wait_for_next(uint64_t& seen, Ended ended) {
        std::unique_lock lock(mutex_);
        while (kernels_ == seen) {
            if (ended()) return false;
            changed_.wait_for(lock, std::chrono::milliseconds(1));
        }
        ++seen;
        return true;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    hipEvent_t event_ = nullptr;
    bool running_ = false;
    uint64_t kernels_ = 0;
};

using Links = std::map<std::string, Link>;  ///< by the client's ID; all are made before the first thread

Link* link_of(Links& links, const std::string& id) {
    const auto it = links.find(id);
    return it == links.end() ? nullptr : &it->second;
}

class Client {
public:
    Client(const Options& o, hipStream_t stream, Link* own)
        : sleeps_(static_cast<unsigned>(
              std::max(1.0, std::round(o.number("kernel_us", 100) * o.number("clock_mhz", 1500) / kSleepClocks)))),
          groups_(static_cast<unsigned>(o.number("groups", 1))),
          group_size_(static_cast<unsigned>(o.number("waves", 1)) * kWave),
          lds_(o.number("whole_lds", 0) != 0 ? kWholeLds
                                             : std::max(static_cast<unsigned>(o.number("lds", 0)), group_size_ * 4)),
          kind_(o.text("work", "sleep") == "stream" ? Kind::Stream
                : o.text("work", "sleep") == "lds"  ? Kind::Lds
                                                    : Kind::Sleep),
          rounds_(kind_ == Kind::Sleep ? sleeps_ : static_cast<unsigned>(o.number("rounds", 1))), stream_(stream), own_(own),
          done_(size_t{groups_} * group_size_ / kWave), sums_(size_t{groups_} * group_size_ / kWave) {
        const Steps steps(kind_ == Kind::Stream ? 0 : rounds_);
        for (unsigned group = 0; group < groups_; ++group)
            for (unsigned wave = 0; wave < group_size_ / kWave; ++wave)
                expected_.push_back(expected_sum(kind_, group, group_size_, wave, rounds_, steps));
        if (kind_ != Kind::Stream) {
            empty<<<kClientGroups, kWave, 0, stream_>>>();
            check(hipGetLastError(), "launch");
            check(hipStreamSynchronize(stream_), "hipStreamSynchronize");
            return;
        }
        check(hipMalloc(reinterpret_cast<void**>(&data_), size_t{1024} * kClientGroups), "hipMalloc");
        fill<<<kClientGroups, kWave, 0, stream_>>>(data_);
        check(hipGetLastError(), "launch");
        check(hipStreamSynchronize(stream_), "hipStreamSynchronize");
    }
    ~Client() {
        if (data_) check(hipFree(data_), "hipFree");
    }
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    /// One kernel, from the doorbell to the host's knowing that it is done.
    /// @return when the launch had returned, us
    double run() {
        for (size_t wave = 0; wave < expected_.size(); ++wave) done_[wave] = sums_[wave] = 0;
        if (kind_ == Kind::Stream)
            load<<<groups_, group_size_, lds_, stream_>>>(rounds_, data_, kKib, done_.get(), sums_.get());
        else if (kind_ == Kind::Lds)
            local<<<groups_, group_size_, lds_, stream_>>>(rounds_, done_.get(), sums_.get());
        else
            work<<<groups_, group_size_, lds_, stream_>>>(rounds_, done_.get(), sums_.get());
        check(hipGetLastError(), "launch");
        const double launched = now_us();
        if (own_) own_->launched(stream_);
        check(hipStreamSynchronize(stream_), "hipStreamSynchronize");
        if (own_) own_->done();
        ++kernels_;
        for (size_t wave = 0; wave < expected_.size(); ++wave) lost_ += done_[wave] != 1 || sums_[wave] != expected_[wave];
        return launched;
    }

    uint64_t kernels() const { return kernels_; }
    uint64_t lost() const { return lost_; }
    unsigned sleeps() const { return sleeps_; }

private:
    static constexpr unsigned kKib = 12;  ///< of the data, as a power of two: 4 MiB

    unsigned sleeps_, groups_, group_size_, lds_;
    Kind kind_;
    unsigned rounds_;
    uint4* data_ = nullptr;
    hipStream_t stream_;
    Link* own_;  ///< nullptr: not reported
    Counters done_, sums_;
    std::vector<unsigned> expected_;
    uint64_t kernels_ = 0, lost_ = 0;
};

/// Takes the queues of another process off the GPU, by KFD's interface for debuggers: what a program can do without a driver of
/// its own. @source Linux 6.12 include/uapi/linux/kfd_ioctl.h, KFD_IOC_DBG_TRAP_*
class Suspender {
public:
#ifdef AMDKFD_IOC_DBG_TRAP
    explicit Suspender(pid_t pid) : pid_(pid) {
        need(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0, "PTRACE_SEIZE");
        kfd_ = open("/dev/kfd", O_RDWR | O_CLOEXEC);
        int events[2];
        need(kfd_ >= 0 && pipe2(events, O_CLOEXEC) == 0, "/dev/kfd");
        events_ = events[0];
        kfd_ioctl_dbg_trap_args enable{};
        enable.enable.rinfo_ptr = reinterpret_cast<uint64_t>(&runtime_);
        enable.enable.rinfo_size = sizeof runtime_;
        enable.enable.dbg_fd = static_cast<uint32_t>(events[1]);
        need(call(KFD_IOC_DBG_TRAP_ENABLE, enable) == 0, "DBG_TRAP_ENABLE");
        close(events[1]);
        // A queue can be suspended when the debugger has seen that it is new.
        std::vector<kfd_queue_snapshot_entry> entries(64);
        kfd_ioctl_dbg_trap_args snapshot{};
        snapshot.queue_snapshot.exception_mask = KFD_EC_MASK(EC_QUEUE_NEW);
        snapshot.queue_snapshot.snapshot_buf_ptr = reinterpret_cast<uint64_t>(entries.data());
        snapshot.queue_snapshot.num_queues = static_cast<uint32_t>(entries.size());
        snapshot.queue_snapshot.entry_size = sizeof(kfd_queue_snapshot_entry);
        need(call(KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT, snapshot) == 0, "DBG_TRAP_GET_QUEUE_SNAPSHOT");
        for (size_t n = 0; n < std::min<size_t>(entries.size(), snapshot.queue_snapshot.num_queues); ++n)
            if (entries[n].queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL) ids_.push_back(entries[n].queue_id);
        need(!ids_.empty(), "queues to suspend");
    }
    ~Suspender() {
        kfd_ioctl_dbg_trap_args disable{};
        need(call(KFD_IOC_DBG_TRAP_DISABLE, disable) == 0, "DBG_TRAP_DISABLE");
        close(kfd_);
        close(events_);
    }

    void suspend() {
        std::vector<uint32_t> ids = ids_;
        kfd_ioctl_dbg_trap_args suspend{};
        suspend.suspend_queues.queue_array_ptr = reinterpret_cast<uint64_t>(ids.data());
        suspend.suspend_queues.num_queues = static_cast<uint32_t>(ids.size());
        need(call(KFD_IOC_DBG_TRAP_SUSPEND_QUEUES, suspend) == static_cast<int>(ids.size()), "DBG_TRAP_SUSPEND_QUEUES");
    }
    void resume() {
        std::vector<uint32_t> ids = ids_;
        kfd_ioctl_dbg_trap_args resume{};
        resume.resume_queues.queue_array_ptr = reinterpret_cast<uint64_t>(ids.data());
        resume.resume_queues.num_queues = static_cast<uint32_t>(ids.size());
        need(call(KFD_IOC_DBG_TRAP_RESUME_QUEUES, resume) == static_cast<int>(ids.size()), "DBG_TRAP_RESUME_QUEUES");
    }

private:
    int call(uint32_t operation, kfd_ioctl_dbg_trap_args& arguments) const {
        arguments.pid = static_cast<uint32_t>(pid_);
        arguments.op = operation;
        return ioctl(kfd_, AMDKFD_IOC_DBG_TRAP, &arguments);
    }
    static void need(bool well, const char* what) {
        if (well) return;
        std::fprintf(stderr, "client: %s: %m\n", what);
        std::_Exit(2);
    }

    pid_t pid_;
    int kfd_ = -1, events_ = -1;
    kfd_runtime_info runtime_{};
    std::vector<uint32_t> ids_;
#else
    explicit Suspender(pid_t) {
        std::fprintf(stderr, "client: these kernel headers have no interface for debuggers (KFD 1.13)\n");
        std::_Exit(2);
    }
    void suspend() {}
    void resume() {}
#endif
    Suspender(const Suspender&) = delete;
    Suspender& operator=(const Suspender&) = delete;
};

/// When the next kernel comes: times from a seed, as other C++ libraries would give them too.
class Arrivals {
public:
    Arrivals(const Options& o, Link* after)
        : kind_(o.text("arrival", "closed")), period_us_(period_us(o.number("rate_hz", 1))),
          burst_period_us_(period_us(o.number("burst_hz", 1))), burst_us_(o.number("burst_us", 1)),
          calm_us_(o.number("calm_us", 1)), random_(static_cast<uint64_t>(o.number("seed", 1))), after_(after) {
        start_us_ = now_us();
        next_us_ = start_us_ + uniform() * period_us_;
        phase_end_us_ = start_us_ + exponential(calm_us_);
        if (after_) seen_ = after_->kernels();
        if (kind_ == "trace") {
            FILE* file = std::fopen(o.text("trace", "").c_str(), "r");
            for (double us; file && std::fscanf(file, "%lf", &us) == 1;) trace_us_.push_back(us);
            if (file) std::fclose(file);
        }
    }

    /// @return false: no further kernel
    template <class Ended>
    bool wait(Ended ended) {
        if (kind_ == "closed") return true;
        if (kind_ == "dependent") {
            if (!after_ || !after_->wait_for_next(seen_, ended)) return false;
            due_us_ = now_us();
            return true;
        }
        if (kind_ == "trace") {
            if (at_ == trace_us_.size()) return false;
            due_us_ = start_us_ + trace_us_[at_++];
            sleep_until(due_us_);
            return true;
        }
        due_us_ = next_us_;
        sleep_until(due_us_);
        if (kind_ == "bursty")
            next_us_ = next_in_bursts(next_us_);
        else
            next_us_ += kind_ == "poisson" ? exponential(period_us_) : period_us_;
        return true;
    }

    /// When the kernel that wait() has waited for was to come; 0: a closed client's comes when it is launched.
    double due_us() const { return due_us_; }

private:
    static double period_us(double rate_hz) { return 1e6 / std::max(rate_hz, 1e-3); }
    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }
    double exponential(double mean) { return -std::log(1 - uniform()) * mean; }
    /// Poisson at the rate of the phase; at its end the draw is made anew.
    double next_in_bursts(double from) {
        for (;;) {
            const double next = from + exponential(bursting_ ? burst_period_us_ : period_us_);
            if (next < phase_end_us_) return next;
            from = phase_end_us_;
            bursting_ = !bursting_;
            phase_end_us_ += exponential(bursting_ ? burst_us_ : calm_us_);
        }
    }

    std::string kind_;
    double period_us_, burst_period_us_, burst_us_, calm_us_;
    std::mt19937_64 random_;
    Link* after_;
    double start_us_ = 0, next_us_ = 0, phase_end_us_ = 0, due_us_ = 0;
    bool bursting_ = false;
    uint64_t seen_ = 0;
    std::vector<double> trace_us_;
    size_t at_ = 0;
};

void wait_for(const std::string& path) {
    while (!there(path)) usleep(1000);
}

struct Files {
    std::string ready, start, stop, halt, done;
    bool pipe = false;  ///< for ready and done
};

using Suspenders = std::map<int, Suspender>;  ///< by the suspended client's ID; it stays traced until the end

/// The process of a client; each writes its own.
std::string pid_file(int id) { return "pid." + std::to_string(id); }
pid_t pid_of(int id) {
    int pid = 0;
    FILE* file = std::fopen(pid_file(id).c_str(), "r");
    if (!file || std::fscanf(file, "%d", &pid) != 1) std::fprintf(stderr, "client: client %d has no process\n", id);
    if (file) std::fclose(file);
    return pid;
}

std::atomic<uint64_t> kernels_of_all{0};  ///< what the watch looks at
std::atomic<bool> measuring{false};  ///< a client of the process has begun to
std::atomic<double> watch_ms{1000};

/// @return work that was lost
uint64_t experiment(const Options& options, Stream& stream, Links& links, Suspenders& suspenders, const Files& files) {
    if (options.number("marks", 0) != 0) stream.mark_experiment();
    Client client(options, stream.get(), options.number("awaited", 0) != 0 ? link_of(links, options.text("id", "")) : nullptr);
    const auto warm_up = static_cast<uint64_t>(options.number("warm_up", 2));
    while (client.kernels() < warm_up) client.run();
    files.pipe ? tell(files.ready) : make_file(files.ready);
    wait_for(files.start);

    measuring = true;
    const auto samples = static_cast<uint64_t>(options.number("samples", 0));
    const auto ended = [&] { return there(files.halt) || there(files.stop); };
    Link* const waits_for = link_of(links, options.text("waits_for", ""));
    Suspender* others = nullptr;
    if (const int of = static_cast<int>(options.number("suspends", -1)); of >= 0)
        others = &suspenders.try_emplace(of, pid_of(of)).first->second;
    Arrivals arrivals(options, link_of(links, options.text("after", "")));
    std::vector<double> late_us;  // of each sample: from its arrival until it was launched
    const double start = now_us();
    while (samples != 0 ? client.kernels() - warm_up < samples && !there(files.halt) : !ended()) {
        if (!arrivals.wait(ended)) break;
        if (waits_for && !waits_for->let_wait(stream.get(), ended)) break;
        if (others) others->suspend();
        const double launched = client.run();
        if (others) others->resume();
        if (samples != 0) late_us.push_back(arrivals.due_us() == 0 ? 0 : launched - arrivals.due_us());
        ++kernels_of_all;
    }
    const double end = now_us();
    if (samples != 0) make_file(files.stop);
    std::printf(
        "{\"id\":%llu,\"client\":\"%s\",\"kernels\":%llu,\"lost_work\":%llu,\"seconds\":%.6f,\"sleeps\":%u,\"late_us\":[",
        static_cast<unsigned long long>(options.number("id", 0)), options.text("name", "").c_str(),
        static_cast<unsigned long long>(client.kernels() - warm_up), static_cast<unsigned long long>(client.lost()),
        (end - start) / 1e6, client.sleeps());
    for (size_t n = 0; n < late_us.size(); ++n) std::printf(n == 0 ? "%.3f" : ",%.3f", late_us[n]);
    std::printf("]}\n");
    std::fflush(stdout);
    if (files.pipe) tell(files.done);
    return client.lost();
}

/// Words of a file, where there are no others of that name.
void add_words(Options& options, const std::string& path) {
    std::ifstream file(path);
    for (std::string word; file >> word;) {
        const size_t equals = word.find('=');
        if (equals != std::string::npos) options.words.emplace(word.substr(0, equals), word.substr(equals + 1));
    }
}

uint64_t run_client(Options options, Stream& stream, Links& links) {
    Suspenders suspenders;
    const std::string id = options.text("id", "0"), words = options.text("experiment", "");
    if (FILE* file = std::fopen(pid_file(std::atoi(id.c_str())).c_str(), "w")) {
        std::fprintf(file, "%d\n", getpid());
        std::fclose(file);
    }
    if (words.empty())
        return experiment(
            options, stream, links, suspenders,
            {options.text("ready", "ready"), options.text("start", "start"), options.text("stop", "stop"), "halt", "", false});
    tell("up." + id);
    wait_for("warm." + id);
    add_words(options, words);
    watch_ms = options.number("watch_ms", 1000);
    const uint64_t lost =
        experiment(options, stream, links, suspenders, {"ready." + id, "start", "stop", "halt", "done." + id, true});
    // The end is marked when no other client runs any more.
    if (options.number("marks", 0) != 0) {
        wait_for("end");
        stream.mark_experiment();
    }
    return lost;
}

/// Tells of an experiment in which nothing goes on any more.
void watch(const std::atomic<bool>& over) {
    uint64_t before = 0;
    double since = now_us();
    while (!over) {
        usleep(10'000);
        const uint64_t kernels = kernels_of_all;
        if (kernels != before || !measuring) {
            before = kernels;
            since = now_us();
        } else if (now_us() - since > watch_ms * 1000) {
            tell("stuck");
            since = now_us();
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<Options> clients(1);
    for (int n = 1; n < argc; ++n) {
        const std::string word = argv[n];
        const size_t equals = word.find('=');
        if (word == "/") {
            clients.emplace_back();
        } else if (equals == std::string::npos) {
            std::fprintf(stderr, "client: %s is not NAME=VALUE\n", argv[n]);
            return 2;
        } else {
            clients.back().words[word.substr(0, equals)] = word.substr(equals + 1);
        }
    }
    // Otherwise the kernel lets each sleep end with the next timer within 50 us, which is often the scheduler's: arrivals would
    // follow its polling. Threads inherit it.
    if (prctl(PR_SET_TIMERSLACK, 1ul) != 0) std::fprintf(stderr, "client: arrivals may be 50 us late\n");
    std::vector<Stream> streams;
    Links links;
    for (const Options& each : clients) {
        streams.emplace_back(each);
        if (each.number("awaited", 0) != 0) links[each.text("id", "")];
    }
    std::atomic<uint64_t> lost{0};
    if (clients.size() == 1) {
        lost = run_client(clients[0], streams[0], links);
    } else {
        std::atomic<bool> over{false};
        std::thread watcher([&] { watch(over); });
        std::vector<std::thread> threads;
        for (size_t n = 0; n < clients.size(); ++n)
            threads.emplace_back([&, n] { lost += run_client(clients[n], streams[n], links); });
        for (std::thread& thread : threads) thread.join();
        over = true;
        watcher.join();
    }
    return lost != 0 ? 1 : 0;
}
