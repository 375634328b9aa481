// SPDX-License-Identifier: MIT
// The C interface of lyra.h: configuration checks, the device lock, and the free-running pump.
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "common/env.h"
#include "common/guest_memory.h"
#include "common/recording.h"
#include "common/snapshot.h"
#include "common/trace_hash.h"
#include "common/trace_text.h"
#include "gcn-interp/cu/commit_log.h"
#include "gcn-interp/cu/exec_histogram.h"
#include "gcn-interp/translator/translator.h"
#include "qemu-hw/include/lyra.h"
#include "qemu-hw/soc/config.h"
#include "qemu-hw/soc/discovery.h"
#include "qemu-hw/soc/recorder.h"
#include "qemu-hw/soc/soc.h"
#include "qemu-hw/soc/vbios.h"

#ifndef LYRA_VERSION_TEXT
#define LYRA_VERSION_TEXT "0.0.0 (unknown)"
#endif

namespace {

using namespace lyra;

/// Instructions of each thread per hold of the device lock: as many as take about 50 us, the longest that a vCPU waits for a
/// register. A guest whose instructions become slow all at once has one slice of the most that are slow, then few.
constexpr uint64_t kSliceInstructions = 4000, kMostSliceInstructions = 32'000;
constexpr auto kShortSlice = std::chrono::microseconds(30), kLongSlice = std::chrono::microseconds(70);
/// Virtual time: one lyra_run().
constexpr uint64_t kRunNs = 1000;
/// Nine hours of device time as busy as KFDQMTest.OverSubscribeCpQueues.
constexpr uint64_t kRecordLimit = uint64_t{1} << 30;
constexpr size_t kMaxPostedDoorbells = 4096;
/// Of lyra_save(): grows when the meaning of a value changes. Other values are noticed by their names and sizes.
constexpr uint64_t kStateFormat = 1;
constexpr auto kPollInterval = std::chrono::microseconds(20);
/// A waiting device looks up by itself now and then, so that a missed wake-up can never hang a guest.
constexpr auto kIdleInterval = std::chrono::milliseconds(100);

/// A repeatable device: how far its clock moves when it looks. What it does between two looks takes longer.
constexpr uint64_t kLookNs = 10;

class CallbackHost : public Host {
public:
    /// @param repeatable  time is that of the call, begin_call()
    CallbackHost(const lyra_host_ops* ops, void* opaque, bool repeatable) : opaque_(opaque), repeatable_(repeatable) {
        if (ops) ops_ = *ops;
        if (repeatable) held_ns_ = real_ns();
    }
    uint64_t now_ns() override {
        if (!repeatable_) return real_ns();
        // Others may look between calls, of which nobody knows at a replay.
        return in_call_ ? held_ns_ += kLookNs : held_ns_.load();
    }
    /// A load brings the time of what is loaded, which may be earlier. The end is the last call's. @return the time that it has
    uint64_t begin_call(CallKind kind) {
        if (kind != CallKind::End) held_ns_ = kind == CallKind::Load ? real_ns() : std::max(held_ns_.load(), real_ns());
        in_call_ = true;
        return held_ns_;
    }
    void end_call() { in_call_ = false; }
    uint64_t held_ns() const { return held_ns_; }
    void raise_msi() override {
        ++msis_;
        if (ops_.raise_msi) ops_.raise_msi(opaque_);
    }
    /// Since it was last asked.
    uint64_t take_msis() { return msis_.exchange(0); }
    void log(LogLevel level, std::string_view text) override {
        const std::string line(text);
        const std::lock_guard hold(log_lock_);
        if (ops_.log)
            ops_.log(opaque_, static_cast<lyra_log_level>(level), line.c_str());
        else if (level <= LogLevel::Warn)
            std::fprintf(stderr, "lyra: %s\n", line.c_str());
    }

private:
    uint64_t real_ns() {
        if (ops_.now_ns) return ops_.now_ns(opaque_);
        const auto now = std::chrono::steady_clock::now() - made_;
        return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    }

    lyra_host_ops ops_{};
    void* opaque_;
    const bool repeatable_;
    /// What a clock without a host begins with: of a recording it is the start.
    const std::chrono::steady_clock::time_point made_ =
        repeatable_ ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
    std::atomic<uint64_t> held_ns_{0};
    std::atomic<bool> in_call_{false};
    std::atomic<uint64_t> msis_{0};
    std::mutex log_lock_;
};

/// "fault-<name>" for counters of faults, the stat's own name otherwise. Never destroyed: hosts ask while the process ends.
const std::vector<std::string>& stat_names() {
    static const std::vector<std::string>* const names = [] {
        auto* n = new std::vector<std::string>(std::begin(kStatNames), std::end(kStatNames));
        for (const FaultInfo& fault : kFaults) n->push_back(std::string("fault-") + fault.name);
        return n;
    }();
    return *names;
}

struct PostedDoorbell {
    uint64_t offset, value;
    unsigned size;
};

RecordedCall access(CallKind kind, uint64_t offset, unsigned size, uint64_t value = 0) {
    return {.kind = kind, .offset = offset, .value = value, .size = static_cast<uint8_t>(size)};
}

}  // namespace

struct lyra_device {
    lyra_device(const lyra_config& config, const lyra_host_ops* ops, void* opaque, void* vram)
        : repeatable(config.repeatable && !config.virtual_time), host(ops, opaque, repeatable),
          has_clock(repeatable || (ops && ops->now_ns)), env(host), timed(prepare(config)), threads(shape_of(config).threads),
          soc(env, shape_of(config), static_cast<uint8_t*>(vram), config.vram_bytes), rom(vbios_image(shape_of(config))) {}

    /// What the chip finds when it is made. @return whether it has virtual time
    bool prepare(const lyra_config& config) {
        env.fp_exceptions = fp_exceptions_of(config).value_or(FpExceptions::Auto);
        env.poison = config.poison;
        env.jit = config.jit;
        env.ih_overflow = config.ih_overflow;
        env.log_packets = config.log_packets;
        env.repeatable = repeatable;
        if (config.strict) env.strict.set(config.strict);
        if (config.timing) env.timing.set(config.timing);
        env.firmware = Firmware::defaults(config.virtual_time);
        if (config.firmware) env.firmware.set(config.firmware);
        if (!config.virtual_time) return false;
        env.clock.start(env.timing);
        if (has_clock) env.clock.set_ns(host.now_ns());
        return true;
    }
    /// Virtual time: up to the host's now, before the host does something to the device.
    void catch_up() {
        if (timed && has_clock) run_until(recorder ? recorder->now_ns() : host.now_ns());
    }
    Checkpoint checkpoint() const { return {hash->events(), hash->hash(), now_ns(), env.stats.get(Stat::instructions)}; }
    /// Of a device that has a hash, without moving its clock.
    uint64_t now_ns() const { return timed ? env.clock.ns() : host.held_ns(); }
    /// A call of the host, which a recording has; f returns what it returns, as a number.
    template <class F>
    uint64_t call(RecordedCall what, F f) {
        if (!recorder && !repeatable) return f();
        const std::lock_guard hold(call_lock);
        const uint64_t now = repeatable ? host.begin_call(what.kind) : recorder && has_clock ? host.now_ns() : 0;
        if (!recorder) {
            const uint64_t result = f();
            host.end_call();
            return result;
        }
        recorder->begin(now);
        host.take_msis();
        what.result = f();
        what.msis = host.take_msis();
        host.end_call();
        const uint64_t result = what.result;
        const bool went_on = !recorder->stopped();
        recorder->end(std::move(what), [this] { return checkpoint(); });
        if (went_on && recorder->stopped())
            host.log(LogLevel::Warn, recorder->failed() ? "the recording cannot be written and ends here"
                                                        : "the recording has reached its limit and ends here");
        return result;
    }
    uint64_t run_until(uint64_t ns) { return soc.run_until(ns); }
    /// Run f with the device to itself. Callers announce themselves, so that the pump lets go between slices.
    template <class F>
    auto locked(F f) {
        return stopped([&] {
            catch_up();
            return f();
        });
    }
    /// The same, and time does not go on before it: a run that is saved goes the way of one that is not.
    template <class F>
    auto stopped(F f) {
        waiters.fetch_add(1);
        std::unique_lock hold(lock);
        waiters.fetch_sub(1);
        take_doorbells();
        return f();
    }
    /// Before each slice, and before each call of the host: what a call of the chip finds has been rung before it.
    void take_doorbells() {
        std::deque<PostedDoorbell> batch;
        {
            std::lock_guard hold(posted_lock);
            batch.swap(posted);
        }
        for (const PostedDoorbell& d : batch) soc.doorbell_write(d.offset, d.value, d.size);
    }
    /// What a stream has to agree with, the chip, and memory if it is there.
    void visit(StateVisitor& v, bool& with_vram) {
        v.begin("lyra");
        const auto same = [&](const char* name, uint64_t own) {
            uint64_t value = own;
            v(name, value);
            v.require(value == own || !v.loads(), fmt::format("{} is {}, not {}", name, value, own));
        };
        same("format", kStateFormat);
        const auto& gc = ip_block(soc.shape().chip, "GC").version;
        same("chip", uint64_t{gc[0]} << 16 | uint64_t{gc[1]} << 8 | gc[2]);
        same("vram_bytes", env.vram_bytes);
        same("shader_engines", soc.shape().shader_engines);
        same("compute_units", soc.shape().cus());
        same("xccs", soc.shape().xccs);
        same("virtual_time", timed);
        same("strict_tlb", env.strict.tlb);
        same("strict_hdp", env.strict.hdp);
        same("strict_l2", env.strict.l2);
        v("with_vram", with_vram);
        v.end();
        // Host memory that the L2 or a hub looks for has to be there, so VRAM comes first.
        if (with_vram && v.ok()) {
            v.begin("vram");
            v.sparse("bytes", soc.bus().vram(), soc.bus().vram_bytes());
            v.end();
        }
        if (timed) v("trace_hash", *hash);
        if (v.ok()) soc.visit(v);
    }
    void wake() {
        if (timed) return locked([&] { soc.wake(); });
        {
            std::lock_guard hold(wake_lock);
            work = true;
        }
        wake_up.notify_one();
    }
    void pump();

    const bool repeatable;
    CallbackHost host;
    const bool has_clock;
    Env env;
    const bool timed;  ///< virtual time
    const uint64_t threads;  ///< that run waves
    std::unique_ptr<TraceSink> trace;
    std::unique_ptr<TraceHash> hash;
    std::unique_ptr<gcn::ExecHistogram> histogram;
    std::unique_ptr<gcn::CommitLog> commit_log;
    Soc soc;
    std::unique_ptr<Recorder> recorder;  ///< watches the memory of soc
    std::mutex call_lock;  ///< before lock
    std::vector<uint8_t> rom;
    std::mutex lock;
    std::atomic<unsigned> waiters{0};
    std::mutex posted_lock;
    std::deque<PostedDoorbell> posted;
    std::mutex wake_lock;
    std::condition_variable wake_up;
    bool work = false;
    std::atomic<bool> stop{false};
    std::thread thread;
};

void lyra_device::pump() {
    uint64_t slice = kSliceInstructions;  // of each thread
    while (!stop) {
        RunState state;
        {
            std::unique_lock hold(lock);
            take_doorbells();
            const auto start = std::chrono::steady_clock::now();
            state = soc.run(slice * threads);
            const auto took = std::chrono::steady_clock::now() - start;
            if (took > kLongSlice) slice = took > 2 * kLongSlice ? kSliceInstructions : std::max(slice / 2, kSliceInstructions);
            if (took < kShortSlice && state == RunState::Busy) slice = std::min(slice * 2, kMostSliceInstructions);
            // On a busy host a slice waits for its threads for tens of ms, and a driver gives up on copies that take seconds.
            // So they may take as long as waves have.
            const auto until = start + 2 * took;
            while (took > kLongSlice && waiters == 0 && soc.run_sdma() == RunState::Busy) {
                state = RunState::Busy;
                if (std::chrono::steady_clock::now() >= until) break;
            }
        }
        // std::mutex is not fair: without this a vCPU could wait for many slices.
        while (waiters.load() != 0 && !stop) std::this_thread::yield();
        if (state == RunState::Busy) continue;
        std::unique_lock hold(wake_lock);
        if (state == RunState::Polling)
            wake_up.wait_for(hold, kPollInterval, [this] { return work || stop; });
        else
            wake_up.wait_for(hold, kIdleInterval, [this] { return work || stop; });
        work = false;
    }
}

extern "C" {

void lyra_config_init(lyra_config* config) {
    *config = {};
    config->abi_version = LYRA_ABI_VERSION;
    config->chip = facts_of(Chip::gfx900).name;
    config->vram_bytes = uint64_t{2} << 30;
    config->compute_units = 8;
    config->threads = 1;
    config->jit = true;
    config->record_limit_bytes = kRecordLimit;
}

const char* lyra_version(void) { return LYRA_VERSION_TEXT; }

lyra_device* lyra_create(const lyra_config* config, const lyra_host_ops* ops, void* opaque, void* vram, char* error,
                         size_t error_bytes) {
    std::string wrong = check_config(*config);
    if (wrong.empty() && !vram) wrong = "no VRAM";
    std::unique_ptr<TraceSink> trace;
    if (wrong.empty() && config->trace_path) trace = open_trace(config->trace_path, config->log_packets, wrong);
    std::FILE* commit_log = nullptr;
    if (wrong.empty() && config->commit_log_path) {
        commit_log = std::fopen(config->commit_log_path, "w");
        if (!commit_log) wrong = fmt::format("{}: cannot write: {}", config->commit_log_path, std::strerror(errno));
    }
    if (!wrong.empty()) {
        if (error && error_bytes) std::snprintf(error, error_bytes, "%s", wrong.c_str());
        return nullptr;
    }
    races_as_on_hardware(vram, config->vram_bytes);
    auto device = std::make_unique<lyra_device>(*config, ops, opaque, vram);
    device->trace = std::move(trace);
    if (config->virtual_time || device->repeatable) device->hash = std::make_unique<TraceHash>(device->trace.get());
    device->env.tracer.set_sink(device->hash ? device->hash.get() : device->trace.get());
    if (config->histogram) device->histogram = std::make_unique<gcn::ExecHistogram>();
    if (commit_log) device->commit_log = std::make_unique<gcn::CommitLog>(commit_log, device->histogram.get());
    device->env.observer =
        device->commit_log ? static_cast<gcn::ExecObserver*>(device->commit_log.get()) : device->histogram.get();
    if (config->record_path) {
        const RecordingHeader header = recording_header(*config, device->env, LYRA_VERSION_TEXT, device->has_clock);
        std::unique_ptr<RecordingWriter> writer =
            RecordingWriter::open(config->record_path, config->record_limit_bytes, header, wrong);
        if (!writer) {
            if (error && error_bytes) std::snprintf(error, error_bytes, "%s", wrong.c_str());
            return nullptr;
        }
        device->recorder = std::make_unique<Recorder>(std::move(writer), device->soc.bus());
    }
    return device.release();
}

void lyra_destroy(lyra_device* device) {
    if (!device) return;
    lyra_stop(device);
    device->call({}, [] { return 0; });  // its end
    device->env.tracer.set_sink(nullptr);
    delete device;
}

void lyra_reset(lyra_device* device) {
    device->call({.kind = CallKind::Reset}, [&]() -> uint64_t {
        device->locked([&] { device->soc.reset(); });
        return 0;
    });
}

size_t lyra_rom(lyra_device* device, const void** image) {
    *image = device->rom.data();
    return device->rom.size();
}

void lyra_set_ram_map(lyra_device* device, const lyra_ram_range* ranges, size_t count) {
    std::vector<RamRange> map;
    map.reserve(count);
    RecordedCall call{.kind = CallKind::RamMap};
    for (size_t i = 0; i < count; ++i) {
        const lyra_ram_range& range = ranges[i];
        races_as_on_hardware(range.host, range.size_bytes);
        map.push_back({range.bus_address, range.size_bytes, static_cast<uint8_t*>(range.host), range.readonly});
        call.ranges.push_back({range.bus_address, range.size_bytes, range.readonly});
    }
    device->call(std::move(call), [&]() -> uint64_t {
        device->locked([&] { device->soc.set_ram_map(std::move(map)); });
        device->wake();
        return 0;
    });
}

void lyra_set_bar_addresses(lyra_device* device, uint64_t vram, uint64_t doorbells, uint64_t registers) {
    device->call({.kind = CallKind::BarAddresses, .bars = {vram, doorbells, registers}}, [&]() -> uint64_t {
        device->locked([&] { device->soc.bus().set_bars(vram, doorbells, registers, device->soc.registers().bytes()); });
        return 0;
    });
}

void lyra_set_bus_master(lyra_device* device, bool enabled) {
    device->call({.kind = CallKind::BusMaster, .value = enabled}, [&]() -> uint64_t {
        device->locked([&] { device->soc.set_bus_master(enabled); });
        device->wake();
        return 0;
    });
}

uint64_t lyra_mmio_read(lyra_device* device, uint64_t offset, unsigned size) {
    const auto read = [&]() -> uint64_t {
        RegisterFile& registers = device->soc.registers();
        const uint32_t dw = static_cast<uint32_t>(offset / 4);
        if (offset >= registers.bytes()) return ~uint64_t{0};
        const uint64_t low = registers.guest_read(dw);
        if (size == 8) return low | uint64_t{registers.guest_read(dw + 1)} << 32;
        return (low >> (offset % 4 * 8)) & (size == 4 ? 0xffffffffu : (1u << size * 8) - 1);
    };
    return device->call(access(CallKind::MmioRead, offset, size), [&] { return device->locked(read); });
}

void lyra_mmio_write(lyra_device* device, uint64_t offset, uint64_t value, unsigned size) {
    const auto write = [&] {
        RegisterFile& registers = device->soc.registers();
        const uint32_t dw = static_cast<uint32_t>(offset / 4);
        if (offset >= registers.bytes() || offset % size || size < 4) {
            // Byte enables are not decoded by these blocks.
            report(device->env, Fault::MmioSize, fmt::format("write of {} bytes at {:#x}", size, offset));
            return;
        }
        registers.guest_write(dw, static_cast<uint32_t>(value));
        if (size == 8) registers.guest_write(dw + 1, static_cast<uint32_t>(value >> 32));
    };
    device->call(access(CallKind::MmioWrite, offset, size, value), [&]() -> uint64_t {
        device->locked(write);
        device->wake();
        return 0;
    });
}

size_t lyra_save(lyra_device* device, bool with_vram, void** state) {
    const std::vector<uint8_t> bytes = device->stopped([&] {
        StateWriter writer;
        device->visit(writer, with_vram);
        return writer.take();
    });
    *state = std::malloc(bytes.size());
    if (!*state) return 0;
    std::memcpy(*state, bytes.data(), bytes.size());
    return bytes.size();
}

size_t lyra_state_text(lyra_device* device, char** text) {
    const std::string printed = device->stopped([&] {
        StatePrinter printer;
        bool with_vram = false;
        device->visit(printer, with_vram);
        return printer.text();
    });
    *text = strdup(printed.c_str());
    return *text ? printed.size() : 0;
}

bool lyra_load(lyra_device* device, const void* state, size_t bytes, char* error, size_t error_bytes) {
    const auto load = [&] {
        StateWriter before;
        before("env", device->env);
        StateLoader loader(std::span(static_cast<const uint8_t*>(state), bytes));
        bool with_vram = false;
        device->visit(loader, with_vram);
        loader.finish();
        if (with_vram && device->recorder) device->recorder->vram_replaced();
        if (loader.ok()) {
            // The reader of the trace has not seen how they were mapped. They are no events of the device: not in its hash.
            Tracer begins_here;
            begins_here.set_sink(device->trace.get());
            device->soc.trace_queues(begins_here);
            return std::string();
        }
        const std::vector<uint8_t> env = before.take();
        StateLoader restorer(env);
        restorer("env", device->env);
        device->soc.reset();
        return loader.error();
    };
    RecordedCall call{.kind = CallKind::Load};
    if (device->recorder) call.state.assign(static_cast<const uint8_t*>(state), static_cast<const uint8_t*>(state) + bytes);
    std::string wrong;
    device->call(std::move(call), [&]() -> uint64_t {
        wrong = device->stopped(load);
        return wrong.empty();
    });
    if (wrong.empty() && !device->timed) device->wake();
    if (error && error_bytes) std::snprintf(error, error_bytes, "%s", wrong.c_str());
    return wrong.empty();
}

uint64_t lyra_doorbell_read(lyra_device* device, uint64_t offset, unsigned size) {
    return device->call(access(CallKind::DoorbellRead, offset, size),
                        [&] { return device->locked([&] { return device->soc.doorbell_read(offset, size); }); });
}

void lyra_doorbell_write(lyra_device* device, uint64_t offset, uint64_t value, unsigned size) {
    if (device->timed || device->repeatable) {
        device->call(access(CallKind::DoorbellWrite, offset, size, value), [&]() -> uint64_t {
            device->locked([&] { device->soc.doorbell_write(offset, value, size); });
            return 0;
        });
        return;
    }
    size_t waiting;
    {
        std::lock_guard hold(device->posted_lock);
        device->posted.push_back({offset, value, size});
        waiting = device->posted.size();
    }
    // Posted, so that the vCPU goes on at once; a guest that outruns the device has to wait for it.
    if (waiting >= kMaxPostedDoorbells) device->locked([] {});
    device->wake();
}

uint64_t lyra_vram_read(lyra_device* device, uint64_t offset, unsigned size) {
    return device->call(access(CallKind::VramRead, offset, size), [&] { return device->soc.hdp().read_vram(offset, size); });
}

void lyra_vram_write(lyra_device* device, uint64_t offset, uint64_t value, unsigned size) {
    device->call(access(CallKind::VramWrite, offset, size, value), [&]() -> uint64_t {
        device->soc.hdp().write_vram(offset, value, size);
        return 0;
    });
}

bool lyra_traps_vram(const lyra_device* device) { return device->env.strict.hdp; }

uint32_t lyra_register_bar_bytes(const lyra_device* device) { return device->soc.registers().bytes(); }

uint64_t lyra_timing(const lyra_device* device, const char* name) { return device->env.timing.get(name); }

bool lyra_start(lyra_device* device) {
    if (device->timed || device->repeatable || device->thread.joinable()) return false;
    device->stop = false;
    device->thread = std::thread([device] { device->pump(); });
    return true;
}

void lyra_stop(lyra_device* device) {
    if (!device->thread.joinable()) return;
    device->stop = true;
    device->wake();
    device->thread.join();
    device->locked([] {});  // doorbells that were written before
}

lyra_run_state lyra_run(lyra_device* device, uint64_t instruction_budget) {
    if (device->timed) {
        const auto done = [&] { return device->env.stats.get(Stat::instructions) + device->hash->events(); };
        const uint64_t before = done(), now = device->env.clock.ns(), next = lyra_run_until(device, now + kRunNs);
        if (next == kNever) return LYRA_IDLE;
        if (next > now + 2 * kRunNs) lyra_run_until(device, next);
        return done() == before ? LYRA_POLLING : LYRA_BUSY;
    }
    if (device->repeatable) instruction_budget = std::min(instruction_budget, kMaxRunInstructions);
    return static_cast<lyra_run_state>(device->call({.kind = CallKind::Run, .value = instruction_budget}, [&] {
        return device->locked([&] { return static_cast<uint64_t>(device->soc.run(instruction_budget)); });
    }));
}

uint64_t lyra_run_until(lyra_device* device, uint64_t now_ns) {
    if (!device->timed) return kNever;
    return device->call({.kind = CallKind::RunUntil, .value = now_ns}, [&] {
        device->waiters.fetch_add(1);
        std::unique_lock hold(device->lock);
        device->waiters.fetch_sub(1);
        return device->run_until(now_ns);
    });
}

void lyra_histogram(lyra_device* device, void (*visit)(void*, const char*, const char*, uint64_t), void* opaque) {
    device->locked([&] {
        if (!device->histogram) return;
        device->histogram->each(
            [&](const std::string& name, const char* format, uint64_t count) { visit(opaque, name.c_str(), format, count); });
    });
}

uint64_t lyra_stat(lyra_device* device, const char* name) {
    const std::vector<std::string>& names = stat_names();
    for (size_t i = 0; i < names.size(); ++i) {
        if (names[i] != name) continue;
        if (device->hash && i == static_cast<size_t>(Stat::trace_events)) return device->hash->events();
        if (device->hash && i == static_cast<size_t>(Stat::trace_hash)) return device->hash->hash();
        if (device->hash && i == static_cast<size_t>(Stat::virtual_ns)) return device->now_ns();
        return i < kStatCount ? device->env.stats.get(static_cast<Stat>(i))
                              : device->env.stats.get(static_cast<Fault>(i - kStatCount));
    }
    return 0;
}

const char* lyra_stat_name(size_t index) {
    const std::vector<std::string>& names = stat_names();
    return index < names.size() ? names[index].c_str() : nullptr;
}

void lyra_generated_code(uint64_t* blocks, uint64_t* ns) {
    const gcn::Translator::Generated generated = gcn::Translator::generated_by_process();
    *blocks = generated.blocks;
    *ns = generated.ns;
}

}  // extern "C"
