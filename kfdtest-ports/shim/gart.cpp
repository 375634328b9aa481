// SPDX-License-Identifier: MIT
// Context 0 of both hubs: a flat table over system memory. @source Linux 6.12 amdgpu_gart.c, gfxhub_v1_0.c
#include "kfdtest-ports/shim/gart.h"

#include "facts/register_fields.h"

namespace lyra::kfd {

namespace {

using inproc::Domain;
using inproc::GpuMemory;
using inproc::kPageBytes;
namespace pte = inproc::pte;

constexpr uint64_t kGartStart = uint64_t{1} << 32;
constexpr uint32_t kFlushEngine = 17;          // the engine that drivers use directly
namespace request = field::VM_INVALIDATE_ENG_REQ;
/// A legacy flush. @source Linux 6.12 gmc_v9_0.c gmc_v9_0_get_invalidate_req()
constexpr uint32_t kFlushAll = request::INVALIDATE_L2_PTES::kMask | request::INVALIDATE_L2_PDE0::kMask |
                               request::INVALIDATE_L2_PDE1::kMask | request::INVALIDATE_L2_PDE2::kMask |
                               request::INVALIDATE_L1_PTES::kMask;

}  // namespace

void flush_tlb_by_registers(Gpu& gpu, uint32_t vmid) {
    for (const inproc::HubRegisters* hub : {&inproc::kGfxhub, &inproc::kMmhub}) {
        gpu.write_register(hub->invalidate_req + 4 * kFlushEngine, kFlushAll | 1u << vmid);
    }
}

Gart::Gart(Gpu& gpu) : gpu_(gpu) {
    const uint64_t pages = gpu.memory().system_bytes() / kPageBytes;
    table_ = gpu.memory().take(Domain::Vram, pages * sizeof(uint64_t));
    const auto write64 = [&](uint32_t offset, uint64_t value) {
        gpu.write_register(offset, static_cast<uint32_t>(value));
        gpu.write_register(offset + 4, static_cast<uint32_t>(value >> 32));
    };
    for (const inproc::HubRegisters* hub : {&inproc::kGfxhub, &inproc::kMmhub}) {
        write64(hub->page_table_base, table_ | pte::kValid);
        write64(hub->page_table_start, kGartStart / kPageBytes);
        write64(hub->page_table_end, kGartStart / kPageBytes + pages - 1);
        gpu.write_register(hub->context_cntl, 1);  // ENABLE, DEPTH 0
    }
    flush();
}

uint64_t* Gart::table() const { return reinterpret_cast<uint64_t*>(gpu_.memory().vram() + table_); }

void Gart::flush() { flush_tlb_by_registers(gpu_, 0); }

KernelBuffer Gart::allocate(uint64_t bytes) {
    const uint64_t size = inproc::round_up(bytes, kPageBytes);
    const uint64_t offset = gpu_.memory().take(Domain::System, size);
    if (offset == GpuMemory::kNoSpace) return {};
    for (uint64_t page = 0; page < size; page += kPageBytes) {
        table()[(offset + page) / kPageBytes] =
            (GpuMemory::kSystemBusBase + offset + page) | pte::kValid | pte::kSystem | pte::kSnooped | pte::kAll;
    }
    flush();
    return {kGartStart + offset, gpu_.memory().host(Domain::System, offset), size};
}

void Gart::release(KernelBuffer& buffer) {
    if (!buffer) return;
    const uint64_t offset = buffer.address - kGartStart;
    for (uint64_t page = 0; page < buffer.bytes; page += kPageBytes) table()[(offset + page) / kPageBytes] = 0;
    flush();
    gpu_.memory().give_back(Domain::System, offset, buffer.bytes);
    buffer = {};
}

}  // namespace lyra::kfd
