// SPDX-License-Identifier: MIT
// PoCL on one thread, through the OpenCL loader that is opened at run time: only `lyra bench` needs it.
#pragma once

#include <memory>
#include <string>

#include "tools/bench/kernel_case.h"

namespace lyra::bench {

class Pocl {
public:
    /// @return nullptr, and in error what is missing
    static std::unique_ptr<Pocl> open(std::string& error);
    ~Pocl();
    Pocl(const Pocl&) = delete;
    Pocl& operator=(const Pocl&) = delete;

    /// Compile the source of the kernels. @return false: error says why
    bool build(const std::string& source, std::string& error);
    /// Make a kernel and its buffers the current ones.
    bool prepare(const KernelCase& each, std::string& error);
    /// Run it once, to the end.
    bool run();
    std::vector<uint8_t> result(const KernelCase& each);
    std::string version() const;

private:
    Pocl();
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace lyra::bench
