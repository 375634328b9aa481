// SPDX-License-Identifier: MIT
// Timing parameters (timing.def) as one struct of values, and the two things that they are used with: the device's own
// clock of the virtual-time mode, and a memory whose bandwidth is shared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/snapshot.h"

namespace lyra {

enum class TimingKind : uint8_t { Fact, Estimate };

struct TimingInfo {
    const char* name;
    uint64_t value, low, high;  ///< low, high: where the true value may well lie
    const char* range;          ///< why there
    uint64_t smallest, largest;
    TimingKind kind;
    const char* text;
    const char* source;
};

inline constexpr TimingInfo kTimings[] = {
#define TIMING(name, value, low, high, range, smallest, largest, kind, text, source) \
    {#name, value, low, high, range, smallest, largest, TimingKind::kind, text, source},
#include "common/timing.def"
#undef TIMING
};

struct Timing {
#define TIMING(name, value, ...) uint64_t name = value;
#include "common/timing.def"
#undef TIMING

    /// Replace values. @param text "name=value,name=value", may be empty
    /// @return what is wrong with it; empty when all were taken
    std::string set(std::string_view text);

    /// 0: there is no such parameter.
    uint64_t get(std::string_view name) const;

    uint64_t vram_speed() const { return vram_mb_per_s * vram_efficiency_percent / 100; }
};

inline constexpr uint64_t kNever = ~uint64_t{0};

/// Time of the device in shader clocks. Off: the device lives in its host's time and nothing here is used.
class VirtualClock {
public:
    void start(const Timing& timing) {
        mhz_ = timing.shader_clock_mhz;
        on_ = true;
    }
    bool on() const { return on_; }

    uint64_t clk() const { return clk_; }
    void set_clk(uint64_t clk) { clk_ = clk; }
    uint64_t ns() const { return to_ns(clk_); }
    void set_ns(uint64_t ns) { clk_ = to_clk(ns); }

    /// First clock at or after a time; ns() of it is that time again, as a clock is not longer than a nanosecond.
    uint64_t to_clk(uint64_t ns) const { return ns == kNever ? kNever : (ns * mhz_ + 999) / 1000; }
    uint64_t to_ns(uint64_t clk) const { return clk == kNever ? kNever : clk * 1000 / mhz_; }

    /// What is being done takes so long. Whoever let it be done collects the sum and is busy for that time.
    void owe(uint64_t ns) { owed_ns_ += ns; }
    uint64_t collect() {
        const uint64_t owed = owed_ns_;
        owed_ns_ = 0;
        return owed;
    }

    void visit(StateVisitor& v) {
        v("clk", clk_);
        v("owed_ns", owed_ns_);
    }

private:
    uint64_t clk_ = 0, mhz_ = 1000, owed_ns_ = 0;
    bool on_ = false;
};

/// Bytes on their way through a memory. They leave at its speed; who comes waits for those before. Callers come from compute
/// units that are up to a quantum apart in time: the backlog shrinks only as time goes beyond what any of them has reached.
class SharedBandwidth {
public:
    /// @return clocks until bytes that are sent now have passed
    uint64_t send(uint64_t clk, uint64_t bytes, uint64_t mb_per_s, uint64_t mhz) {
        if (clk > time_clk_) {
            const uint64_t gone = (clk - time_clk_) * mb_per_s;  // in bytes * MHz
            backlog_ = clk - time_clk_ > kLongAgo || gone >= backlog_ ? 0 : backlog_ - gone;
            time_clk_ = clk;
        }
        backlog_ += bytes * mhz;
        return backlog_ / mb_per_s;
    }

    void visit(StateVisitor& v) {
        v("time_clk", time_clk_);
        v("backlog", backlog_);
    }

private:
    static constexpr uint64_t kLongAgo = 1'000'000'000;
    uint64_t time_clk_ = 0, backlog_ = 0;
};

}  // namespace lyra
