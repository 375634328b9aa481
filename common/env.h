// SPDX-License-Identifier: MIT
// What every part of the device shares: time, log, trace, counters; and report(), the one way to note a guest fault.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/fault.h"
#include "common/firmware.h"
#include "common/stats.h"
#include "common/timing.h"
#include "common/trace.h"

namespace lyra {

namespace gcn {
class ExecObserver;
}

/// Worst first; same order as lyra_log_level in lyra.h.
enum class LogLevel : uint8_t { Error, Warn, Guest, Todo, Info, Debug };

/// The outside world as the core sees it. Implemented above the core.
class Host {
public:
    virtual ~Host() = default;
    /// Device time in nanoseconds; never goes backwards.
    virtual uint64_t now_ns() = 0;
    virtual void raise_msi() = 0;
    virtual void log(LogLevel level, std::string_view text) = 0;
};

/// Whose floating-point exceptions are tracked: of waves that can tell, or of all.
enum class FpExceptions : uint8_t { Auto, Always };

/// What hides that a driver or a program has forgotten a flush, and is left out.
struct Strict {
    bool tlb = false;  ///< translations and page directories stay until they are invalidated, however many
    bool hdp = false;  ///< what the host stores in VRAM stays in the host data path until that is flushed
    bool l2 = false;   ///< waves see memory through an L2 that keeps all it holds until it is written back or invalidated

    /// @param text "tlb", "hdp", "l2" divided by commas, may be empty @return what is wrong with it; empty when it was taken
    std::string set(std::string_view text);
};

struct Env {
    explicit Env(Host& host) : host(host) {}
    Host& host;
    Stats stats;
    Tracer tracer;
    Timing timing;
    Firmware firmware;
    FpExceptions fp_exceptions = FpExceptions::Auto;
    bool jit = true;  ///< waves may run generated code
    /// Without virtual time: turns of waves depend on nothing that differs from host to host, generated code among it.
    bool repeatable = false;
    /// Registers and LDS that nobody has initialized hold a pattern at launch, not 0. A device has it when it is asked for.
    bool poison = true;
    Strict strict;
    gcn::ExecObserver* observer = nullptr;  ///< of wave instructions that are decoded from now on: gcn-interp/exec/observe.h
    bool log_packets = false;  ///< a line of the log for each packet and event of a wave
    bool ih_overflow = false;  ///< a full interrupt ring is overwritten, where the guest has enabled it
    VirtualClock clock;  ///< on: the device has its own time
    SharedBandwidth vram_traffic, system_traffic;
    const uint8_t* vram = nullptr;  ///< host memory, to tell it from system memory; nullptr: all memory is VRAM
    uint64_t vram_bytes = 0;
    /// Times each fault was logged, so that a guest cannot flood the log.
    std::array<uint32_t, kFaultCount> logged{};

    /// What changes while the device runs; the rest is its configuration.
    void visit(StateVisitor& v);
    uint64_t now_ns() { return clock.on() ? clock.ns() : host.now_ns(); }
    bool is_vram(const uint8_t* p) const { return vram == nullptr || static_cast<uint64_t>(p - vram) < vram_bytes; }
    void log(LogLevel level, std::string_view text) { host.log(level, text); }
};

/// Frequency of the GPU reference clock that RELEASE_MEM, AQL timestamps and s_memrealtime show.
/// @source Linux 6.12 amdgpu soc15.c soc15_get_xclk() with the core_refclk of our VBIOS (10 kHz units: 10000)
inline constexpr uint64_t kGpuClockHz = 100'000'000;

/// GPU reference clock: ticks of 10 ns.
inline uint64_t gpu_clock(Env& env) { return env.now_ns() / (1'000'000'000 / kGpuClockHz); }

/// A packet begins. @param text  makes its words, which only Env::log_packets asks for
template <class Text>
void note_packet(Env& env, Text text) {
    if (env.log_packets) env.log(LogLevel::Debug, text());
}

/// Note a guest fault: count it, trace it, and log the first few of its kind with the detail.
void report(Env& env, Fault fault, std::string_view detail);

}  // namespace lyra
