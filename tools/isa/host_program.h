// SPDX-License-Identifier: MIT
// A program of lyra_isa_compilers as the host's own code: work-items of one work-group take turns at their barriers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace lyra::isa {

class HostProgram {
public:
    /// @param path  shared library with the kernels as functions
    explicit HostProgram(const std::string& path);
    ~HostProgram();
    HostProgram(const HostProgram&) = delete;

    /// Empty: loaded.
    const std::string& error() const { return error_; }
    /// Runs void kernel(out, in) for each work-item of a one-dimensional grid.
    /// @return false: there is no such kernel
    bool run(const std::string& kernel, uint32_t groups, uint32_t group_size, void* out, const void* in);

private:
    void* library_ = nullptr;
    std::string error_;
};

}  // namespace lyra::isa
