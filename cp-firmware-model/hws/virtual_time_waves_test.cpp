// SPDX-License-Identifier: MIT
// Virtual time of queues with real waves: what a pre-emption takes, and what it depends on.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "common/trace_hash.h"
#include "cp-firmware-model/testing/assembler.h"
#include "cp-firmware-model/testing/cp_bench.h"
#include "cwsr/area.h"

namespace lyra {
namespace {

using testing::CpBench;
using testing::packet;
using testing::TestRing;
using testing::Words;

constexpr uint64_t kHandler = 0x2000000, kCode = 0x2010000, kData = 0x2100000, kArea = 0x3000000, kFence = CpBench::kScratch;
constexpr uint32_t kIqWaitTime2 = 0xc2c0;

std::vector<uint8_t> handler_code() {
    std::stringstream text;
    text << std::ifstream(LYRA_CWSR_HANDLER_SOURCE).rdbuf();
    return testing::assemble(text.str()).value_or(std::vector<uint8_t>{});
}

/// A command processor in virtual time, with queues whose waves never end.
struct TimedBench : CpBench {
    explicit TimedBench(std::string_view timing = {}, uint32_t que_sleep = 1, uint32_t sch_wave = 1) {
        static const std::vector<uint8_t> handler = handler_code();
        static const auto endless = testing::assemble("again:\n v_add_u32 v1, v1, v2\n s_branch again");
        if (handler.empty() || !endless) return;
        ready = true;
        bus.memory.map(kHandler, 0x2000);
        bus.memory.map(kCode, 0x10000);
        bus.memory.map(kData, 0x10000);
        bus.memory.map(kArea, 2 * kAreaStride);
        bus.memory.write(0, kHandler, handler.data(), handler.size());
        bus.memory.write(0, kCode, endless->data(), endless->size());
        start_hiq();
        env.timing.set(timing);
        env.clock.start(env.timing);
        env.tracer.set_sink(&hash);
        set_reg(kIqWaitTime2, que_sleep | sch_wave << 8 | 0x40400000);
    }
    static constexpr uint64_t kAreaStride = 0x1000000;

    static Words process() {
        Words words = map_process(0x8001);
        words[1] = 0x8001 | 1u << 25;  // quantum: 1 ms
        words[6] = lo32(kHandler >> 8);
        words[7] = 0;
        return words;
    }
    TestRing queue(unsigned number) {
        TestRing ring = user_ring(number);
        const auto put = [&](unsigned dword, uint32_t value) { bus.memory.put<uint32_t>(ring.mqd + 4 * dword, value); };
        const uint64_t area = kArea + number * kAreaStride;
        put(20, 1 << 6);
        put(132, 1u << 30 | 0x53 << 8 | 1);
        put(171, lo32(area));
        put(172, hi32(area));
        for (const unsigned dword : {174, 175, 176}) put(dword, sizes.control_stack);
        put(177, sizes.total());
        return ring;
    }
    /// @param vgprs of each wave; groups of one wave
    void submit_endless(TestRing& ring, uint32_t groups, uint32_t vgprs) {
        const auto sh = [](uint32_t reg, Words values) {
            values.insert(values.begin(), reg);
            return packet(pm4::Opcode::SET_SH_REG, values);
        };
        emit(ring, sh(0x207, {64, 1, 1}));
        emit(ring, sh(0x20c, {lo32(kCode >> 8), 0}));
        emit(ring, sh(0x212, {(vgprs / 4 - 1) | 2 << 6 | 0xc0u << 12, 1 << 6}));
        submit(ring, packet(pm4::Opcode::DISPATCH_DIRECT, {groups, 1, 1, 1}));
    }
    void run_us(uint64_t us) { cp.run_until(env.clock.ns() + us * 1000); }

    /// Unmap all queues. @return ns from the packet to its fence, to a microsecond
    uint64_t unmap_ns() {
        bus.memory.put<uint64_t>(kFence, 0);
        const uint64_t begin = env.clock.ns();
        submit(hiq, CpBench::unmap(3));
        submit(hiq, query_status(kFence, 100));
        for (unsigned us = 0; us < 100'000 && qword(kFence) != 100; ++us) run_us(1);
        EXPECT_EQ(qword(kFence), 100u);
        return env.clock.ns() - begin;
    }

    const cwsr::AreaSizes sizes = cwsr::area_sizes(4, 2);
    TraceHash hash;
    bool ready = false;
};

#define ASSERT_READY(bench) ASSERT_TRUE((bench).ready) << "no LLVM assembler (llvm-mc-19)"

/// Map one queue with so many endless waves, let them start, unmap. @return ns, and the waves that were saved
uint64_t preempt(uint32_t groups, uint32_t vgprs, uint64_t& saved, std::string_view timing, uint32_t que_sleep = 1,
                 uint32_t sch_wave = 1) {
    TimedBench bench(timing, que_sleep, sch_wave);
    if (!bench.ready) return 0;
    TestRing ring = bench.queue(0);
    bench.submit_endless(ring, groups, vgprs);
    bench.run_list({TimedBench::process(), CpBench::map_queue(ring)});
    bench.run_us(100);
    EXPECT_EQ(bench.cp.dispatcher().waves_live_total(), groups);
    const uint64_t ns = bench.unmap_ns();
    EXPECT_EQ(bench.cp.dispatcher().waves_live_total(), 0u);
    saved = bench.env.stats.get(Stat::waves_saved);
    EXPECT_EQ(saved, groups);
    return ns;
}

TEST(VirtualTime, SaveTakesTimeByItsBytes) {
    ASSERT_READY(TimedBench());
    // 1 GB/s: the memory is what takes the time.
    const std::string_view kSlow = "vram_mb_per_s=1000,vram_efficiency_percent=100";
    std::vector<double> bytes, times;
    for (const auto& [groups, vgprs] : std::vector<std::pair<uint32_t, uint32_t>>{
             {8, 8}, {8, 64}, {32, 16}, {32, 64}, {32, 128}, {64, 64}, {64, 32}, {96, 32}, {128, 32}}) {
        uint64_t saved = 0;
        times.push_back(static_cast<double>(preempt(groups, vgprs, saved, kSlow)));
        bytes.push_back(static_cast<double>(saved) * vgprs * 256);
    }
    const size_t n = bytes.size();
    double mean_x = 0, mean_y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t i = 0; i < n; ++i) mean_x += bytes[i] / n, mean_y += times[i] / n;
    for (size_t i = 0; i < n; ++i) {
        xx += (bytes[i] - mean_x) * (bytes[i] - mean_x);
        xy += (bytes[i] - mean_x) * (times[i] - mean_y);
        yy += (times[i] - mean_y) * (times[i] - mean_y);
    }
    const double slope = xy / xx, r2 = xy * xy / (xx * yy);
    EXPECT_GE(r2, 0.99);
    EXPECT_NEAR(slope, 1.0, 0.05);  // ns per byte at 1 GB/s
    const double intercept = mean_y - slope * mean_x;
    EXPECT_GT(intercept, 2000.0);  // the packets, the handler's waits
    EXPECT_LT(intercept, 10000.0);
}

TEST(VirtualTime, GracePeriodAndDequeueRetryAreWaitedFor) {
    ASSERT_READY(TimedBench());
    uint64_t saved = 0;
    const uint64_t quick = preempt(8, 16, saved, "");
    const uint64_t grace = preempt(8, 16, saved, "", 1, 0x40);
    EXPECT_NEAR(static_cast<double>(grace - quick), 63'000.0, 3000.0);
    // Looked at once at the beginning, then after 64 us.
    const uint64_t retry = preempt(8, 16, saved, "", 0x40, 1);
    EXPECT_LT(quick, 40'000u);
    EXPECT_NEAR(static_cast<double>(retry), 64'000.0, 10'000.0);
}

/// Two queues in one slot take turns. @return hash of everything that happened in 6 ms
uint64_t shared_slot(std::string_view timing, uint32_t vgprs = 16) {
    TimedBench bench(timing);
    if (!bench.ready) return 0;
    bench.submit(bench.hiq,
                 packet(pm4::Opcode::SET_RESOURCES, {CpBench::kKfdVmids | 40u << 16 | 1u << 29, 1u << 1, 0, ~0u, ~0u, 0, 0}));
    bench.run_us(100);
    TestRing first = bench.queue(0), second = bench.queue(1);
    bench.submit_endless(first, 4, vgprs);
    bench.submit_endless(second, 6, vgprs);
    bench.run_list({TimedBench::process(), CpBench::map_queue(first), CpBench::map_queue(second)}, 8, true);
    bench.run_us(6'000);
    EXPECT_GT(bench.env.stats.get(Stat::waves_saved), 10u);
    EXPECT_GT(bench.env.stats.get(Stat::waves_restored), 4u);
    EXPECT_GT(bench.hash.events(), 60u);
    return bench.hash.hash();
}

TEST(VirtualTime, SameRunSameHash) {
    ASSERT_READY(TimedBench());
    const uint64_t once = shared_slot("");
    EXPECT_EQ(shared_slot(""), once);
    EXPECT_NE(shared_slot("vram_latency_ns=401"), once);
    EXPECT_NE(shared_slot("", 20), once);
}

}  // namespace
}  // namespace lyra
