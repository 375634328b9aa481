// SPDX-License-Identifier: MIT
// NBIO: identity constants, the VRAM window MM_INDEX/MM_DATA, the SMN window PCIE_INDEX2/DATA2.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "common/env.h"
#include "common/snapshot.h"
#include "qemu-hw/soc/bus_memory.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

/// Who gets a doorbell. Video: engines that the chip does not have here.
enum class DoorbellTarget : uint8_t { Nowhere, Cp, Sdma0, Sdma1, Ih, Video };

class Nbio : public RegisterBlock {
public:
    Nbio(Env& env, RegisterFile& registers, BusMemory& bus, Chip chip);
    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;
    void reset();
    void visit(StateVisitor& v);
    /// A register in SMN space, which the guest reaches through PCIE_INDEX2 and PCIE_DATA2.
    void store_smn(uint32_t address, uint32_t value) { smn_[address] = value; }

    /// What the driver is told of compute partitions.
    void set_partitions(unsigned count, unsigned xccs);

    /// Nowhere: the aperture is off. Cp: in none of the ranges.
    DoorbellTarget doorbell_target(uint32_t byte_offset) const;

private:
    uint32_t* vram_window();
    void write_smn(uint32_t address, uint32_t value);

    Env& env_;
    RegisterFile& registers_;
    BusMemory& bus_;
    Chip chip_;
    std::unordered_map<uint32_t, uint32_t> smn_;   ///< sparse register RAM behind PCIE_INDEX2
};

}  // namespace lyra
