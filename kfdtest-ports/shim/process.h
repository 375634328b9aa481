// SPDX-License-Identifier: MIT
// One process that uses the GPU: address space, trap handler, doorbells, events; what KFD and the thunk keep for it.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kfdtest-ports/shim/driver.h"
#include "kfdtest-ports/shim/events.h"
#include "tools/inproc/address_space.h"

namespace lyra::kfd {

using inproc::Domain;
using inproc::GpuBuffer;

class Process {
public:
    static constexpr uint32_t kDoorbells = 1024;  ///< 64-bit doorbells of a process's slice

    Process(Driver& driver, uint16_t pasid, uint32_t number);
    ~Process();
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;
    bool ok() const { return ok_; }

    Driver& driver() { return driver_; }
    Gpu& gpu() { return driver_.gpu(); }
    uint16_t pasid() const { return pasid_; }
    inproc::AddressSpace& space() { return space_; }
    uint64_t tba() const { return tba_; }
    uint64_t tma() const { return tma_; }

    // Memory: allocate and map, unmap and free. Stale translations are dropped before the call returns.
    GpuBuffer allocate(uint64_t bytes, Domain domain = Domain::System, uint64_t access = inproc::pte::kAll);
    void release(GpuBuffer& buffer);
    Status map(const GpuBuffer& buffer, uint64_t access = inproc::pte::kAll);
    Status unmap(const GpuBuffer& buffer);

    // Events.
    EventTable& events() { return events_; }
    /// Wait for one or all of the events. @param items ages are taken and given
    Status wait_on_events(std::span<WaitItem> items, bool all, uint64_t timeout_ms);
    Status wait_on_event(uint32_t event_id, uint64_t timeout_ms);

    /// The second-level trap handler, which the first-level one finds in TMA. @source Linux 6.12 kfd_process_set_trap_handler()
    void set_trap_handler(uint64_t tba, uint64_t tma);

    // Doorbells. @return number of a 64-bit doorbell in the slice, kDoorbells: none is left
    uint32_t take_doorbell();
    void give_back_doorbell(uint32_t number) { doorbells_.reset(number); }
    uint32_t doorbell_bytes(uint32_t number) const { return doorbell_base_ + 8 * number; }
    /// The slice in the process's own address space. @return its address there, 0: no memory
    uint64_t map_doorbells();

    // What interrupts have told.
    void note_memory_fault() { ++memory_faults_; }
    void note_packet_error(uint32_t doorbell, uint32_t exception) { packet_errors_.push_back({doorbell, exception}); }
    void note_sq_interrupt(uint32_t context0, uint32_t context1) { sq_interrupts_.push_back({context0, context1}); }
    uint64_t memory_faults() const { return memory_faults_; }
    /// Number of the queue's doorbell in the slice, and KFD's exception code.
    const std::vector<std::array<uint32_t, 2>>& packet_errors() const { return packet_errors_; }
    const std::vector<std::array<uint32_t, 2>>& sq_interrupts() const { return sq_interrupts_; }

private:
    bool set_up_trap_handler();
    void flush();

    Driver& driver_;
    uint16_t pasid_;
    uint32_t doorbell_base_ = 0;
    inproc::AddressSpace space_;
    EventTable events_;
    std::bitset<kDoorbells> doorbells_;
    std::vector<GpuBuffer> own_;  ///< buffers not given back yet
    GpuBuffer handler_;
    uint64_t doorbells_va_ = 0;
    uint64_t tba_ = 0, tma_ = 0;
    uint64_t memory_faults_ = 0;
    std::vector<std::array<uint32_t, 2>> packet_errors_;
    std::vector<std::array<uint32_t, 2>> sq_interrupts_;
    bool ok_ = false;
};

}  // namespace lyra::kfd
