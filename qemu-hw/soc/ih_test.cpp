// SPDX-License-Identifier: MIT
// Interrupt ring 0.
#include "qemu-hw/soc/ih.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "cp-firmware-model/dispatch/sq_interrupt.h"
#include "qemu-hw/soc/test_host.h"

namespace lyra {
namespace {

class IhTest : public ::testing::Test {
protected:
    IhTest()
        : env(host), vram(1 << 20), ram(1 << 16), registers(env), bus(env, vram.data(), vram.size()), ih(env, registers, bus) {
        bus.set_ram_map({{0x1000, ram.size(), ram.data(), false}});
        registers.write(0x4484 / 4, 0x1000 >> 8);   // base
        registers.write(0x4498 / 4, 0x9000);        // write-back address
        enable(7);                                  // 2^7 dwords = 16 vectors
    }
    void enable(uint32_t log2_dwords, bool overflow = false) {
        registers.write(0x4480 / 4, 1 | log2_dwords << 1 | 1 << 8 | uint32_t{overflow} << 16 | 1 << 17 | 1 << 21);
    }
    /// What the driver does with its ring of 16 vectors. @source Linux 6.12 vega10_ih_get_wptr()
    /// @return context id of each vector that it finds
    std::vector<uint32_t> drain(uint32_t& rptr) {
        uint32_t wptr = load(0x8000);
        if (wptr & 1 && (wptr = registers.read(0x4490 / 4)) & 1) {
            wptr &= ~1u;
            rptr = (wptr + 32) & 511;
            const uint32_t control = registers.read(0x4480 / 4);
            registers.write(0x4480 / 4, control | 1u << 31);
            registers.write(0x4480 / 4, control);
        }
        std::vector<uint32_t> found;
        for (; rptr != (wptr & 511); rptr = (rptr + 32) & 511) found.push_back(ring_dword(rptr / 4 + 4));
        return found;
    }
    uint32_t ring_dword(size_t n) { return load(n * 4); }
    uint32_t load(size_t at) {
        uint32_t v;
        std::memcpy(&v, ram.data() + at, 4);
        return v;
    }
    Interrupt eop(uint32_t data) {
        Interrupt i;
        i.client = ih_client::kGrbmCp, i.source = ih_source::kCpEndOfPipe, i.ring_id = 0x25, i.vmid = 9, i.pasid = 0x8001;
        i.data[0] = data;
        return i;
    }
    TestHost host;
    Env env;
    std::vector<uint8_t> vram, ram;
    RegisterFile registers;
    BusMemory bus;
    InterruptHandler ih;
};

TEST_F(IhTest, WritesTheVectorThenThePointerThenTheMsi) {
    ih.raise(eop(0x1234));
    EXPECT_EQ(ring_dword(0), 0x14u | 181u << 8 | 0x25u << 16 | 9u << 24);
    EXPECT_EQ(ring_dword(3), 0x8001u);
    EXPECT_EQ(ring_dword(4), 0x1234u);
    EXPECT_EQ(registers.read(0x4490 / 4), 32u);
    EXPECT_EQ(load(0x8000), 32u);
    EXPECT_EQ(host.msis, 1u);
}

std::vector<uint32_t> from_to(uint32_t first, uint32_t last) {
    std::vector<uint32_t> numbers;
    for (uint32_t n = first; n <= last; ++n) numbers.push_back(n);
    return numbers;
}

TEST_F(IhTest, AFullRingIsOverwrittenAndTheDriverCatchesUp) {
    env.ih_overflow = true;
    enable(7, true);
    for (uint32_t n = 0; n < 15; ++n) ih.raise(eop(n));
    EXPECT_EQ(registers.read(0x4490 / 4), 15u * 32) << "full, and nothing is lost yet";
    for (uint32_t n = 15; n < 20; ++n) ih.raise(eop(n));
    EXPECT_EQ(registers.read(0x4490 / 4), 4u * 32 | 1);
    EXPECT_EQ(load(0x8000), 4u * 32 | 1);
    EXPECT_EQ(env.stats.get(Fault::InterruptRingFull), 5u);
    EXPECT_EQ(env.stats.get(Stat::interrupts), 20u);
    uint32_t rptr = 0;
    EXPECT_EQ(drain(rptr), from_to(5, 19)) << "the newest that a ring of 16 holds";
    EXPECT_EQ(registers.read(0x4490 / 4), 4u * 32);
    registers.write(0x448c / 4, rptr);
    // From now on as if nothing had been.
    for (uint32_t n = 20; n < 35; ++n) ih.raise(eop(n));
    EXPECT_EQ(drain(rptr), from_to(20, 34));
    EXPECT_EQ(env.stats.get(Fault::InterruptRingFull), 5u);
}

TEST_F(IhTest, OverflowIsToldAgainUntilTheReadPointerMoves) {
    env.ih_overflow = true;
    enable(7, true);
    for (uint32_t n = 0; n < 16; ++n) ih.raise(eop(n));
    uint32_t rptr = 0;
    EXPECT_EQ(drain(rptr), from_to(1, 15));
    ih.raise(eop(16));
    EXPECT_TRUE(registers.read(0x4490 / 4) & 1) << "the ring is still full: the driver has not said what it has read";
    EXPECT_EQ(drain(rptr), from_to(2, 16));
    registers.write(0x448c / 4, rptr);
    ih.raise(eop(17));
    EXPECT_EQ(drain(rptr), from_to(17, 17));
    // The driver starts the ring anew.
    for (uint32_t n = 0; n < 40; ++n) ih.raise(eop(n));
    registers.write(0x448c / 4, 0);
    registers.write(0x4490 / 4, 0);
    rptr = 0;
    ih.raise(eop(50));
    EXPECT_EQ(drain(rptr), from_to(50, 50));
}

TEST_F(IhTest, OverflowIsTheDevicesAndTheDriversChoice) {
    for (const bool device : {false, true}) {
        env.ih_overflow = device;
        enable(7, !device);
        for (uint32_t n = 0; n < 20; ++n) ih.raise(eop(n));
        uint32_t rptr = 0;
        EXPECT_EQ(drain(rptr), from_to(0, 14));
        registers.write(0x448c / 4, rptr);
        EXPECT_EQ(drain(rptr), from_to(15, 19)) << "they waited in the device";
        EXPECT_EQ(env.stats.get(Fault::InterruptRingFull), 0u);
        registers.write(0x4490 / 4, 0);
        registers.write(0x448c / 4, 0);
    }
}

/// An entry as the driver takes it apart. @source Linux 6.12 amdkfd/soc15_int.h
TEST_F(IhTest, AnSqInterruptHasEachFieldWhereTheDriverLooks) {
    for (unsigned engine = 0; engine < 4; ++engine) {
        ih.raise(sq_interrupt(SqEncoding::Error, {engine, 15, 2, 9, true}, 0x25a96b, 15, 0xfedc));
        const size_t entry = 8 * engine;
        EXPECT_EQ(ring_dword(entry) & 0xff, 0xau + engine) << "client SEnSH";
        EXPECT_EQ(ring_dword(entry) >> 8 & 0xff, 239u) << "source";
        EXPECT_EQ(ring_dword(entry) >> 16 & 0xff, 0u) << "ring id";
        EXPECT_EQ(ring_dword(entry) >> 24 & 0xf, 15u) << "VMID";
        EXPECT_EQ(ring_dword(entry) >> 31, 0u) << "VMID type: GFXHUB";
        EXPECT_EQ(ring_dword(entry + 3) & 0xffff, 0xfedcu) << "PASID";
        EXPECT_EQ(ring_dword(entry + 3) >> 16 & 0xff, 0u) << "node";
        const uint32_t context0 = ring_dword(entry + 4), context1 = ring_dword(entry + 5);
        EXPECT_EQ(context0, 0xa0000000u | 2u << 26 | engine << 24 | 15u << 20 | 2u << 18 | 9u << 14 | 1u << 13 | 0x96b)
            << "data 15:12, encoding, SE, CU, SIMD, wave, PRIV, data 11:0: " << std::hex << context0;
        EXPECT_EQ(context1, 0x25u) << "data 23:16";
        EXPECT_EQ(ring_dword(entry + 6) | ring_dword(entry + 7), 0u);
    }
}

TEST_F(IhTest, AFullRingLosesNothing) {
    for (uint32_t i = 0; i < 40; ++i) ih.raise(eop(i));
    std::vector<uint32_t> seen;
    uint32_t rptr = 0;
    while (registers.read(0x4490 / 4) != rptr) {
        seen.push_back(ring_dword(rptr / 4 + 4));
        rptr = (rptr + 32) & 511;
        registers.write(0x448c / 4, rptr);
    }
    ASSERT_EQ(seen.size(), 40u);
    for (uint32_t i = 0; i < 40; ++i) EXPECT_EQ(seen[i], i);
}

TEST_F(IhTest, RearmsWhileVectorsAreUnread) {
    ih.raise(eop(1));
    ih.raise(eop(2));
    const unsigned before = host.msis;
    registers.write(0x448c / 4, 32);
    EXPECT_EQ(host.msis, before + 1);
    registers.write(0x448c / 4, 64);
    EXPECT_EQ(host.msis, before + 1);
}

TEST_F(IhTest, WaitsForBusMasteringAndForTheRing) {
    bus.set_bus_master(false);
    ih.raise(eop(7));
    EXPECT_EQ(host.msis, 0u);
    EXPECT_EQ(ring_dword(4), 0u);
    bus.set_bus_master(true);
    ih.flush();
    EXPECT_EQ(ring_dword(4), 7u);
    EXPECT_EQ(host.msis, 1u);
}

TEST_F(IhTest, ARingOutsideMemoryIsCountedAndHarmless) {
    registers.write(0x4484 / 4, 0xffffffff);
    registers.write(0x4488 / 4, 0xff);
    ih.raise(eop(1));
    EXPECT_GE(env.stats.get(Fault::BusAddress), 1u);
}

/// What the handler writes to its own doorbell would move its read pointer, which makes it write again.
TEST_F(IhTest, ItsPointerDoesNotRingItsOwnDoorbell) {
    constexpr uint64_t kDoorbells = 0x100000, kDoorbell = 0xf4 * 8;
    struct Target : BarTarget {
        explicit Target(InterruptHandler& ih) : ih(ih) {}
        uint64_t bar_read(unsigned, uint64_t, unsigned) override { return 0; }
        void bar_write(unsigned, uint64_t offset, uint64_t value, unsigned) override {
            ++depth;
            deepest = std::max(deepest, depth);
            ih.doorbell(static_cast<uint32_t>(offset), static_cast<uint32_t>(value));
            --depth;
        }
        InterruptHandler& ih;
        unsigned depth = 0, deepest = 0;
    } target{ih};
    bus.set_target(&target);
    bus.set_bars(0x200000, kDoorbells, 0x300000, kRegisterBarBytes);
    bus.set_bus_master(false);
    enable(4);  // one vector, and the next
    registers.write(0x449c / 4, (0xf4 * 2) | 1u << 28);
    registers.write(0x4498 / 4, kDoorbells + kDoorbell);
    for (uint32_t i = 0; i < 1000; ++i) ih.raise(eop(i));
    bus.set_bus_master(true);
    ih.flush();
    EXPECT_EQ(target.deepest, 0u);
    EXPECT_EQ(env.stats.get(Fault::BusAddress), 1u);
    registers.write(0x4484 / 4, (kDoorbells + kDoorbell) >> 8);  // and the vectors
    registers.write(0x448c / 4, registers.read(0x4490 / 4));
    EXPECT_EQ(target.deepest, 0u);
    EXPECT_EQ(env.stats.get(Fault::BusAddress), 3u);
}

TEST_F(IhTest, DoorbellMovesTheReadPointerOnlyWhenItMatches) {
    registers.write(0x449c / 4, (0xf4 * 2) | 1u << 28);
    EXPECT_FALSE(ih.doorbell(0x100, 32));
    EXPECT_TRUE(ih.doorbell(0xf4 * 8, 32));
    EXPECT_EQ(registers.read(0x448c / 4), 32u);
}

TEST_F(IhTest, AMessageIsOnItsWayForATime) {
    env.clock.start(env.timing);
    env.clock.set_ns(1000);
    EXPECT_EQ(ih.arrives_ns(), kNever);
    ih.raise(eop(1));
    EXPECT_EQ(ring_dword(4), 1u) << "the vector is there before the message";
    EXPECT_EQ(host.msis, 0u);
    EXPECT_EQ(ih.arrives_ns(), 1000 + env.timing.interrupt_ns);
    env.clock.set_ns(1500);
    ih.raise(eop(2));
    EXPECT_EQ(ih.arrives_ns(), 1000 + env.timing.interrupt_ns) << "the first tells of both";
    ih.deliver();
    EXPECT_EQ(host.msis, 1u);
    EXPECT_EQ(ih.arrives_ns(), kNever);
    ih.raise(eop(3));
    ih.reset();
    EXPECT_EQ(ih.arrives_ns(), kNever);
}

}  // namespace
}  // namespace lyra
