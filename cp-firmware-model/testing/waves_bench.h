// SPDX-License-Identifier: MIT
// Bench for queues whose waves can be saved: trap handler, save areas, programs, unmapping at random moments.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>

#include "cp-firmware-model/testing/assembler.h"
#include "cp-firmware-model/testing/cp_bench.h"
#include "cwsr/area.h"

namespace lyra::testing {

struct WavesBench : CpBench, ::testing::Test {
    static constexpr uint64_t kHandler = 0x2000000, kCode = 0x2010000, kData = 0x2100000, kArea = 0x3000000,
                              kDone = kScratch + 0x100;
    static constexpr uint32_t kMapQueue = 1u << 29 | 1u << 4;

    explicit WavesBench(const GpuShape& shape = test_shape(2, 2)) : CpBench(shape) {
        std::stringstream text;
        text << std::ifstream(LYRA_CWSR_HANDLER_SOURCE).rdbuf();
        const auto handler = assemble(text.str());
        if (!handler) return;
        bus.memory.map(kHandler, 0x2000);
        bus.memory.map(kCode, 0x10000);
        bus.memory.map(kData, 0x10000);
        bus.memory.write(0, kHandler, handler->data(), handler->size());
        ready = true;
        start_hiq();
    }
    static uint64_t code(unsigned n) { return kCode + 0x100 + n * 0x400; }
    bool program(unsigned n, const char* text) {
        const auto bytes = assemble(text);
        if (bytes) bus.memory.write(0, code(n), bytes->data(), bytes->size());
        return bytes.has_value();
    }
    static Words process(uint16_t pasid, uint32_t gws_resources = 0) {
        Words words = map_process(pasid);
        words[6] = lo32(kHandler >> 8);
        words[7] = 0;
        words[13] = gws_resources;
        return words;
    }
    TestRing save_ring(unsigned n) {
        TestRing ring = user_ring(n);
        const uint64_t area = kArea + n * 0x2000000;
        bus.memory.map(area, sizes.total());
        const auto put = [&](unsigned dword, uint32_t value) { bus.memory.put<uint32_t>(ring.mqd + 4 * dword, value); };
        put(20, 1 << 6);
        put(132, 1u << 30 | 0x53 << 8 | 1);
        put(171, lo32(area));
        put(172, hi32(area));
        for (const unsigned dword : {174, 175, 176}) put(dword, sizes.control_stack);
        put(177, sizes.total());
        return ring;
    }
    void unmap() {
        bus.memory.put<uint64_t>(kDone, 0);
        submit(hiq, CpBench::unmap(3));
        submit(hiq, query_status(kDone, 100));
        for (unsigned n = 0; n < 20'000 && qword(kDone) != 100; ++n) cp.run(500);
        ASSERT_EQ(qword(kDone), 100u);
        ASSERT_EQ(cp.dispatcher().waves_live_total(), 0u);
    }
    static Words sh(uint32_t reg, const Words& values) {
        Words body{reg};
        body.insert(body.end(), values.begin(), values.end());
        return packet(pm4::Opcode::SET_SH_REG, body);
    }
    static uint64_t fence(const TestRing& ring) { return kScratch + 0x1000 + ring.doorbell; }
    /// Grid of one-wave groups; then its fence has the number of the grid. s[0:1] is data, s3 is value.
    void submit_grid(TestRing& ring, unsigned program, uint32_t groups, uint32_t value, uint64_t data = kData) {
        emit(ring, sh(0x207, {64, 1, 1}));
        emit(ring, sh(0x20c, {lo32(code(program) >> 8), 0}));
        emit(ring, sh(0x212, {3 | 2 << 6 | rsrc1_more | 0xc0u << 12, 4 << 1 | 1 << 6 | rsrc2_more}));
        emit(ring, sh(0x240, {lo32(data), hi32(data), 0, value}));
        emit(ring, packet(pm4::Opcode::DISPATCH_DIRECT, {groups, 1, 1, 1}));
        submit(ring, release_mem(fence(ring), ++fences, 1, 0, 0));
    }
    bool done(const TestRing& ring) { return word(fence(ring)) == fences; }
    void finish(const TestRing& ring) {
        for (unsigned n = 0; n < 20'000 && !done(ring); ++n) cp.run(2000);
        ASSERT_TRUE(done(ring));
    }
    void expect_all_restored() {
        EXPECT_EQ(env.stats.get(Stat::waves_saved), env.stats.get(Stat::waves_restored));
        EXPECT_EQ(faults(Fault::SavedImage), 0u);
    }

    const cwsr::AreaSizes sizes = cwsr::area_sizes(4, 2);
    uint32_t fences = 0;
    uint32_t rsrc1_more = 0, rsrc2_more = 0;  ///< of the grids: bits of COMPUTE_PGM_RSRC1 and 2
    bool ready = false;
};

#define ASSERT_READY() ASSERT_TRUE(ready) << "no LLVM assembler (llvm-mc-19)"

}  // namespace lyra::testing
