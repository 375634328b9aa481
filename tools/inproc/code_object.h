// SPDX-License-Identifier: MIT
// A code object for the GPU: its kernels as the metadata describes them, and its segments loaded into GPU memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/inproc/bundle.h"
#include "tools/inproc/in_process_device.h"

namespace lyra::inproc {

/// One argument, hidden ones among them. @source LLVM AMDGPU usage, "Code Object Metadata"
struct KernelArgument {
    std::string name;           ///< may be empty
    std::string value_kind;     ///< "by_value", "global_buffer", "hidden_block_count_x", ...
    std::string type_name;      ///< may be empty
    uint32_t offset = 0;        ///< bytes in the kernarg segment
    uint32_t size = 0;          ///< bytes
    uint32_t pointee_align = 1; ///< of dynamic LDS pointers
    bool hidden() const { return value_kind.rfind("hidden_", 0) == 0; }
};

struct KernelInfo {
    std::string name, symbol;
    std::vector<KernelArgument> arguments;
    uint32_t kernarg_bytes = 0;
    uint32_t group_bytes = 0;       ///< LDS that the kernel itself asks for
    uint32_t private_bytes = 0;     ///< scratch of one work-item
    uint32_t max_workgroup = 0;     ///< work-items, 0: not said
    bool dynamic_stack = false;
    uint64_t descriptor = 0;        ///< address of the kernel descriptor in the ELF file's own addresses
};

/// A kernel, a function or a label.
struct CodeSymbol {
    std::string name;
    uint64_t address = 0;           ///< in the ELF file's own addresses
    uint64_t size = 0;              ///< bytes; 0: not said
};

/// An executable section, for disassembly.
struct CodeSection {
    std::string name;
    uint64_t address = 0;           ///< in the ELF file's own addresses
    Bytes bytes;
    std::vector<CodeSymbol> symbols; ///< by address, one for each
};

class CodeObject {
public:
    /// @param elf    bytes of an ELF file (extract_code_object)
    /// @param chip   such as "gfx900"; code for another is refused
    /// @return false, and why in error
    bool parse(Bytes elf, const std::string& chip, std::string& error);

    const std::vector<KernelInfo>& kernels() const { return kernels_; }
    /// By name as the compiler wrote it, or by source name when that is unique ("add" for "_Z3addPfS_"). Empty: the only one.
    const KernelInfo* find(const std::string& name, std::string& error) const;

    /// Copy the LOAD segments into VRAM and apply the relocations.
    bool load(InProcessDevice& device, std::string& error);
    /// GPU address of the kernel's descriptor; after load().
    uint64_t descriptor_va(const KernelInfo& kernel) const { return base_ + kernel.descriptor; }

    /// The executable sections, in the file's order.
    std::vector<CodeSection> code() const;

private:
    bool read_metadata(const uint8_t* note, size_t bytes, std::string& error);
    bool find_metadata(std::string& error);
    bool find_descriptors(std::string& error);
    bool relocate(uint8_t* image, uint64_t bytes, std::string& error) const;

    Bytes elf_;
    std::vector<KernelInfo> kernels_;
    uint64_t base_ = 0;  ///< GPU address of ELF address 0
};

}  // namespace lyra::inproc
