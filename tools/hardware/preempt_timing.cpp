// SPDX-License-Identifier: MIT
// Times what common/timing.def has to estimate, on a real GFX9 GPU: pre-emption of a queue and its return, by how many bytes
// its waves have; dispatch on an idle queue; the processor's accesses of the GPU. And probes what common/firmware.def assumes.
// On the thunk's interface, without root. docs/user/real_hardware.md says how to read the output.
//   c++ -std=c++17 -O2 -o preempt_timing preempt_timing.cpp -lhsakmt      (Debian: libhsakmt-dev)
#include <cinttypes>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bystander.h"
#include "mmio.h"
#include "output.h"
#include "thunk.h"
#include "victims.h"

using namespace timing;

namespace {

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

class Timing {
public:
    Timing(const Gpu& gpu, const Options& options) : gpu_(gpu), options_(options), random_(options.seed), clock_(gpu.node) {
        print_machine(gpu, options, clock_);
    }

    void idle_queue() {
        Queue queue(gpu_);
        preempt(queue, nullptr);
        print("idle_queue", nullptr);
    }

    void busy_queue(const Occupancy& o) {
        Victims victims(gpu_, clock_, o, kGapNs);
        preempt(victims.queue(), &victims);
        victims.end();
        print("preempt", &o);
    }

    /// The driver answers when the fence of QUERY_STATUS is there: no wave may run after that.
    void fence_order() const {
        std::printf("{\"record\":\"fence_order\",\"waves_seen\":%u,\"late_waves\":%u,\"clock_error_us\":%.2f", waves_seen_,
                    late_waves_, largest_error_ns_ / 1000);
        if (waves_seen_ != 0) std::printf(",\"latest_us\":%.2f", latest_ns_ / 1000);
        std::printf("}\n");
        std::fflush(stdout);
    }

    void mmio() { MmioProbe(gpu_, options_).run(); }

    void bystander() {
        BystanderProbe probe(gpu_, options_, clock_);
        probe.update();
        probe.scheduler();
    }

    void dispatch() {
        Queue queue(gpu_);
        const uint8_t* kernel = load_kernel(stamp, 32);
        auto* arguments = static_cast<uint8_t*>(allocate(kPage));
        uint8_t* stamped = arguments + kPage / 2;
        store<uint64_t>(arguments, reinterpret_cast<uint64_t>(stamped));
        reset({"first_wave_us", "first_store_seen_us", "signal_seen_us"});
        for (unsigned n = 0; n < options_.repeat; ++n) {
            store<uint64_t>(stamped, 0);
            if (n % 100 == 0) clock_.update();
            wait_at_random();
            int64_t seen = 0;
            const int64_t rung = queue.dispatch(kernel, 1, 64, 0, arguments);
            const auto ended = [&] {
                if (seen == 0 && load<uint64_t>(stamped) != 0) seen = now_ns();
                return queue.done();
            };
            if (!spin(10, ended)) fail(1, "a dispatch on an idle queue does not end");
            const int64_t signal = now_ns();
            add(0, clock_.ns(load<uint64_t>(stamped)) - static_cast<double>(rung));
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
    static constexpr double kGapNs = 50'000, kSlackNs = 50'000;  ///< kSlackNs: error of the clocks' comparison

    void reset(std::initializer_list<const char*> names) {
        series_.clear();
        for (const char* name : names) series_.push_back({name});
        incomplete_ = 0;
    }
    void add(size_t n, double ns) { series_[n].add_us(ns); }
    void wait_at_random() { usleep(static_cast<useconds_t>(100 + random_() % 1000)); }

    void preempt(Queue& queue, Victims* victims) {
        reset({"update_0_us", "update_100_us", "last_wave_stopped_us", "first_wave_back_us", "last_wave_back_us"});
        for (unsigned n = 0; n < options_.repeat; ++n) {
            if (n % 100 == 0) clock_.update();
            wait_at_random();
            if (victims != nullptr) victims->new_epoch();
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
            if (victims == nullptr) continue;
            look_at_waves(*victims, t0, t2);
            look_for_late_waves(*victims, t1, t2);
        }
    }

    /// A wave that has had a gap until after the queue was given back: it cannot have begun after that.
    static bool is_the_gap(const Gap& gap, int64_t t2, double error) {
        return gap.after >= static_cast<double>(t2) - error && gap.before <= static_cast<double>(t2) + error;
    }

    /// The gap of each wave has to last until the queue was given back.
    void look_at_waves(const Victims& victims, int64_t t0, int64_t t2) {
        double stopped = -1e18, first_back = 1e18, last_back = -1e18;
        unsigned n = 0;
        const auto all_back = [&] {
            for (; n < victims.waves(); ++n) {
                const Gap gap = victims.gap(n);
                if (!is_the_gap(gap, t2, kSlackNs)) return false;
                stopped = std::max(stopped, gap.before);
                first_back = std::min(first_back, gap.after);
                last_back = std::max(last_back, gap.after);
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

    /// @param t1  when the call had returned that took the queue off
    void look_for_late_waves(const Victims& victims, int64_t t1, int64_t t2) {
        const double error = clock_.error_ns(t1);
        largest_error_ns_ = std::max(largest_error_ns_, error);
        for (unsigned n = 0; n < victims.waves(); ++n) {
            const Gap gap = victims.gap(n);
            if (!is_the_gap(gap, t2, -error)) continue;
            const double late = gap.before - static_cast<double>(t1);
            latest_ns_ = std::max(latest_ns_, late);
            late_waves_ += late > error;
            ++waves_seen_;
        }
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
            if (!series_[2].values.empty()) stops_.emplace_back(static_cast<double>(bytes), series_[2].at(0.5));
        } else {
            for (Series& s : series_) {
                if (!s.values.empty()) s.print(options_.samples);
            }
        }
        std::printf("}\n");
        std::fflush(stdout);
    }

    const Gpu& gpu_;
    const Options& options_;
    std::mt19937 random_;
    GpuClock clock_;
    unsigned incomplete_ = 0, waves_seen_ = 0, late_waves_ = 0;
    double latest_ns_ = -1e18, largest_error_ns_ = 0;
    std::vector<Series> series_;
    std::vector<std::pair<double, double>> calls_, stops_;  ///< context bytes, median in us
};

constexpr const char* kUsage =
    "usage: preempt_timing [--repeat N] [--seed N] [--hold-us N] [--node N] [--quick] [--samples]\n"
    "  --repeat N    pre-emptions for each occupancy, and dispatches (1000)\n"
    "  --seed N      of the random phases (1)\n"
    "  --hold-us N   how long the queue stays off the GPU (300)\n"
    "  --node N      KFD node of the GPU (the first gfx900, gfx906 or gfx908)\n"
    "  --quick       two occupancies, 20 pre-emptions each; 20 of everything else\n"
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
    timing.fence_order();
    timing.dispatch();
    timing.mmio();
    timing.bystander();
    return 0;
}
