// SPDX-License-Identifier: MIT
// A whole GPU in the process, without guest: liblyra plus what a driver would have set up for one process.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "qemu-hw/include/lyra.h"
#include "tools/inproc/address_space.h"
#include "tools/inproc/registers.h"

namespace lyra::inproc {

inline constexpr uint32_t kUserVmid = 8;  ///< the first VMID of user processes

/// Bases of the flat address space's windows, as the Linux driver sets them.
inline constexpr uint64_t kSharedBase = uint64_t{1} << 48, kPrivateBase = uint64_t{2} << 48;

/// BARs where a PC's firmware might have put them: away from system memory.
inline constexpr uint64_t kVramBar = uint64_t{1} << 40, kDoorbellBar = uint64_t{0xe} << 28,
                          kRegisterBar = kDoorbellBar + LYRA_DOORBELL_BAR_BYTES;

struct InProcessOptions {
    std::string chip = "gfx900";
    uint64_t vram_bytes = uint64_t{1} << 30;     ///< power of two, 256 MiB at least
    uint64_t system_bytes = uint64_t{64} << 20;
    uint32_t compute_units = 8;
    uint32_t threads = 1;                        ///< of the host, that run waves; 0: as many as it has processors
    std::string fp_exceptions = "auto";          ///< or "always"
    bool poison = true;                          ///< uninitialized registers and LDS hold a pattern
    bool jit = true;                             ///< waves run generated code where the host can
    std::string trace_path;                      ///< empty: no trace
    bool virtual_time = false;                   ///< its own clock: run() moves it
    std::string timing;                          ///< timing parameters to replace, "name=value,..."
    std::string commit_log_path;                 ///< empty: no commit log
    bool repeatable = false;                     ///< without virtual_time: lyra_config::repeatable
    std::string record_path;                     ///< empty: no recording; needs virtual_time or repeatable
    bool histogram = false;                      ///< count wave instructions for lyra_histogram()
    std::function<void(lyra_log_level, const char*)> log;  ///< empty: errors and warnings go to standard error
    bool prepared = true;                        ///< false: registers as after power-on; the caller plays the driver
    std::function<uint64_t()> now_ns;            ///< device time, never backwards; empty: the host's clock
    std::function<void()> on_msi;                ///< on whatever thread the device runs; must not call into it
};

/// A page that the GPU could not reach, as VM_L2_PROTECTION_FAULT_STATUS and _ADDR report it.
struct VmFault {
    uint64_t va = 0;         ///< start of the page
    uint32_t vmid = 0;
    bool write = false;
    bool permission = false; ///< the page is there, but this access is not allowed
};

/// liblyra with VRAM, system memory and page tables; when prepared, the command processor runs and VMID 8 is ready for queues.
/// One thread at a time; work is done only inside run().
class InProcessDevice {
public:
    /// @return nullptr, and one line in error, when the device or its memory cannot be made
    static std::unique_ptr<InProcessDevice> create(const InProcessOptions& options, std::string& error);
    ~InProcessDevice();
    InProcessDevice(const InProcessDevice&) = delete;
    InProcessDevice& operator=(const InProcessDevice&) = delete;

    lyra_device* handle() const { return device_; }
    const InProcessOptions& options() const { return options_; }
    GpuMemory& memory() { return memory_; }

    /// AddressSpace::allocate() in kUserVmid and, before the next doorbell, a TLB flush.
    GpuBuffer allocate(uint64_t bytes, Domain domain = Domain::Vram, uint64_t access = pte::kAll);

    /// Change what the GPU may do with a buffer: pte::kRead | ... @return false as flush_tlb()
    bool set_access(const GpuBuffer& buffer, uint64_t access);
    /// Let waves of kUserVmid wait for pages that are missing or forbid their access, as `amdgpu.noretry=0` does.
    void enable_retry();

    uint32_t read_register(uint32_t byte_offset);
    void write_register(uint32_t byte_offset, uint32_t value);
    /// Write GRBM_GFX_CNTL: which queue slot (me 1..2) and which VMID the banked registers mean.
    void select(uint32_t me, uint32_t pipe, uint32_t queue, uint32_t vmid);
    void ring_doorbell(uint32_t byte_offset, uint64_t value);

    /// Invalidate every translation of kUserVmid in both hubs. @return false: a hub did not acknowledge
    bool flush_tlb();

    /// lyra_run() once, about budget wave instructions at most.
    lyra_run_state run(uint64_t budget) { return lyra_run(device_, budget); }

    uint64_t stat(const char* name) const { return lyra_stat(device_, name); }
    /// Every counter that is not zero. @param prefix only those whose name starts so
    std::vector<std::pair<std::string, uint64_t>> stats(const std::string& prefix = "") const;
    uint64_t interrupts() const { return msi_count_; }  ///< MSIs raised so far

    /// The protection fault that a hub has latched. @return false: none
    bool vm_fault(VmFault& fault);

    /// MC address of a VRAM offset, as kernel mode (VMID 0) addresses it.
    uint64_t mc_address(uint64_t vram_offset);

private:
    explicit InProcessDevice(const InProcessOptions& options);
    bool power_on(std::string& error);
    bool prepare(std::string& error);
    void set_up_address_space(const HubRegisters& hub);

    InProcessOptions options_;
    GpuMemory memory_;
    AddressSpace space_;
    lyra_device* device_ = nullptr;
    Chip chip_ = Chip::gfx900;
    std::atomic<uint64_t> msi_count_{0};
};

}  // namespace lyra::inproc
