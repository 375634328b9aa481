// SPDX-License-Identifier: MIT
// The kernel driver's own interface, /dev/kfd, without any runtime in between: memory, AQL queues and events of one GPU.
// For programs that run in the guest. A call that fails ends the program with a message.
#pragma once

#include <linux/kfd_ioctl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "facts/chips.h"

namespace lyra::guest {

/// Print a message and end the program with status 1.
[[noreturn]] void fail(const std::string& what);
/// fail() unless ok; says what errno means.
void require(bool ok, const std::string& what);

/// fork() of a child that does not outlive its parent.
int fork_child();

/// Memory of zeros that this process shares with its children.
void* shared_bytes(size_t bytes);
template <class T>
T& shared_with_children() {
    return *new (shared_bytes(sizeof(T))) T{};
}

/// Wait, looking every few milliseconds. @return false: not in time
bool wait_for(double seconds, const std::function<bool()>& done);
void sleep_ms(unsigned milliseconds);
double now_s();

/// Content of a small file, nothing when it cannot be read.
std::string read_file(const std::string& path);
/// Number behind a word in one of those files that hold "name value" lines.
uint64_t property(const std::string& text, const std::string& name);

/// Cached: system memory that the GPU may hold in its L2. VRAM always may be.
enum class Where { System, Cached, Vram };

/// How far a packet acquires and releases memory.
enum class Fence : uint16_t { None, Agent, System };

/// What AMD's barrier packet compares a signal's value with. @source hsa.h, hsa_signal_condition_t
enum class Condition : uint32_t { Equal, NotEqual, Less, GreaterOrEqual };

/// Memory that CPU and GPU see at the same address.
struct Memory {
    void* at = nullptr;
    size_t bytes = 0;
    uint64_t handle = 0;
    uint64_t offset = 0;  ///< in the render node, for mmap()
    template <class T>
    T* as(size_t byte = 0) const {
        return reinterpret_cast<T*>(static_cast<char*>(at) + byte);
    }
    uint64_t address(size_t byte = 0) const { return reinterpret_cast<uint64_t>(at) + byte; }
};

/// Id of the first GPU, 0 when there is none. Needs no open device.
uint32_t first_gpu_id();
/// What it is. Needs no open device.
Chip first_gpu_chip();
/// In its compute partition. Needs no open device.
uint32_t first_gpu_xccs();

/// The first GPU of the machine, opened by this process.
class Gpu {
public:
    Gpu();
    ~Gpu();
    Gpu(const Gpu&) = delete;
    Gpu& operator=(const Gpu&) = delete;

    /// Mapped to the GPU, writable and executable. System memory is filled with zeros.
    Memory allocate(size_t bytes, Where where = Where::System);
    void free(const Memory& memory);
    /// Let what the CPU has stored in VRAM reach it.
    void flush_hdp();
    /// Code for the GPU. @return memory that begins with it
    Memory load(std::span<const unsigned char> code);

    /// Like ioctl(). @return -1: failed, see errno
    int call(unsigned long request, void* arguments) const;

    int kfd() const { return kfd_; }
    int render_node() const { return drm_; }
    uint32_t id() const { return id_; }
    Chip chip() const { return chip_; }
    uint32_t compute_units() const { return compute_units_; }
    uint32_t shader_engines() const { return shader_engines_; }
    /// XCCs of its compute partition, which have engines and compute units alike.
    uint32_t xccs() const { return xccs_; }

private:
    int kfd_ = -1, drm_ = -1;
    volatile uint32_t* flush_ = nullptr;
    uint32_t id_ = 0, compute_units_ = 0, shader_engines_ = 0, xccs_ = 1;
    Chip chip_ = first_gpu_chip();
};

/// The memory of an AQL queue; as plain data, so that another process can take it over.
struct QueueMemory {
    Memory ring, pointers[2], end_of_pipe, save_area, signals;  ///< pointers: read, write
    uint32_t ring_bytes = 0, save_bytes = 0, stack_bytes = 0;  ///< the last two of each XCC
    uint32_t xccs = 1;
    uint32_t saved_bytes() const { return save_bytes * xccs; }
};

class AqlQueue {
public:
    static constexpr unsigned kNormalPriority = 7;
    explicit AqlQueue(Gpu& gpu, uint32_t packets = 64, unsigned priority = kNormalPriority, Where end_of_pipe = Where::Vram);
    ~AqlQueue();
    AqlQueue(const AqlQueue&) = delete;
    AqlQueue& operator=(const AqlQueue&) = delete;

    /// Start a grid. code begins with a kernel descriptor (kernel.inc). @return number of its completion signal
    unsigned dispatch(const Memory& code, uint32_t groups, uint32_t group_size, const Memory& arguments, uint32_t lds_bytes = 0,
                      Fence acquire = Fence::System, Fence release = Fence::System);
    bool done(unsigned signal) const;
    /// Address of a completion signal.
    uint64_t signal_address(unsigned signal) const;
    /// The packets behind this one wait for the value of the signal at an address.
    void wait_until(uint64_t signal, Condition condition, int64_t value);

    /// AMDKFD_IOC_UPDATE_QUEUE: 0 takes the queue from the hardware, more gives it back. @return 0 or errno
    int update(unsigned percentage);
    /// @return 0 or errno
    int destroy();
    /// A new queue with the memory of the one that was destroyed, which had no packets.
    void create();

    uint32_t id() const { return id_; }
    const QueueMemory& memory() const { return memory_; }

private:
    /// Number of the next packet; its bytes from the second on are 0.
    uint64_t next_packet(void*& packet);
    /// Let the GPU have it.
    void publish(uint64_t index, uint16_t header);

    Gpu& gpu_;
    QueueMemory memory_;
    uint32_t id_ = 0;
    unsigned priority_;
    bool exists_ = false;
    uint64_t next_ = 0;
    void* doorbells_ = nullptr;
    volatile uint64_t* doorbell_ = nullptr;
};

/// Event of a kind that the driver raises by itself, such as KFD_IOC_EVENT_HW_EXCEPTION.
class Event {
public:
    Event(Gpu& gpu, uint32_t type);
    /// @return false: not in time
    bool wait(double seconds, kfd_event_data& data);

private:
    Gpu& gpu_;
    uint32_t id_ = 0;
};

}  // namespace lyra::guest
