// SPDX-License-Identifier: MIT
// The chip through the C interface: what the driver reads before it trusts the device, resets, and hostile register traffic.
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qemu-hw/include/lyra.h"

namespace {

class SocTest : public ::testing::Test {
protected:
    SocTest() : vram(kVram) {
        lyra_config_init(&config);
        config.vram_bytes = kVram;
        lyra_host_ops ops{};
        ops.log = [](void* self, lyra_log_level, const char* text) { static_cast<SocTest*>(self)->log.emplace_back(text); };
        char error[200];
        device = lyra_create(&config, &ops, this, vram.data(), error, sizeof(error));
    }
    ~SocTest() override { lyra_destroy(device); }
    /// A new device whose clock is `now`, 0 at first.
    void use_clock(bool timed) {
        lyra_destroy(device);
        config.virtual_time = timed;
        now = 0;
        lyra_host_ops ops{};
        ops.now_ns = [](void* self) { return *static_cast<uint64_t*>(self); };
        ops.log = [](void*, lyra_log_level, const char*) {};
        char error[200] = "";
        device = lyra_create(&config, &ops, &now, vram.data(), error, sizeof error);
        ASSERT_NE(device, nullptr) << error;
    }
    uint32_t read(uint32_t byte) { return static_cast<uint32_t>(lyra_mmio_read(device, byte, 4)); }
    void write(uint32_t byte, uint32_t value) { lyra_mmio_write(device, byte, value, 4); }

    static constexpr uint64_t kVram = 256 << 20;
    static constexpr uint32_t kDoorbellAperEn = 0x3780;
    lyra_config config;
    std::vector<uint8_t> vram;
    std::vector<std::string> log;
    uint64_t now = 0;
    lyra_device* device = nullptr;
};

TEST_F(SocTest, RefusesAConfigurationOutOfRangeAndSaysWhy) {
    char error[200] = "";
    lyra_config bad = config;
    bad.vram_bytes = 3 << 20;
    EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr);
    EXPECT_NE(std::string(error).find("power of two"), std::string::npos);
    bad = config;
    bad.chip = "gfx1250";
    EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr);
    EXPECT_NE(std::string(error).find("gfx1250"), std::string::npos);
    bad = config;
    bad.compute_units = 0;
    EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr);
    for (const uint32_t units : {5u, 63u, 68u}) {
        bad.compute_units = units;
        EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr) << units;
    }
    EXPECT_NE(std::string(error).find("multiple of 4"), std::string::npos);
    bad = config;
    bad.threads = 65;
    EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr);
    EXPECT_NE(std::string(error).find("65 threads"), std::string::npos);
    bad = config;
    bad.fp_exceptions = "never";
    EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr);
    EXPECT_NE(std::string(error).find("'never'"), std::string::npos);
    bad = config;
    bad.firmware = "rescue=perhaps";
    EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr);
    EXPECT_NE(std::string(error).find("'perhaps'"), std::string::npos);
    bad = config;
    bad.strict = "tlb,l3";
    EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr);
    EXPECT_NE(std::string(error).find("'l3'"), std::string::npos);
    bad.strict = "l2";
    bad.virtual_time = true;
    EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr);
    EXPECT_NE(std::string(error).find("virtual time"), std::string::npos);
    bad = config;
    bad.abi_version = 99;
    EXPECT_EQ(lyra_create(&bad, nullptr, nullptr, vram.data(), error, sizeof(error)), nullptr);
}

TEST_F(SocTest, ShowsTheDiscoveryTableThroughTheVramWindow) {
    EXPECT_EQ(read(0x378c), kVram >> 20);
    EXPECT_EQ(read(0x3794), 0x80000000u);
    EXPECT_EQ(read(0x58184), 0x80000000u);
    const uint64_t at = kVram - 65536;
    write(0x0, static_cast<uint32_t>(at & 0x7fffffff) | 0x80000000);
    write(0x18, static_cast<uint32_t>(at >> 31));
    EXPECT_EQ(read(0x4), 0x28211407u);
    // Every checksum of the table is a plain byte sum over a range that the table itself names.
    const uint8_t* table = vram.data() + at;
    auto u16 = [&](size_t o) { return table[o] | table[o + 1] << 8; };
    auto sum = [&](size_t from, size_t n) {
        unsigned s = 0;
        for (size_t i = 0; i < n; ++i) s += table[from + i];
        return s & 0xffff;
    };
    EXPECT_LT(u16(10), 4096);
    EXPECT_EQ(sum(10, u16(10) - 10), static_cast<unsigned>(u16(8)));
    EXPECT_EQ(sum(u16(12), u16(16)), static_cast<unsigned>(u16(14)));
    EXPECT_EQ(sum(u16(20), u16(24)), static_cast<unsigned>(u16(22)));
}

TEST_F(SocTest, RomIsAValidPciRomWithAtomTables) {
    const void* image;
    const size_t size = lyra_rom(device, &image);
    const auto* rom = static_cast<const uint8_t*>(image);
    ASSERT_EQ(size, 8192u);
    unsigned sum = 0;
    for (size_t i = 0; i < size; ++i) sum += rom[i];
    EXPECT_EQ(sum & 0xff, 0u);
    EXPECT_EQ(rom[0] | rom[1] << 8, 0xaa55);
    const size_t pcir = rom[0x18] | rom[0x19] << 8;
    EXPECT_EQ(std::memcmp(rom + pcir, "PCIR", 4), 0);
    EXPECT_EQ(std::memcmp(rom + 0x30, " 761295520", 10), 0);
    const size_t header = rom[0x48] | rom[0x49] << 8;
    EXPECT_EQ(std::memcmp(rom + header + 4, "ATOM", 4), 0);
}

/// The driver takes the shape of gfx90a from the VBIOS, after it has taken it from IP discovery.
TEST_F(SocTest, Gfx90aSaysTheSameOfItsShapeTwice) {
    const void* image;
    lyra_rom(device, &image);
    const auto u16_of = [](const uint8_t* at) { return at[0] | at[1] << 8; };
    const auto gfx_info = [&](const void* of) {
        const auto* rom = static_cast<const uint8_t*>(of);
        const uint8_t* data = rom + u16_of(rom + u16_of(rom + 0x48) + 0x20);
        const int at = u16_of(data + 4 + 2 * 14);
        return at == 0 ? nullptr : rom + at;
    };
    EXPECT_EQ(gfx_info(image), nullptr) << "gfx900 has no such table";
    lyra_destroy(device);
    config.chip = "gfx90a";
    char error[200] = "";
    device = lyra_create(&config, nullptr, nullptr, vram.data(), error, sizeof error);
    ASSERT_NE(device, nullptr) << error;
    const size_t size = lyra_rom(device, &image);
    unsigned sum = 0;
    for (size_t n = 0; n < size; ++n) sum += static_cast<const uint8_t*>(image)[n];
    EXPECT_EQ(sum & 0xff, 0u);
    const uint8_t* info = gfx_info(image);
    ASSERT_NE(info, nullptr);
    EXPECT_EQ(info[2], 2);
    EXPECT_EQ(info[3], 4);
    const uint8_t* table = vram.data() + kVram - 65536;
    // Blocks of the IP list: id, instance, segments, major, minor, revision, 0, their bases.
    const uint8_t* at = table + u16_of(table + 12) + 4 + 2 + 2 + 4 + 2 + 64 + 2;
    const int blocks = u16_of(at + 2);
    at += 4;
    bool found = false;
    for (int n = 0; n < blocks; ++n) {
        if (u16_of(at) == 11) {
            found = true;
            EXPECT_EQ(at[4], 9);
            EXPECT_EQ(at[5], 4);
            EXPECT_EQ(at[6], 2);
        }
        at += 8 + 4 * at[3];
    }
    EXPECT_TRUE(found) << "no GC block";
    const uint8_t* gc = table + u16_of(table + 20) + 12;
    const auto dword = [&](unsigned n) { return u16_of(gc + 4 * n); };
    EXPECT_EQ(info[6], dword(0));
    EXPECT_EQ(info[8], dword(1));
    EXPECT_EQ(info[9], dword(2));
    EXPECT_EQ(info[10], dword(3));
    EXPECT_EQ(info[11], dword(4));
    EXPECT_EQ(u16_of(info + 0x30), dword(5));
    EXPECT_EQ(u16_of(info + 0x30), 512);
    EXPECT_EQ(u16_of(info + 0x36), 64) << "lanes of a wave";
    EXPECT_EQ(u16_of(info + 0x38), dword(12));
    EXPECT_EQ(u16_of(info + 0x38), 8) << "waves of a SIMD";
    EXPECT_EQ(info[0x3f], dword(13));
    EXPECT_EQ(u16_of(info + 0x3a), dword(14));
    EXPECT_EQ(read(0x5a090), 0u) << "SMUIO_MCM_CONFIG: die 0";
}

TEST_F(SocTest, PspAnswersEveryFrameWithItsFence) {
    // Ring at VRAM 0x10000, command at 0x20000, fence at 0x30000, all through the frame buffer window of VMID 0.
    const uint64_t fb = uint64_t{0x8000} << 24;
    auto put = [&](size_t at, uint32_t v) { std::memcpy(vram.data() + at, &v, 4); };
    auto get = [&](size_t at) {
        uint32_t v;
        std::memcpy(&v, vram.data() + at, 4);
        return v;
    };
    put(0x20008, 6);
    const uint64_t cmd = fb + 0x20000, fence = fb + 0x30000;
    put(0x10000, static_cast<uint32_t>(cmd)), put(0x10004, static_cast<uint32_t>(cmd >> 32));
    put(0x1000c, static_cast<uint32_t>(fence)), put(0x10010, static_cast<uint32_t>(fence >> 32)), put(0x10014, 41);
    put(0x20000 + 864, 0xdead);
    write(0x58214, static_cast<uint32_t>(fb + 0x10000)), write(0x58218, static_cast<uint32_t>(fb >> 32)),
        write(0x5821c, 0x1000);
    write(0x58200, 2 << 16);
    EXPECT_EQ(read(0x58200), 0x80000000u);
    write(0x5820c, 16);
    EXPECT_EQ(get(0x30000), 41u);
    EXPECT_EQ(get(0x20000 + 864), 0u);
}

TEST_F(SocTest, ADoorbellNotifiesOnceForEachArming) {
    constexpr uint32_t kNotify = LYRA_DOORBELL_NOTIFY_REGISTER;
    constexpr uint64_t kSomeUsers = 0x2000;
    write(kDoorbellAperEn, 1);
    EXPECT_EQ(read(kNotify), 0u) << "off until somebody arms it";
    lyra_doorbell_write(device, kSomeUsers, 1, 8);
    EXPECT_EQ(read(kNotify), 0u);
    write(kNotify, 1);
    EXPECT_EQ(read(kNotify), 1u);
    lyra_doorbell_write(device, kSomeUsers, 2, 8);
    EXPECT_EQ(read(kNotify), 0u) << "used up by the first doorbell";
    write(kNotify, 1);
    write(kNotify, 0);
    EXPECT_EQ(read(kNotify), 0u);
    write(kNotify, 1);
    lyra_reset(device);
    EXPECT_EQ(read(kNotify), 0u);
}

TEST_F(SocTest, CountersAreRegistersThatAResetKeeps) {
    constexpr uint32_t kCounters = 0x7fe00, kRegisters = 64;
    size_t count = 0;
    while (lyra_stat_name(count) != nullptr && std::string(lyra_stat_name(count)).rfind("fault-", 0) != 0) ++count;
    ASSERT_LE(count, kRegisters);
    write(kDoorbellAperEn, 1);
    lyra_doorbell_write(device, 0x2000, 1, 8);
    lyra_doorbell_write(device, 0x2000, 2, 8);
    const auto counter = [&](const std::string& name) {
        for (uint32_t i = 0; i < count; ++i) {
            if (lyra_stat_name(i) == name) return read(kCounters + 4 * i);
        }
        return ~0u;
    };
    EXPECT_EQ(counter("doorbells"), 2u);
    EXPECT_EQ(counter("dispatches"), 0u);
    const uint32_t reads = counter("mmio_reads");
    EXPECT_GT(counter("mmio_reads"), reads);
    for (uint32_t i = 0; i < kRegisters; ++i) write(kCounters + 4 * i, 77);
    lyra_reset(device);
    EXPECT_EQ(counter("doorbells"), 2u);
    EXPECT_EQ(counter("dispatches"), 0u);
    EXPECT_EQ(read(kCounters + 4 * (kRegisters - 1)), 0u) << "no counter has this number";
}

TEST_F(SocTest, DoorbellsNeedTheAperture) {
    write(LYRA_DOORBELL_NOTIFY_REGISTER, 1);
    lyra_doorbell_write(device, 0x2000, 5, 8);
    EXPECT_EQ(read(LYRA_DOORBELL_NOTIFY_REGISTER), 1u) << "nobody was told";
    EXPECT_EQ(lyra_doorbell_read(device, 0x2000, 8), 0u);
    EXPECT_EQ(lyra_stat(device, "fault-DoorbellAperture"), 1u);
    EXPECT_EQ(lyra_stat(device, "fault-DoorbellUnmatched"), 0u);
    write(kDoorbellAperEn, 1);
    lyra_doorbell_write(device, 0x2000, 6, 8);
    EXPECT_EQ(read(LYRA_DOORBELL_NOTIFY_REGISTER), 0u);
    EXPECT_EQ(lyra_doorbell_read(device, 0x2000, 8), 6u);
    EXPECT_EQ(lyra_stat(device, "fault-DoorbellAperture"), 1u);
}

TEST_F(SocTest, DoorbellsGoWhereTheirRangeSays) {
    constexpr uint32_t kIhRange = 0x3bc8, kSdma0Range = 0x3bc0, kSdma1Range = 0x3bc4, kIhRptr = 0x448c;
    constexpr uint32_t kIhDoorbell = 0xf4 * 8, kSdmaDoorbell = 0xf0 * 8;
    const auto unmatched = [&] { return lyra_stat(device, "fault-DoorbellUnmatched"); };
    write(kDoorbellAperEn, 1);
    write(0x449c, kIhDoorbell / 4 | 1u << 28);
    lyra_doorbell_write(device, kIhDoorbell, 32, 4);
    EXPECT_EQ(read(kIhRptr), 0u) << "the interrupt handler has no range yet";
    EXPECT_EQ(unmatched(), 1u);
    write(kIhRange, kIhDoorbell | 8 << 16);
    lyra_doorbell_write(device, kIhDoorbell, 64, 4);
    EXPECT_EQ(read(kIhRptr), 64u);
    EXPECT_EQ(unmatched(), 1u);
    // An SDMA engine's RLC queue 0: enabled, with the second doorbell of the engine in some process's page.
    for (const uint32_t base : {0x1260u * 4, 0x1860u * 4}) {
        write(base + 0x140 * 4, 1 | 10 << 1);                  // RLC0_RB_CNTL: ENABLE, 4 KiB
        write(base + 0x152 * 4, 1u << 28);                     // RLC0_DOORBELL.ENABLE
        write(base + 0x16b * 4, 0x5000 + kSdmaDoorbell + 16);  // RLC0_DOORBELL_OFFSET
    }
    const auto wptr = [&](uint32_t base) { return read((base + 0x145) * 4); };
    lyra_doorbell_write(device, 0x5000 + kSdmaDoorbell + 16, 0x40, 8);
    EXPECT_EQ(wptr(0x1260) | wptr(0x1860), 0u) << "the engines have no ranges yet";
    EXPECT_EQ(unmatched(), 2u);
    write(kSdma0Range, kSdmaDoorbell | 4 << 16);
    write(kSdma1Range, (kSdmaDoorbell + 16) | 4 << 16);
    lyra_doorbell_write(device, 0x5000 + kSdmaDoorbell + 16, 0x40, 8);
    EXPECT_EQ(wptr(0x1260), 0u) << "its range ends before";
    EXPECT_EQ(wptr(0x1860), 0x40u);
    EXPECT_EQ(unmatched(), 2u);
    write(kSdma1Range, kSdmaDoorbell + 16);
    lyra_doorbell_write(device, 0x5000 + kSdmaDoorbell + 16, 0x80, 8);
    EXPECT_EQ(wptr(0x1860), 0x40u) << "size 0: off";
}

TEST_F(SocTest, SmuAnswersMessagesAndGivesItsTables) {
    use_clock(false);
    constexpr uint32_t kMessage = 0x58a08, kArgument = 0x58a48, kResponse = 0x58a68, kIndex = 0x38, kData = 0x3c;
    const uint64_t table = (uint64_t{0x8000} << 24) + 0x40000;
    const auto send = [&](uint32_t message, uint32_t argument) {
        write(kResponse, 0);
        write(kArgument, argument);
        write(kMessage, message);
        return read(kResponse);
    };
    write(kIndex, 0x3b10024);
    EXPECT_EQ(read(kData) & 1, 1u) << "the firmware runs";
    EXPECT_EQ(send(3, 0), 1u);
    EXPECT_EQ(read(kArgument), 4u) << "version of the interface";
    EXPECT_EQ(send(0xf, 4), 0xffu) << "nobody has said where to";
    EXPECT_EQ(send(0xd, static_cast<uint32_t>(table >> 32)), 1u);
    EXPECT_EQ(send(0xe, static_cast<uint32_t>(table)), 1u);
    EXPECT_EQ(send(0xf, 4), 1u);
    uint32_t clock;
    std::memcpy(&clock, vram.data() + 0x40000 + 300, 4);
    EXPECT_EQ(clock, 1500u) << "MaxGfxClk";
    constexpr size_t kMetricsBytes = 116;
    std::memset(vram.data() + 0x40000, 0xee, 4096);
    EXPECT_EQ(send(0xf, 7), 1u);
    const auto metric = [&](size_t byte) { return vram[0x40000 + byte] | vram[0x40000 + byte + 1] << 8; };
    EXPECT_EQ(metric(0), 1500) << "GfxclkFrequency";
    EXPECT_EQ(metric(2), 1500) << "SocclkFrequency";
    EXPECT_EQ(metric(8), 1000) << "MemclkFrequency";
    EXPECT_EQ(metric(12), 0) << "GfxActivity";
    EXPECT_EQ(metric(80), 3500) << "GfxTemperature, 1/100 degrees";
    EXPECT_EQ(metric(82), 3500) << "SocTemperature";
    EXPECT_EQ(metric(84), 0) << "ThrottlerStatus";
    EXPECT_EQ(metric(86), 5000) << "CurrentSocketPower, milliwatts";
    EXPECT_EQ(metric(kMetricsBytes - 2), 0) << "DeviceState is the last";
    EXPECT_EQ(metric(kMetricsBytes), 0xeeee);
    EXPECT_EQ(send(0xf, 5), 0xffu);
    EXPECT_EQ(send(0x7f, 0), 0xfeu);
    EXPECT_EQ(lyra_stat(device, "fault-SmuMessage"), 3u);
    write(0x58200, 0x70000);
    now += 1'000'000'000;
    EXPECT_EQ(send(0xf, 4), 0xffu) << "a mode-1 reset forgets";
    EXPECT_EQ(send(1, 7), 1u);
}

TEST_F(SocTest, RegistersDoNotAnswerDuringAMode1Reset) {
    use_clock(false);
    write(0x8c34, 0x55);
    now = 1000;
    write(0x58200, 0x70000);
    EXPECT_EQ(read(0x378c), ~0u);
    write(0x8c34, 0x55);
    EXPECT_EQ(lyra_stat(device, "fault-AccessDuringReset"), 2u);
    now += 199'000'000;
    EXPECT_EQ(read(0x378c), ~0u);
    now += 2'000'000;
    EXPECT_EQ(read(0x378c), kVram >> 20);
    EXPECT_EQ(read(0x8c34), 0u) << "written while nobody was there";
    EXPECT_EQ(lyra_stat(device, "fault-AccessDuringReset"), 3u);
    write(0x58200, 0x70000);
    lyra_reset(device);
    EXPECT_EQ(read(0x378c), kVram >> 20);
}

TEST_F(SocTest, Mode1ResetKeepsBiosScratchAndVram) {
    use_clock(false);
    write(0x130, 0x1234);
    write(0x180, 0x1234);  // behind the last scratch register
    vram[12345] = 7;
    write(0x8c34, 0x55);
    write(0x58200, 0x70000);
    now = 1'000'000'000;
    EXPECT_EQ(read(0x130), 0x1234u);
    EXPECT_EQ(read(0x180), 0u);
    EXPECT_EQ(read(0x14c) & 0x200, 0x200u);
    EXPECT_EQ(vram[12345], 7);
    EXPECT_EQ(read(0x8c34), 0u);
    EXPECT_EQ(read(0x378c), kVram >> 20);
}

TEST_F(SocTest, BanksShaderRegistersByVmid) {
    for (uint32_t vmid = 0; vmid < 16; ++vmid) write(0x8088, vmid << 4), write(0x8c28, 0x100 + vmid);
    for (uint32_t vmid = 0; vmid < 16; ++vmid) {
        write(0x8088, vmid << 4);
        EXPECT_EQ(read(0x8c28), 0x100 + vmid);
    }
}

TEST_F(SocTest, NamesARegisterNobodyModelsOnceAndARegisterPolledInVain) {
    read(0x12340), read(0x12340);
    unsigned named = 0;
    for (const std::string& line : log) named += line.find("0x12340") != std::string::npos;
    EXPECT_EQ(named, 1u);
    for (int i = 0; i < 2'000'000 && lyra_stat(device, "fault-RegisterPolled") == 0; ++i) read(0x8010);
    EXPECT_EQ(lyra_stat(device, "fault-RegisterPolled"), 1u);
    EXPECT_NE(log.back().find("GRBM_STATUS"), std::string::npos);
}

TEST_F(SocTest, StrictStoresOfTheHostLeaveByThemselves) {
    for (const bool timed : {false, true}) {
        config.strict = "hdp";
        use_clock(timed);
        const auto run = [&](uint64_t ns) {
            now = ns;
            timed ? static_cast<void>(lyra_run_until(device, ns)) : static_cast<void>(lyra_run(device, 100));
        };
        lyra_vram_write(device, 0x1000, 0xab, 1);
        run(99'000'000);
        EXPECT_EQ(vram[0x1000], 0) << timed;
        run(101'000'000);
        EXPECT_EQ(vram[0x1000], 0xab) << timed;
        vram[0x1000] = 0;
    }
}

// Random writes all over the register file and doorbells, with the engines running: no crash, no hang, no stray access (the
// sanitizers watch), and the device still answers.
TEST_F(SocTest, SurvivesRandomRegisterTraffic) {
    std::mt19937 random(1);
    for (int i = 0; i < 60000; ++i) {
        const uint32_t value = random() & 1 ? static_cast<uint32_t>(random()) : static_cast<uint32_t>(random()) & 0xff;
        lyra_mmio_write(device, (random() % (512 * 1024 / 4)) * 4, value, 4);
        if (i % 7 == 0) lyra_doorbell_write(device, (random() % 0x400) * 8, random() & 0xff, 8);
        if (i % 16 == 0) lyra_run(device, 100);
        if (i % 11 == 0) read((random() % (512 * 1024 / 4)) * 4);
    }
    lyra_reset(device);
    EXPECT_EQ(read(0x378c), kVram >> 20);
    for (int i = 0; i < 100; ++i) lyra_run(device, 100);
    EXPECT_EQ(lyra_run(device, 100), LYRA_IDLE);
}

TEST_F(SocTest, AccessesOfOddSizeAndPlaceAreRefusedOrComposed) {
    EXPECT_EQ(lyra_mmio_read(device, 512 * 1024, 4), ~uint64_t{0});
    EXPECT_EQ(lyra_mmio_read(device, 0x378d, 1), (kVram >> 20 >> 8) & 0xff);
    lyra_mmio_write(device, 0x30101, 0xff, 1);
    EXPECT_EQ(lyra_stat(device, "fault-MmioSize"), 1u);
    lyra_doorbell_write(device, 2 << 20, 1, 8);
    lyra_doorbell_write(device, (2 << 20) - 4, 1, 8);
    EXPECT_EQ(lyra_doorbell_read(device, 2 << 20, 8), ~uint64_t{0});
}

}  // namespace
