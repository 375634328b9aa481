// SPDX-License-Identifier: MIT
// Queues of processes and the run list that hands them to the hardware scheduler; what KFD's device queue manager does.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "kfdtest-ports/shim/gart.h"
#include "kfdtest-ports/shim/mqd.h"
#include "kfdtest-ports/shim/packets.h"
#include "kfdtest-ports/shim/status.h"

namespace lyra::kfd {

class Driver;
class Process;

struct Queue {
    uint32_t id = 0;
    Process* process = nullptr;
    QueueProperties properties;
    KernelBuffer mqd;            ///< of a compute queue: a page, then its control stack
    uint32_t doorbell_id = 0;    ///< in the process's slice
    uint32_t sdma_id = 0;
    bool sdma() const { return properties.type == QueueType::Sdma; }
};

/// @source Linux 6.12 kfd_ioctl.h kfd_context_save_area_header.wave_state
struct WaveState {
    uint32_t control_stack_offset = 0, control_stack_size = 0, wave_state_offset = 0, wave_state_size = 0;
};

class QueueManager {
public:
    static constexpr uint32_t kCpQueues = 24;            ///< MEC 1, queues 2..7 of four pipes
    static constexpr uint32_t kSdmaEngines = 2, kSdmaQueuesPerEngine = 2;
    static constexpr uint32_t kVmids = 8;

    explicit QueueManager(Driver& driver) : driver_(driver) {}

    Status start();  ///< SET_RESOURCES
    /// @param properties without doorbell, SDMA ids and flags
    Status create(Process& process, const QueueProperties& properties, Queue*& made);
    Status destroy(Queue* queue);
    /// hsaKmtUpdateQueue: everything that may change is given anew.
    Status update(Queue& queue, uint32_t percent, uint32_t priority, uint64_t address, uint32_t size);
    Status set_cu_mask(Queue& queue, const std::vector<uint32_t>& mask);
    Status set_gws(Queue& queue, uint32_t num_gws);
    /// Queues of a process leave the GPU, and come back. Nested.
    Status evict(Process& process);
    Status restore(Process& process);
    /// The debugger's: they leave until resume().
    Status suspend(const std::vector<Queue*>& queues);
    Status resume(const std::vector<Queue*>& queues);
    WaveState wave_state(const Queue& queue) const;
    Status remove_process(Process& process);

    bool hws_hang() const { return hws_hang_; }
    bool oversubscribed() const { return oversubscribed_; }
    uint64_t run_lists() const { return run_lists_; }
    bool busy() const { return busy_; }

private:
    struct ProcessQueues {
        Process* process = nullptr;
        std::list<std::unique_ptr<Queue>> queues;
        uint32_t evicted = 0, num_gws = 0;
        bool mapped_gws_queue = false;
    };
    class Busy;

    ProcessQueues& of(Process& process);
    Status execute();
    Status map();
    Status unmap();
    bool preemption_failed();
    void refresh(Queue& queue);
    Words map_process(const ProcessQueues& entry) const;
    Words map_queue(const Queue& queue) const;
    Words run_list(uint64_t address, size_t dwords, size_t processes, bool chain) const;
    Status allocate_sdma(Queue& queue);
    bool place(Process& process, Queue& queue);
    void release(Queue& queue);

    Driver& driver_;
    std::list<ProcessQueues> processes_;  ///< those with queues
    KernelBuffer fence_, list_;
    std::vector<bool> sdma_used_ = std::vector<bool>(kSdmaEngines * kSdmaQueuesPerEngine);
    uint32_t next_id_ = 0;
    uint64_t run_lists_ = 0;
    bool active_run_list_ = false, oversubscribed_ = false, hws_hang_ = false, busy_ = false;
};

}  // namespace lyra::kfd
