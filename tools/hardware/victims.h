// SPDX-License-Identifier: MIT
// A queue with waves that never end by themselves and note when they were off the GPU.
#pragma once

#include <algorithm>

#include "thunk.h"

namespace timing {

#include "kernels.inc"

struct Occupancy {
    unsigned waves_per_cu, vgprs, lds_bytes_per_cu;
};

/// What the host's clock showed, in nanoseconds, at a wave's last reading before it was off the GPU and the first one after it.
struct Gap {
    double before, after;
};

class Victims {
public:
    /// @param shortest_ns  what is off the GPU for less does not count
    Victims(const Gpu& gpu, const GpuClock& clock, const Occupancy& o, double shortest_ns,
            HSA_QUEUE_PRIORITY priority = HSA_QUEUE_PRIORITY_NORMAL)
        : queue_(gpu, priority), clock_(clock), waves_(o.waves_per_cu * gpu.cus()),
          lds_bytes_(o.lds_bytes_per_cu / (o.waves_per_cu / kWavesPerGroup)), kernel_(load_kernel(victim, o.vgprs)),
          arguments_(static_cast<uint8_t*>(allocate(kPage))), control_(arguments_ + kPage / 2),
          records_(static_cast<Record*>(allocate(sizeof(Record) * waves_))) {
        store<uint64_t>(arguments_, reinterpret_cast<uint64_t>(control_));
        store<uint64_t>(arguments_ + 8, reinterpret_cast<uint64_t>(records_));
        store<uint32_t>(arguments_ + 16, static_cast<uint32_t>(shortest_ns / clock.ns_per_tick()));
        store<uint32_t>(arguments_ + 20, kWavesPerGroup);
        start();
    }

    /// Returns when all waves run.
    void start() {
        std::memset(records_, 0, sizeof(Record) * waves_);
        epoch_ = 0;
        store<uint64_t>(control_, 0);
        queue_.dispatch(kernel_, waves_ / kWavesPerGroup, kWavesPerGroup * 64, lds_bytes_, arguments_);
        const auto started = [&] {
            return std::all_of(records_, records_ + waves_, [](const Record& r) { return load<uint64_t>(&r.before) != 0; });
        };
        if (!spin(30, started)) fail(1, "not all of %u waves have started", waves_);
    }
    void ask_to_end() { store<uint32_t>(control_, 1); }
    void end() {
        ask_to_end();
        if (!spin(30, [&] { return queue_.done(); })) fail(1, "the kernel has not ended: waves were lost");
    }

    /// Of what ends from now on each wave keeps the longest.
    void new_epoch() { store<uint32_t>(control_ + 4, ++epoch_); }
    Gap gap(unsigned wave) const {
        // A record that is written meanwhile shows a gap that ends before it begins, never a longer one.
        const double after = clock_.ns(load<uint64_t>(&records_[wave].after));
        return {clock_.ns(load<uint64_t>(&records_[wave].before)), after};
    }
    unsigned waves() const { return waves_; }
    Queue& queue() { return queue_; }

private:
    struct Record {
        uint64_t before, after;
    };
    static constexpr unsigned kWavesPerGroup = 4;

    Queue queue_;
    const GpuClock& clock_;
    unsigned waves_, lds_bytes_;
    const uint8_t* kernel_;
    uint8_t *arguments_, *control_;
    Record* records_;
    uint32_t epoch_ = 0;
};

}  // namespace timing
