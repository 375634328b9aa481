// SPDX-License-Identifier: MIT
// The device as a driver finds it after power-on, its clock, and the pump that lets it work; before step 1 of the data flow.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "tools/inproc/in_process_device.h"

namespace lyra::kfd {

/// Who calls lyra_run(), and what time it is.
enum class Pump : uint8_t {
    Step,  ///< the test's own thread, by lyra_run(); time passes with the instructions that run, so that every run is the same
    Thread,  ///< the device's thread (lyra_start), as in QEMU; time is the host's
    Virtual,  ///< virtual time: the test says how far, the device takes the time of its timing parameters
};

struct GpuOptions {
    Pump pump = Pump::Step;
    uint32_t compute_units = 8;
    uint64_t vram_bytes = uint64_t{256} << 20;
    uint64_t system_bytes = uint64_t{1} << 30;
};

class Gpu {
public:
    /// @return nullptr, and one line in error, when the device cannot be made
    static std::unique_ptr<Gpu> create(const GpuOptions& options, std::string& error);
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    const GpuOptions& options() const { return options_; }
    inproc::GpuMemory& memory() { return device_->memory(); }
    uint32_t read_register(uint32_t byte_offset) { return device_->read_register(byte_offset); }
    void write_register(uint32_t byte_offset, uint32_t value) { device_->write_register(byte_offset, value); }
    /// GRBM_GFX_CNTL: the queue slot and VMID that the banked registers mean.
    void select(uint32_t me, uint32_t pipe, uint32_t queue, uint32_t vmid) { device_->select(me, pipe, queue, vmid); }
    void doorbell(uint32_t byte_offset, uint64_t value);
    void doorbell32(uint32_t byte_offset, uint32_t value);
    uint64_t stat(const char* name) const { return device_->stat(name); }
    std::vector<std::pair<std::string, uint64_t>> stats(const std::string& prefix) const { return device_->stats(prefix); }

    /// Called on the test's thread after an MSI.
    void set_interrupt_handler(std::function<void()> handler) { handler_ = std::move(handler); }

    /// Time as the driver sees it: the device's, with Pump::Thread the host's.
    uint64_t now_ns() const;
    /// Let the device work for a moment, at most until then, and handle its interrupts.
    void work(uint64_t until_ns);
    /// Let it work until done() or the time is over. @return done()
    template <class Done>
    bool wait(Done done, uint64_t timeout_ms) {
        const uint64_t deadline = now_ns() + timeout_ms * 1'000'000;
        while (!done()) {
            if (now_ns() >= deadline) return done();
            work(deadline);
        }
        return true;
    }
    void delay_us(uint64_t us);

private:
    explicit Gpu(const GpuOptions& options) : options_(options) {}
    void step(uint64_t until_ns);
    void advance(uint64_t until_ns);
    void sleep(uint64_t until_ns);

    GpuOptions options_;
    std::unique_ptr<inproc::InProcessDevice> device_;
    std::function<void()> handler_;
    uint64_t time_ns_ = 0;  ///< of the pumps that are driven from here
    std::mutex lock_;  ///< of msis_
    std::condition_variable woken_;
    uint64_t msis_ = 0, handled_ = 0;
};

}  // namespace lyra::kfd
