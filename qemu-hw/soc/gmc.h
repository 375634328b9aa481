// SPDX-License-Identifier: MIT
// Memory hubs: GFXHUB and MMHUB registers, page-table walk, TLB, invalidation, faults; step 7 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "common/bits.h"
#include "common/env.h"
#include "common/memory_port.h"
#include "cp-firmware-model/cp_bus.h"
#include "qemu-hw/soc/bus_memory.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

/// Page-table entry fields. @source Linux 6.12 amdgpu_vm.h, AMDGPU_PTE_* and AMDGPU_PDE_*
struct PteBits {
    static constexpr uint64_t kValid = 1u << 0, kSystem = 1u << 1, kExecute = 1u << 4, kRead = 1u << 5, kWrite = 1u << 6;
    static constexpr uint64_t kPrt = uint64_t{1} << 51, kPdeIsPte = uint64_t{1} << 54, kTranslateFurther = uint64_t{1} << 56;
    /// VALID, SYSTEM and PRT together: no page, and the access is not retried. @source amdgpu_vm.h AMDGPU_VM_NORETRY_FLAGS_TF
    static constexpr uint64_t kNoRetry = kValid | kSystem | kPrt;
    static constexpr uint64_t kPageAddress = 0x0000fffffffff000, kTableAddress = 0x0000ffffffffffc0;
};

/// Dword numbers of one hub's registers. @source Linux 6.12 gfxhub_v1_0.c, mmhub_v1_0.c with the bases of discovery.cpp
struct HubRegisters {
    uint32_t fault_cntl, fault_status, fault_addr;  ///< VM_L2_PROTECTION_FAULT_*
    uint32_t context_cntl, sem, req, ack, base, start, end;  ///< first of each array
    uint32_t fb_base, fb_top, agp_top, agp_bot, agp_base;  ///< MC_VM_*
    uint8_t ih_client;
    bool mmhub;
};

extern const HubRegisters kGfxHub, kMmHub;

class Hub : public MemoryPort, public RegisterBlock {
public:
    using RaiseInterrupt = std::function<void(const Interrupt&)>;
    using PasidOf = std::function<uint16_t(uint32_t vmid, bool mmhub)>;
    /// Whether the clients behind retrying() want their faults of a VMID retried.
    using RetryWanted = std::function<bool(uint32_t vmid)>;

    Hub(Env& env, RegisterFile& registers, BusMemory& bus, const HubRegisters& layout, RaiseInterrupt raise, PasidOf pasid,
        RetryWanted retry_wanted);

    // MemoryPort
    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override;
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override;
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override;
    uint64_t generation() const override { return generation_ + bus_.generation(); }

    /// The same memory for clients that hold an access back and ask again (XNACK): waves and SDMA. A page that is missing, or
    /// forbids the access, is PageRetry with a retry fault for the driver, where the VMID's VM_CONTEXT_CNTL and retry_wanted
    /// agree.
    MemoryPort& retrying() { return retrying_; }

    // RegisterBlock
    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;

    /// Write VM_CONTEXTn_PAGE_TABLE_BASE and drop the VMID's translations.
    void set_page_table_base(uint32_t vmid, uint64_t base);
    void invalidate(uint32_t vmid_mask);
    void reset();

private:
    /// Where a 4-KiB page lives.
    struct PageInfo {
        uint64_t address = 0;  ///< page-aligned VRAM offset or bus address
        bool system = false;
        bool prt = false;  ///< partially resident: reads zero, drops writes
        bool readable = false, writable = false, executable = false;
    };
    struct Retrying final : MemoryPort {
        explicit Retrying(Hub& hub) : hub(hub) {}
        uint8_t* page(uint32_t vmid, uint64_t va, Access access) override { return hub.page(vmid, va, access); }
        Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
            return hub.read(vmid, va, data, size, hub.retries(vmid));
        }
        Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
            return hub.write(vmid, va, data, size, hub.retries(vmid));
        }
        uint64_t generation() const override { return hub.generation(); }
        Hub& hub;
    };
    struct TlbEntry {
        uint64_t tag = ~uint64_t{0};  ///< page number | vmid << 52
        uint8_t* host = nullptr;  ///< nullptr: not plain memory
        PageInfo info;
    };

    Result<PageInfo> translate(uint32_t vmid, uint64_t va);
    Result<PageInfo> translate_vmid0(uint64_t mc_address);
    Result<PageInfo> walk(uint32_t vmid, uint64_t va);
    Result<PageInfo> leaf(uint64_t entry, uint64_t va, unsigned page_shift);
    Result<uint64_t> read_entry(uint64_t table, bool system, uint64_t index);
    uint8_t* host_of(const PageInfo& info);
    const TlbEntry* look_up(uint32_t vmid, uint64_t va, Fault& fault);
    static bool allows(const PageInfo& info, Access access);
    bool retries(uint32_t vmid) const;
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size, bool retry);
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size, bool retry);
    Fault copy(uint32_t vmid, uint64_t va, uint8_t* data, size_t size, bool write, bool retry);
    Fault raise_fault(uint32_t vmid, uint64_t va, Access access, Fault fault, bool retry);
    void raise_retry_fault(uint32_t vmid, uint64_t va, bool write);
    Interrupt fault_interrupt(uint32_t vmid, uint64_t va, bool write) const;
    uint32_t reg(uint32_t dw) const { return registers_.stored(dw); }
    uint64_t reg64(uint32_t dw) const { return make64(registers_.stored(dw), registers_.stored(dw + 1)); }

    Env& env_;
    RegisterFile& registers_;
    BusMemory& bus_;
    const HubRegisters& layout_;
    RaiseInterrupt raise_;
    PasidOf pasid_;
    RetryWanted retry_wanted_;
    Retrying retrying_{*this};
    std::vector<TlbEntry> tlb_;
    uint64_t generation_ = 1;
    uint64_t tlb_bus_generation_ = 0;
    uint64_t last_fault_tag_ = ~uint64_t{0};
    uint64_t last_fault_ns_ = 0;
    std::unordered_map<uint64_t, uint64_t> retried_ns_;  ///< when a page was last asked for, by TLB tag
};

}  // namespace lyra
