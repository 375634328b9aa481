// SPDX-License-Identifier: MIT
// What the command processor and the SDMA engines need from the rest of the chip. Implemented by qemu-hw/soc.
#pragma once

#include <array>
#include <cstdint>

#include "common/memory_port.h"
#include "facts/chips.h"
#include "facts/register_fields.h"

namespace lyra {

inline constexpr unsigned kVmids = 16;

/// The type of a TLB invalidation that drops what the L2 holds too. @source Linux 6.12 kfd_priv.h enum TLB_FLUSH_TYPE
inline constexpr uint32_t kHeavyweightFlush = 2;

/// One interrupt vector without its timestamp. @source docs/spec/bring-up.md 2
struct Interrupt {
    uint8_t client = 0;
    uint8_t source = 0;
    uint8_t ring_id = 0;
    uint8_t vmid = 0;
    bool mmhub = false;
    uint16_t pasid = 0;
    std::array<uint32_t, 4> data{};
    uint8_t xcc = 0;  ///< of its partition, that asks
    uint8_t node =
        0;  ///< of a chip with several XCCs: which of its parts asks. @source Linux 6.12 amdgpu_irq.h enum amdgpu_irq_src_node
};

namespace ih_client {
inline constexpr uint8_t kSdma0 = 0x08, kSe0Sh = 0x0a, kVmc = 0x12, kGrbmCp = 0x14, kUtcl2 = 0x1b;
}
namespace ih_source {
inline constexpr uint8_t kCpGeneric = 178, kCpEndOfPipe = 181, kCpBadOpcode = 183, kCpPrivReg = 184, kCpPrivInst = 185,
                         kSdmaTrap = 224, kSqMessage = 239;
}

/// What MAP_PROCESS binds to a VMID.
struct ProcessBinding {
    uint16_t pasid = 0;
    uint64_t page_table_base = 0;  ///< PDE format, as for VM_CONTEXTn_PAGE_TABLE_BASE
    uint32_t sh_mem_bases = 0, sh_mem_config = 0;
    uint64_t tba = 0, tma = 0;  ///< byte addresses, sign-extended from bit 47; 0 = none
    /// Of chips with debug_per_vmid: SPI_GDBG_PER_VMID_CNTL, and TCP_WATCH0..3_CNTL without a VMID.
    uint32_t debug = 0;
    std::array<uint32_t, 4> watch{};

    bool operator==(const ProcessBinding&) const = default;
};

/// Per-VMID state as the registers hold it now.
struct VmidState {
    uint16_t pasid = 0;
    uint32_t sh_mem_bases = 0, sh_mem_config = 0;
    uint64_t tba = 0, tma = 0;
    /// First addresses of the private and the shared aperture.
    uint64_t private_base() const { return uint64_t{field::SH_MEM_BASES::PRIVATE_BASE::get(sh_mem_bases)} << 48; }
    uint64_t shared_base() const { return uint64_t{field::SH_MEM_BASES::SHARED_BASE::get(sh_mem_bases)} << 48; }
    /// Waves hold accesses to missing pages back (XNACK).
    bool retry() const { return !field::SH_MEM_CONFIG::RETRY_DISABLE::get(sh_mem_config); }
};

class CommandProcessor;

class CpBus {
public:
    virtual ~CpBus() = default;
    virtual MemoryPort& gfxhub() = 0;  ///< as the CP reaches it
    /// The GFXHUB as waves on an XCC of the partition reach it: their faults are retried where the driver has enabled that.
    virtual MemoryPort& wave_memory(unsigned /*xcc*/) { return gfxhub(); }
    virtual MemoryPort& mmhub(unsigned engine) = 0;  ///< as an SDMA engine reaches it
    /// Registers by dword number in BAR5 (byte offset / 4), with all their side effects.
    virtual uint32_t read_register(uint32_t dw) = 0;
    virtual void write_register(uint32_t dw, uint32_t value) = 0;
    virtual void interrupt(const Interrupt& interrupt) = 0;
    /// Program both hubs' page-table base, SH_MEM_*, SQ_SHADER_TBA/TMA, IH and ATC PASID tables; drop old translations.
    virtual void bind_process(uint32_t vmid, const ProcessBinding& binding) = 0;
    /// Invalidate the ATC mapping; PASID tables keep their entry for late interrupts.
    virtual void release_vmid(uint32_t vmid) = 0;
    virtual VmidState vmid_state(uint32_t vmid) = 0;
    virtual void invalidate_tlb(uint32_t vmid_mask, bool all_hubs) = 0;
    virtual void invalidate_tlb_pasid(uint16_t pasid, bool all_hubs) = 0;
    /// The L2 in front of what waves access: what they have stored reaches memory; and what they read is read anew, after the
    /// same. For a bus whose memory is coherent, nothing.
    virtual void write_back_l2() {}
    virtual void invalidate_l2() {}
    /// A queue has left its slot: what the chip's caches hold of its process is in memory now, and not in them.
    virtual void queue_left() { invalidate_l2(); }
    /// Who maps the queues of this one's partition; nullptr: itself.
    virtual CommandProcessor* leader() { return nullptr; }
    /// A store by the GPU to the doorbell aperture, or by a CP packet.
    virtual void doorbell(uint64_t byte_offset, uint64_t value) = 0;
};

/// What a bounded call of work found; same meaning as lyra_run_state.
enum class RunState : uint8_t { Busy, Polling, Idle };
constexpr RunState busier(RunState a, RunState b) { return a < b ? a : b; }

/// Where an XCC stands in its compute partition, whose first one schedules for all. @source docs/design/chips.md
struct Partition {
    unsigned xcc = 0;  ///< number of the XCC there
    unsigned xccs = 1;  ///< in the partition
    unsigned first_sdma = 0, sdma_engines = 2;
    bool follows() const { return xcc != 0; }
};

/// The most that a chip has.
inline constexpr unsigned kMaxXccs = most_of_all_chips(&ChipFacts::most_xccs);
inline constexpr unsigned kMaxEngines = kMaxXccs * most_of_all_chips(&ChipFacts::engines);  ///< shader engines of all XCCs

/// How many shader engines and CUs the chip has.
struct GpuShape {
    unsigned shader_engines = 4;  ///< of an XCC
    unsigned cus_per_engine = 2;
    unsigned max_scratch_slots_per_cu = facts_of(Chip::gfx900).scratch_slots_per_cu;
    Chip chip = Chip::gfx900;
    unsigned threads = 1;  ///< of the host, that run compute units; nothing that the chip could see. Virtual time has one
    unsigned xccs = 1;  ///< whose engines follow one another in all numbers of engines and CUs
    unsigned engines() const { return xccs * shader_engines; }
    unsigned cus() const { return engines() * cus_per_engine; }
    unsigned engine_of(unsigned cu) const { return cu / cus_per_engine; }
    unsigned xcc_of_engine(unsigned engine) const { return engine / shader_engines; }
    unsigned xcc_of_cu(unsigned cu) const { return xcc_of_engine(engine_of(cu)); }
};

}  // namespace lyra
