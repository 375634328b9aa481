// SPDX-License-Identifier: MIT
// Times what common/timing.def has to estimate, on a real GFX9 GPU: pre-emption of a queue and its return, by how many bytes
// its waves have; dispatch on an idle queue. On the thunk's interface, without root. docs/user/real_hardware.md says how to
// read the output.
//   c++ -std=c++17 -O2 -o preempt_timing preempt_timing.cpp -lhsakmt      (Debian: libhsakmt-dev)
#include <algorithm>
#include <cinttypes>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "thunk.h"

using namespace timing;

namespace {

#include "kernels.inc"

struct Options {
    unsigned repeat = 1000, seed = 1, hold_us = 300;
    int node = -1;
    bool quick = false, samples = false;
};

// --- output ---

std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        if (c >= 0x20) out += c;
    }
    return out + '"';
}

std::string line_of(const char* path) {
    std::string line;
    std::getline(std::ifstream(path) >> std::ws, line);
    return line;
}

/// Microseconds of one thing, as often as it was seen.
struct Series {
    const char* name;
    std::vector<double> us;
    double at(double share) const {
        return us[std::min(us.size() - 1, static_cast<size_t>(share * static_cast<double>(us.size())))];
    }
    void print(bool samples) {
        if (samples) {
            std::printf(",\"%s_samples\":[", name);
            for (size_t n = 0; n < us.size(); ++n) std::printf("%s%.2f", n ? "," : "", us[n]);
            std::printf("]");
        }
        std::sort(us.begin(), us.end());
        if (us.empty()) return void(std::printf(",\"%s\":null", name));
        std::printf(",\"%s\":{\"n\":%zu,\"min\":%.2f,\"p50\":%.2f,\"p90\":%.2f,\"p99\":%.2f,\"max\":%.2f}", name, us.size(),
                    us.front(), at(0.5), at(0.9), at(0.99), us.back());
    }
};

void print_machine(const Gpu& gpu, const Options& options, const GpuClock& clock) {
    const HsaNodeProperties& p = gpu.properties;
    HsaVersionInfo version{};
    require(hsaKmtGetVersion(&version), "hsaKmtGetVersion");
    std::string name;
    for (const HSAuint16 c : p.MarketingName) name += c >= 0x80 ? '?' : static_cast<char>(c);
    std::printf(
        "{\"record\":\"machine\",\"gpu\":%s,\"chip\":\"gfx90%x\",\"device_id\":\"%04x\",\"cus\":%u,\"shader_engines\":%u,\"max_"
        "mhz\":%u,"
        "\"vram_bytes\":%" PRIu64
        ",\"mec_firmware\":%u,\"sdma_firmware\":%u,\"kfd_interface\":\"%u.%u\",\"kernel\":%s,"
        "\"amdgpu_module\":%s,\"gpu_clock_mhz\":%.3f,\"repeat\":%u,\"seed\":%u,\"hold_us\":%u}\n",
        quoted(name.c_str()).c_str(), gpu.stepping(), p.DeviceId, gpu.cus(), p.NumShaderBanks, p.MaxEngineClockMhzFCompute,
        static_cast<uint64_t>(p.LocalMemSize), p.EngineId.ui32.uCode, p.uCodeEngineVersions.uCodeSDMA,
        version.KernelInterfaceMajorVersion, version.KernelInterfaceMinorVersion,
        quoted(line_of("/proc/sys/kernel/osrelease")).c_str(), quoted(line_of("/sys/module/amdgpu/srcversion")).c_str(),
        1000 / clock.ns_per_tick(), options.repeat, options.seed, options.hold_us);
}

// --- what is measured ---

struct Occupancy {
    unsigned waves_per_cu, vgprs, lds_bytes_per_cu;
};
/// Equal bytes in few waves and in many, few and many bytes, with and without LDS. At most 32 waves a CU: 512 of a shader
/// engine of 16.
constexpr Occupancy kOccupancies[] = {{4, 32, 0},  {4, 128, 0}, {4, 256, 0}, {8, 32, 0},     {8, 128, 0},     {16, 32, 0},
                                      {16, 64, 0}, {32, 24, 0}, {32, 32, 0}, {4, 32, 65536}, {4, 256, 65536}, {32, 32, 65536}};
constexpr Occupancy kQuick[] = {{4, 32, 0}, {16, 64, 65536}};

/// What a trap handler stores: VGPRs, of gfx908 the accumulators too, 128 SGPRs, 32 hardware registers; LDS.
uint64_t context_bytes(const Gpu& gpu, const Occupancy& o) {
    const uint64_t vgpr_bytes = uint64_t{o.vgprs} * 64 * 4 * (gpu.stepping() == 8 ? 2 : 1);
    return gpu.cus() * (o.waves_per_cu * (vgpr_bytes + 128 * 4 + 32 * 4) + o.lds_bytes_per_cu);
}

struct Record {
    uint64_t before, after;
};

class Timing {
public:
    Timing(const Gpu& gpu, const Options& options) : gpu_(gpu), options_(options), random_(options.seed), clock_(gpu.node) {
        arguments_ = static_cast<uint8_t*>(allocate(kPage));
        control_ = static_cast<uint8_t*>(allocate(kPage));
        records_ = static_cast<Record*>(allocate(sizeof(Record) * 40 * gpu.cus()));
        print_machine(gpu, options, clock_);
    }

    void idle_queue() {
        Queue queue(gpu_);
        preempt(queue, 0);
        print("idle_queue", nullptr);
    }

    void busy_queue(const Occupancy& o) {
        Queue queue(gpu_);
        const unsigned waves = o.waves_per_cu * gpu_.cus(), groups = waves / kWavesPerGroup;
        const unsigned lds = o.lds_bytes_per_cu / (o.waves_per_cu / kWavesPerGroup);
        const uint8_t* kernel = load_kernel(victim, o.vgprs);
        std::memset(records_, 0, sizeof(Record) * waves);
        store<uint64_t>(control_, 0);
        epoch_ = 0;
        store<uint64_t>(arguments_, reinterpret_cast<uint64_t>(control_));
        store<uint64_t>(arguments_ + 8, reinterpret_cast<uint64_t>(records_));
        store<uint32_t>(arguments_ + 16, static_cast<uint32_t>(kGapNs / clock_.ns_per_tick()));
        store<uint32_t>(arguments_ + 20, kWavesPerGroup);
        queue.dispatch(kernel, groups, kWavesPerGroup * 64, lds, arguments_);
        const auto started = [&] {
            return std::all_of(records_, records_ + waves, [](const Record& r) { return load<uint64_t>(&r.before) != 0; });
        };
        if (!spin(30, started)) fail(1, "not all of %u waves have started", waves);
        preempt(queue, waves);
        store<uint32_t>(control_, 1);
        if (!spin(30, [&] { return queue.done(); })) fail(1, "the kernel has not ended: waves were lost");
        print("preempt", &o);
    }

    void dispatch() {
        Queue queue(gpu_);
        const uint8_t* kernel = load_kernel(stamp, 32);
        store<uint64_t>(arguments_, reinterpret_cast<uint64_t>(control_));
        reset({"first_wave_us", "first_store_seen_us", "signal_seen_us"});
        for (unsigned n = 0; n < options_.repeat; ++n) {
            store<uint64_t>(control_, 0);
            if (n % 100 == 0) clock_.update();
            wait_at_random();
            int64_t seen = 0;
            const int64_t rung = queue.dispatch(kernel, 1, 64, 0, arguments_);
            const auto ended = [&] {
                if (seen == 0 && load<uint64_t>(control_) != 0) seen = now_ns();
                return queue.done();
            };
            if (!spin(10, ended)) fail(1, "a dispatch on an idle queue does not end");
            const int64_t signal = now_ns();
            add(0, clock_.ns(load<uint64_t>(control_)) - static_cast<double>(rung));
            add(1, static_cast<double>((seen != 0 ? seen : signal) - rung));
            add(2, static_cast<double>(signal - rung));
        }
        print("dispatch", nullptr);
    }

    /// Least squares over the occupancies: time = fixed + bytes / speed.
    void fit() const {
        for (const auto& [name, points] : {std::pair{"update_0_us", &calls_}, std::pair{"last_wave_stopped_us", &stops_}}) {
            const double n = static_cast<double>(points->size());
            double x = 0, y = 0, xx = 0, xy = 0, yy = 0;
            for (const auto& [bytes, us] : *points) x += bytes / n, y += us / n;
            for (const auto& [bytes, us] : *points)
                xx += (bytes - x) * (bytes - x), xy += (bytes - x) * (us - y), yy += (us - y) * (us - y);
            if (points->size() < 3 || xx == 0 || yy == 0) continue;
            std::printf("{\"record\":\"fit\",\"of\":\"%s\",\"points\":%zu,\"fixed_us\":%.2f,\"mb_per_s\":%.0f,\"r2\":%.4f}\n",
                        name, points->size(), y - x * xy / xx, xx / xy, xy * xy / (xx * yy));
        }
    }

private:
    static constexpr unsigned kWavesPerGroup = 4;
    static constexpr double kGapNs = 50'000, kSlackNs = 50'000;  ///< kSlackNs: error of the clocks' comparison

    void reset(std::initializer_list<const char*> names) {
        series_.clear();
        for (const char* name : names) series_.push_back({name, {}});
        incomplete_ = 0;
    }
    void add(size_t n, double ns) { series_[n].us.push_back(ns / 1000); }
    void wait_at_random() { usleep(static_cast<useconds_t>(100 + random_() % 1000)); }

    void preempt(Queue& queue, unsigned waves) {
        reset({"update_0_us", "update_100_us", "last_wave_stopped_us", "first_wave_back_us", "last_wave_back_us"});
        for (unsigned n = 0; n < options_.repeat; ++n) {
            if (n % 100 == 0) clock_.update();
            wait_at_random();
            store<uint32_t>(control_ + 4, ++epoch_);
            usleep(static_cast<useconds_t>(10 + random_() % 100));
            const int64_t t0 = now_ns();
            queue.update(0);
            const int64_t t1 = now_ns();
            spin(options_.hold_us * 1e-6, [] { return false; });
            const int64_t t2 = now_ns();
            queue.update(100);
            const int64_t t3 = now_ns();
            add(0, static_cast<double>(t1 - t0));
            add(1, static_cast<double>(t3 - t2));
            if (waves != 0) look_at_waves(waves, t0, t1, t2);
        }
    }

    /// The gap of each wave has to span the time in which the queue was off.
    void look_at_waves(unsigned waves, int64_t t0, int64_t t1, int64_t t2) {
        double stopped = -1e18, first_back = 1e18, last_back = -1e18;
        unsigned n = 0;
        const auto all_back = [&] {
            for (; n < waves; ++n) {
                const double after = clock_.ns(load<uint64_t>(&records_[n].after));
                const double before = clock_.ns(load<uint64_t>(&records_[n].before));
                if (after < static_cast<double>(t2) - kSlackNs || before > static_cast<double>(t1) + kSlackNs) return false;
                stopped = std::max(stopped, before);
                first_back = std::min(first_back, after);
                last_back = std::max(last_back, after);
            }
            return true;
        };
        if (!spin(2, all_back)) {
            ++incomplete_;
            return;
        }
        add(2, stopped - static_cast<double>(t0));
        add(3, first_back - static_cast<double>(t2));
        add(4, last_back - static_cast<double>(t2));
    }

    void print(const char* record, const Occupancy* o) {
        std::printf("{\"record\":\"%s\"", record);
        if (o != nullptr) {
            const uint64_t bytes = context_bytes(gpu_, *o);
            std::printf(",\"waves_per_cu\":%u,\"vgprs\":%u,\"lds_bytes_per_cu\":%u,\"context_bytes\":%" PRIu64
                        ",\"incomplete\":%u",
                        o->waves_per_cu, o->vgprs, o->lds_bytes_per_cu, bytes, incomplete_);
            for (Series& s : series_) s.print(options_.samples);
            calls_.emplace_back(static_cast<double>(bytes), series_[0].at(0.5));
            if (!series_[2].us.empty()) stops_.emplace_back(static_cast<double>(bytes), series_[2].at(0.5));
        } else {
            for (Series& s : series_) {
                if (!s.us.empty()) s.print(options_.samples);
            }
        }
        std::printf("}\n");
        std::fflush(stdout);
    }

    const Gpu& gpu_;
    const Options& options_;
    std::mt19937 random_;
    GpuClock clock_;
    uint8_t *arguments_, *control_;
    Record* records_;
    uint32_t epoch_ = 0;
    unsigned incomplete_ = 0;
    std::vector<Series> series_;
    std::vector<std::pair<double, double>> calls_, stops_;  ///< context bytes, median in us
};

constexpr const char* kUsage =
    "usage: preempt_timing [--repeat N] [--seed N] [--hold-us N] [--node N] [--quick] [--samples]\n"
    "  --repeat N    pre-emptions for each occupancy, and dispatches (1000)\n"
    "  --seed N      of the random phases (1)\n"
    "  --hold-us N   how long the queue stays off the GPU (300)\n"
    "  --node N      KFD node of the GPU (the first gfx900, gfx906 or gfx908)\n"
    "  --quick       two occupancies, 20 pre-emptions each\n"
    "  --samples     every figure, not only percentiles\n";

Options parse(int count, char** words) {
    Options options;
    const auto number = [&](int& n, unsigned least, unsigned most) {
        char* end = nullptr;
        const unsigned long value = n + 1 < count ? std::strtoul(words[n + 1], &end, 10) : 0;
        if (end == nullptr || *end != 0 || value < least || value > most)
            fail(2, "%s needs a number from %u to %u", words[n], least, most);
        ++n;
        return static_cast<unsigned>(value);
    };
    for (int n = 1; n < count; ++n) {
        const std::string word = words[n];
        if (word == "--repeat")
            options.repeat = number(n, 1, 1'000'000);
        else if (word == "--seed")
            options.seed = number(n, 0, ~0u);
        else if (word == "--hold-us")
            options.hold_us = number(n, 200, 100'000);
        else if (word == "--node")
            options.node = static_cast<int>(number(n, 0, 1000));
        else if (word == "--quick")
            options.quick = true, options.repeat = 20;
        else if (word == "--samples")
            options.samples = true;
        else if (word == "--help")
            std::fputs(kUsage, stdout), std::exit(0);
        else
            std::fputs(kUsage, stderr), std::exit(2);
    }
    return options;
}

}  // namespace

int main(int count, char** words) {
    const Options options = parse(count, words);
    const Gpu gpu = find_gpu(options.node);
    Timing timing(gpu, options);
    timing.idle_queue();
    if (options.quick) {
        for (const Occupancy& o : kQuick) timing.busy_queue(o);
    } else {
        for (const Occupancy& o : kOccupancies) timing.busy_queue(o);
    }
    timing.fit();
    timing.dispatch();
    return 0;
}
