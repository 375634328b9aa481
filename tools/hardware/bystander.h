// SPDX-License-Identifier: MIT
// What a queue loses while another one of its process is taken off the GPU and given back: by the call for it, which unmaps all
// queues, and by the patched driver's scheduler, which unmaps one.
#pragma once

#include <optional>
#include <random>

#include "kfd_sched.h"
#include "output.h"
#include "verdict.h"
#include "victims.h"

namespace timing {

/// A time in which no wave of a queue was on the GPU, by the host's clock.
struct Absence {
    double begin, longest;
};

/// @return what began in this time; nothing: some wave went on all the time, or is not back yet
inline std::optional<Absence> absence(const Victims& victims, double from, double to) {
    Absence out{1e18, 0};
    for (unsigned n = 0; n < victims.waves(); ++n) {
        const Gap gap = victims.gap(n);
        if (gap.after <= gap.before || gap.before < from || gap.before > to) return std::nullopt;
        out.begin = std::min(out.begin, gap.before);
        out.longest = std::max(out.longest, gap.after - gap.before);
    }
    return out;
}

class BystanderProbe {
public:
    BystanderProbe(const Gpu& gpu, const Options& options, GpuClock& clock)
        : gpu_(gpu), options_(options), repeat_(std::min(options.repeat, kMostRepeats)), random_(options.seed), clock_(clock) {}

    /// With the call that any program has. The stock driver unmaps all queues for it, and so does the patched one.
    void update() {
        Victims updated(gpu_, clock_, kOccupancy, kShortestNs), other(gpu_, clock_, kOccupancy, kShortestNs);
        Series gap_0{"bystander_gap_us"}, gap_100{"bystander_gap_100_us"};
        unsigned without_call = 0;
        for (unsigned n = 0; n < repeat_; ++n) {
            begin_sample(n);
            other.new_epoch();
            const int64_t quiet = now_ns();
            hold();
            without_call += absence(other, time_of(quiet), time_of(now_ns())).has_value();
            const auto change = [&](unsigned percent, Series& gaps) {
                other.new_epoch();
                const int64_t begin = now_ns();
                updated.queue().update(percent);
                const double from = time_of(begin) - error(), to = time_of(now_ns()) + error();
                std::optional<Absence> found;
                spin(kPatienceS, [&] { return (found = absence(other, from, to)).has_value(); });
                if (found) gaps.add_us(found->longest);
                hold();
            };
            change(0, gap_0);
            change(100, gap_100);
        }
        updated.end();
        other.end();
        std::printf(
            "{\"record\":\"bystander\",\"waves\":%u,\"samples\":%u,\"gaps_at_0\":%zu,\"gaps_at_100\":%zu,"
            "\"gaps_without_call\":%u",
            other.waves(), repeat_, gap_0.values.size(), gap_100.values.size(), without_call);
        finish({&gap_0, &gap_100});
    }

    /// With the patched driver's scheduler: it takes off the queue of the lower priority while the other one has work.
    void scheduler() {
        const SchedulerSettings settings(gpu_);
        const std::string why = settings.obstacle();
        if (!why.empty()) {
            for (const char* record : {kSelective, kOverLive}) not_probed(record, settings, why);
            return;
        }
        const std::string unmap = settings.value("unmap"), policy = settings.value("policy");
        Victims parked(gpu_, clock_, kOccupancy, kShortestNs, HSA_QUEUE_PRIORITY_MINIMUM),
            other(gpu_, clock_, kOccupancy, kShortestNs);
        parked.queue().wait_for_all();
        other.queue().wait_for_all();
        settings.keep();
        settings.set("policy", "none");
        settings.set("unmap", "queue");
        settings.set("starvation_us", "0");  // no turns: they would take the other queue off
        Switches seen;
        for (unsigned n = 0; n < repeat_ && seen.failed < kMostFailures; ++n) {
            begin_sample(n);
            switch_once(settings, parked, other, seen);
        }
        parked.end();
        other.end();
        set_back();
        print(seen, policy, unmap);
    }

private:
    static constexpr Occupancy kOccupancy{4, 32, 0};
    static constexpr double kShortestNs = 20'000, kPatienceS = 0.02, kBackS = 0.2, kEndS = 0.05;
    /// The queue stays off for less than a quantum (10 ms), so that what waits for the quantum's end can be told.
    static constexpr double kParkedS = 0.003, kLateNs = 4e6, kSettleS = 0.002;
    static constexpr unsigned kMostRepeats = 200, kMostFailures = 3;
    static constexpr const char *kSelective = "selective_unmap", *kOverLive = "runlist_over_live";

    struct Switches {
        Count stopped, gaps_at_park, returned, gaps_at_return, late;
        unsigned failed = 0;
        Series gap_park{"bystander_gap_us"}, back{"back_us"}, gap_return{"bystander_gap_us"},
            gap_after{"bystander_gap_after_us"};
    };

    static double time_of(int64_t ns) { return static_cast<double>(ns); }
    double error() const { return clock_.error_ns(now_ns()); }
    void hold() const {
        spin(options_.hold_us * 1e-6, [] { return false; });
    }
    void begin_sample(unsigned n) {
        if (n % 20 == 0) clock_.update();
        usleep(static_cast<useconds_t>(100 + random_() % 1000));
    }

    void switch_once(const SchedulerSettings& settings, Victims& parked, Victims& other, Switches& seen) {
        parked.new_epoch();
        other.new_epoch();
        const int64_t park = now_ns();
        settings.set("policy", "fixed");
        spin(kParkedS, [] { return false; });
        const std::optional<Absence> gap_at_park = absence(other, time_of(park) - error(), time_of(now_ns()));
        other.new_epoch();
        const int64_t give_back = now_ns();
        settings.set("policy", "none");
        const double from = time_of(park) - error(), to = time_of(give_back) + error();
        double first_back = 0;
        const auto back = [&] {
            first_back = 1e18;
            for (unsigned n = 0; n < parked.waves(); ++n) {
                const Gap gap = parked.gap(n);
                if (gap.before < from || gap.before > to || gap.after < time_of(give_back) - error()) return false;
                first_back = std::min(first_back, gap.after);
            }
            return true;
        };
        const bool is_back = spin(kBackS, back);
        spin(kSettleS, [] { return false; });
        const std::optional<Absence> gap_at_return = absence(other, time_of(give_back) - error(), time_of(now_ns()));

        // Who is not back has either never gone or is still off: only one that runs sees that it is to end.
        bool runs = is_back;
        if (!is_back) {
            ++seen.failed;
            parked.ask_to_end();
            runs = spin(kEndS, [&] { return parked.queue().done(); });
            if (!runs) parked.queue().update(100);  // unmaps and maps all queues
            parked.end();
            parked.start();
            parked.queue().wait_for_all();
        }
        const bool stopped = is_back || !runs;
        ++seen.stopped.of;
        ++seen.gaps_at_park.of;
        seen.stopped.seen += stopped;
        seen.gaps_at_park.seen += gap_at_park.has_value();
        if (gap_at_park) seen.gap_park.add_us(gap_at_park->longest);
        if (!stopped) return;
        ++seen.returned.of;
        seen.returned.seen += is_back;
        if (!is_back) return;
        seen.back.add_us(first_back - time_of(give_back));
        ++seen.gaps_at_return.of;
        if (!gap_at_return) return;
        ++seen.gaps_at_return.seen;
        ++seen.late.of;
        seen.late.seen += gap_at_return->begin - time_of(give_back) > kLateNs;
        seen.gap_return.add_us(gap_at_return->longest);
        seen.gap_after.add_us(gap_at_return->begin - time_of(give_back));
    }

    void print(Switches& seen, const std::string& policy, const std::string& unmap) {
        const Choices list = runlist_over_live(seen.returned, seen.gaps_at_return, seen.late);
        const auto choices = [](const Choices& all) {
            std::string out;
            for (const std::string& one : all) out += (out.empty() ? "" : ",") + quoted(one);
            return out;
        };
        std::printf(
            "{\"record\":\"%s\",\"probed\":true,\"policy_before\":%s,\"unmap_before\":%s,\"samples\":%u,\"stopped\":%u,"
            "\"gaps\":%u,\"consistent_with\":[%s]",
            kSelective, quoted(policy).c_str(), quoted(unmap).c_str(), seen.stopped.of, seen.stopped.seen,
            seen.gaps_at_park.seen, choices(unmap_by_doorbell(seen.stopped, seen.gaps_at_park, list)).c_str());
        finish({&seen.gap_park});
        if (seen.returned.of == 0)
            return not_probed(kOverLive, SchedulerSettings(gpu_), "the queue of low priority was never taken off");
        std::printf(
            "{\"record\":\"%s\",\"probed\":true,\"samples\":%u,\"returned\":%u,\"gaps\":%u,\"late\":%u,"
            "\"consistent_with\":[%s]",
            kOverLive, seen.returned.of, seen.returned.seen, seen.gaps_at_return.seen, seen.late.seen, choices(list).c_str());
        finish({&seen.back, &seen.gap_return, &seen.gap_after});
    }

    void finish(std::initializer_list<Series*> series) const {
        for (Series* s : series) s->print(options_.samples);
        std::printf("}\n");
        std::fflush(stdout);
    }

    static void not_probed(const char* record, const SchedulerSettings& settings, const std::string& why) {
        std::printf("{\"record\":\"%s\",\"probed\":false,\"reason\":%s", record, quoted(why).c_str());
        for (const char* name : {"policy", "unmap"}) {
            const std::string value = settings.value(name);
            if (!value.empty()) std::printf(",\"%s\":%s", name, quoted(value).c_str());
        }
        std::printf("}\n");
    }

    const Gpu& gpu_;
    const Options& options_;
    unsigned repeat_;
    std::mt19937 random_;
    GpuClock& clock_;
};

}  // namespace timing
