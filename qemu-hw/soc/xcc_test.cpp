// SPDX-License-Identifier: MIT
// A chip with two XCCs and more through the C interface: registers of each, where this chip has others, and its partitions.
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qemu-hw/include/lyra.h"

namespace {

// Byte offsets in BAR5, as the driver of gfx942 has them. @source Linux 6.12 gc_9_4_3_offset.h, nbio_7_9_0_offset.h
constexpr uint32_t kXcc1 = 0x40000;  ///< from a register of the first XCC to that of the second
constexpr uint32_t kGfxCntl = 0x8088, kShMemConfig = 0x8c34, kXcpCtl = 0x3e0a0;
constexpr uint32_t kInvalidateReq = 0x2883 * 4, kInvalidateAck = 0x2895 * 4, kMmHubReq = 0x51b8c, kMmHubAck = 0x51bd4;
constexpr uint32_t kComputeStatus = 0x3a0c, kMemStatus = 0x3a10, kStrap = 0x34d8;
constexpr uint64_t kVram = 256 << 20;

class XccTest : public ::testing::Test {
protected:
    explicit XccTest(uint32_t xccs = 0) : vram(kVram) {
        lyra_config_init(&config);
        config.vram_bytes = kVram;
        config.chip = "gfx942";
        config.xccs = xccs;
        device = lyra_create(&config, nullptr, nullptr, vram.data(), error, sizeof error);
    }
    ~XccTest() override { lyra_destroy(device); }
    /// First register of each block of the discovery table that is a graphics core.
    std::vector<uint32_t> graphics_cores() const {
        const uint8_t* table = vram.data() + kVram - 65536;
        const auto u16 = [&](size_t at) { return static_cast<uint32_t>(table[at] | table[at + 1] << 8); };
        const auto u32 = [&](size_t at) { return u16(at) | u16(at + 2) << 16; };
        // The list: die, number, then id, instance, segments, version, a byte, and their bases.
        size_t at = u16(u16(12) + 16);
        std::vector<uint32_t> bases;
        const unsigned count = u16(at + 2);
        at += 4;
        for (unsigned n = 0; n < count; ++n, at += 8 + 4 * table[at + 3])
            if (u16(at) == 11) bases.push_back(u32(at + 8));
        return bases;
    }
    uint32_t read(uint32_t byte) { return static_cast<uint32_t>(lyra_mmio_read(device, byte, 4)); }
    void write(uint32_t byte, uint32_t value) { lyra_mmio_write(device, byte, value, 4); }
    void put(size_t at, uint32_t value) { std::memcpy(vram.data() + at, &value, 4); }
    uint32_t get(size_t at) const {
        uint32_t value = 0;
        std::memcpy(&value, vram.data() + at, 4);
        return value;
    }
    /// What the driver asks of the PSP. @return the status in its answer
    uint32_t ask_for_partitions(uint32_t count) {
        const uint64_t fb = uint64_t{0x8000} << 24, command = fb + 0x20000, fence = fb + 0x30000;
        put(0x20008, 0x27);
        put(0x2001c, count);
        put(0x10000, static_cast<uint32_t>(command)), put(0x10004, static_cast<uint32_t>(command >> 32));
        put(0x1000c, static_cast<uint32_t>(fence)), put(0x10010, static_cast<uint32_t>(fence >> 32)), put(0x10014, 1);
        write(0x58214, static_cast<uint32_t>(fb + 0x10000)), write(0x58218, static_cast<uint32_t>(fb >> 32));
        write(0x5821c, 0x1000);
        write(0x58200, 2 << 16);
        write(0x5820c, 16);
        return get(0x20000 + 864);
    }

    lyra_config config;
    std::vector<uint8_t> vram;
    char error[200] = "";
    lyra_device* device = nullptr;
};

TEST_F(XccTest, EachXccHasItsRegistersAndItsBanks) {
    ASSERT_NE(device, nullptr) << error;
    write(kGfxCntl, 3 << 4);
    write(kGfxCntl + kXcc1, 5 << 4);
    write(kShMemConfig, 0x10);
    write(kShMemConfig + kXcc1, 0x20);
    EXPECT_EQ(read(kShMemConfig), 0x10u);
    EXPECT_EQ(read(kShMemConfig + kXcc1), 0x20u);
    write(kGfxCntl, 5 << 4);
    EXPECT_EQ(read(kShMemConfig), 0u);
}

TEST_F(XccTest, CountersOfTheDeviceAreNoRegistersOfAnXcc) {
    ASSERT_NE(device, nullptr) << error;
    bool counted = false;
    read(kShMemConfig);
    for (uint32_t n = 0; n < 64; ++n) counted |= read(0x7fe00 + 4 * n) != 0;
    EXPECT_TRUE(counted);
}

TEST_F(XccTest, HubsAreWhereThisChipHasThem) {
    ASSERT_NE(device, nullptr) << error;
    write(kInvalidateReq, 0x0009);
    write(kInvalidateReq + kXcc1, 0x0030);
    write(kMmHubReq, 0x0100);
    EXPECT_EQ(read(kInvalidateAck), 0x0009u);
    EXPECT_EQ(read(kInvalidateAck + kXcc1), 0x0030u);
    EXPECT_EQ(read(kMmHubAck), 0x0100u);
    // Where gfx900 has its ENG7_REQ there is nothing: the acknowledgement of that engine stays as it was.
    write(0x28aa * 4, 0x00ff);
    EXPECT_EQ(read(0x28aa * 4 - 0x20 * 4 + 18 * 4), 0u);
}

TEST_F(XccTest, BeginsAsOnePartitionOfItsOwnRevision) {
    ASSERT_NE(device, nullptr) << error;
    EXPECT_EQ(read(kXcpCtl), 2u << 3);
    EXPECT_EQ(read(kXcpCtl + kXcc1), 2u << 3 | 1);
    EXPECT_EQ(read(kComputeStatus), 0u);
    EXPECT_EQ(read(kMemStatus), 1u << 4);
    EXPECT_EQ(read(kStrap) >> 24 & 0xf, 1u);
}

TEST_F(XccTest, ThePspDividesAndJoins) {
    ASSERT_NE(device, nullptr) << error;
    EXPECT_EQ(ask_for_partitions(2), 0u);
    EXPECT_EQ(read(kXcpCtl), 1u << 3);
    EXPECT_EQ(read(kXcpCtl + kXcc1), 1u << 3);
    EXPECT_EQ(read(kComputeStatus), 4u << 4);
    EXPECT_NE(ask_for_partitions(0), 0u);
    EXPECT_NE(ask_for_partitions(3), 0u);
    EXPECT_EQ(read(kComputeStatus), 4u << 4);
    EXPECT_EQ(ask_for_partitions(1), 0u);
    EXPECT_EQ(read(kXcpCtl + kXcc1), 2u << 3 | 1);
    EXPECT_EQ(read(kComputeStatus), 0u);
}

TEST_F(XccTest, AResetJoinsWhatWasDivided) {
    ASSERT_NE(device, nullptr) << error;
    ASSERT_EQ(ask_for_partitions(2), 0u);
    lyra_reset(device);
    EXPECT_EQ(read(kXcpCtl), 2u << 3);
    EXPECT_EQ(read(kComputeStatus), 0u);
}

TEST_F(XccTest, RangesOfDoorbellsAreBehindTheSmnWindow) {
    ASSERT_NE(device, nullptr) << error;
    constexpr uint32_t kIndex = 0x38, kData = 0x3c, kIndexHigh = 0x44, kIhEntry = 0x10233400, kIhRptr = 0x448c;
    const uint32_t doorbell = 0x1a0 * 8;
    write(0x3780, 1);
    write(0x449c, doorbell / 4 | 1u << 28);
    // Another die's entry of the same number is not this one.
    write(kIndexHigh, 1);
    write(kIndex, kIhEntry), write(kData, doorbell / 4 | 8 << 10);
    lyra_doorbell_write(device, doorbell, 32, 4);
    EXPECT_EQ(read(kIhRptr), 0u);
    write(kIndexHigh, 0);
    write(kIndex, kIhEntry), write(kData, doorbell / 4 | 8 << 10);
    EXPECT_EQ(read(kData), doorbell / 4 | 8 << 10);
    lyra_doorbell_write(device, doorbell, 32, 4);
    EXPECT_EQ(read(kIhRptr), 32u);
}

TEST_F(XccTest, SdmaRegistersAreThoseOf4_4_2) {
    ASSERT_NE(device, nullptr) << error;
    constexpr uint32_t kRlc1 = (0x1860 + 0x188) * 4;
    write(kRlc1 + 0x2b * 4, 0x1234);  // DOORBELL_OFFSET
    EXPECT_EQ(read(kRlc1 + 0x2b * 4), 0x1234u);
    EXPECT_EQ(read((0x1860 + 0x02) * 4) & 1, 0u) << "F32_CNTL.HALT: its firmware runs";
    write((0x1860 + 0x6d) * 4, 0x40002);  // CNTL
    EXPECT_EQ(read((0x1860 + 0x6d) * 4), 0x40002u);
}

TEST_F(XccTest, TheDiscoveryTableHasBothXccsAndAHarvestTable) {
    ASSERT_NE(device, nullptr) << error;
    const uint8_t* table = vram.data() + kVram - 65536;
    const auto u16 = [&](size_t at) { return static_cast<uint32_t>(table[at] | table[at + 1] << 8); };
    const auto u32 = [&](size_t at) { return u16(at) | u16(at + 2) << 16; };
    EXPECT_LT(u16(10), 4096u);
    const size_t harvest = u16(28), gc = u16(20);
    EXPECT_EQ(u32(harvest), 0x56524148u);
    EXPECT_EQ(u16(gc + 4), 2u);
    EXPECT_EQ(u16(gc + 6), 1u);
    EXPECT_EQ(u32(gc + 12), 4u) << "shader engines of an XCC";
    EXPECT_EQ(graphics_cores(), (std::vector<uint32_t>{0x2000, 0x12000}));
}

class EightXccs : public XccTest {
protected:
    EightXccs() : XccTest(8) {}
};

TEST_F(EightXccs, EachHasItsRegistersBehindThoseOfTheOneBefore) {
    ASSERT_NE(device, nullptr) << error;
    EXPECT_EQ(lyra_register_bar_bytes(device), 8 * kXcc1);
    for (uint32_t n = 0; n < 8; ++n) write(kShMemConfig + n * kXcc1, 0x10 + n);
    for (uint32_t n = 0; n < 8; ++n) EXPECT_EQ(read(kShMemConfig + n * kXcc1), 0x10 + n);
    EXPECT_EQ(graphics_cores(), (std::vector<uint32_t>{0x2000, 0x12000, 0x22000, 0x32000, 0x42000, 0x52000, 0x62000, 0x72000}));
    // Some of its numbers are no registers of this chip, which are noted when they are touched.
    for (uint32_t n = 0x2000; n < 0x3400; ++n) read(7 * kXcc1 + 4 * n);
    // What is no XCC's there is nothing, and behind the last is no register.
    constexpr uint32_t kNobodys = 5 * kXcc1 + 0x10;
    write(kNobodys, 1);
    EXPECT_EQ(read(kNobodys), 0u);
    EXPECT_EQ(read(8 * kXcc1), ~0u);
}

TEST_F(EightXccs, TwoAndFourPartitionsHaveSeveralEach) {
    ASSERT_NE(device, nullptr) << error;
    const auto control = [&](uint32_t xcc) { return read(kXcpCtl + xcc * kXcc1); };
    const struct {
        uint32_t count, mode;
    } divisions[] = {{1, 0}, {2, 1}, {4, 3}, {8, 4}};
    for (const auto& [count, mode] : divisions) {
        ASSERT_EQ(ask_for_partitions(count), 0u);
        EXPECT_EQ(read(kComputeStatus), mode << 4);
        for (uint32_t n = 0; n < 8; ++n) EXPECT_EQ(control(n), 8 / count << 3 | n % (8 / count)) << count << ' ' << n;
    }
    EXPECT_NE(ask_for_partitions(3), 0u);
    EXPECT_NE(ask_for_partitions(16), 0u);
}

TEST_F(XccTest, ComputeUnitsAreSharedEvenlyByXccs) {
    lyra_config odd = config;
    odd.compute_units = 7;
    EXPECT_EQ(lyra_create(&odd, nullptr, nullptr, vram.data(), error, sizeof error), nullptr);
    EXPECT_NE(std::string(error).find("XCC"), std::string::npos) << error;
}

}  // namespace
