// SPDX-License-Identifier: MIT
// Context save at every instruction boundary of every kernel of cwsr/kernels, by a trap handler that the waves execute, and
// again inside the restore: results are those of the undisturbed run, each wave ends once, every image is sound.
#include <set>

#include "common/trace_hash.h"
#include "cwsr/testing/wave_rig.h"

namespace lyra::cwsr {
namespace {

using testing::kKernels;
using testing::WaveRig;

/// Boundaries looked at from a program's start; the long loops come to them many times over.
constexpr unsigned kMostBoundaries = 3000;

struct Case {
    Chip chip;
    std::string kernel;
    friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << facts_of(c.chip).name << c.kernel; }
};

class Injection : public ::testing::TestWithParam<Case> {
protected:
    void SetUp() override {
        rig.load(testing::read_kernel(kKernels, GetParam().kernel));
        rig.start();
        while (rig.step(1)) ASSERT_LT(++length, 10'000u);
        expected = rig.results();
        EXPECT_EQ(rig.services.waves, rig.waves_started);
        EXPECT_EQ(rig.services.workgroups.size(), 1u);
        ASSERT_TRUE(std::any_of(expected.begin(), expected.end(), [](uint8_t byte) { return byte != 0; }));
    }
    /// The rest of a run that was disturbed.
    void finish() {
        rig.run_out();
        ASSERT_EQ(rig.services.waves, rig.waves_started) << "each wave ends once";
        ASSERT_EQ(rig.results(), expected);
        ASSERT_FALSE(HasFailure());
    }
    /// @return hash of the trace of a run, which has one clock each time
    template <class Run>
    uint64_t hash_of(Run run) {
        TraceHash hash;
        rig.env.tracer.set_sink(&hash);
        rig.host.time = rig.services.clock = 0;
        run();
        rig.env.tracer.set_sink(nullptr);
        EXPECT_GE(hash.events(), 2 * rig.waves_started);
        return hash.hash();
    }
    WaveRig rig{GetParam().chip};
    unsigned length = 0;
    std::vector<uint8_t> expected;
};

TEST_P(Injection, AtEveryInstruction) {
    const unsigned boundaries = std::min(length, kMostBoundaries);
    unsigned saved = 0;
    for (unsigned at = 0; at < boundaries; ++at) {
        SCOPED_TRACE(::testing::Message() << "saved after " << at << " of " << length << " instructions");
        rig.start();
        ASSERT_TRUE(rig.step(at));
        if (rig.save()) {
            ASSERT_EQ(rig.services.waves + rig.image.waves.size(), rig.waves_started);
            rig.restore(at % 2);
            ++saved;
        }
        finish();
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(saved, boundaries * 9 / 10);
}

/// @return instructions until all waves have left the restore
unsigned restore_length(WaveRig& rig, unsigned at) {
    rig.start();
    rig.step(at);
    if (!rig.save()) return 0;
    rig.restore();
    const auto inside = [&] {
        for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
            const gcn::Wave& wave = rig.unit.wave(slot);
            if (wave.state != gcn::WaveState::Free && wave.restoring) return true;
        }
        return false;
    };
    unsigned length = 0;
    for (; inside() && rig.live() != 0; ++length) rig.unit.run(1);
    return length;
}

TEST_P(Injection, AgainAtEveryInstructionOfTheRestore) {
    constexpr unsigned kMostTries = 700;  // of one restore; longer ones are looked at in larger steps, each from another start
    for (const unsigned percent : {30, 80}) {
        const unsigned at = length * percent / 100;
        const unsigned inside = restore_length(rig, at);
        ASSERT_GT(inside, 0u);
        const unsigned stride = inside / kMostTries + 1;
        for (unsigned again = percent % stride; again < inside + stride; again += stride) {
            SCOPED_TRACE(::testing::Message()
                         << "saved after " << at << " and after " << again << " instructions of the restore");
            rig.start();
            rig.step(at);
            ASSERT_TRUE(rig.save());
            rig.restore(again % 2);
            rig.step(again);
            if (rig.save()) rig.restore();
            finish();
            ASSERT_FALSE(HasFailure());
        }
    }
}

class InjectionOfStreams : public Injection {};

// The unit's state after each instruction of a program, of its save and of its restore.
TEST_P(InjectionOfStreams, ThroughAStreamAfterEveryInstruction) {
    constexpr unsigned kMost = 400;  // of the long loops, and of the handlers' long ones
    const auto stepped = [&](bool disturbed) {
        return hash_of([&] {
            rig.start();
            for (unsigned n = 0; n < std::min(length, kMost) && rig.step(1) && !HasFatalFailure(); ++n)
                if (disturbed) rig.through_a_stream();
            finish();
        });
    };
    ASSERT_EQ(stepped(true), stepped(false));
    rig.start();
    ASSERT_TRUE(rig.step(length / 2));
    rig.unit.request_save(WaveRig::kDispatch);
    for (unsigned n = 0; n < kMost && rig.unit.runnable(); ++n) {
        rig.unit.run(1);
        rig.through_a_stream();
        ASSERT_FALSE(HasFatalFailure()) << n;
    }
    if (rig.finish_save()) rig.restore(true);
    for (unsigned n = 0; n < kMost && rig.step(1); ++n) {
        rig.through_a_stream();
        ASSERT_FALSE(HasFatalFailure()) << n;
    }
    finish();
}

// At every boundary once, and from there to the end.
TEST_P(InjectionOfStreams, ThroughAStreamAtEveryInstruction) {
    const unsigned boundaries = std::min(length, kMostBoundaries);
    for (unsigned at = 0; at < boundaries; ++at) {
        SCOPED_TRACE(::testing::Message() << "after " << at << " of " << length << " instructions");
        rig.start();
        ASSERT_TRUE(rig.step(at));
        rig.through_a_stream();
        finish();
        ASSERT_FALSE(HasFailure());
    }
}

std::vector<Case> cases(Chip chip) {
    std::vector<Case> all;
    for (const std::string& name : testing::kernel_names(kKernels, chip)) all.push_back({chip, name});
    return all;
}
/// Those in which gfx90a differs from gfx900, or from gfx942: AccVGPRs, scratch, what is kept in TTMPs.
std::vector<Case> cases_of_gfx90a() {
    std::vector<Case> some = cases(Chip::gfx90a);
    const std::set<std::string> others{"all_registers", "barrier_lds", "partial_group", "scratch", "state", "traps"};
    const auto same = [&](const Case& c) { return c.kernel.rfind("acc_", 0) != 0 && others.count(c.kernel) == 0; };
    some.erase(std::remove_if(some.begin(), some.end(), same), some.end());
    return some;
}
std::string name_of(const ::testing::TestParamInfo<Case>& info) { return info.param.kernel; }

INSTANTIATE_TEST_SUITE_P(Kernels, Injection, ::testing::ValuesIn(cases(Chip::gfx900)), name_of);
INSTANTIATE_TEST_SUITE_P(Gfx90a, Injection, ::testing::ValuesIn(cases_of_gfx90a()), name_of);
INSTANTIATE_TEST_SUITE_P(Gfx942, Injection, ::testing::ValuesIn(cases(Chip::gfx942)), name_of);
INSTANTIATE_TEST_SUITE_P(Kernels, InjectionOfStreams, ::testing::ValuesIn(cases(Chip::gfx900)), name_of);
// The state of a unit of gfx942 is the same.
INSTANTIATE_TEST_SUITE_P(Gfx90a, InjectionOfStreams, ::testing::ValuesIn(cases_of_gfx90a()), name_of);

}  // namespace
}  // namespace lyra::cwsr
