// SPDX-License-Identifier: MIT
// Queues with real waves are unmapped at random moments and mapped again: nothing is lost and nothing happens twice.
// LYRA_CWSR_HANDLER=file runs it with another trap handler (raw code) than the one of cwsr/handler.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

#include "cp-firmware-model/queue/flight.h"
#include "cp-firmware-model/testing/assembler.h"
#include "cp-firmware-model/testing/cp_bench.h"
#include "cwsr/area.h"
#include "cwsr/image.h"

namespace lyra {
namespace {

using testing::CpBench;
using testing::packet;
using testing::TestRing;
using testing::Words;

constexpr uint64_t kHandler = 0x2000000, kCode = 0x2010000, kData = 0x2100000, kArea = 0x3000000, kFence = CpBench::kScratch,
                   kDone = CpBench::kScratch + 0x100, kAqlQueue = 0x2200000, kDescriptor = kCode;
constexpr uint32_t kGroups = 60, kItems = 128, kVmid = 8;

std::vector<uint8_t> handler_code() {
    if (const char* path = std::getenv("LYRA_CWSR_HANDLER")) {
        std::ifstream raw(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(raw), {}};
    }
    std::stringstream text;
    text << std::ifstream(LYRA_CWSR_HANDLER_SOURCE).rdbuf();
    return testing::assemble(text.str()).value_or(std::vector<uint8_t>{});
}

/// s[0:1] data, s2 group, LDS of 512 bytes. Adds each work-item to word 0 and to the word of its group, once.
constexpr const char* kKernel = R"(
  s_mov_b32 m0, -1
  s_mov_b32 s10, 0
  v_lshlrev_b32 v4, 2, v0
  v_mov_b32 v5, 0
  ds_write_b32 v4, v5
again:
  s_barrier
  v_xor_b32 v6, 4, v4
  v_mov_b32 v7, 1
  ds_add_u32 v6, v7
  s_sleep 1
  s_add_u32 s10, s10, 1
  s_cmp_lt_u32 s10, 0xc8
  s_cbranch_scc1 again
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v7, v4
  s_waitcnt lgkmcnt(0)
  v_cmp_eq_u32 vcc, 0xc8, v7
  s_and_b64 exec, exec, vcc
  v_mov_b32 v1, 0
  v_mov_b32 v2, 1
  global_atomic_add v1, v2, s[0:1]
  s_lshl_b32 s11, s2, 2
  v_mov_b32 v1, s11
  global_atomic_add v1, v2, s[0:1] offset:4
  s_endpgm
)";

struct Preempt : CpBench, ::testing::Test {
    Preempt() {
        const std::vector<uint8_t> handler = handler_code();
        const auto kernel = testing::assemble(kKernel);
        if (handler.empty() || !kernel) return;
        ready = true;
        bus.memory.map(kHandler, 0x2000);
        bus.memory.map(kCode, 0x10000);
        bus.memory.map(kData, 0x10000);
        bus.memory.map(kArea, sizes.total());
        bus.memory.map(kAqlQueue, 0x10000);
        bus.memory.write(0, kHandler, handler.data(), handler.size());
        bus.memory.write(0, kCode + 0x100, kernel->data(), kernel->size());
        start_hiq();
    }
    static Words process() {
        Words words = map_process(0x8001);
        words[6] = lo32(kHandler >> 8);
        words[7] = 0;
        return words;
    }
    void with_save_area(TestRing& ring) {
        const auto put = [&](unsigned dword, uint32_t value) { bus.memory.put<uint32_t>(ring.mqd + 4 * dword, value); };
        put(20, 1 << 6);
        put(132, 1u << 30 | 0x53 << 8 | 1);
        put(171, lo32(kArea));
        put(172, hi32(kArea));
        for (const unsigned dword : {174, 175, 176}) put(dword, sizes.control_stack);
        put(177, sizes.total());
    }
    uint32_t mqd(const TestRing& ring, unsigned dword) { return word(ring.mqd + 4 * dword); }

    void map(const TestRing& ring) {
        run_list({process(), map_queue(ring)});
        for (unsigned n = 0; n < 5; ++n) cp.run(64);
    }
    /// Everything of the queue is out when the fence is written.
    void unmap() {
        bus.memory.put<uint64_t>(kDone, 0);
        submit(hiq, CpBench::unmap(3));
        submit(hiq, query_status(kDone, 100));
        for (unsigned n = 0; n < 20'000 && qword(kDone) != 100; ++n) cp.run(500);
        ASSERT_EQ(qword(kDone), 100u);
        ASSERT_EQ(cp.dispatcher().waves_live_total(), 0u);
    }
    cwsr::Image image(const TestRing& ring, uint64_t ring_bytes) {
        const cwsr::ImageHeader header{mqd(ring, 174), mqd(ring, 175) - mqd(ring, 174), mqd(ring, 176),
                                       mqd(ring, 176) - mqd(ring, 175)};
        Words stack(header.control_stack_size / 4);
        bus.memory.read(0, ring.mqd + 0x1000 + header.control_stack_offset, stack.data(), stack.size() * 4);
        const auto read = [&](uint64_t offset, void* data, size_t size) {
            return bus.memory.read(kVmid, kArea + offset, data, size) == Fault::None;
        };
        cwsr::ImageQueue queue;
        queue.ring_bytes = static_cast<uint32_t>(ring_bytes);
        queue.shader_engines = 2;
        return read_image(header, stack, read, queue);
    }
    void expect_results(unsigned grids) {
        EXPECT_EQ(word(kData), grids * kGroups * kItems);
        for (unsigned g = 0; g < kGroups; ++g) ASSERT_EQ(word(kData + 4 + 4 * g), grids * kItems) << g;
        EXPECT_EQ(faults(Fault::NotSaveable), 0u);
        EXPECT_EQ(faults(Fault::SavedImage), 0u);
        EXPECT_GT(env.stats.get(Stat::waves_saved), 0u);
        EXPECT_EQ(env.stats.get(Stat::waves_saved), env.stats.get(Stat::waves_restored));
    }
    static Words sh(uint32_t reg, const Words& values) {
        Words body{reg};
        body.insert(body.end(), values.begin(), values.end());
        return packet(pm4::Opcode::SET_SH_REG, body);
    }
    void submit_grid(TestRing& ring) {
        emit(ring, sh(0x207, {kItems, 1, 1}));
        emit(ring, sh(0x20c, {lo32((kCode + 0x100) >> 8), 0}));
        emit(ring, sh(0x212, {3 | 2 << 6 | 0xc0u << 12, 2 << 1 | 1 << 6 | 1 << 7 | 1 << 15}));
        emit(ring, sh(0x240, {lo32(kData), hi32(kData)}));
        submit(ring, packet(pm4::Opcode::DISPATCH_DIRECT, {kGroups, 1, 1, 1}));
    }

    const cwsr::AreaSizes sizes = cwsr::area_sizes(4, 2);
    bool ready = false;
};

#define ASSERT_READY() ASSERT_TRUE(ready) << "no LLVM assembler (llvm-mc-19)"

TEST_F(Preempt, Pm4GridsAtRandomMoments) {
    ASSERT_READY();
    TestRing ring = user_ring(0);
    with_save_area(ring);
    map(ring);
    for (unsigned n = 0; n < 3; ++n) submit_grid(ring);
    submit(ring, release_mem(kFence, 77, 1, 2, 9));
    submit_grid(ring);
    submit(ring, release_mem(kFence + 8, 78, 1, 2, 9));
    std::mt19937 random(3);
    unsigned preempted = 0;
    for (unsigned n = 0; n < 3000 && word(kFence + 8) != 78; ++n) {
        for (unsigned k = random() % 40; k != 0; --k) cp.run(1 + random() % 2500);
        ASSERT_TRUE(word(kFence) != 77 || word(kData) >= 3 * kGroups * kItems);
        unmap();
        const cwsr::Image saved = image(ring, 0);
        ASSERT_EQ(saved.error, "");
        preempted += !saved.waves.empty();
        ASSERT_FALSE(HasFailure());
        map(ring);
    }
    EXPECT_EQ(word(kFence), 77u);
    EXPECT_EQ(word(kFence + 8), 78u);
    EXPECT_EQ(interrupts(ih_source::kCpEndOfPipe), 2u);
    EXPECT_GT(preempted, 20u);
    expect_results(4);
}

TEST_F(Preempt, AqlPacketsAtRandomMoments) {
    ASSERT_READY();
    constexpr uint64_t kSignal = kAqlQueue + 0x8000;
    TestRing ring = user_ring(0);
    with_save_area(ring);
    const auto put = [&](unsigned dword, uint32_t value) { bus.memory.put<uint32_t>(ring.mqd + 4 * dword, value); };
    put(181, 1);
    put(139, lo32(kAqlQueue + 0x80));
    bus.memory.put<uint32_t>(kAqlQueue + 0x88, 0x80);
    ring.wptr_address = kAqlQueue + 0x38;
    bus.memory.put<int64_t>(kDescriptor + 16, 0x100);
    bus.memory.put<uint32_t>(kDescriptor + 48, 3 | 2 << 6 | 0xc0u << 12);
    bus.memory.put<uint32_t>(kDescriptor + 52, 2 << 1 | 1 << 7);
    bus.memory.put<uint16_t>(kDescriptor + 56, 1 << 3);
    constexpr unsigned kPackets = 5;
    for (unsigned n = 0; n < 32; ++n) bus.memory.put<uint16_t>(ring.base + 64 * n, 1);
    for (unsigned n = 0; n < kPackets; ++n) {
        const uint64_t at = ring.base + 64 * n;
        bus.memory.put<uint16_t>(at, 2);
        bus.memory.put<uint16_t>(at + 2, 1);
        bus.memory.put<uint16_t>(at + 4, kItems);
        bus.memory.put<uint32_t>(at + 6, 1 | 1u << 16);
        bus.memory.put<uint32_t>(at + 0xc, kGroups * kItems);
        bus.memory.put<uint64_t>(at + 0x10, 1 | uint64_t{1} << 32);
        bus.memory.put<uint32_t>(at + 0x1c, 512);
        bus.memory.put<uint64_t>(at + 0x20, kDescriptor);
        bus.memory.put<uint64_t>(at + 0x28, kData);
        bus.memory.put<uint64_t>(at + 0x38, kSignal);
        bus.memory.put<int64_t>(kSignal + 8, kPackets);
    }
    bus.memory.put<uint64_t>(ring.wptr_address, kPackets);
    map(ring);
    std::mt19937 random(4);
    unsigned preempted = 0;
    int64_t left = kPackets;
    for (unsigned n = 0; n < 3000 && left != 0; ++n) {
        for (unsigned k = random() % 40; k != 0; --k) cp.run(1 + random() % 2500);
        unmap();
        const int64_t now = bus.memory.get<int64_t>(kSignal + 8);
        ASSERT_LE(now, left);
        left = now;
        const cwsr::Image saved = image(ring, ring.dwords * 4);
        ASSERT_EQ(saved.error, "");
        const uint64_t retired = qword(kAqlQueue + 0x80);
        for (const cwsr::WaveImage& wave : saved.waves) ASSERT_GE(wave.packet, retired);
        preempted += !saved.waves.empty();
        ASSERT_FALSE(HasFailure());
        map(ring);
    }
    EXPECT_EQ(bus.memory.get<int64_t>(kSignal + 8), 0);
    EXPECT_EQ(qword(kAqlQueue + 0x80), kPackets);
    EXPECT_GT(preempted, 20u);
    expect_results(kPackets);
}

/// One queue fills all compute units with waves that never end; the other one finishes.
class NeverEnding : public Preempt, public ::testing::WithParamInterface<bool> {};

TEST_P(NeverEnding, DoesNotKeepTheOthersOut) {
    ASSERT_READY();
    const bool one_slot = GetParam();
    const auto forever = testing::assemble("again:\n s_branch again");
    bus.memory.write(0, kCode + 0x800, forever->data(), forever->size());
    if (one_slot) start_hiq(kKfdVmids, 1u << 1);
    TestRing endless = user_ring(1), ring = user_ring(0);
    with_save_area(endless);
    with_save_area(ring);
    bus.memory.map(kArea + 0x1000000, sizes.total());
    bus.memory.put<uint32_t>(endless.mqd + 4 * 171, lo32(kArea + 0x1000000));
    // More work-groups than fit, so that all compute units are full of them.
    emit(endless, sh(0x207, {64, 1, 1}));
    emit(endless, sh(0x20c, {lo32((kCode + 0x800) >> 8), 0}));
    emit(endless, sh(0x212, {3, 1 << 6}));
    submit(endless, packet(pm4::Opcode::DISPATCH_DIRECT, {1000, 1, 1, 1}));
    submit_grid(ring);
    submit(ring, release_mem(kFence, 77, 1, 0, 0));
    run_list({process(), map_queue(endless), map_queue(ring)}, 8, one_slot);
    for (unsigned n = 0; n < 20'000 && word(kFence) != 77; ++n) {
        cp.run(2000);
        pass_ms(1);
    }
    EXPECT_EQ(word(kFence), 77u);
    EXPECT_EQ(word(kData), kGroups * kItems);
    EXPECT_EQ(faults(Fault::NotSaveable), 0u);
}

INSTANTIATE_TEST_SUITE_P(Slots, NeverEnding, ::testing::Bool());

TEST_F(Preempt, AHostileGuestBetweenSaveAndRestore) {
    ASSERT_READY();
    std::mt19937 random(5);
    TestRing ring = user_ring(0);
    unsigned refused = 0;
    for (unsigned round = 0; round < 400; ++round) {
        ring = user_ring(0);
        with_save_area(ring);
        map(ring);
        submit_grid(ring);
        submit(ring, release_mem(kFence, 77, 1, 2, 9));
        for (unsigned k = random() % 60; k != 0; --k) cp.run(100);
        unmap();
        for (unsigned k = 1 + random() % 4; k != 0; --k) {
            const uint64_t places[] = {ring.mqd + 4 * (random() % 512), ring.mqd + 4 * (mqd::lyra_flight + random() % 100),
                                       ring.mqd + 4 * (170 + random() % 10), ring.mqd + 0x1f00 + 4 * (random() % 64),
                                       kArea + sizes.control_stack + 4 * (random() % 100'000)};
            const uint64_t at = places[random() % std::size(places)];
            bus.memory.put<uint32_t>(at, random() % 2 ? static_cast<uint32_t>(random()) : word(at) ^ 1u << random() % 32);
        }
        const uint64_t before = faults(Fault::SavedImage);
        map(ring);
        for (unsigned k = 0; k < 30; ++k) cp.run(2000);
        refused += faults(Fault::SavedImage) != before;
        submit(hiq, CpBench::unmap(3, 1));  // reset: whatever it does
        for (unsigned k = 0; k < 30; ++k) cp.run(100);
        ASSERT_EQ(cp.dispatcher().waves_live_total(), 0u) << round;
    }
    EXPECT_GT(refused, 20u);
}

}  // namespace
}  // namespace lyra
