// SPDX-License-Identifier: MIT
// Makes an AQL queue, loads it into a slot of the command processor by register writes, and waits for signals.
#include "tools/inproc/aql_queue.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>

#include "facts/chips.h"
#include "facts/register_fields.h"

namespace lyra::inproc {

namespace {

constexpr uint32_t kMqdBytes = 2048, kEopBytes = 4096;
constexpr uint32_t kFirstDoorbell = 0x4000;
constexpr uint32_t kFirstHqdDword = 128, kHqdDwords = 56, kFirstHqdRegister = reg::GC::CP_MQD_BASE_ADDR;
constexpr uint64_t kMaxScratchBytes = uint64_t{256} << 20;
constexpr uint64_t kSlice = 200000;  // wave instructions of each thread in one lyra_run()

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

/// A row of the error codes. @source ROCr amd_aql_queue.cpp, DynamicQueueEventsHandler
struct ErrorText {
    uint64_t bit;
    const char* text;
};
constexpr ErrorText kErrors[] = {
    {0x1, "the kernel needs more scratch than the queue has"},
    {0x2, "invalid dimension of grid or work-group"},
    {0x4, "the kernel needs more LDS than there is"},
    {0x8, "invalid code object"},
    {0x20, "invalid packet"},
    {0x40, "the work-group is too large"},
    {0x80, "the kernel needs more registers than there are"},
    {0x100, "unknown vendor packet"},
    {0x20000000, "memory aperture violation"},
    {0x40000000, "illegal instruction"},
    {0x80000000, "trap or abort"},
};

}  // namespace

AqlQueue::AqlQueue(InProcessDevice& device, const AqlQueueOptions& options) : device_(device), options_(options) {
    doorbell_ = kFirstDoorbell + options.doorbell_slot * 8;
    ring_ = device.allocate(uint64_t{options.packets} * 64, options.domain);
    signals_ = device.allocate(kSignals * sizeof(AmdSignal), options.domain);
    mqd_ = device.allocate(kPageBytes);
    eop_ = device.allocate(kEopBytes);
    GpuBuffer record = device.allocate(sizeof(AmdQueue), options.domain);
    if (!ring_ || !signals_ || !mqd_ || !eop_ || !record) return;
    record_ = record;
    for (uint32_t i = 0; i < options.packets; ++i) ring_.host[i * 64] = aql::kInvalid;
    inactive_signal_ = make_signal(0);
    write_record();
    load_hqd();
}

AqlQueue::~AqlQueue() {
    if (!ok()) return;
    // Waves that never end stay: the device is thrown away next.
    device_.select(1, options_.pipe, options_.queue, 0);
    device_.write_register(reg::kHqdDequeueRequest, 2);
    device_.select(0, 0, 0, 0);
}

void AqlQueue::write_record() {
    AmdQueue queue;
    queue.base_address = ring_.va;
    queue.size = options_.packets;
    queue.group_segment_aperture_base_hi = high(kSharedBase);
    queue.private_segment_aperture_base_hi = high(kPrivateBase);
    queue.max_cu_id = device_.options().compute_units - 1;
    queue.max_wave_id = find_chip(device_.options().chip)->waves_per_cu() * device_.options().compute_units - 1;
    queue.queue_properties = 1u << 1 | 1u << 3;  // 64-bit, profiling
    queue.queue_inactive_signal = inactive_signal_;
    std::memcpy(record_.host, &queue, sizeof queue);
}

// The queue descriptor as the driver fills it in; then its second half register by register, as without firmware scheduler.
void AqlQueue::load_hqd() {
    using namespace reg::GC;
    std::array<uint32_t, kMqdBytes / 4> mqd{};
    const auto hqd = [&](uint32_t number) -> uint32_t& { return mqd[kFirstHqdDword + number - kFirstHqdRegister]; };
    const auto hqd64 = [&](uint32_t number, uint64_t value) { hqd(number) = low(value), hqd(number + 1) = high(value); };
    mqd[0] = 0xc0310800;
    mqd[11] = 1;                                           // compute_pipelinestat_enable
    for (const unsigned se : {23u, 24u, 26u, 27u}) mqd[se] = ~0u;  // compute_static_thread_mgmt: every CU
    hqd64(CP_MQD_BASE_ADDR, device_.mc_address(mqd_.offset));
    hqd(CP_HQD_VMID) = field::CP_HQD_VMID::VMID::of(kUserVmid) | field::CP_HQD_VMID::IB_VMID::of(kUserVmid);
    namespace persistent = field::CP_HQD_PERSISTENT_STATE;
    hqd(CP_HQD_PERSISTENT_STATE) = persistent::PRELOAD_REQ::kMask | persistent::PRELOAD_SIZE::of(0x53);
    namespace quantum = field::CP_HQD_QUANTUM;  // 1 ms
    hqd(CP_HQD_QUANTUM) = quantum::QUANTUM_EN::kMask | quantum::QUANTUM_SCALE::kMask | quantum::QUANTUM_DURATION::of(1);
    hqd64(CP_HQD_PQ_BASE, ring_.va >> 8);
    hqd64(CP_HQD_PQ_RPTR_REPORT_ADDR, record_.va + offsetof(AmdQueue, read_dispatch_id));
    hqd64(CP_HQD_PQ_WPTR_POLL_ADDR, record_.va + offsetof(AmdQueue, write_dispatch_id));
    namespace doorbell = field::CP_HQD_PQ_DOORBELL_CONTROL;
    hqd(CP_HQD_PQ_DOORBELL_CONTROL) = doorbell_ | doorbell::DOORBELL_BIF_DROP::kMask | doorbell::DOORBELL_EN::kMask;
    const uint32_t size_log2 = std::bit_width(options_.packets * 16 - 1);
    namespace control = field::CP_HQD_PQ_CONTROL;
    hqd(CP_HQD_PQ_CONTROL) = control::QUEUE_SIZE::of(size_log2 - 1) | control::RPTR_BLOCK_SIZE::of(5) |
                             control::QUEUE_FULL_EN::kMask | control::WPP_CLAMP_EN::kMask | control::SLOT_BASED_WPTR::of(2) |
                             control::NO_UPDATE_RPTR::kMask | control::UNORD_DISPATCH::kMask;
    hqd(CP_HQD_IB_CONTROL) =
        field::CP_HQD_IB_CONTROL::MIN_IB_AVAIL_SIZE::of(3) | field::CP_HQD_IB_CONTROL::IB_EXE_DISABLE::kMask;
    hqd(CP_HQD_HQ_STATUS0) = 1 << 14;  // the CP sets up DISPATCH_PTR; the header has no name for it
    hqd(CP_MQD_CONTROL) = field::CP_MQD_CONTROL::PRIV_STATE::kMask;
    hqd64(CP_HQD_EOP_BASE_ADDR, eop_.va >> 8);
    hqd(CP_HQD_EOP_CONTROL) = field::CP_HQD_EOP_CONTROL::EOP_SIZE::of(9);  // 1024 dwords
    hqd(CP_HQD_AQL_CONTROL) = field::CP_HQD_AQL_CONTROL::CONTROL0::of(1);
    std::memcpy(mqd_.host, mqd.data(), kMqdBytes);

    device_.flush_tlb();
    device_.select(1, options_.pipe, options_.queue, 0);
    for (uint32_t i = 0; i < kHqdDwords; ++i) device_.write_register(reg::kMqdBaseAddr + 4 * i, mqd[kFirstHqdDword + i]);
    device_.write_register(reg::kHqdPqDoorbellControl, hqd(CP_HQD_PQ_DOORBELL_CONTROL));
    device_.write_register(reg::kHqdEopRptr, field::CP_HQD_EOP_RPTR::INIT_FETCHER::kMask);
    device_.write_register(reg::kHqdActive, 1);
    device_.select(0, 0, 0, 0);
}

bool AqlQueue::set_scratch(uint32_t bytes_per_lane) {
    if (bytes_per_lane == 0 || bytes_per_lane <= record()->scratch_wave64_lane_byte_size) return true;
    const uint64_t wave_bytes = (uint64_t{bytes_per_lane} * 64 + 1023) / 1024 * 1024;
    if (wave_bytes / 1024 > 0x1fff) return false;  // width of WAVESIZE
    constexpr uint64_t kEngines = LYRA_SHADER_ENGINES, kWavesPerCu = same_for_all_chips(&ChipFacts::scratch_slots_per_cu);
    const uint64_t units = (device_.options().compute_units + kEngines - 1) / kEngines * kEngines;
    uint64_t waves = std::min<uint64_t>(units * kWavesPerCu, 0xfff / kEngines * kEngines);
    waves = std::clamp(kMaxScratchBytes / wave_bytes / kEngines * kEngines, kEngines, waves);
    scratch_ = device_.allocate(waves * wave_bytes);
    if (!scratch_) return false;
    volatile AmdQueue* queue = record();
    queue->compute_tmpring_size = static_cast<uint32_t>(waves | wave_bytes / 1024 << 12);
    queue->scratch_resource_descriptor[0] = low(scratch_.va);
    queue->scratch_resource_descriptor[1] = (high(scratch_.va) & 0xffff) | 1u << 31;  // swizzled
    queue->scratch_resource_descriptor[2] = low(waves * wave_bytes);
    // Components X, Y, Z, W; UINT; 32 bit; index stride 64; the lane is the index. @source ROCr amd_aql_queue.cpp
    queue->scratch_resource_descriptor[3] = 4 | 5 << 3 | 6 << 6 | 7 << 9 | 4 << 12 | 4 << 15 | 3 << 21 | 1 << 23;
    queue->scratch_backing_memory_location = scratch_.va;
    queue->scratch_backing_memory_byte_size = waves * wave_bytes;
    queue->scratch_wave64_lane_byte_size = static_cast<uint32_t>(wave_bytes / 64);
    return true;
}

uint64_t AqlQueue::make_signal(int64_t value) {
    if (used_signals_ == kSignals) return 0;
    AmdSignal signal;
    signal.value = value;
    const uint64_t at = uint64_t{used_signals_++} * sizeof signal;
    std::memcpy(signals_.host + at, &signal, sizeof signal);
    return signals_.va + at;
}

volatile AmdSignal* AqlQueue::signal(uint64_t address) const {
    return reinterpret_cast<volatile AmdSignal*>(signals_.host + (address - signals_.va));
}

uint64_t AqlQueue::write_packet(const void* packet64) {
    volatile AmdQueue* queue = record();
    const uint64_t index = queue->write_dispatch_id;
    queue->write_dispatch_id = index + 1;
    uint8_t* slot = ring_.host + index % options_.packets * 64;
    uint32_t header;
    std::memcpy(&header, packet64, sizeof header);
    std::memcpy(slot + 4, static_cast<const uint8_t*>(packet64) + 4, 60);
    __atomic_store_n(reinterpret_cast<uint32_t*>(slot), header, __ATOMIC_RELEASE);
    return index;
}

void AqlQueue::ring(uint64_t index) { device_.ring_doorbell(doorbell_, index); }

uint64_t AqlQueue::submit(const void* packet64) {
    const uint64_t index = write_packet(packet64);
    ring(index);
    return index;
}

RunOutcome AqlQueue::wait(uint64_t signal_address, const RunLimits& limits) {
    using Clock = std::chrono::steady_clock;
    const auto seconds = [](double s) { return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(s)); };
    const uint64_t first = device_.stat("instructions");
    uint64_t last = first;
    const auto deadline = Clock::now() + seconds(limits.seconds);
    auto stall_deadline = Clock::now() + seconds(limits.stall_seconds);
    unsigned idle = 0;
    const uint64_t threads = device_.options().threads;
    const uint64_t slice = kSlice * (threads != 0 ? threads : std::max(std::thread::hardware_concurrency(), 1u));
    while (signal(signal_address)->value != 0) {
        if (error_code()) return RunOutcome::QueueError;
        const uint64_t left = limits.instructions - std::min(limits.instructions, last - first);
        if (left == 0) return RunOutcome::OutOfBudget;
        const lyra_run_state state = device_.run(std::min(slice, left));
        const auto now = Clock::now();
        const uint64_t instructions = device_.stat("instructions");
        if (instructions != last || state == LYRA_BUSY) stall_deadline = now + seconds(limits.stall_seconds);
        last = instructions;
        if (limits.stop && *limits.stop) return RunOutcome::Stopped;
        if (now > deadline) return RunOutcome::OutOfTime;
        idle = state == LYRA_IDLE ? idle + 1 : 0;
        if (idle > 2 || now > stall_deadline) {
            return signal(signal_address)->value == 0 ? RunOutcome::Done
                   : error_code()                     ? RunOutcome::QueueError
                                                      : RunOutcome::Stuck;
        }
        if (state == LYRA_POLLING) std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    return RunOutcome::Done;
}

uint64_t AqlQueue::error_code() const { return static_cast<uint64_t>(signal(inactive_signal_)->value); }

std::string AqlQueue::error_text(uint64_t code) {
    std::string text;
    for (const ErrorText& error : kErrors) {
        if (code & error.bit) text += (text.empty() ? "" : ", ") + std::string(error.text);
    }
    return text.empty() ? "unknown error" : text;
}

}  // namespace lyra::inproc
