// SPDX-License-Identifier: MIT
// Programs for the GPU, from object files that the build has assembled.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "kfdtest-ports/shim/process.h"

namespace lyra::kfd {

/// The code of an object file, with its labels.
class Programs {
public:
    /// @param path  ELF object file of the assembler
    explicit Programs(const std::string& path);
    /// Empty: the file is not there or holds no code.
    const Words& code() const { return code_; }
    bool has(const std::string& name) const { return offsets_.contains(name); }
    uint64_t offset(const std::string& name) const { return offsets_.at(name); }

    /// Copy the code into memory of a process.
    GpuBuffer load(Process& process) const;

private:
    Words code_;
    std::map<std::string, uint64_t> offsets_;
};

/// Code of the first-level trap handler: cwsr/handler, or the raw code in the file that LYRA_CWSR_HANDLER names.
Words trap_handler();
/// programs/programs.s
const Programs& programs();

}  // namespace lyra::kfd
