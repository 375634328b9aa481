// SPDX-License-Identifier: MIT
// Queues taken away in every phase of a dispatch, and what is in their images: partial grids, grids of different geometry,
// scratch slots, parked waves; and a queue that goes on from copies of what was saved.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cp-firmware-model/testing/save_bench.h"

namespace lyra {
namespace {

using testing::Kernel;
using testing::KernelJob;

struct SaveStates : testing::SaveBench, ::testing::Test {
    SaveStates() : SaveBench(LYRA_CWSR_SOURCE) {}
    void take_away() { ASSERT_TRUE(unmap()); }
    /// All that was saved, to its end, and its results are right.
    void finish(const std::vector<KernelJob*>& jobs) {
        map(jobs);
        const auto idle = [&] {
            return std::all_of(jobs.begin(), jobs.end(), [](const KernelJob* job) { return job->idle(); });
        };
        for (unsigned n = 0; n < 20'000 && !idle(); ++n) {
            cp.run(2000);
            for (KernelJob* job : jobs) ASSERT_EQ(job->check_batch(), "");
        }
        EXPECT_TRUE(idle());
        EXPECT_EQ(env.stats.get(Stat::waves_saved), env.stats.get(Stat::waves_restored));
        for (const Fault fault : {Fault::NotSaveable, Fault::SavedImage, Fault::SaveAreaFull}) EXPECT_EQ(faults(fault), 0u);
        take_away();
    }
    cwsr::Image sound_image(KernelJob& job) {
        cwsr::Image image = job.image();
        EXPECT_EQ(image.error, "");
        return image;
    }
};

class PartialGrid : public SaveStates, public ::testing::WithParamInterface<bool> {};

/// Pre-empted when k of n groups have been launched, for all k: each group runs once.
TEST_P(PartialGrid, AfterEachNumberOfGroups) {
    constexpr unsigned kGroups = 12;
    KernelJob job(*this, 0, GetParam(), 8);
    const Kernel big = kernel("barrier_sixteen_waves", job);  // one group fills a compute unit
    std::set<uint64_t> seen;
    const auto pre_empt_at = [&](unsigned k) {
        const uint64_t before = env.stats.get(Stat::workgroups);
        map({&job});
        job.submit({{&big, 1, kGroups}});
        for (unsigned n = 0; n < 2'000'000 && env.stats.get(Stat::workgroups) < before + k; ++n) cp.run(16);
        const uint64_t launched = env.stats.get(Stat::workgroups) - before;
        ASSERT_GE(launched, k);
        seen.insert(launched);
        take_away();
        const cwsr::Image image = sound_image(job);
        EXPECT_FALSE(image.waves.empty());
        finish({&job});
        EXPECT_EQ(env.stats.get(Stat::workgroups) - before, kGroups) << "groups that were launched anew";
    };
    // The first four start together. How many start in a round after that depends on when its threads do: by experience a
    // pass sees 6 to 8 numbers with three threads, twenty passes no more than 7 sometimes.
    for (unsigned pass = 0; pass < 20 && seen.size() < kGroups / 2; ++pass)
        for (unsigned k = 1; k <= kGroups; ++k) {
            SCOPED_TRACE(k);
            pre_empt_at(k);
            ASSERT_FALSE(HasFailure());
        }
    EXPECT_GE(seen.size(), kGroups / 2);
}

INSTANTIATE_TEST_SUITE_P(Aql, PartialGrid, ::testing::Bool());

/// A queue whose grid has not begun is saved without any wave, and begins later.
TEST_F(SaveStates, WithNoGroupLaunched) {
    KernelJob job(*this, 0, true, 8), other(*this, 1, false, 8);
    Kernel big = kernel("integers", job);
    big.file.lds_bytes = 65536;  // one group takes all of a compute unit's
    map({&job, &other});
    other.submit({{&big, 1, 64}});
    uint32_t live = 0;
    do {
        live = cp.dispatcher().waves_live_total();
        for (unsigned n = 0; n < 4; ++n) cp.run(64);
    } while (cp.dispatcher().waves_live_total() > live);
    job.submit({{&big, 1, 2}});
    cp.run(64);
    take_away();
    EXPECT_TRUE(sound_image(job).waves.empty());
    EXPECT_FALSE(sound_image(other).waves.empty());
    finish({&job, &other});
}

/// Grids of different geometry run side by side on one queue: a state word before each change.
TEST_P(PartialGrid, GridsOfDifferentGeometry) {
    KernelJob job(*this, 0, GetParam(), 8);
    std::vector<Kernel> kernels;
    for (const char* name : {"divergence", "doubles", "barrier_lds", "state"}) kernels.push_back(kernel(name, job));
    unsigned mixed = 0;
    for (unsigned round = 0; round < 40; ++round) {
        SCOPED_TRACE(round);
        map({&job});
        std::vector<KernelJob::Part> parts;
        for (const Kernel& k : kernels) parts.push_back({&k, 2, 3});
        job.submit(parts);
        for (unsigned n = 0; n < 2 + round; ++n) cp.run(97);
        for (unsigned again = 0; again < 3 && !job.idle(); ++again) {
            take_away();
            const cwsr::Image image = sound_image(job);
            std::set<std::tuple<unsigned, unsigned>> geometries;
            for (const cwsr::WaveImage& wave : image.waves) geometries.emplace(wave.vgprs, wave.sgprs);
            mixed += geometries.size() > 1;
            map({&job});
            for (unsigned n = 0; n < 20; ++n) cp.run(131);
            ASSERT_EQ(job.check_batch(), "");
        }
        take_away();
        if (!job.idle()) finish({&job});
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(mixed, 20u);
}

/// A wave keeps its scratch slot over any number of saves, and nobody else gets it meanwhile.
TEST_F(SaveStates, ScratchSlotsStayWithTheirWaves) {
    KernelJob job(*this, 0, true, 8);
    const Kernel scratch = kernel("scratch", job), plain = kernel("divergence", job);
    using Name = std::tuple<uint64_t, uint32_t, unsigned>;
    unsigned seen_again = 0;
    for (unsigned round = 0; round < 10; ++round) {
        map({&job});
        job.submit({{&scratch, 3, 5}, {&plain, 1, 2}, {&scratch, 3, 5}});
        std::map<Name, std::pair<unsigned, unsigned>> slots;
        for (unsigned n = 0; n < 200 && !job.idle(); ++n) {
            for (unsigned k = (n * 7 + round) % 9; k != 0; --k) cp.run(211);
            take_away();
            for (const cwsr::WaveImage& wave : sound_image(job).waves) {
                if (!wave.scratch_en) continue;
                EXPECT_NE(wave.scratch_bytes, 0u);
                const Name name{wave.packet_id.value(), wave.group_id[0], wave.number};
                const auto [at, fresh] = slots.emplace(name, std::pair{wave.engine, wave.scratch_slot});
                EXPECT_EQ(at->second, (std::pair{wave.engine, wave.scratch_slot}));
                seen_again += !fresh;
            }
            ASSERT_EQ(job.check_batch(), "");
            map({&job});
        }
        take_away();
        if (!job.idle()) finish({&job});
        ASSERT_FALSE(HasFailure());
    }
    EXPECT_GT(seen_again, 100u);
}

/// Waves that their trap handler has parked are saved and restored, still parked, and told of once.
TEST_F(SaveStates, ParkedWavesStayParked) {
    KernelJob job(*this, 0, true, 8);
    const Kernel trap = kernel_of("  v_mov_b32 v2, 1\n s_trap 2\n finish v2, 64\n");
    map({&job});
    job.submit({{&trap, 1, 3}});
    for (unsigned n = 0; n < 100; ++n) cp.run(100);
    const auto reports = [&] {
        unsigned n = 0;
        for (const Interrupt& i : bus.interrupts) n += i.source == ih_source::kSqMessage;
        return n;
    };
    for (unsigned round = 0; round < 5; ++round) {
        EXPECT_EQ(reports(), 3u);
        take_away();
        const cwsr::Image image = sound_image(job);
        ASSERT_EQ(image.waves.size(), 3u);
        for (const cwsr::WaveImage& wave : image.waves) EXPECT_EQ(wave.stop, cwsr::WaveStop::Parked);
        map({&job});
        for (unsigned n = 0; n < 100; ++n) cp.run(100);
        EXPECT_EQ(cp.dispatcher().waves_live_total(), 3u);
    }
}

/// What the driver does at a checkpoint and at a restart: it copies MQD, control stack and save area, and rewrites some fields
/// of the MQD. The queue goes on from the copies, in another process, under another VMID, in another slot.
/// @source Linux 6.12 kfd_mqd_manager_v9.c checkpoint_mqd(), restore_mqd(), update_mqd()
TEST_P(PartialGrid, GoesOnFromCopies) {
    for (unsigned round = 0; round < 12; ++round) {
        SCOPED_TRACE(round);
        KernelJob job(*this, 0, GetParam(), 8);
        const Kernel first = kernel("scratch", job), second = kernel("barrier_lds", job), third = kernel("traps", job);
        map({&job});
        job.submit({{&first, 2, 5}, {&second, 2, 3}, {&third, 1, 3}});
        for (unsigned n = 0; n < 2 + 2 * round; ++n) cp.run(150);
        take_away();
        const size_t waves = sound_image(job).waves.size();
        const cwsr::Image before = sound_image(job);
        // Nothing but the copies is left: the old memory is overwritten, the device reset, everything brought up again.
        job.move(0x40000000 + round * 0x1000000, 0x50000000 + round * 0x1000000);
        cp.reset();
        bus.vm = {};
        kiq = hiq = {};
        start_hiq(kKfdVmids & ~(1u << 8), kAllKfdSlots & ~0xffu);
        testing::TestRing& ring = job.ring();
        ring.doorbell += 8 * 40;
        bus.memory.put<uint32_t>(ring.mqd + 4 * 143, ring.doorbell);  // restore_mqd(): CP_HQD_PQ_DOORBELL_CONTROL
        bus.memory.put<uint32_t>(ring.mqd + 4 * 131, 0);  // update_mqd(): CP_HQD_VMID
        job.set_process(11);
        const cwsr::Image after = sound_image(job);
        ASSERT_EQ(after.waves.size(), waves);
        for (size_t n = 0; n < waves; ++n) EXPECT_EQ(after.waves[n].pc, before.waves[n].pc);
        finish({&job});
        ASSERT_FALSE(HasFailure());
    }
}

/// The text for people agrees with the registers that the waves have.
TEST_F(SaveStates, TheDumpShowsTheWaves) {
    KernelJob job(*this, 0, true, 8);
    const Kernel kernel = kernel_of(R"(
  s_mov_b32 s10, 0x12345678
  v_add_u32 v2, 100, v0
  s_mov_b64 vcc, 0x55
wait:
  s_branch wait
)");
    map({&job});
    job.submit({{&kernel, 1, 2}});
    for (unsigned n = 0; n < 20; ++n) cp.run(100);
    take_away();
    const cwsr::Image image = sound_image(job);
    ASSERT_EQ(image.waves.size(), 2u);
    const std::string text = dump_image(image, job.reader(), {true, true});
    for (const char* expected :
         {"wave 0: group 0 (0,0,0) number 0 packet 0 runs", "wave 1: group 1 (1,0,0)", "vcc 0x0000000000000055",
          "exec 0xffffffffffffffff", "12345678", "00000064 00000065 00000066"}) {
        EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
    }
    EXPECT_NE(text.find(fmt::format("pc {:#x}", image.waves[0].pc)), std::string::npos);
}

}  // namespace
}  // namespace lyra
