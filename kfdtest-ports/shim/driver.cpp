// SPDX-License-Identifier: MIT
// Bring-up and interrupts of the driver. @source Linux 6.12 gfx_v9_0.c, gmc_v9_0.c, kfd_int_process_v9.c
#include "kfdtest-ports/shim/driver.h"

#include "kfdtest-ports/shim/process.h"

namespace lyra::kfd {

namespace {

namespace reg = inproc::reg;

constexpr uint32_t kKiqMe = 2, kKiqPipe = 1, kKiqQueue = 0, kHiqPipe = 0, kHiqQueue = 0;
constexpr uint32_t kKiqBytes = 4096, kHiqBytes = 2048, kKiqDoorbell = 0, kHiqDoorbell = 0x2000;
constexpr uint64_t kKiqMs = 1000;
constexpr uint16_t kFirstPasid = 0x8001;
constexpr uint32_t kFirstKfdVmid = 8, kLastKfdVmid = 15;
/// KFD_EC_MASK_PACKET. @source Linux 6.12 kfd_ioctl.h
constexpr uint32_t kFirstPacketException = 16, kLastPacketException = 23;

uint32_t hqd_register(uint32_t mqd_dword) { return reg::kMqdBaseAddr + 4 * (mqd_dword - v9_mqd::kMqdBaseAddr); }

}  // namespace

std::unique_ptr<Driver> Driver::start(const GpuOptions& options, Words handler, std::string& error) {
    std::unique_ptr<Driver> driver(new Driver);
    driver->trap_handler_ = std::move(handler);
    driver->gpu_ = Gpu::create(options, error);
    if (!driver->gpu_ || !driver->bring_up(error)) return nullptr;
    return driver;
}

Driver::~Driver() = default;

bool Driver::bring_up(std::string& error) {
    interrupts_ = std::make_unique<InterruptRing>(*gpu_);
    gpu_->set_interrupt_handler([this] { handle_interrupts(); });
    gart_ = std::make_unique<Gart>(*gpu_);
    set_up_contexts();
    start_sdma();
    kiq_fence_ = gart_->allocate(inproc::kPageBytes);
    if (!start_kiq())
        error = "the KIQ does not answer";
    else if (!start_hiq())
        error = "the HIQ does not start";
    if (!error.empty()) return false;
    queues_ = std::make_unique<QueueManager>(*this);
    if (queues_->start() == Status::Success) return true;
    error = "the scheduler does not take its resources";
    return false;
}

/// Four levels for every VMID of processes; the scheduler sets the table when it maps one.
void Driver::set_up_contexts() {
    constexpr uint32_t kEnableDepth3 = 1 | 3 << 1;
    constexpr uint64_t kLastPage = (uint64_t{1} << 36) - 1;
    for (const inproc::HubRegisters* hub : {&inproc::kGfxhub, &inproc::kMmhub}) {
        for (uint32_t vmid = 1; vmid < 16; ++vmid) {
            gpu_->write_register(hub->page_table_start + 8 * vmid, 0);
            gpu_->write_register(hub->page_table_start + 8 * vmid + 4, 0);
            gpu_->write_register(hub->page_table_end + 8 * vmid, lo32(kLastPage));
            gpu_->write_register(hub->page_table_end + 8 * vmid + 4, hi32(kLastPage));
            gpu_->write_register(hub->context_cntl + 4 * vmid, kEnableDepth3);
        }
    }
}

/// @source Linux 6.12 sdma_v4_0.c sdma_v4_0_enable(), sdma_v4_0_ctx_switch_enable(), sdma_v4_0_set_trap_irq_state();
/// nbio_v7_4.c
void Driver::start_sdma() {
    constexpr uint32_t kDoorbell = 0xf0, kDoorbells = 2;  // 64-bit doorbells, AMDGPU_DOORBELL64_sDMA_ENGINE0
    for (uint32_t engine = 0; engine < 2; ++engine) {
        gpu_->write_register(reg::kSdma0DoorbellRange + 4 * engine,
                             (kDoorbell + kDoorbells * engine) * 2 << 2 | kDoorbells * 2 << 16);
    }
    for (const uint32_t cntl : {reg::kSdma0Cntl, reg::kSdma1Cntl}) {
        gpu_->write_register(cntl, gpu_->read_register(cntl) | 1 | 1u << 18);
    }
    for (const uint32_t cntl : {reg::kSdma0F32Cntl, reg::kSdma1F32Cntl}) gpu_->write_register(cntl, 0);
}

/// @source Linux 6.12 gfx_v9_0.c gfx_v9_0_kiq_setting(), gfx_v9_0_kiq_init_register()
bool Driver::start_kiq() {
    kiq_ = std::make_unique<KernelRing>(*gpu_, *gart_, kKiqBytes, kKiqDoorbell);
    constexpr uint32_t kSlot = kKiqMe << 5 | kKiqPipe << 3 | kKiqQueue;
    gpu_->write_register(reg::kRlcCpSchedulers, kSlot);
    gpu_->write_register(reg::kRlcCpSchedulers, kSlot | 0x80);
    using namespace v9_mqd;
    uint32_t* mqd = kiq_->mqd().words();
    mqd[kPqDoorbellControl] |= 1u << 30;
    mqd[kHqdActive] = 1;
    gpu_->select(kKiqMe, kKiqPipe, kKiqQueue, 0);
    for (const uint32_t dword : {uint32_t{kEopBaseAddr}, kEopBaseAddr + 1u, uint32_t{kEopControl}, uint32_t{kPqDoorbellControl},
                                 uint32_t{kMqdBaseAddr}, kMqdBaseAddr + 1u, uint32_t{kMqdControl}, uint32_t{kPqBase},
                                 kPqBase + 1u, uint32_t{kPqControl}, uint32_t{kPqRptrReportAddr}, kPqRptrReportAddr + 1u,
                                 uint32_t{kPqWptrPollAddr}, kPqWptrPollAddr + 1u}) {
        gpu_->write_register(hqd_register(dword), mqd[dword]);
    }
    gpu_->write_register(reg::kMecDoorbellRangeLower, kKiqDoorbell);
    gpu_->write_register(reg::kMecDoorbellRangeUpper, LYRA_DOORBELL_BAR_BYTES - 4);
    for (const uint32_t dword : {uint32_t{kPqDoorbellControl}, uint32_t{kPqWptr}, kPqWptr + 1u, uint32_t{kHqdVmid},
                                 uint32_t{kPersistentState}, uint32_t{kHqdActive}}) {
        gpu_->write_register(hqd_register(dword), mqd[dword]);
    }
    gpu_->write_register(reg::kPqStatus, 1u << 1);
    gpu_->select(0, 0, 0, 0);
    gpu_->write_register(reg::kMecCntl, 0);
    return kiq_fence();
}

/// @source Linux 6.12 amdgpu_amdkfd_gfx_v9.c kgd_gfx_v9_hiq_mqd_load()
bool Driver::start_hiq() {
    hiq_ = std::make_unique<KernelRing>(*gpu_, *gart_, kHiqBytes, kHiqDoorbell);
    const uint64_t mqd = hiq_->mqd().address, wptr = hiq_->properties().write_ptr;
    kiq_->emit(pm4::packet(pm4::kMapQueues, {kHiqQueue << 13 | kHiqPipe << 16 | 1u << 18 | 1u << 26 | 1u << 29, kHiqDoorbell,
                                             lo32(mqd), hi32(mqd), lo32(wptr), hi32(wptr)}));
    return kiq_fence();
}

/// @source Linux 6.12 gfx_v9_0.c gfx_v9_0_ring_emit_fence_kiq()
bool Driver::kiq_fence() {
    const uint32_t sequence = ++kiq_sequence_;
    if (!kiq_->submit(pm4::write_data(kiq_fence_.address, {sequence}))) return false;
    return gpu_->wait([&] { return *reinterpret_cast<volatile uint32_t*>(kiq_fence_.host) == sequence; }, kKiqMs);
}

/// @source Linux 6.12 gfx_v9_0.c gfx_v9_0_kiq_invalidate_tlbs()
Status Driver::flush_tlb(uint16_t pasid) {
    constexpr uint32_t kByPasid = 1, kAllHubs = 1u << 4;
    kiq_->emit(pm4::packet(pm4::kInvalidateTlbs, {kByPasid | kAllHubs | uint32_t{pasid} << 5}));
    return kiq_fence() ? Status::Success : Status::Error;
}

Process* Driver::create_process() {
    const uint32_t number = next_process_++;
    const uint16_t pasid = static_cast<uint16_t>(kFirstPasid + number);
    auto process = std::make_unique<Process>(*this, pasid, number);
    if (!process->ok()) return nullptr;
    return processes_.emplace(pasid, std::move(process)).first->second.get();
}

Status Driver::destroy_process(Process* process) {
    const Status status = queues_->remove_process(*process);
    processes_.erase(process->pasid());
    return status;
}

Process* Driver::find(uint16_t pasid) {
    const auto found = processes_.find(pasid);
    return found == processes_.end() ? nullptr : found->second.get();
}

void Driver::handle_interrupts() {
    // What the handler does may let the device work and raise more of them: the loop that is going on reads those too.
    if (handling_ || (queues_ && queues_->busy())) return;
    handling_ = true;
    interrupts_->drain([this](const InterruptVector& vector) { handle(vector); });
    handling_ = false;
}

/// @source Linux 6.12 kfd_int_process_v9.c event_interrupt_isr_v9(), event_interrupt_wq_v9()
void Driver::handle(const InterruptVector& vector) {
    Process* process = find(vector.pasid);
    if (vector.vmid < kFirstKfdVmid || vector.vmid > kLastKfdVmid || !process) {
        ++stray_;
        return;
    }
    const bool from_fault_unit = vector.client == ih::kVmc || vector.client == ih::kUtcl2;
    if (vector.client == ih::kGrbmCp && vector.source == ih::kCpEndOfPipe) {
        if (vector.data[0] != 0) process->events().signal_from_interrupt(vector.data[0], 32);
    } else if (vector.client >= ih::kSe0Sh && vector.client <= ih::kSe3Sh && vector.source == ih::kSqMessage) {
        process->note_sq_interrupt(vector.data[0], vector.data[1]);
        const uint32_t data = (vector.data[0] & 0xfff) | (vector.data[0] >> 16 & 0xf000) | (vector.data[1] << 16 & 0xff0000);
        process->events().signal_from_interrupt(data, 24);
    } else if ((vector.client == ih::kSdma0 || vector.client == ih::kSdma1) && vector.source == ih::kSdmaTrap) {
        process->events().signal_from_interrupt(vector.data[0] & 0xfffffff, 28);
    } else if (from_fault_unit) {
        memory_fault(vector, *process);
    } else if (vector.client == ih::kGrbmCp && vector.source == ih::kCpBadOpcode) {
        const uint32_t exception = vector.data[0] >> 10 & 0xffff;
        if (exception >= kFirstPacketException && exception <= kLastPacketException) {
            process->note_packet_error(vector.data[0] & 0x3ff, exception);
        }
    } else {
        ++stray_;
    }
}

/// The fault unit is told to take the next one; the process stops until it is gone. @source Linux 6.12 gmc_v9_0.c, kfd_debug.c
void Driver::memory_fault(const InterruptVector& vector, Process& process) {
    const inproc::HubRegisters& hub = vector.client == ih::kVmc ? inproc::kMmhub : inproc::kGfxhub;
    gpu_->write_register(hub.fault_cntl, gpu_->read_register(hub.fault_cntl) | 1);
    MemoryException exception;
    exception.va = (uint64_t{vector.data[1] & 0xf} << 32 | vector.data[0]) << 12;
    exception.not_present = vector.ring_id & 0x08;
    exception.read_only = vector.ring_id & 0x20;
    process.note_memory_fault();
    queues_->evict(process);
    process.events().signal_memory_exception(exception);
}

}  // namespace lyra::kfd
