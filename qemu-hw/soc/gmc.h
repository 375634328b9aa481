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
#include "common/snapshot.h"
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
    static constexpr uint64_t kFragment = 0x1f << 7;  ///< log2 of the pages that a driver promises to be contiguous
    static constexpr unsigned kBlockFragmentShift = 59;  ///< of a directory entry: log2 of the pages of its table's entries
    static constexpr unsigned kMtypeShift = 57;
    static constexpr uint64_t kUncached = 3;  ///< MTYPE_UC. @source amdgpu_vm.h AMDGPU_PTE_MTYPE_VG10, soc15 mtype
    static constexpr uint64_t kPageAddress = 0x0000fffffffff000, kTableAddress = 0x0000ffffffffffc0;
};

/// Who asks a hub: CID of VM_L2_PROTECTION_FAULT_STATUS for reads and writes, and for what waves fetch through the SQC.
/// @source Linux 6.12 gmc_v9_0.c, gfxhub_client_ids, mmhub_client_ids_vega12 (MMHUB 9.3.0)
struct HubClient {
    uint16_t read_id, write_id, fetch_id, scalar_id;
    bool retries;  ///< holds an access back and asks again (XNACK)
};
inline constexpr HubClient kCpc = {5, 5, 5, 5, false}, kWaves = {8, 8, 9, 10, true};
inline constexpr HubClient kMp0 = {0, 0, 0, 0, false}, kSdma0 = {47, 15, 47, 47, true}, kSdma1 = {15, 47, 15, 15, true};

/// What the two hubs differ in. @source Linux 6.12 gfxhub_v1_0.c, mmhub_v1_0.c
struct HubFacts {
    const regs::Hub& at;
    regs::Owner owner;
    uint8_t ih_client;
    bool mmhub;
    HubClient client;  ///< who uses the hub without a port
};

extern const HubFacts kGfxHub, kMmHub;

class Hub : public MemoryPort, public RegisterBlock {
public:
    static constexpr unsigned kInvalidateEngines = 18;
    using RaiseInterrupt = std::function<void(const Interrupt&)>;
    using PasidOf = std::function<uint16_t(uint32_t vmid, bool mmhub)>;
    /// Whether the clients that can retry want the faults of a VMID retried.
    using RetryWanted = std::function<bool(uint32_t vmid)>;

    Hub(Env& env, RegisterFile& registers, BusMemory& bus, const HubFacts& facts, RaiseInterrupt raise, PasidOf pasid,
        RetryWanted retry_wanted);

    // MemoryPort
    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override;
    HostRange range(uint32_t vmid, uint64_t va, Access access) override;
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override;
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override;
    Fault check(uint32_t vmid, uint64_t va, Access access) override { return check(vmid, va, access, facts_.client); }
    void touch(uint8_t* host) override { bus_.touch(host); }

    BusMemory& bus() { return bus_; }

    /// Whether the page, which page() has found, may be held by the L2.
    bool cached(uint32_t vmid, uint64_t va);

    /// The same for one client. A page that is missing, or forbids the access, is PageRetry with a retry fault for the driver,
    /// where the client retries, and the VMID's VM_CONTEXT_CNTL and retry_wanted agree.
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size, const HubClient& client);
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size, const HubClient& client);
    Fault check(uint32_t vmid, uint64_t va, Access access, const HubClient& client);

    // RegisterBlock
    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;

    /// Write VM_CONTEXTn_PAGE_TABLE_BASE and drop the VMID's translations.
    void set_page_table_base(uint32_t vmid, uint64_t base);
    void invalidate(uint32_t vmid_mask);
    /// What an invalidation of the heavyweight type drops besides translations.
    void set_heavyweight(std::function<void()> drop) { heavyweight_ = std::move(drop); }
    void reset();
    /// Loading drops the translations that are held; those that Strict::tlb keeps are state.
    void visit(StateVisitor& v);

private:
    /// Where a 4-KiB page lives.
    struct PageInfo {
        uint64_t address = 0;  ///< page-aligned VRAM offset or bus address
        bool system = false;
        bool prt = false;  ///< partially resident: reads zero, drops writes
        uint8_t rights = 0;  ///< FaultBits: what the page allows
        bool cached = false;  ///< MTYPE: by the L2
        void visit(StateVisitor& v);
    };
    struct TlbEntry {
        uint64_t tag = ~uint64_t{0};  ///< page number | vmid << 52
        uint8_t* host = nullptr;  ///< nullptr: not plain memory
        uint32_t turn = 0;  ///< of a watch, that was told of the page
        PageInfo info;
    };

    Result<PageInfo> translate(uint32_t vmid, uint64_t va);
    Result<PageInfo> translate_vmid0(uint64_t mc_address);
    Result<PageInfo> walk(uint32_t vmid, uint64_t va);
    /// Where a walk ended.
    struct Leaf {
        uint64_t entry = 0;
        uint64_t table = 0;  ///< VRAM offset or bus address of the table that the entry is in
        uint64_t index = 0;
        bool system = false;  ///< where the table is
        unsigned shift = 0;  ///< log2 of the bytes that one entry of the table maps
    };
    struct KnownRange {
        HostRange is;
        uint32_t vmid = 0;
        uint8_t rights = 0;
    };
    Result<Leaf> walk_to_leaf(uint32_t vmid, uint64_t va);
    HostRange around(uint32_t vmid, uint64_t va, const TlbEntry& page);
    void drop_translations();
    Result<PageInfo> leaf(uint64_t entry, uint64_t va, unsigned page_shift);
    Result<uint64_t> read_entry(uint64_t table, bool system, uint64_t index);
    Result<uint64_t> read_directory(uint32_t vmid, unsigned level, uint64_t va, uint64_t table, bool system, uint64_t index);
    uint8_t* host_of(const PageInfo& info);
    const TlbEntry* look_up(uint32_t vmid, uint64_t va, Fault& fault);
    const TlbEntry* look_up(uint32_t vmid, uint64_t va, Access access, const HubClient& client, Fault& fault);
    bool retries(uint32_t vmid, const HubClient& client) const;
    Fault copy(uint32_t vmid, uint64_t va, uint8_t* data, size_t size, Access access, const HubClient& client);
    Fault raise_fault(uint32_t vmid, uint64_t va, Access access, Fault fault, uint32_t denied, const HubClient& client);
    bool retried_lately(uint32_t vmid, uint64_t va);
    void latch(uint32_t vmid, uint64_t va, Access access, Fault fault, uint32_t denied, const HubClient& client);
    uint32_t reg32(uint32_t dw) const { return registers_.stored(dw); }
    uint64_t reg64(uint32_t dw) const { return make64(registers_.stored(dw), registers_.stored(dw + 1)); }

    Env& env_;
    RegisterFile& registers_;
    BusMemory& bus_;
    const HubFacts& facts_;
    const regs::Hub& at_;
    RaiseInterrupt raise_;
    PasidOf pasid_;
    RetryWanted retry_wanted_;
    std::function<void()> heavyweight_;
    std::vector<TlbEntry> tlb_;
    std::vector<KnownRange> ranges_;  ///< of several pages, while nothing watches memory
    // Strict::tlb
    std::unordered_map<uint64_t, PageInfo> kept_;  ///< translations by TLB tag
    std::unordered_map<uint64_t, uint64_t> directories_;  ///< entries that point to a table, by VMID, level and address
    std::array<uint64_t, kInvalidateEngines> ack_ns_{};  ///< virtual time: when an engine's invalidation is acknowledged
    uint64_t tlb_bus_generation_ = 0;
    uint64_t last_fault_tag_ = ~uint64_t{0};
    uint64_t last_fault_ns_ = 0;
    std::unordered_map<uint64_t, uint64_t> retried_ns_;  ///< when a page was last asked for, by TLB tag
};

/// A hub as one client reaches it.
class HubPort final : public MemoryPort {
public:
    HubPort(Hub& hub, const HubClient& client) : hub_(hub), client_(client) { share_generation(*this, hub); }
    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override { return hub_.page(vmid, va, access); }
    HostRange range(uint32_t vmid, uint64_t va, Access access) override { return hub_.range(vmid, va, access); }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        return hub_.read(vmid, va, data, size, client_);
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        return hub_.write(vmid, va, data, size, client_);
    }
    Fault check(uint32_t vmid, uint64_t va, Access access) override { return hub_.check(vmid, va, access, client_); }
    void touch(uint8_t* host) override { hub_.touch(host); }

private:
    Hub& hub_;
    HubClient client_;
};

}  // namespace lyra
