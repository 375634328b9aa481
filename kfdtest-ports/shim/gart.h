// SPDX-License-Identifier: MIT
// Memory of the kernel: system pages behind the GART, which VMID 0 sees.
#pragma once

#include <cstdint>

#include "kfdtest-ports/shim/gpu.h"

namespace lyra::kfd {

struct KernelBuffer {
    uint64_t address = 0;     ///< for VMID 0
    uint8_t* host = nullptr;
    uint64_t bytes = 0;
    uint32_t* words() const { return reinterpret_cast<uint32_t*>(host); }
    volatile uint64_t& qword(uint64_t byte_offset = 0) const {
        return *reinterpret_cast<volatile uint64_t*>(host + byte_offset);
    }
    explicit operator bool() const { return host != nullptr; }
};

class Gart {
public:
    explicit Gart(Gpu& gpu);
    /// Zero-filled pages. @return an empty buffer when there is no memory
    KernelBuffer allocate(uint64_t bytes);
    void release(KernelBuffer& buffer);

private:
    void flush();
    uint64_t* table() const;

    Gpu& gpu_;
    uint64_t table_ = 0;  ///< VRAM offset: one entry for each page of system memory
};

/// Invalidate the translations of a VMID in both hubs, by registers.
void flush_tlb_by_registers(Gpu& gpu, uint32_t vmid);

}  // namespace lyra::kfd
