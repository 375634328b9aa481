// SPDX-License-Identifier: MIT
// Power-on, clock and pumps.
#include "kfdtest-ports/shim/gpu.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace lyra::kfd {

namespace {

// Pump::Step. One rate for the whole device, low enough that the driver's milliseconds cost few instructions.
constexpr uint64_t kSliceInstructions = 4000;
constexpr uint64_t kNsPerInstruction = 50;
constexpr uint64_t kPacketNs = 1'000, kPollNs = 20'000, kIdleNs = 1'000'000;
// Pump::Virtual: how often the driver gets its turn while the device is at work.
constexpr uint64_t kTurnNs = 10'000;
// Pump::Thread: how often the memory that a wait is about is looked at.
constexpr auto kLookAgain = std::chrono::microseconds(50);

uint64_t host_ns() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace

std::unique_ptr<Gpu> Gpu::create(const GpuOptions& options, std::string& error) {
    std::unique_ptr<Gpu> gpu(new Gpu(options));
    inproc::InProcessOptions device;
    device.vram_bytes = options.vram_bytes;
    device.system_bytes = options.system_bytes;
    device.compute_units = options.compute_units;
    device.prepared = false;
    device.log = [](lyra_log_level level, const char* text) {
        static const bool all = std::getenv("LYRA_PORTS_LOG") != nullptr;
        if (all || level <= LYRA_LOG_ERROR) std::fprintf(stderr, "lyra: %s\n", text);
    };
    if (options.pump == Pump::Step) device.now_ns = [self = gpu.get()] { return self->time_ns_; };
    device.virtual_time = options.pump == Pump::Virtual;
    device.on_msi = [self = gpu.get()] {
        {
            std::lock_guard hold(self->lock_);
            ++self->msis_;
        }
        self->woken_.notify_one();
    };
    gpu->device_ = inproc::InProcessDevice::create(device, error);
    if (!gpu->device_) return nullptr;
    if (options.pump == Pump::Thread && !lyra_start(gpu->device_->handle())) {
        error = "the device's thread does not start";
        return nullptr;
    }
    return gpu;
}

Gpu::~Gpu() {
    if (device_) lyra_stop(device_->handle());
}

void Gpu::doorbell(uint32_t byte_offset, uint64_t value) { lyra_doorbell_write(device_->handle(), byte_offset, value, 8); }
void Gpu::doorbell32(uint32_t byte_offset, uint32_t value) { lyra_doorbell_write(device_->handle(), byte_offset, value, 4); }

uint64_t Gpu::now_ns() const { return options_.pump == Pump::Thread ? host_ns() : time_ns_; }

void Gpu::step(uint64_t until_ns) {
    const uint64_t before = device_->stat("instructions");
    const lyra_run_state state = device_->run(kSliceInstructions);
    const uint64_t executed = device_->stat("instructions") - before;
    uint64_t passed = executed * kNsPerInstruction + kPacketNs;
    // Where nothing runs, time may pass faster, but not past the moment that the caller waits for.
    if (executed == 0 && state != LYRA_BUSY && until_ns > time_ns_) {
        passed = std::clamp(until_ns - time_ns_, kPacketNs, state == LYRA_POLLING ? kPollNs : kIdleNs);
    }
    time_ns_ += passed;
}

void Gpu::advance(uint64_t until_ns) {
    // What the host has changed in memory since the last call is seen at the time of that call.
    const uint64_t next = lyra_run_until(device_->handle(), time_ns_);
    time_ns_ = std::min(std::max(next, time_ns_ + kTurnNs), std::max(until_ns, time_ns_ + 1));
    lyra_run_until(device_->handle(), time_ns_);
}

void Gpu::sleep(uint64_t until_ns) {
    const uint64_t now = host_ns();
    const auto left = std::chrono::nanoseconds(until_ns > now ? until_ns - now : 0);
    std::unique_lock hold(lock_);
    woken_.wait_for(hold, std::min<std::chrono::nanoseconds>(left, kLookAgain), [this] { return msis_ != handled_; });
}

void Gpu::work(uint64_t until_ns) {
    switch (options_.pump) {
        case Pump::Step: step(until_ns); break;
        case Pump::Thread: sleep(until_ns); break;
        case Pump::Virtual: advance(until_ns); break;
    }
    {
        std::lock_guard hold(lock_);
        if (msis_ == handled_) return;
        handled_ = msis_;
    }
    if (handler_) handler_();
}

void Gpu::delay_us(uint64_t us) {
    const uint64_t deadline = now_ns() + us * 1'000;
    while (now_ns() < deadline) work(deadline);
}

}  // namespace lyra::kfd
