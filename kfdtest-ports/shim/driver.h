// SPDX-License-Identifier: MIT
// The driver without its queues: power-on to working KIQ and HIQ, interrupts to events, TLB flushes, processes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "kfdtest-ports/shim/gart.h"
#include "kfdtest-ports/shim/interrupts.h"
#include "kfdtest-ports/shim/kernel_ring.h"
#include "kfdtest-ports/shim/queue_manager.h"
#include "kfdtest-ports/shim/status.h"

namespace lyra::kfd {

class Process;

class Driver {
public:
    /// @param handler code of the first-level trap handler; empty: no trap handler and no context save
    /// @return nullptr, and why in error
    static std::unique_ptr<Driver> start(const GpuOptions& options, Words handler, std::string& error);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;

    Gpu& gpu() { return *gpu_; }
    Gart& gart() { return *gart_; }
    KernelRing& hiq() { return *hiq_; }
    QueueManager& queues() { return *queues_; }
    const InterruptRing& interrupts() const { return *interrupts_; }
    const Words& trap_handler() const { return trap_handler_; }

    /// @return nullptr: no memory or no doorbells left
    Process* create_process();
    /// Its queues go first. Nothing of it may be used afterwards.
    Status destroy_process(Process* process);
    Process* find(uint16_t pasid);

    /// Drop the process's translations in both hubs: a packet of the KIQ and its fence.
    Status flush_tlb(uint16_t pasid);

    /// Read the interrupt ring, unless queues are being changed: then whoever changes them calls again.
    void handle_interrupts();

    /// Interrupts that belong to no living process, or that the driver does not know.
    uint64_t stray_interrupts() const { return stray_; }

private:
    Driver() = default;
    bool bring_up(std::string& error);
    void set_up_contexts();
    void start_sdma();
    bool start_kiq();
    bool start_hiq();
    bool kiq_fence();
    void handle(const InterruptVector& vector);
    void memory_fault(const InterruptVector& vector, Process& process);

    std::unique_ptr<Gpu> gpu_;
    std::unique_ptr<Gart> gart_;
    std::unique_ptr<InterruptRing> interrupts_;
    std::unique_ptr<KernelRing> kiq_, hiq_;
    std::unique_ptr<QueueManager> queues_;
    KernelBuffer kiq_fence_;
    uint32_t kiq_sequence_ = 0;
    Words trap_handler_;
    std::map<uint16_t, std::unique_ptr<Process>> processes_;
    uint32_t next_process_ = 0;
    uint64_t stray_ = 0;
    bool handling_ = false;
};

}  // namespace lyra::kfd
