// SPDX-License-Identifier: MIT
// A client of an experiment that `lyra measure` runs in the guest: launches kernels as its arguments say, checks that each did all
// of its work once, and prints a line of JSON at the end.
//
//   client NAME=VALUE...     the names are those of Options; tools/lyra/measure.cpp writes them
//
// A latency-critical client makes a number of kernels and then the file stop=; the others go on until that file is there. Exit
// status 1: work was lost or done twice.
#include <hip/hip_runtime.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr unsigned kWave = 64;
/// All of a compute unit's LDS: a group that asks for it gets a unit only when nobody else has LDS there.
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

/// Waits without using anything, keeps registers alive over it, and counts itself in its group's and its wave's cell.
__global__ void work(unsigned sleeps, unsigned* waves_done, unsigned* sums) {
    extern __shared__ unsigned lds[];
    const unsigned wave = (blockIdx.x * blockDim.x + threadIdx.x) / kWave;
    unsigned value = threadIdx.x + wave;
    lds[threadIdx.x] = value;
    __syncthreads();
    for (unsigned n = 0; n < sleeps; ++n) {
        asm volatile("s_sleep 127" : "+v"(value) : : "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23");
        value = value * 1664525u + 1013904223u;
    }
    // The neighbour's word has to have survived, too.
    const unsigned other = lds[threadIdx.x ^ 1];
    atomicAdd(&sums[wave], value ^ other);
    if (threadIdx.x % kWave == 0) atomicAdd(&waves_done[wave], 1u);
}

unsigned expected_sum(unsigned group, unsigned group_size, unsigned wave_in_group, unsigned sleeps) {
    unsigned sum = 0;
    const unsigned wave = group * (group_size / kWave) + wave_in_group;
    for (unsigned lane = 0; lane < kWave; ++lane) {
        const unsigned thread = wave_in_group * kWave + lane;
        unsigned value = thread + wave;
        for (unsigned n = 0; n < sleeps; ++n) value = value * 1664525u + 1013904223u;
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
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr) != 0) {
    }
}

bool there(const std::string& path) {
    struct stat status {};
    return stat(path.c_str(), &status) == 0;
}

void make_file(const std::string& path) {
    if (FILE* file = std::fopen(path.c_str(), "w")) std::fclose(file);
}

class Client {
public:
    explicit Client(const Options& o)
        : sleeps_(static_cast<unsigned>(std::max(1.0, std::round(o.number("kernel_us", 100) * o.number("clock_mhz", 1500) / kSleepClocks)))),
          groups_(static_cast<unsigned>(o.number("groups", 1))),
          group_size_(static_cast<unsigned>(o.number("waves", 1)) * kWave),
          lds_(o.number("whole_lds", 0) != 0 ? kWholeLds : group_size_ * 4) {
        check(hipSetDeviceFlags(hipDeviceScheduleBlockingSync), "hipSetDeviceFlags");
        int least = 0, greatest = 0;
        check(hipDeviceGetStreamPriorityRange(&least, &greatest), "hipDeviceGetStreamPriorityRange");
        const std::string priority = o.text("priority", "normal");
        const int value = priority == "high" ? greatest : priority == "low" ? least : 0;
        check(hipStreamCreateWithPriority(&stream_, hipStreamNonBlocking, value), "hipStreamCreateWithPriority");
        const size_t waves = size_t{groups_} * group_size_ / kWave;
        check(hipHostMalloc(reinterpret_cast<void**>(&done_), waves * 4, 0), "hipHostMalloc");
        check(hipHostMalloc(reinterpret_cast<void**>(&sums_), waves * 4, 0), "hipHostMalloc");
        for (unsigned group = 0; group < groups_; ++group)
            for (unsigned wave = 0; wave < group_size_ / kWave; ++wave)
                expected_.push_back(expected_sum(group, group_size_, wave, sleeps_));
    }

    /// One kernel, from the doorbell to the host's knowing that it is done.
    void run() {
        for (size_t wave = 0; wave < expected_.size(); ++wave) done_[wave] = sums_[wave] = 0;
        const double start = now_us();
        work<<<groups_, group_size_, lds_, stream_>>>(sleeps_, done_, sums_);
        check(hipGetLastError(), "launch");
        check(hipStreamSynchronize(stream_), "hipStreamSynchronize");
        busy_us_ += now_us() - start;
        ++kernels_;
        for (size_t wave = 0; wave < expected_.size(); ++wave) lost_ += done_[wave] != 1 || sums_[wave] != expected_[wave];
    }

    uint64_t kernels() const { return kernels_; }
    uint64_t lost() const { return lost_; }
    double busy_us() const { return busy_us_; }
    unsigned sleeps() const { return sleeps_; }

private:
    unsigned sleeps_, groups_, group_size_, lds_;
    hipStream_t stream_ = nullptr;
    unsigned *done_ = nullptr, *sums_ = nullptr;
    std::vector<unsigned> expected_;
    uint64_t kernels_ = 0, lost_ = 0;
    double busy_us_ = 0;
};

/// When the next kernel comes: times from a seed, as other C++ libraries would give them too.
class Arrivals {
public:
    explicit Arrivals(const Options& o)
        : kind_(o.text("arrival", "closed")), period_us_(1e6 / std::max(o.number("rate_hz", 1), 1e-3)), random_(static_cast<uint64_t>(o.number("seed", 1))) {
        next_us_ = now_us() + uniform() * period_us_;
    }

    void wait() {
        if (kind_ == "closed") return;
        sleep_until(next_us_);
        next_us_ += kind_ == "poisson" ? -std::log(1 - uniform()) * period_us_ : period_us_;
    }

private:
    double uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

    std::string kind_;
    double period_us_;
    std::mt19937_64 random_;
    double next_us_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    Options options;
    for (int n = 1; n < argc; ++n) {
        const std::string word = argv[n];
        const size_t equals = word.find('=');
        if (equals == std::string::npos) {
            std::fprintf(stderr, "client: %s is not NAME=VALUE\n", argv[n]);
            return 2;
        }
        options.words[word.substr(0, equals)] = word.substr(equals + 1);
    }
    Client client(options);
    const auto warm_up = static_cast<uint64_t>(options.number("warm_up", 2));
    while (client.kernels() < warm_up) client.run();
    make_file(options.text("ready", "ready"));
    while (!there(options.text("start", "start"))) usleep(1000);

    const std::string stop = options.text("stop", "stop");
    const auto samples = static_cast<uint64_t>(options.number("samples", 0));
    Arrivals arrivals(options);
    const double start = now_us();
    const uint64_t before = client.kernels();
    while (samples != 0 ? client.kernels() - before < samples : !there(stop)) {
        arrivals.wait();
        client.run();
    }
    const double end = now_us();
    if (samples != 0) make_file(stop);
    std::printf("{\"client\":\"%s\",\"kernels\":%llu,\"lost_work\":%llu,\"seconds\":%.6f,\"sleeps\":%u}\n", options.text("name", "").c_str(),
                static_cast<unsigned long long>(client.kernels() - before), static_cast<unsigned long long>(client.lost()), (end - start) / 1e6,
                client.sleeps());
    return client.lost() != 0 ? 1 : 0;
}
