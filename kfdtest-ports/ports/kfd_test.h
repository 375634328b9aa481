// SPDX-License-Identifier: MIT
// What every port starts from: a driver on a fresh device, a process on it, and what must hold when the test is over.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kfdtest-ports/shim/dispatch.h"
#include "kfdtest-ports/shim/driver.h"
#include "kfdtest-ports/shim/programs.h"
#include "kfdtest-ports/shim/user_queue.h"

namespace lyra::kfd {

/// Set by --pump=step|thread|virtual.
Pump& chosen_pump();
/// Set by --full.
bool& full_counts();
/// How often a stress test does what it does. @param others with the pumps that are not the first one
inline uint32_t scaled(uint32_t ours, uint32_t upstream, uint32_t others = ~0u) {
    return full_counts() ? upstream : chosen_pump() == Pump::Step ? ours : std::min(ours, others);
}

#define EXPECT_SUCCESS(call) EXPECT_EQ((call), ::lyra::kfd::Status::Success)
#define ASSERT_SUCCESS(call) ASSERT_EQ((call), ::lyra::kfd::Status::Success)

class KfdTest : public ::testing::Test {
protected:
    static constexpr uint64_t kTimeoutMs = 20'000;
    static constexpr uint32_t kPage = 4096;

    void SetUp() override { open({}); }
    void TearDown() override;

    /// A driver with these options instead of the usual ones.
    void open(GpuOptions options);

    Driver& driver() { return *driver_; }
    Gpu& gpu() { return driver_->gpu(); }
    Process& process() { return *process_; }
    /// A process of its own, with the programs in its memory.
    Process* new_process();
    /// Where a program of programs.s lies in a process.
    uint64_t program(const std::string& name) { return program(process(), name); }
    uint64_t program(Process& process, const std::string& name);

    /// Memory of the process, filled with a dword.
    GpuBuffer buffer(uint64_t bytes = kPage, uint32_t fill_word = 0, Domain domain = Domain::System);
    static void fill(const GpuBuffer& buffer, uint32_t word);
    static volatile uint32_t* words(const GpuBuffer& buffer) { return reinterpret_cast<volatile uint32_t*>(buffer.host); }
    /// Give running waves time. In virtual time they get much more done in a microsecond.
    void let_run(uint64_t us) { gpu().delay_us(chosen_pump() == Pump::Virtual ? us / 20 : us); }
    bool wait_value(volatile uint32_t* word, uint32_t value) {
        return gpu().wait([=] { return *word == value; }, kTimeoutMs);
    }

    /// As the driver reads it for a program.
    uint64_t gpu_clock();

    /// The test makes the guest's mistakes of these names (faults.def) on purpose.
    void expect_faults(const std::set<std::string>& names) { expected_faults_ = names; }
    uint64_t stat(const std::string& name) { return gpu().stat(name.c_str()); }

private:
    std::unique_ptr<Driver> driver_;
    Process* process_ = nullptr;
    std::map<Process*, GpuBuffer> code_;
    std::set<std::string> expected_faults_;
};

}  // namespace lyra::kfd
