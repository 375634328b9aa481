// SPDX-License-Identifier: MIT
// Brings liblyra up in the process: what the amdgpu driver does for one process, with register writes only.
#include "tools/inproc/in_process_device.h"

#include <cstring>

#include "facts/register_fields.h"

namespace lyra::inproc {

namespace {

constexpr uint32_t kFlushEngine = 17;        // the engine that drivers use directly
constexpr unsigned kFlushRuns = 20000;         // microseconds of virtual time, more than can be set
namespace context = field::VM_CONTEXT_CNTL;
constexpr uint32_t kContextCntl = context::ENABLE_CONTEXT::kMask | context::PAGE_TABLE_DEPTH::of(3);  // four levels
constexpr uint32_t kContextRetry = context::RETRY_PERMISSION_OR_INVALID_PAGE_FAULT::kMask;
constexpr uint32_t kUnaligned = field::SH_MEM_CONFIG::ALIGNMENT_MODE::of(3),
                   kRetryDisable = field::SH_MEM_CONFIG::RETRY_DISABLE::kMask;
namespace request = field::VM_INVALIDATE_ENG_REQ;
/// A legacy flush. @source Linux 6.12 gmc_v9_0.c gmc_v9_0_get_invalidate_req()
constexpr uint32_t kFlushAll = request::INVALIDATE_L2_PTES::kMask | request::INVALIDATE_L2_PDE0::kMask |
                               request::INVALIDATE_L2_PDE1::kMask | request::INVALIDATE_L2_PDE2::kMask |
                               request::INVALIDATE_L1_PTES::kMask;

/// Where a chip has a register of gfx900's map; both in bytes.
uint32_t on_chip(Chip chip, uint32_t byte_offset) {
    const uint32_t dw = byte_offset / 4;
    for (const regs::Move& move : regs::kMoves)
        if ((move.chips & only(chip)) != 0 && dw - move.to < move.count) return 4 * (dw - move.to + move.first);
    return byte_offset;
}

}  // namespace

InProcessDevice::InProcessDevice(const InProcessOptions& options)
    : options_(options), memory_(options.vram_bytes, options.system_bytes), space_(memory_) {}

InProcessDevice::~InProcessDevice() { lyra_destroy(device_); }

std::unique_ptr<InProcessDevice> InProcessDevice::create(const InProcessOptions& options, std::string& error) {
    std::unique_ptr<InProcessDevice> made(new InProcessDevice(options));
    if (!made->memory_.ok()) {
        error = "the host gives no memory for VRAM";
        return nullptr;
    }
    if (!made->power_on(error) || (options.prepared && !made->prepare(error))) return nullptr;
    return made;
}

bool InProcessDevice::power_on(std::string& error) {
    lyra_config config;
    lyra_config_init(&config);
    config.chip = options_.chip.c_str();
    config.vram_bytes = options_.vram_bytes;
    config.compute_units = options_.compute_units;
    config.threads = options_.threads;
    config.fp_exceptions = options_.fp_exceptions.c_str();
    config.poison = options_.poison;
    config.jit = options_.jit;
    config.trace_path = options_.trace_path.empty() ? nullptr : options_.trace_path.c_str();
    config.virtual_time = options_.virtual_time;
    config.repeatable = options_.repeatable;
    config.timing = options_.timing.empty() ? nullptr : options_.timing.c_str();
    config.commit_log_path = options_.commit_log_path.empty() ? nullptr : options_.commit_log_path.c_str();
    config.record_path = options_.record_path.empty() ? nullptr : options_.record_path.c_str();
    config.histogram = options_.histogram;
    lyra_host_ops ops{};
    ops.raise_msi = [](void* opaque) {
        auto* self = static_cast<InProcessDevice*>(opaque);
        ++self->msi_count_;
        if (self->options_.on_msi) self->options_.on_msi();
    };
    if (options_.now_ns) ops.now_ns = [](void* opaque) { return static_cast<InProcessDevice*>(opaque)->options_.now_ns(); };
    if (options_.log) {
        ops.log = [](void* opaque, lyra_log_level level, const char* text) {
            static_cast<InProcessDevice*>(opaque)->options_.log(level, text);
        };
    }
    char message[256] = "";
    device_ = lyra_create(&config, &ops, this, memory_.vram(), message, sizeof message);
    if (!device_) {
        error = message;
        return false;
    }
    const lyra_ram_range ram{GpuMemory::kSystemBusBase, memory_.system_bytes(), memory_.system(), false};
    chip_ = find_chip(options_.chip)->chip;
    lyra_set_ram_map(device_, &ram, 1);
    lyra_set_bar_addresses(device_, kVramBar, kDoorbellBar, kRegisterBar);
    lyra_set_bus_master(device_, true);
    write_register(reg::kDoorbellAperEn, 1);
    return true;
}

bool InProcessDevice::prepare(std::string& error) {
    set_up_address_space(kGfxhub);
    set_up_address_space(kMmhub);
    select(0, 0, 0, kUserVmid);
    write_register(reg::kShMemBases, field::SH_MEM_BASES::SHARED_BASE::of(static_cast<uint32_t>(kSharedBase >> 48)) |
                                         field::SH_MEM_BASES::PRIVATE_BASE::of(static_cast<uint32_t>(kPrivateBase >> 48)));
    write_register(reg::kShMemConfig, kUnaligned | kRetryDisable);
    select(0, 0, 0, 0);
    write_register(reg::kMecCntl, 0);
    write_register(reg::kPqStatus, 1u << 1);
    if (!flush_tlb()) {
        error = "the device does not acknowledge a TLB flush";
        return false;
    }
    return true;
}

void InProcessDevice::set_up_address_space(const HubRegisters& hub) {
    const uint64_t base = space_.root_table_offset() | pte::kValid;
    const uint64_t last_page = (uint64_t{1} << 36) - 1;
    const auto write64 = [&](uint32_t offset, uint64_t value) {
        write_register(offset + 8 * kUserVmid, static_cast<uint32_t>(value));
        write_register(offset + 8 * kUserVmid + 4, static_cast<uint32_t>(value >> 32));
    };
    write64(hub.page_table_base, base);
    write64(hub.page_table_start, 0);
    write64(hub.page_table_end, last_page);
    write_register(hub.context_cntl + 4 * kUserVmid, kContextCntl);
}

GpuBuffer InProcessDevice::allocate(uint64_t bytes, Domain domain, uint64_t access) {
    return space_.allocate(bytes, domain, access);
}

bool InProcessDevice::set_access(const GpuBuffer& buffer, uint64_t access) {
    return space_.map(buffer.va, buffer.domain, buffer.offset, buffer.bytes, access) && flush_tlb();
}

void InProcessDevice::enable_retry() {
    select(0, 0, 0, kUserVmid);
    write_register(reg::kShMemConfig, kUnaligned);
    select(0, 0, 0, 0);
    write_register(kGfxhub.context_cntl + 4 * kUserVmid, kContextCntl | kContextRetry);
}

uint32_t InProcessDevice::read_register(uint32_t byte_offset) {
    return static_cast<uint32_t>(lyra_mmio_read(device_, on_chip(chip_, byte_offset), 4));
}

void InProcessDevice::write_register(uint32_t byte_offset, uint32_t value) {
    lyra_mmio_write(device_, on_chip(chip_, byte_offset), value, 4);
}

void InProcessDevice::select(uint32_t me, uint32_t pipe, uint32_t queue, uint32_t vmid) {
    namespace gfx = field::GRBM_GFX_CNTL;
    write_register(reg::kGrbmGfxCntl,
                   gfx::PIPEID::of(pipe) | gfx::MEID::of(me) | gfx::VMID::of(vmid) | gfx::QUEUEID::of(queue));
}

void InProcessDevice::ring_doorbell(uint32_t byte_offset, uint64_t value) {
    if (space_.changed()) flush_tlb();
    lyra_doorbell_write(device_, byte_offset, value, 8);
}

bool InProcessDevice::flush_tlb() {
    bool acknowledged = true;
    for (const HubRegisters* hub : {&kGfxhub, &kMmhub}) {
        write_register(hub->invalidate_req + 4 * kFlushEngine, kFlushAll | 1u << kUserVmid);
        const auto seen = [&] { return (read_register(hub->invalidate_ack + 4 * kFlushEngine) >> kUserVmid & 1) != 0; };
        // With virtual time it takes some.
        for (unsigned run = 0; !seen() && run < kFlushRuns; ++run) lyra_run(device_, 1);
        acknowledged &= seen();
    }
    space_.clear_changed();
    return acknowledged;
}

std::vector<std::pair<std::string, uint64_t>> InProcessDevice::stats(const std::string& prefix) const {
    std::vector<std::pair<std::string, uint64_t>> found;
    for (size_t i = 0; const char* name = lyra_stat_name(i); ++i) {
        const uint64_t value = stat(name);
        if (value && std::strncmp(name, prefix.c_str(), prefix.size()) == 0) found.emplace_back(name, value);
    }
    return found;
}

bool InProcessDevice::vm_fault(VmFault& fault) {
    for (const HubRegisters* hub : {&kGfxhub, &kMmhub}) {
        const uint32_t status = read_register(hub->fault_status);
        if (!status) continue;
        const uint64_t low = read_register(hub->fault_status + 4), high = read_register(hub->fault_status + 8);
        fault.va = (high << 32 | low) << 12;
        fault.permission = !(status >> 4 & 1);  // valid, but not for this access
        fault.write = status >> 18 & 1;
        fault.vmid = status >> 20 & 0xf;
        return true;
    }
    return false;
}

uint64_t InProcessDevice::mc_address(uint64_t vram_offset) {
    return (uint64_t{read_register(reg::kMmhubFbLocationBase) & 0xffffff} << 24) + vram_offset;
}

}  // namespace lyra::inproc
