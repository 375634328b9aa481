// SPDX-License-Identifier: MIT
// What preempt_timing needs of the thunk: the GPU, memory, the GPU's clock, kernels, an AQL queue. A call that fails ends the
// program.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <time.h>
#include <unistd.h>

#include <hsakmt/hsakmt.h>

namespace timing {

[[noreturn]] inline void fail(int status, const char* format, ...) {
    va_list list;
    va_start(list, format);
    std::fflush(stdout);
    std::fputs("preempt_timing: ", stderr);
    std::vfprintf(stderr, format, list);
    std::fputc('\n', stderr);
    std::exit(status);
}

inline void require(HSAKMT_STATUS status, const char* what) {
    if (status != HSAKMT_STATUS_SUCCESS) fail(1, "%s failed: HSAKMT_STATUS %d", what, static_cast<int>(status));
}

/// The clock that the driver gives beside the GPU's.
inline int64_t now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

/// Looks without pause. @return false: not within the time
template <class Done>
bool spin(double seconds, Done done) {
    const int64_t end = now_ns() + static_cast<int64_t>(seconds * 1e9);
    while (!done()) {
        if (now_ns() > end) return false;
    }
    return true;
}

template <class T>
T load(const void* at) {
    return __atomic_load_n(static_cast<const T*>(at), __ATOMIC_ACQUIRE);
}
template <class T>
void store(void* at, T value) {
    __atomic_store_n(static_cast<T*>(at), value, __ATOMIC_RELEASE);
}

inline constexpr size_t kPage = 4096;

struct Gpu {
    unsigned node = 0;
    HsaNodeProperties properties{};
    unsigned cus() const { return properties.NumFComputeCores / properties.NumSIMDPerCU; }
    unsigned stepping() const { return properties.EngineId.ui32.Stepping; }
};

inline Gpu find_gpu(int wanted) {
    HsaSystemProperties system{};
    if (hsaKmtOpenKFD() != HSAKMT_STATUS_SUCCESS)
        fail(2, "cannot open /dev/kfd: is amdgpu loaded, are you in the group of /dev/kfd?");
    require(hsaKmtAcquireSystemProperties(&system), "hsaKmtAcquireSystemProperties");
    for (unsigned n = 0; n < system.NumNodes; ++n) {
        Gpu gpu{n, {}};
        require(hsaKmtGetNodeProperties(n, &gpu.properties), "hsaKmtGetNodeProperties");
        if (gpu.properties.NumFComputeCores == 0 || (wanted >= 0 && n != static_cast<unsigned>(wanted))) continue;
        const auto& engine = gpu.properties.EngineId.ui32;
        const bool known =
            engine.Major == 9 && engine.Minor == 0 && (engine.Stepping == 0 || engine.Stepping == 6 || engine.Stepping == 8);
        if (known) return gpu;
        if (wanted >= 0)
            fail(2, "node %u is gfx%u%u%x; the kernels are for gfx900, gfx906 and gfx908", n, engine.Major, engine.Minor,
                 engine.Stepping);
    }
    fail(2, wanted >= 0 ? "node %d is no GPU" : "no gfx900, gfx906 or gfx908 here", wanted);
}

/// System memory that the GPU sees at the same address, coherent; zeros.
inline void* allocate(size_t bytes, bool code = false) {
    HsaMemFlags flags{};
    flags.ui32.HostAccess = 1;
    flags.ui32.NoNUMABind = 1;
    flags.ui32.ExecuteAccess = code;
    void* at = nullptr;
    HSAuint64 alternate = 0;
    bytes = (bytes + kPage - 1) / kPage * kPage;
    require(hsaKmtAllocMemory(0, bytes, flags, &at), "hsaKmtAllocMemory");
    require(hsaKmtMapMemoryToGPU(at, bytes, &alternate), "hsaKmtMapMemoryToGPU");
    std::memset(at, 0, bytes);
    return at;
}

inline std::vector<HsaMemoryProperties> memory_banks(const Gpu& gpu) {
    std::vector<HsaMemoryProperties> banks(gpu.properties.NumMemoryBanks);
    require(hsaKmtGetNodeMemoryProperties(gpu.node, gpu.properties.NumMemoryBanks, banks.data()),
            "hsaKmtGetNodeMemoryProperties");
    return banks;
}

/// VRAM in the processor's address space; zeros. @return nullptr: there is none, as without a large BAR
inline void* allocate_visible_vram(const Gpu& gpu, size_t bytes) {
    bool visible = false;
    for (const HsaMemoryProperties& bank : memory_banks(gpu)) visible |= bank.HeapType == HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC;
    HsaMemFlags flags{};
    flags.ui32.HostAccess = 1;
    flags.ui32.NonPaged = 1;
    flags.ui32.NoNUMABind = 1;
    void* at = nullptr;
    if (!visible || hsaKmtAllocMemory(gpu.node, bytes, flags, &at) != HSAKMT_STATUS_SUCCESS) return nullptr;
    std::memset(at, 0, bytes);
    return at;
}

/// The page of the register BAR whose registers flush the host data path. @return nullptr: it is not mapped
inline volatile uint32_t* hdp_flush_page(const Gpu& gpu) {
    for (const HsaMemoryProperties& bank : memory_banks(gpu)) {
        if (bank.HeapType == HSA_HEAPTYPE_MMIO_REMAP) return reinterpret_cast<volatile uint32_t*>(bank.VirtualBaseAddress);
    }
    return nullptr;
}

/// The GPU's clock in terms of the host's: its rate from two looks far apart, its offset from the last one.
class GpuClock {
public:
    explicit GpuClock(unsigned node) : node_(node), first_(look()), last_(first_) {
        usleep(500'000);
        update();
    }
    void update() { last_ = look(); }
    /// How far ns() may be off at this time: both clocks were read at some time during a call, and the rate is made of two.
    double error_ns(int64_t at) const {
        const double since = static_cast<double>(std::abs(at - last_.host)),
                     between = static_cast<double>(last_.host - first_.host);
        return static_cast<double>(last_.taken) + static_cast<double>(first_.taken + last_.taken) * since / between;
    }
    double ns(uint64_t ticks) const {
        return static_cast<double>(last_.host) + static_cast<double>(static_cast<int64_t>(ticks - last_.gpu)) * ns_per_tick();
    }
    double ns_per_tick() const {
        return static_cast<double>(last_.host - first_.host) / static_cast<double>(last_.gpu - first_.gpu);
    }

private:
    struct Pair {
        uint64_t gpu;
        int64_t host, taken;
    };
    Pair look() const {
        Pair best{0, 0, INT64_MAX};
        for (unsigned n = 0; n < 16; ++n) {
            HsaClockCounters counters{};
            const int64_t begin = now_ns();
            require(hsaKmtGetClockCounters(node_, &counters), "hsaKmtGetClockCounters");
            const int64_t taken = now_ns() - begin;
            if (taken >= best.taken) continue;
            best = {counters.GPUClockCounter, static_cast<int64_t>(counters.CPUClockCounter), taken};
        }
        return best;
    }
    unsigned node_;
    Pair first_, last_;
};

/// Code with the kernel descriptor before it. @source LLVM AMDGPUUsage, kernel descriptor for gfx9
template <size_t n>
uint8_t* load_kernel(const uint32_t (&code)[n], unsigned vgprs) {
    auto* at = static_cast<uint8_t*>(allocate(kPage, true));
    store<int64_t>(at + 16, 256);
    store<uint32_t>(at + 48, 0x00ac0000 | ((32 / 16 - 1) * 2) << 6 | (vgprs / 4 - 1));  // IEEE, DX10_CLAMP, denormals, 32 SGPRs
    store<uint32_t>(at + 52, 2 << 1 | 1 << 7);  // 2 user SGPRs, number of the work-group
    store<uint16_t>(at + 56, 1 << 3);  // which are the address of the arguments
    std::memcpy(at + 256, code, sizeof code);
    return at;
}

/// An AQL queue in memory as ROCr lays it out. @source hsa-runtime amd_hsa_queue.h, amd_hsa_signal.h; HSA 1.2, AQL packets
class Queue {
public:
    explicit Queue(const Gpu& gpu, HSA_QUEUE_PRIORITY priority = HSA_QUEUE_PRIORITY_NORMAL) : priority_(priority) {
        ring_ = static_cast<uint8_t*>(allocate(kPackets * kPacketBytes));
        descriptor_ = static_cast<uint8_t*>(allocate(kPage));
        signal_ = static_cast<uint8_t*>(allocate(kPage));
        for (unsigned n = 0; n < kPackets; ++n) store<uint16_t>(ring_ + n * kPacketBytes, 1);  // no packet yet
        store<uint64_t>(signal_, 1);  // kind: a user signal
        store<uint32_t>(descriptor_ + 0x88, 0x80);  // read_dispatch_id is 0x80 bytes behind the start
        store<uint32_t>(descriptor_ + 0xb4, 1 << 1);  // pointers of 64 bits
        resource_.Queue_read_ptr_aql = reinterpret_cast<HSAuint64*>(descriptor_ + 0x80);
        resource_.Queue_write_ptr_aql = reinterpret_cast<HSAuint64*>(descriptor_ + 0x38);
        require(hsaKmtCreateQueue(gpu.node, HSA_QUEUE_COMPUTE_AQL, 100, priority_, ring_, kPackets * kPacketBytes, nullptr,
                                  &resource_),
                "hsaKmtCreateQueue");
    }
    ~Queue() { hsaKmtDestroyQueue(resource_.QueueId); }
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    /// @return when the doorbell was rung
    int64_t dispatch(const uint8_t* kernel, unsigned groups, unsigned group_items, unsigned lds_bytes, const void* arguments) {
        store<int64_t>(signal_ + 8, 1);
        uint8_t* packet = next_packet();
        store<uint16_t>(packet + 2, 1);  // one dimension
        store<uint16_t>(packet + 4, static_cast<uint16_t>(group_items));
        store<uint32_t>(packet + 6, 1 | 1 << 16);
        store<uint32_t>(packet + 12, groups * group_items);
        store<uint32_t>(packet + 16, 1);
        store<uint32_t>(packet + 20, 1);
        store<uint32_t>(packet + 24, 0);
        store<uint32_t>(packet + 28, lds_bytes);
        store<uint64_t>(packet + 32, reinterpret_cast<uint64_t>(kernel));
        store<uint64_t>(packet + 40, reinterpret_cast<uint64_t>(arguments));
        store<uint64_t>(packet + 48, 0);
        store<uint64_t>(packet + 56, reinterpret_cast<uint64_t>(signal_));
        return submit(packet, 2 | 1 << 8 | 2 << 9 | 2 << 11);  // kernel dispatch, barrier, acquire and release system-wide
    }
    /// A barrier packet that waits for what was dispatched before: until then the queue has work, wherever one looks.
    void wait_for_all() {
        uint8_t* packet = next_packet();
        std::memset(packet + 2, 0, kPacketBytes - 2);
        submit(packet, 3 | 1 << 8);
    }
    bool done() const { return load<int64_t>(signal_ + 8) == 0; }
    void update(unsigned percent) {
        require(hsaKmtUpdateQueue(resource_.QueueId, percent, priority_, ring_, kPackets * kPacketBytes, nullptr),
                "hsaKmtUpdateQueue");
    }
    /// Of a queue that has had a packet: the value that says so once more.
    uint64_t doorbell_value() const { return next_ - 1; }
    volatile uint64_t* doorbell() const { return reinterpret_cast<volatile uint64_t*>(resource_.Queue_DoorBell_aql); }

private:
    static constexpr unsigned kPackets = 64, kPacketBytes = 64;
    uint8_t* next_packet() const { return ring_ + next_ % kPackets * kPacketBytes; }
    int64_t submit(uint8_t* packet, uint16_t header) {
        store<uint64_t>(resource_.Queue_write_ptr_aql, next_ + 1);
        store<uint16_t>(packet, header);
        const int64_t now = now_ns();
        store<uint64_t>(resource_.Queue_DoorBell_aql, next_++);
        return now;
    }
    HSA_QUEUE_PRIORITY priority_;
    uint8_t *ring_, *descriptor_, *signal_;
    HsaQueueResource resource_{};
    uint64_t next_ = 0;
};

}  // namespace timing
