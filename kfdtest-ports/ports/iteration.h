// SPDX-License-Identifier: MIT
// Waves that run until they are told to stop, and show afterwards whether they have lost or repeated anything.
#pragma once

#include "kfdtest-ports/ports/kfd_test.h"

namespace lyra::kfd {

/// Groups of one work-item that write their word again and again (programs.s, iterate).
class Iteration {
public:
    static constexpr uint32_t kMark = 0x87654321;

    /// @param program  where iterate lies  @param groups  1024 at most
    Iteration(Process& process, uint64_t program, uint32_t groups)
        : groups_(groups), stop_(process.allocate(kBytes)), out_(process.allocate(3 * kBytes)), dispatch_(process, program) {
        for (uint32_t i = 0; i < 3 * kBytes / 4; ++i) out()[i] = i < groups ? kMark : kUnset;
        dispatch_.args(stop_.va, out_.va).dim(groups);
    }
    bool submit(UserQueue& queue) { return dispatch_.submit(queue); }
    uint32_t event() const { return dispatch_.event(); }
    void expect_marks() const {
        for (uint32_t i = 0; i < groups_; ++i) ASSERT_EQ(out()[i], kMark) << i;
    }
    void stop() { *reinterpret_cast<volatile uint32_t*>(stop_.host) = 0x12345678; }
    /// All of them end, and none has lost or repeated a turn.
    void finish(uint64_t timeout_ms) {
        stop();
        ASSERT_SUCCESS(dispatch_.sync(timeout_ms));
        expect_marks();
        for (uint32_t i = 0; i < groups_; ++i) {
            ASSERT_EQ(out()[kBytes / 4 + i], 0u) << "turns counted in an SGPR and in a VGPR differ, group " << i;
            ASSERT_NE(out()[2 * kBytes / 4 + i], kUnset) << i;
            ASSERT_GT(out()[2 * kBytes / 4 + i], 0u) << i;
        }
    }

private:
    static constexpr uint32_t kBytes = 4096, kUnset = 0xffffffff;
    volatile uint32_t* out() const { return reinterpret_cast<volatile uint32_t*>(out_.host); }
    uint32_t groups_;
    GpuBuffer stop_, out_;
    Dispatch dispatch_;
};

}  // namespace lyra::kfd
