// SPDX-License-Identifier: MIT
// Page-table walk, TLB and faults of a memory hub.
#include "qemu-hw/soc/gmc.h"

#include <cstring>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "qemu-hw/soc/test_host.h"

namespace lyra {
namespace {

constexpr uint64_t kVram = 64 << 20;
constexpr uint64_t kRw = PteBits::kValid | PteBits::kRead | PteBits::kWrite;
constexpr uint32_t kVmid = 8;

class HubTest : public ::testing::Test {
protected:
    HubTest()
        : env(host), vram(kVram), ram(1 << 20), registers(env), bus(env, vram.data(), kVram),
          hub(
              env, registers, bus, kGfxHub, [this](const Interrupt& i) { interrupts.push_back(i); },
              [](uint32_t, bool) { return uint16_t{77}; }, [this](uint32_t) { return retry_wanted; }) {
        bus.set_ram_map({{kRamBus, ram.size(), ram.data(), false}});
        // DEPTH 3, BLOCK_SIZE 0, the whole 48-bit space.
        registers.write(kGfxHub.at.VM_CONTEXT_CNTL + kVmid, 1 | 3 << 1);
        registers.write(kGfxHub.at.VM_CONTEXT_PAGE_TABLE_END_ADDR + 2 * kVmid, 0xffffffff);
        registers.write(kGfxHub.at.VM_CONTEXT_PAGE_TABLE_END_ADDR + 2 * kVmid + 1, 0xf);
        hub.set_page_table_base(kVmid, kRoot | PteBits::kValid);
    }

    void put(uint64_t at, uint64_t entry) { std::memcpy(vram.data() + at, &entry, 8); }

    // Directories at fixed places: one path PDB2 -> PDB1 -> PDB0 -> PTB for the low 2 MiB of va's region.
    void map_path(uint64_t va) {
        put(kRoot + (va >> 39 & 511) * 8, kPdb1 | PteBits::kValid);
        put(kPdb1 + (va >> 30 & 511) * 8, kPdb0 | PteBits::kValid);
        put(kPdb0 + (va >> 21 & 511) * 8, kPtb | PteBits::kValid);
    }
    void map_page(uint64_t va, uint64_t pte) {
        map_path(va);
        put(kPtb + (va >> 12 & 511) * 8, pte);
    }

    static constexpr uint64_t page(uint64_t n) { return kVa + n * kPageBytes; }
    std::tuple<uint64_t, uint64_t, uint8_t*> range(uint64_t va) {
        const HostRange found = hub.range(kVmid, va, Access::Read);
        return {found.start, found.size, found.host};
    }

    static constexpr uint64_t kRoot = 0x100000, kPdb1 = 0x101000, kPdb0 = 0x102000, kPtb = 0x103000;
    static constexpr uint64_t kRamBus = 0x80000000, kVa = 0x7f1234567000;
    TestHost host;
    Env env;
    std::vector<uint8_t> vram, ram;
    RegisterFile registers;
    BusMemory bus;
    std::vector<Interrupt> interrupts;
    bool retry_wanted = true;
    Hub hub;
    HubPort waves{hub, kWaves};
};

TEST_F(HubTest, WalksFourLevelsToVramAndToSystemMemory) {
    map_page(kVa, 0x200000 | kRw);
    EXPECT_EQ(hub.page(kVmid, kVa + 0x123, Access::Write), vram.data() + 0x200123);
    map_page(kVa + kPageBytes, (kRamBus + 0x3000) | kRw | PteBits::kSystem);
    EXPECT_EQ(hub.page(kVmid, kVa + kPageBytes + 8, Access::Read), ram.data() + 0x3008);
    EXPECT_TRUE(interrupts.empty());
}

TEST_F(HubTest, CopiesAcrossPagesThatAreNotNeighbours) {
    map_page(kVa, 0x200000 | kRw);
    map_page(kVa + kPageBytes, 0x300000 | kRw);
    const char text[] = "straddles";
    EXPECT_EQ(hub.write(kVmid, kVa + 4092, text, sizeof(text)), Fault::None);
    EXPECT_EQ(std::memcmp(vram.data() + 0x200000 + 4092, text, 4), 0);
    EXPECT_EQ(std::memcmp(vram.data() + 0x300000, text + 4, sizeof(text) - 4), 0);
    char back[sizeof(text)];
    EXPECT_EQ(hub.read(kVmid, kVa + 4092, back, sizeof(back)), Fault::None);
    EXPECT_STREQ(back, text);
}

TEST_F(HubTest, TakesHugePagesFromDirectories) {
    map_path(kVa);
    put(kPdb0 + (kVa >> 21 & 511) * 8, 0x600000 | kRw | PteBits::kPdeIsPte);
    const uint64_t offset = kVa & 0x1fffff;
    EXPECT_EQ(hub.page(kVmid, kVa + 5, Access::Read), vram.data() + 0x600000 + offset + 5);
}

/// What a driver writes for three hardware levels: DEPTH 2, BLOCK_SIZE 9, and one entry per 2 MiB in the last one, which is a
/// leaf without the P bit or points further. @source Linux 6.12 gmc_v9_0.c gmc_v9_0_get_vm_pde(), gfxhub_v1_0.c
class TranslateFurther : public HubTest {
protected:
    static constexpr uint64_t kBlockFragment = uint64_t{9} << 59, kHuge = 2 << 20, kFirst = kVa / kHuge * kHuge;
    TranslateFurther() {
        registers.write(kGfxHub.at.VM_CONTEXT_CNTL + kVmid, 1 | 2 << 1 | 9 << 3);
        put(kRoot + (kVa >> 39 & 511) * 8, kPdb1 | PteBits::kValid);
        put(kPdb1 + (kVa >> 30 & 511) * 8, kPdb0 | PteBits::kValid | kBlockFragment);
        // What the driver puts in place of an entry that is not valid.
        for (uint64_t n = 0; n < 512; ++n) put(kPdb0 + n * 8, 0x1000);
    }
    void put_block(uint64_t n, uint64_t entry) { put(kPdb0 + ((kFirst >> 21 & 511) + n) * 8, entry); }
};

TEST_F(TranslateFurther, FindsPagesOfATableBehindTheLastLevel) {
    put_block(0, kPtb | PteBits::kValid | PteBits::kTranslateFurther);
    put(kPtb + (kVa >> 12 & 511) * 8, 0x200000 | kRw);
    put(kPtb + ((kVa >> 12 & 511) + 1) * 8, (kRamBus + 0x3000) | kRw | PteBits::kSystem);
    EXPECT_EQ(hub.page(kVmid, kVa + 0x123, Access::Write), vram.data() + 0x200123);
    EXPECT_EQ(hub.page(kVmid, kVa + kPageBytes + 8, Access::Read), ram.data() + 0x3008);
    EXPECT_EQ(range(kVa), std::tuple(kVa, kPageBytes, vram.data() + 0x200000));
    EXPECT_TRUE(interrupts.empty());
}

TEST_F(TranslateFurther, ALeafOfTheLastLevelHasTwoMebibytes) {
    put_block(0, 0x645000 | kRw);
    put_block(1, (0x645000 + kHuge) | kRw);
    EXPECT_EQ(hub.page(kVmid, kVa + 5, Access::Read), vram.data() + 0x645000 + (kVa - kFirst) + 5);
    EXPECT_EQ(hub.page(kVmid, kFirst + kHuge + 0x3008, Access::Write), vram.data() + 0x645000 + kHuge + 0x3008);
    EXPECT_EQ(range(kFirst + kHuge + 5), std::tuple(kFirst, 2 * kHuge, vram.data() + 0x645000));
}

TEST_F(TranslateFurther, EntriesThatAreNotValidAreNoPages) {
    uint32_t value = 1;
    EXPECT_EQ(hub.read(kVmid, kVa, &value, 4), Fault::PageNotPresent);
    EXPECT_EQ(interrupts.size(), 1u);
}

TEST_F(TranslateFurther, ABlockFragmentPastTheTableIsTheWholeTable) {
    put(kPdb1 + (kVa >> 30 & 511) * 8, kPdb0 | PteBits::kValid | uint64_t{31} << 59);
    put(kPdb0, 0x600000 | kRw);
    const uint64_t offset = kVa & ((uint64_t{1} << 30) - 1);
    EXPECT_EQ(hub.page(kVmid, kVa - offset + 0x1234, Access::Read), vram.data() + 0x601234);
}

TEST_F(HubTest, ARangeIsARunOfEntriesThatDifferInTheAddressOnly) {
    for (uint64_t n = 0; n < 8; ++n) map_page(page(n), (0x200000 + n * kPageBytes) | kRw | (n % 3) << 7);  // fragments
    map_page(page(8), 0x208000 | PteBits::kValid | PteBits::kRead);
    map_page(page(9), 0x209000 | kRw);
    map_page(page(11), 0x20b000 | kRw);
    map_page(page(12), 0x300000 | kRw);
    for (uint64_t n = 0; n < 8; ++n) EXPECT_EQ(range(page(n) + 8), std::tuple(page(0), 8 * kPageBytes, vram.data() + 0x200000));
    EXPECT_EQ(range(page(8)), std::tuple(page(8), kPageBytes, vram.data() + 0x208000));
    EXPECT_EQ(hub.range(kVmid, page(8), Access::Write).size, 0u);
    EXPECT_EQ(range(page(9)), std::tuple(page(9), kPageBytes, vram.data() + 0x209000));
    EXPECT_EQ(hub.range(kVmid, page(10), Access::Read).size, 0u);
    EXPECT_EQ(range(page(11)), std::tuple(page(11), kPageBytes, vram.data() + 0x20b000));
    EXPECT_EQ(range(page(12)), std::tuple(page(12), kPageBytes, vram.data() + 0x300000));
    EXPECT_EQ(hub.range(kVmid + 1, page(0), Access::Read).size, 0u) << "another address space";
    EXPECT_EQ(hub.range(kVmid, page(0) | uint64_t{1} << 60, Access::Read).size, 0u) << "no canonical address";
    EXPECT_TRUE(interrupts.empty());
}

TEST_F(HubTest, HugePagesSideBySideAreOneRange) {
    constexpr uint64_t kHuge = 2 << 20, kFirst = kVa / kHuge * kHuge;
    map_path(kVa);
    const auto put_huge = [&](uint64_t n, uint64_t entry) {
        put(kPdb0 + ((kFirst >> 21 & 511) + n) * 8, entry | kRw | PteBits::kPdeIsPte);
    };
    put_huge(0, 0x645000);
    put_huge(1, 0x645000 + kHuge);
    put_huge(2, 0x645000 + 3 * kHuge);
    EXPECT_EQ(range(kFirst + kHuge + 5), std::tuple(kFirst, 2 * kHuge, vram.data() + 0x645000));
    EXPECT_EQ(range(kFirst + 3 * kHuge - 1), std::tuple(kFirst + 2 * kHuge, kHuge, vram.data() + 0x645000 + 3 * kHuge));
    put_huge(3, kVram - 0x3000);
    EXPECT_EQ(range(kFirst + 3 * kHuge), std::tuple(kFirst + 3 * kHuge, uint64_t{0x3000}, vram.data() + kVram - 0x3000))
        << "to the end of VRAM";
    EXPECT_EQ(hub.range(kVmid, kFirst + 3 * kHuge + 0x3000, Access::Read).size, 0u);
}

TEST_F(HubTest, ARangeEndsWithItsMemoryAndWithTheAddressSpace) {
    for (uint64_t n = 0; n < 4; ++n) map_page(page(n), (kRamBus + 0x3000 + n * kPageBytes) | kRw | PteBits::kSystem);
    EXPECT_EQ(range(page(2)), std::tuple(page(0), 4 * kPageBytes, ram.data() + 0x3000));
    for (uint64_t n = 0; n < 2; ++n)
        map_page(page(8 + n), (kRamBus + ram.size() + (n - 1) * kPageBytes) | kRw | PteBits::kSystem);
    EXPECT_EQ(range(page(8)), std::tuple(page(8), kPageBytes, ram.data() + ram.size() - kPageBytes));
    const uint64_t last = page(1) >> 12;
    registers.write(kGfxHub.at.VM_CONTEXT_PAGE_TABLE_END_ADDR + 2 * kVmid, lo32(last));
    registers.write(kGfxHub.at.VM_CONTEXT_PAGE_TABLE_END_ADDR + 2 * kVmid + 1, hi32(last));
    hub.invalidate(1u << kVmid);
    EXPECT_EQ(range(page(0)), std::tuple(page(0), 2 * kPageBytes, ram.data() + 0x3000));
}

TEST_F(HubTest, ForgetsRangesWithTheirTranslations) {
    for (uint64_t n = 0; n < 4; ++n) map_page(page(n), (0x200000 + n * kPageBytes) | kRw);
    EXPECT_EQ(range(page(0)), std::tuple(page(0), 4 * kPageBytes, vram.data() + 0x200000));
    map_page(page(2), 0x202000 | PteBits::kValid | PteBits::kRead);
    hub.invalidate(1u << (kVmid + 1));
    EXPECT_EQ(range(page(0)), std::tuple(page(0), 4 * kPageBytes, vram.data() + 0x200000)) << "not its VMID";
    hub.invalidate(1u << kVmid);
    EXPECT_EQ(range(page(0)), std::tuple(page(0), 2 * kPageBytes, vram.data() + 0x200000));
    map_page(page(0), (kRamBus + 0x1000) | kRw | PteBits::kSystem);
    map_page(page(1), (kRamBus + 0x2000) | kRw | PteBits::kSystem);
    hub.invalidate(1u << kVmid);
    EXPECT_EQ(range(page(1)), std::tuple(page(0), 2 * kPageBytes, ram.data() + 0x1000));
    std::vector<uint8_t> elsewhere(1 << 20);
    const uint64_t generation = waves.generation();
    bus.set_ram_map({{kRamBus, elsewhere.size(), elsewhere.data(), false}});
    EXPECT_FALSE(same_translations(waves.generation(), generation));
    EXPECT_EQ(range(page(1)), std::tuple(page(0), 2 * kPageBytes, elsewhere.data() + 0x1000));
}

TEST_F(HubTest, NoRangesForAWatchAndForStrictTranslations) {
    class : public MemoryWatch {
        void touched(uint64_t, uint8_t*, size_t) override {}
    } watch;
    for (uint64_t n = 0; n < 4; ++n) map_page(page(n), (0x200000 + n * kPageBytes) | kRw);
    bus.set_watch(&watch);
    EXPECT_EQ(range(page(1)), std::tuple(page(1), kPageBytes, vram.data() + 0x201000));
    bus.set_watch(nullptr);
    env.strict.tlb = true;
    EXPECT_EQ(range(page(2)), std::tuple(page(2), kPageBytes, vram.data() + 0x202000));
}

// Contiguous pages that the guest's memory manager happened to give, aligned to 2 MiB in virtual addresses only.
TEST_F(HubTest, HugePagesMayBeginAtAnyPhysicalPage) {
    map_path(kVa);
    put(kPdb0 + (kVa >> 21 & 511) * 8, 0x645000 | kRw | PteBits::kPdeIsPte);
    const uint64_t first = kVa >> 21 << 21;
    EXPECT_EQ(hub.page(kVmid, first, Access::Read), vram.data() + 0x645000);
    EXPECT_EQ(hub.page(kVmid, first + 0x1bb000, Access::Write), vram.data() + 0x800000);
}

TEST_F(HubTest, ReportsAnAbsentPageWithAddressVmidAndPasid) {
    uint32_t value = 1;
    EXPECT_EQ(hub.read(kVmid, kVa + 0x10, &value, 4), Fault::PageNotPresent);
    EXPECT_EQ(value, 0u);
    ASSERT_EQ(interrupts.size(), 1u);
    EXPECT_EQ(interrupts[0].client, ih_client::kUtcl2);
    EXPECT_EQ(interrupts[0].vmid, kVmid);
    EXPECT_EQ(interrupts[0].pasid, 77);
    EXPECT_EQ(interrupts[0].data[0], lo32(kVa >> 12));
    EXPECT_EQ(interrupts[0].data[1] & 0xf, hi32(kVa >> 12));
}

/// What chips have logged. @source ROCm/amdgpu issues 172 (ring 24, 0x00801030) and 150, ROCm/legacy-rocm-build issue 2480
/// (ring 40, 0x00841051), Linux 6.12 Documentation/gpu/amdgpu/debugging.rst
TEST_F(HubTest, AFaultIsEncodedAsInTheLogsOfChips) {
    uint32_t value = 0;
    EXPECT_EQ(waves.read(kVmid, kVa, &value, 4), Fault::PageNotPresent);
    EXPECT_EQ(registers.stored(kGfxHub.at.VM_L2_PROTECTION_FAULT_STATUS), 0x00801030u) << "TCP, read, not valid";
    EXPECT_EQ(waves.write(kVmid, kVa + kPageBytes, &value, 4), Fault::PageNotPresent);
    EXPECT_EQ(registers.stored(kGfxHub.at.VM_L2_PROTECTION_FAULT_STATUS), 0x00801031u) << "the first one, and MORE_FAULTS";
    registers.write(kGfxHub.at.VM_L2_PROTECTION_FAULT_CNTL, 1);
    EXPECT_EQ(waves.write(kVmid, kVa, &value, 4), Fault::PageNotPresent);
    EXPECT_EQ(registers.stored(kGfxHub.at.VM_L2_PROTECTION_FAULT_STATUS), 0x00841050u) << "TCP, write, not valid";
    ASSERT_EQ(interrupts.size(), 3u);
    EXPECT_EQ(interrupts[0].ring_id, 24);
    EXPECT_EQ(interrupts[1].ring_id, 40);
    EXPECT_EQ(interrupts[2].ring_id, 40);
    EXPECT_EQ(interrupts[0].data[1] & 0x20, 0u);
    EXPECT_EQ(interrupts[1].data[1] & 0x20, 0x20u);
}

/// PERMISSION_FAULTS has the rights that the access needs and the page lacks. Fetches and scalar loads have clients of their
/// own.
TEST_F(HubTest, AFaultSaysWhoWantedWhat) {
    struct Case {
        uint64_t pte;
        MemoryPort& port;
        Access access;
        uint32_t permissions, cid, ring;
    };
    HubPort sdma0{hub, kSdma0};
    constexpr uint64_t kV = PteBits::kValid, kR = PteBits::kRead, kW = PteBits::kWrite, kX = PteBits::kExecute;
    const Case cases[] = {
        {0, waves, Access::Atomic, 7, 8, 56},       {kV | kR, waves, Access::Atomic, 4, 8, 32},
        {kV | kW, waves, Access::Atomic, 2, 8, 16}, {kV | kR, waves, Access::Write, 4, 8, 32},
        {kV | kX, waves, Access::Read, 2, 8, 16},   {0, waves, Access::Scalar, 3, 10, 24},
        {0, waves, Access::Execute, 11, 9, 88},     {kV | kR | kW, waves, Access::Execute, 8, 9, 64},
        {0, hub, Access::Read, 3, 5, 24},           {0, sdma0, Access::Read, 3, 47, 24},
        {0, sdma0, Access::Write, 5, 15, 40},
    };
    for (const Case& c : cases) {
        map_page(kVa, 0x200000 | c.pte);
        hub.invalidate(1u << kVmid);
        registers.write(kGfxHub.at.VM_L2_PROTECTION_FAULT_CNTL, 1);
        interrupts.clear();
        EXPECT_EQ(c.port.page(kVmid, kVa, c.access), nullptr);
        EXPECT_EQ(c.port.check(kVmid, kVa, c.access), c.pte ? Fault::PagePermission : Fault::PageNotPresent);
        const uint32_t status = registers.stored(kGfxHub.at.VM_L2_PROTECTION_FAULT_STATUS);
        EXPECT_EQ(status >> 4 & 0xf, c.permissions) << std::hex << status;
        EXPECT_EQ(status >> 9 & 0x1ff, c.cid) << std::hex << status;
        EXPECT_EQ(status >> 18 & 1, c.access == Access::Write || c.access == Access::Atomic);
        EXPECT_EQ(status >> 19 & 1, c.access == Access::Atomic);
        ASSERT_EQ(interrupts.size(), 1u);
        EXPECT_EQ(interrupts[0].ring_id, c.ring);
    }
    EXPECT_EQ(env.stats.get(Stat::vm_faults), std::size(cases));
}

TEST_F(HubTest, CodeNeedsTheRightToExecute) {
    map_page(kVa, 0x200000 | kRw);
    EXPECT_NE(hub.page(kVmid, kVa, Access::Read), nullptr);
    EXPECT_EQ(hub.page(kVmid, kVa, Access::Execute), nullptr);
    map_page(kVa, 0x200000 | kRw | PteBits::kExecute);
    hub.invalidate(1u << kVmid);
    EXPECT_NE(hub.page(kVmid, kVa, Access::Execute), nullptr);
    EXPECT_EQ(waves.check(kVmid, kVa, Access::Execute), Fault::None);
    EXPECT_TRUE(interrupts.empty());
}

/// VM_CONTEXT_CNTL.RETRY_PERMISSION_OR_INVALID_PAGE_FAULT.
class RetryTest : public HubTest {
protected:
    RetryTest() { registers.write(kGfxHub.at.VM_CONTEXT_CNTL + kVmid, 1 | 3 << 1 | 1 << 7); }
    static constexpr uint32_t kRetryFault = 0x80, kWriteFault = 0x20;
    uint32_t value = 0x12345678;
};

TEST_F(RetryTest, AMissingPageIsAskedForOnceAMillisecondUntilItIsThere) {
    MemoryPort& port = waves;
    EXPECT_EQ(port.page(kVmid, kVa, Access::Read), nullptr);
    for (int n = 0; n < 3; ++n) EXPECT_EQ(port.read(kVmid, kVa + 0x10, &value, 4), Fault::PageRetry);
    EXPECT_EQ(value, 0u);
    ASSERT_EQ(interrupts.size(), 1u);
    EXPECT_EQ(interrupts[0].client, ih_client::kUtcl2);
    EXPECT_EQ(interrupts[0].pasid, 77);
    EXPECT_EQ(interrupts[0].data[0], lo32(kVa >> 12));
    EXPECT_EQ(interrupts[0].data[1], hi32(kVa >> 12) | kRetryFault);
    EXPECT_EQ(interrupts[0].ring_id, 0);
    EXPECT_EQ(registers.stored(kGfxHub.at.VM_L2_PROTECTION_FAULT_STATUS),
              0x00801030u);  // @source github.com/freebsd/drm-kmod issue 78
    EXPECT_EQ(port.write(kVmid, kVa + kPageBytes, &value, 4), Fault::PageRetry);
    ASSERT_EQ(interrupts.size(), 2u);
    EXPECT_EQ(interrupts[1].data[1], hi32(kVa >> 12) | kRetryFault | kWriteFault);
    host.now += 1'000'000;
    EXPECT_EQ(port.read(kVmid, kVa, &value, 4), Fault::PageRetry);
    EXPECT_EQ(interrupts.size(), 3u);
    map_page(kVa, 0x200000 | kRw);
    EXPECT_EQ(port.read(kVmid, kVa, &value, 4), Fault::None);
    EXPECT_EQ(interrupts.size(), 3u);
    EXPECT_EQ(env.stats.get(Stat::retry_faults), 3u);
}

TEST_F(RetryTest, APageThatForbidsTheAccessIsAskedForToo) {
    map_page(kVa, 0x200000 | PteBits::kValid | PteBits::kRead);
    EXPECT_EQ(waves.read(kVmid, kVa, &value, 4), Fault::None);
    EXPECT_EQ(waves.write(kVmid, kVa, &value, 4), Fault::PageRetry);
    ASSERT_EQ(interrupts.size(), 1u);
    EXPECT_EQ(interrupts[0].data[1] & (kRetryFault | kWriteFault), kRetryFault | kWriteFault);
}

/// The driver gives up on an address with an entry that is VALID, SYSTEM and PRT at once.
TEST_F(RetryTest, TheDriverCanEndARetry) {
    EXPECT_EQ(waves.read(kVmid, kVa, &value, 4), Fault::PageRetry);
    map_page(kVa, PteBits::kNoRetry);
    hub.invalidate(1u << kVmid);
    EXPECT_EQ(waves.read(kVmid, kVa, &value, 4), Fault::PageNotPresent);
    ASSERT_EQ(interrupts.size(), 2u);
    EXPECT_EQ(interrupts[1].data[1] & kRetryFault, 0u);
    EXPECT_EQ(registers.stored(kGfxHub.at.VM_L2_PROTECTION_FAULT_STATUS) >> 20 & 0xf, kVmid);
}

TEST_F(RetryTest, FaultsThatNobodyCanMendAreNotRetried) {
    EXPECT_EQ(waves.read(kVmid, uint64_t{1} << 60, &value, 4), Fault::AddressNotCanonical);
    registers.write(kGfxHub.at.VM_CONTEXT_PAGE_TABLE_END_ADDR + 2 * kVmid, 0xff);
    registers.write(kGfxHub.at.VM_CONTEXT_PAGE_TABLE_END_ADDR + 2 * kVmid + 1, 0);
    EXPECT_EQ(waves.read(kVmid, kVa, &value, 4), Fault::PageNotPresent);
    for (const Interrupt& interrupt : interrupts) EXPECT_EQ(interrupt.data[1] & kRetryFault, 0u);
}

TEST_F(RetryTest, TheContextAndTheClientMustAgree) {
    EXPECT_EQ(hub.read(kVmid, kVa, &value, 4), Fault::PageNotPresent);  // the command processor
    retry_wanted = false;  // SH_MEM_CONFIG.RETRY_DISABLE
    EXPECT_EQ(waves.read(kVmid, kVa, &value, 4), Fault::PageNotPresent);
    retry_wanted = true;
    registers.write(kGfxHub.at.VM_CONTEXT_CNTL + kVmid, 1 | 3 << 1);
    EXPECT_EQ(waves.read(kVmid, kVa, &value, 4), Fault::PageNotPresent);
    for (const Interrupt& interrupt : interrupts) EXPECT_EQ(interrupt.data[1] & kRetryFault, 0u);
}

/// The interrupts are bounded in time by their number of pages, the memory of them by a constant.
TEST_F(RetryTest, ManyMissingPagesAreRemembered) {
    for (uint64_t n = 0; n < 10'000; ++n) waves.read(kVmid, n * kPageBytes, &value, 4);
    EXPECT_EQ(interrupts.size(), 10'000u);
}

TEST_F(HubTest, RefusesAWriteToAReadOnlyPageWhole) {
    map_page(kVa, 0x200000 | PteBits::kValid | PteBits::kRead);
    const uint32_t value = 0x55555555;
    EXPECT_EQ(hub.page(kVmid, kVa, Access::Write), nullptr);
    EXPECT_NE(hub.page(kVmid, kVa, Access::Read), nullptr);
    EXPECT_EQ(hub.write(kVmid, kVa, &value, 4), Fault::PagePermission);
    EXPECT_EQ(vram[0x200000], 0);
    ASSERT_EQ(interrupts.size(), 1u);
    EXPECT_EQ(interrupts[0].ring_id, 0x20);
    EXPECT_TRUE(interrupts[0].data[1] & 0x20);
}

TEST_F(HubTest, MergesRepeatsOfOneFaultUntilTheDriverClearsIt) {
    uint32_t value;
    for (int i = 0; i < 64; ++i) hub.read(kVmid, kVa + 4 * i, &value, 4);
    EXPECT_EQ(interrupts.size(), 1u);
    registers.write(kGfxHub.at.VM_L2_PROTECTION_FAULT_CNTL, 1);
    EXPECT_EQ(registers.stored(kGfxHub.at.VM_L2_PROTECTION_FAULT_STATUS), 0u);
    hub.read(kVmid, kVa, &value, 4);
    EXPECT_EQ(interrupts.size(), 2u);
}

TEST_F(HubTest, KeepsATranslationUntilItIsInvalidated) {
    map_page(kVa, 0x200000 | kRw);
    hub.page(kVmid, kVa, Access::Read);
    map_page(kVa, 0x300000 | kRw);
    EXPECT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + 0x200000);
    const uint64_t before = hub.generation();
    registers.write(kGfxHub.at.VM_INVALIDATE_ENG_REQ + 3, 1u << 9);  // another VMID
    EXPECT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + 0x200000);
    registers.write(kGfxHub.at.VM_INVALIDATE_ENG_REQ + 3, 1u << kVmid);
    EXPECT_NE(hub.generation(), before);
    EXPECT_EQ(registers.read(kGfxHub.at.VM_INVALIDATE_ENG_ACK + 3), 1u << kVmid);
    EXPECT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + 0x300000);
}

// Pages of memory and of tables, each in every turn; a stale translation stays what it is.
TEST_F(HubTest, AWatchIsToldOfPagesAndChangesNoTranslation) {
    struct Watch : MemoryWatch {
        void touched(uint64_t place, uint8_t*, size_t bytes) override {
            EXPECT_EQ(bytes, kPageBytes);
            places.push_back(place);
        }
        std::vector<uint64_t> places;
    } watch;
    map_page(kVa, 0x200000 | kRw);
    map_page(kVa + kPageBytes, (kRamBus + 0x3000) | kRw | PteBits::kSystem);
    const auto vram_place = [](uint64_t offset) { return BusMemory::kInVram | offset; };
    bus.set_watch(&watch);
    bus.next_turn();
    const uint64_t generation = hub.generation();
    EXPECT_NE(hub.page(kVmid, kVa + 8, Access::Read), nullptr);
    EXPECT_EQ(watch.places, (std::vector<uint64_t>{vram_place(kRoot), vram_place(kPdb1), vram_place(kPdb0), vram_place(kPtb),
                                                   vram_place(0x200000)}));
    EXPECT_NE(hub.page(kVmid, kVa + kPageBytes, Access::Read), nullptr);
    EXPECT_EQ(watch.places.back(), kRamBus + 0x3000);

    bus.next_turn();
    EXPECT_NE(hub.generation(), generation);
    EXPECT_TRUE(same_translations(hub.generation(), generation));
    EXPECT_TRUE(same_translations(waves.generation(), hub.generation()));
    map_page(kVa, 0x400000 | kRw);  // without an invalidation
    watch.places.clear();
    EXPECT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + 0x200000);
    hub.page(kVmid, kVa, Access::Read);
    EXPECT_EQ(watch.places, std::vector<uint64_t>{vram_place(0x200000)});
    hub.touch(ram.data() + 0x5008);
    EXPECT_EQ(watch.places.back(), kRamBus + 0x5000);

    hub.invalidate(1u << kVmid);
    EXPECT_FALSE(same_translations(hub.generation(), generation));
    EXPECT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + 0x400000);
    bus.set_watch(nullptr);
}

TEST_F(HubTest, SignExtendedUpperHalfIsLegalAndTheHoleIsNot) {
    const uint64_t high = 0xffff'ffff'ffbf'0000;
    map_page(high & 0xffffffffffff, 0x200000 | kRw);
    EXPECT_EQ(hub.page(kVmid, high, Access::Read), vram.data() + 0x200000);
    EXPECT_EQ(hub.page(kVmid, 0x0001'0000'0000'0000 | kVa, Access::Read), nullptr);
    EXPECT_EQ(hub.page(kVmid, 0x00ff'ffff'ffbf'0000, Access::Read), nullptr);
    uint32_t word = 0;
    EXPECT_EQ(hub.read(kVmid, 0x1234'0000'0000'0000, &word, sizeof word), Fault::AddressNotCanonical);
    EXPECT_EQ(hub.write(kVmid, 0x1234'0000'0000'0000, &word, sizeof word), Fault::AddressNotCanonical);
    EXPECT_TRUE(interrupts.empty()) << "the wave has an aperture violation, the driver no page fault";
}

TEST_F(HubTest, PartiallyResidentPagesReadZeroAndDropWrites) {
    map_page(kVa, PteBits::kPrt);
    uint32_t value = 9;
    EXPECT_EQ(hub.write(kVmid, kVa, &value, 4), Fault::None);
    EXPECT_EQ(hub.read(kVmid, kVa, &value, 4), Fault::None);
    EXPECT_EQ(value, 0u);
    EXPECT_TRUE(interrupts.empty());
}

TEST_F(HubTest, WildTablesAndAddressesNeverLeaveMemory) {
    uint64_t value = 0;
    hub.set_page_table_base(kVmid, 0x0000ffffffffffc0 | 1);
    EXPECT_EQ(hub.read(kVmid, kVa, &value, 8), Fault::PageWalk);
    hub.set_page_table_base(kVmid, kRoot | 1);
    map_page(kVa, 0x0000fffffffff000 | kRw);
    EXPECT_EQ(hub.page(kVmid, kVa, Access::Write), nullptr);
    EXPECT_EQ(hub.write(kVmid, kVa, &value, 8), Fault::VramAddress);
    map_page(kVa, 0x0000fffffffff000 | kRw | PteBits::kSystem);
    registers.write(kGfxHub.at.VM_INVALIDATE_ENG_REQ, 0xffff);
    EXPECT_EQ(hub.write(kVmid, kVa, &value, 8), Fault::BusAddress);
    EXPECT_GE(env.stats.get(Fault::PageWalk), 1u);
}

TEST_F(HubTest, Vmid0SeesTheFrameBufferWindowAndTheFlatGart) {
    registers.write(kGfxHub.at.MC_VM_FB_LOCATION_BASE, 0x8000);
    registers.write(kGfxHub.at.MC_VM_FB_LOCATION_TOP, 0x8003);
    EXPECT_EQ(hub.page(0, 0x8000000000 + 0x1234, Access::Write), vram.data() + 0x1234);
    registers.write(kGfxHub.at.VM_CONTEXT_CNTL, 1);
    registers.write(kGfxHub.at.VM_CONTEXT_PAGE_TABLE_END_ADDR, 0x1ff);
    hub.set_page_table_base(0, 0x400000 | 1);
    put(0x400000 + 8 * 5, (kRamBus + 0x7000) | kRw | PteBits::kSystem);
    EXPECT_EQ(hub.page(0, 0x5008, Access::Read), ram.data() + 0x7008);
    EXPECT_EQ(hub.page(0, 0x200000, Access::Read), nullptr);
}

/// A driver that forgets to invalidate is lucky whenever the entry has made room for others.
TEST_F(HubTest, StrictTlbKeepsATranslationUntilItIsInvalidated) {
    for (const bool strict : {false, true}) {
        env.strict.tlb = strict;
        hub.invalidate(1u << kVmid);
        map_page(kVa, 0x200000 | kRw);
        ASSERT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + 0x200000);
        map_page(kVa, 0x300000 | kRw);
        // A huge page next to it, of which one page in two shares a place with others.
        put(kPdb0 + ((kVa >> 21 & 511) + 1) * 8, 0x600000 | kRw | PteBits::kPdeIsPte);
        put(kPdb1 + ((kVa >> 30 & 511) + 1) * 8, 0x0 | kRw | PteBits::kPdeIsPte);
        const uint64_t huge = ((kVa >> 30) + 1) << 30;
        for (uint64_t page = 0; page < 8192; ++page) hub.page(kVmid, huge + page * kPageBytes, Access::Read);
        EXPECT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + (strict ? 0x200000 : 0x300000));
        hub.invalidate(1u << (kVmid + 1));
        EXPECT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + (strict ? 0x200000 : 0x300000)) << "another VMID's";
        registers.write(kGfxHub.at.VM_INVALIDATE_ENG_REQ, 1u << kVmid);
        EXPECT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + 0x300000);
    }
}

TEST_F(HubTest, StrictTlbKeepsDirectoriesToo) {
    env.strict.tlb = true;
    map_page(kVa, 0x200000 | kRw);
    ASSERT_EQ(hub.page(kVmid, kVa, Access::Read), vram.data() + 0x200000);
    // Another table, where the neighbour is that has not been asked for yet.
    constexpr uint64_t kOther = 0x105000;
    put(kPtb + (kVa >> 12 & 511) * 8 + 8, 0x201000 | kRw);
    put(kOther + (kVa >> 12 & 511) * 8 + 8, 0x301000 | kRw);
    put(kPdb0 + (kVa >> 21 & 511) * 8, kOther | PteBits::kValid);
    EXPECT_EQ(hub.page(kVmid, kVa + kPageBytes, Access::Read), vram.data() + 0x201000);
    hub.invalidate(1u << kVmid);
    EXPECT_EQ(hub.page(kVmid, kVa + kPageBytes, Access::Read), vram.data() + 0x301000);
}

TEST_F(HubTest, AnInvalidationIsAcknowledgedInItsTime) {
    env.clock.start(env.timing);
    env.clock.set_ns(1000);
    registers.write(kGfxHub.at.VM_INVALIDATE_ENG_REQ + 3, 1u << kVmid);
    EXPECT_EQ(registers.read(kGfxHub.at.VM_INVALIDATE_ENG_ACK + 3), 0u);
    env.clock.set_ns(1000 + env.timing.tlb_invalidate_ns - 1);
    EXPECT_EQ(registers.read(kGfxHub.at.VM_INVALIDATE_ENG_ACK + 3), 0u);
    env.clock.set_ns(1000 + env.timing.tlb_invalidate_ns);
    EXPECT_EQ(registers.read(kGfxHub.at.VM_INVALIDATE_ENG_ACK + 3), 1u << kVmid);
    EXPECT_EQ(registers.read(kGfxHub.at.VM_INVALIDATE_ENG_ACK + 2), 0u) << "another engine";
}

}  // namespace
}  // namespace lyra
