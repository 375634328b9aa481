// SPDX-License-Identifier: MIT
// The engine that `lyra bench` measures: the device in this process, with an AQL queue and an SDMA ring.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "tools/bench/kernel_case.h"
#include "tools/inproc/kernel_runner.h"

namespace lyra::bench {

class Gpu {
public:
    /// @param code_object  file for the chip
    /// @param threads      of the host, that run waves
    /// @param jit          generated code runs them where the host can
    explicit Gpu(const std::string& code_object, unsigned threads = 1, bool jit = true, const std::string& chip = "gfx900");

    /// Empty: all went well so far.
    const std::string& error() const { return error_; }
    uint64_t stat(const char* name) { return runner_->device().stat(name); }

    /// Make a kernel, its buffers and its packet the current ones. What was prepared before is there still.
    void prepare(const KernelCase& each);
    /// Run it once, to the end. @return false: error() says why
    bool run();
    std::vector<uint8_t> result(const KernelCase& each) const;

    /// The current packet so many times without waiting between; they end in order.
    bool run_batch(unsigned packets);

    /// Two buffers for copy(). @return false: no room
    bool prepare_copy(uint64_t bytes);
    /// One linear copy by SDMA engine 0, to the end. @return false: it did not end or copied wrong
    bool copy();
    bool copy_is_right() const;

private:
    bool finish();

    std::string error_;
    std::unique_ptr<inproc::KernelRunner> runner_;
    struct Prepared {
        inproc::AqlDispatch packet;
        std::vector<inproc::GpuBuffer> buffers;
    };
    std::map<std::string, Prepared> prepared_;
    Prepared* now_ = nullptr;
    inproc::GpuBuffer from_, to_, ring_;
    uint64_t ring_bytes_ = 0;
    uint32_t fence_ = 0;
};

}  // namespace lyra::bench
