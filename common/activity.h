// SPDX-License-Identifier: MIT
// How busy something with several units was, in device time: what a power management processor tells of a GPU.
#pragma once

#include <cstdint>

#include "common/snapshot.h"

namespace lyra {

/// Means over a window of time.
struct Activity {
    uint32_t busy = 0;   ///< share of the time in which at least one unit was in use, in 1/10000
    uint32_t units = 0;  ///< number of units in use, in 1/1000
};

/// Sums up states of which each lasts until the next is told. All numbers are integers of device time, so that equal runs in
/// virtual time give equal shares.
class ActivityMeter {
public:
    static constexpr uint64_t kWindowNs = 10'000'000;

    /// From now on so many units are in use. A time before the last one counts as that one.
    void update(uint64_t now_ns, uint32_t units) {
        advance(now_ns);
        units_ = units;
    }
    /// Of the last window that is over.
    Activity last(uint64_t now_ns) {
        advance(now_ns);
        return {static_cast<uint32_t>(over_.busy_ns * 10000 / kWindowNs),
                static_cast<uint32_t>(over_.unit_ns * 1000 / kWindowNs)};
    }
    uint32_t units() const { return units_; }
    void visit(StateVisitor& v) {
        v("reached_ns", reached_ns_);
        v("units", units_);
        v("sums", sums_);
        v("over", over_);
    }

private:
    struct Sums {
        uint64_t busy_ns = 0, unit_ns = 0;
        void visit(StateVisitor& v) {
            v("busy_ns", busy_ns);
            v("unit_ns", unit_ns);
        }
    };
    void add(Sums& sums, uint64_t ns) const {
        sums.busy_ns += units_ != 0 ? ns : 0;
        sums.unit_ns += ns * units_;
    }
    void advance(uint64_t now_ns) {
        if (now_ns <= reached_ns_) return;
        const uint64_t begun = reached_ns_ / kWindowNs, window = now_ns / kWindowNs;
        if (window != begun) {
            add(sums_, (begun + 1) * kWindowNs - reached_ns_);
            over_ = sums_;
            // Whole windows have passed with nothing but the present state.
            if (window != begun + 1) add(over_ = {}, kWindowNs);
            sums_ = {};
            reached_ns_ = window * kWindowNs;
        }
        add(sums_, now_ns - reached_ns_);
        reached_ns_ = now_ns;
    }

    uint64_t reached_ns_ = 0;
    uint32_t units_ = 0;
    Sums sums_, over_;  ///< of the window that goes on, and of the one before
};

}  // namespace lyra
