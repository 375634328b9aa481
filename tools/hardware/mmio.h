// SPDX-License-Identifier: MIT
// What the processor's accesses of the GPU over PCI Express take.
#pragma once

#include <string>

#include <fcntl.h>
#include <sys/ioctl.h>

#include "output.h"
#include "thunk.h"

namespace timing {

/// Waits until the stores before it are on their way, also those to write-combined memory; loads do not pass it.
inline void memory_fence() {
#if defined(__x86_64__)
    asm volatile("mfence" ::: "memory");
#else
    __sync_synchronize();
#endif
}

/// Registers that the driver reads for any user of the render node. @source Linux 6.12 amdgpu_drm.h drm_amdgpu_info
class RegisterReader {
public:
    explicit RegisterReader(const Gpu& gpu)
        : file_(open(("/dev/dri/renderD" + std::to_string(gpu.properties.DrmRenderMinor)).c_str(), O_RDWR | O_CLOEXEC)) {}
    ~RegisterReader() { close(file_); }
    RegisterReader(const RegisterReader&) = delete;
    RegisterReader& operator=(const RegisterReader&) = delete;
    /// @param count  of GRBM_STATUS, GRBM_STATUS_SE0 and GRBM_STATUS_SE1, which lie side by side
    bool read(unsigned count) const {
        uint32_t values[kMost] = {};
        const Request request{reinterpret_cast<uint64_t>(values), count * 4, 0x15, 0x8010 / 4, count, ~0u, 0};
        return ioctl(file_, _IOW('d', 0x45, Request), &request) == 0;
    }
    static constexpr unsigned kMost = 3;

private:
    struct Request {
        uint64_t values;
        uint32_t bytes, query, first_dword, count, instance, flags;
    };
    int file_;
};

class MmioProbe {
public:
    MmioProbe(const Gpu& gpu, const Options& options)
        : options_(options), queue_(gpu), registers_(gpu),
          vram_(static_cast<volatile uint64_t*>(allocate_visible_vram(gpu, kVramBytes))), hdp_flush_(hdp_flush_page(gpu)) {}

    void run() {
        queue_.wait_for_all();  // with nothing before it: the doorbell has a value, and there is nothing to do
        usleep(10'000);
        if (!registers_.read(1)) without("register_read_ns: the driver does not read GRBM_STATUS");
        if (vram_ == nullptr) without("vram_read_ns, vram_write_ns, write_then_read_ns: no VRAM that the processor sees");
        if (hdp_flush_ == nullptr) without("hdp_flush_write_ns: the driver does not map the page");
        for (unsigned n = 0; n < options_.repeat; ++n) measure();
        std::printf("{\"record\":\"mmio\",\"run\":%u,\"without\":[%s]", kRun, without_.c_str());
        for (Series* s : {&register_read_, &doorbell_write_, &hdp_flush_write_, &vram_read_, &vram_write_, &write_then_read_})
            s->print(options_.samples);
        std::printf("}\n");
        std::fflush(stdout);
    }

private:
    static constexpr unsigned kRun = 64;
    static constexpr size_t kVramBytes = 2 * 1024 * 1024, kLine = 64;

    void without(const char* why) { without_ += (without_.empty() ? "" : ",") + quoted(why); }

    template <class Access>
    static void time(Series& series, Access access) {
        memory_fence();
        const int64_t begin = now_ns();
        for (unsigned n = 0; n < kRun; ++n) access(n);
        memory_fence();
        series.values.push_back(static_cast<double>(now_ns() - begin) / kRun);
    }

    void measure() {
        const uint64_t value = queue_.doorbell_value();
        // Each address depends on what was read before: one read after the other.
        const auto read = [&] { at_ = (at_ + vram_[at_] + kLine / 8) % (kVramBytes / 8); };
        time(doorbell_write_, [&](unsigned) { *queue_.doorbell() = value; });
        if (hdp_flush_ != nullptr) time(hdp_flush_write_, [&](unsigned) { *hdp_flush_ = 0; });
        if (vram_ != nullptr) {
            time(vram_read_, [&](unsigned) { read(); });
            time(vram_write_, [&](unsigned n) { vram_[n * kLine / 8] = 0, memory_fence(); });
            time(write_then_read_, [&](unsigned) { *queue_.doorbell() = value, memory_fence(), read(); });
        }
        const int64_t begin = now_ns();
        if (!registers_.read(1)) return;
        const int64_t one = now_ns();
        if (!registers_.read(RegisterReader::kMost)) return;
        const int64_t most = now_ns();
        register_read_.values.push_back(static_cast<double>((most - one) - (one - begin)) / (RegisterReader::kMost - 1));
    }

    const Options& options_;
    Queue queue_;
    RegisterReader registers_;
    volatile uint64_t* vram_;
    volatile uint32_t* hdp_flush_;
    size_t at_ = 0;
    std::string without_;
    Series register_read_{"register_read_ns"}, doorbell_write_{"doorbell_write_ns"}, hdp_flush_write_{"hdp_flush_write_ns"},
        vram_read_{"vram_read_ns"}, vram_write_{"vram_write_ns"}, write_then_read_{"write_then_read_ns"};
};

}  // namespace timing
