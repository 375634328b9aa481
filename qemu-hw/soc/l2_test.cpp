// SPDX-License-Identifier: MIT
// The strict L2: who sees whose stores, and when.
#include "qemu-hw/soc/l2.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "facts/register_fields.h"
#include "qemu-hw/soc/test_host.h"

namespace lyra {
namespace {

constexpr uint64_t kVram = 16 << 20, kTable = 0x100000, kCached = 0x400000, kUncached = 0x401000, kSystem = 0x402000;
constexpr uint64_t kRamBus = 0x80000000;
constexpr uint64_t kRw = PteBits::kValid | PteBits::kRead | PteBits::kWrite;
constexpr uint32_t kVmid = 8;

class L2Test : public ::testing::Test {
protected:
    L2Test()
        : env(host), vram(kVram), ram(1 << 16), registers(env), bus(env, vram.data(), kVram),
          hub(
              env, registers, bus, kGfxHub, [](const Interrupt&) {}, [](uint32_t, bool) { return uint16_t{1}; },
              [](uint32_t) { return false; }),
          l2(env, hub, kWaves) {
        env.strict.l2 = true;
        bus.set_ram_map({{kRamBus, ram.size(), ram.data(), false}});
        // DEPTH 0: one table.
        registers.write(kGfxHub.at.VM_CONTEXT_CNTL + kVmid, 1);
        registers.write(kGfxHub.at.VM_CONTEXT_PAGE_TABLE_END_ADDR + 2 * kVmid, 0xffff);
        hub.set_page_table_base(kVmid, kTable | PteBits::kValid);
        put(kCached, 0x200000 | kRw);
        put(kUncached, 0x201000 | kRw | PteBits::kUncached << PteBits::kMtypeShift);
        put(kSystem, kRamBus | kRw | PteBits::kSystem);
    }
    void put(uint64_t va, uint64_t entry) { std::memcpy(vram.data() + kTable + va / kPageBytes * 8, &entry, 8); }
    uint32_t memory(uint64_t at) {
        uint32_t value;
        std::memcpy(&value, vram.data() + at, 4);
        return value;
    }
    void store(uint64_t va, uint32_t value) { EXPECT_EQ(l2.write(kVmid, va, &value, 4), Fault::None); }
    uint32_t load(MemoryPort& port, uint64_t va) {
        uint32_t value = 0;
        EXPECT_EQ(port.read(kVmid, va, &value, 4), Fault::None);
        return value;
    }
    TestHost host;
    Env env;
    std::vector<uint8_t> vram, ram;
    RegisterFile registers;
    BusMemory bus;
    Hub hub;
    L2 l2;
};

TEST_F(L2Test, StoresOfWavesReachMemoryWithAWriteBack) {
    store(kCached + 8, 0x12345678);
    EXPECT_EQ(load(l2, kCached + 8), 0x12345678u);
    EXPECT_EQ(load(hub, kCached + 8), 0u) << "the command processor does not go through it";
    l2.write_back();
    EXPECT_EQ(memory(0x200008), 0x12345678u);
}

TEST_F(L2Test, WavesSeeOthersStoresAfterAnInvalidation) {
    EXPECT_EQ(load(l2, kSystem + 4), 0u);
    const uint32_t value = 77;
    std::memcpy(ram.data() + 4, &value, 4);
    EXPECT_EQ(load(l2, kSystem + 4), 0u);
    l2.write_back();
    EXPECT_EQ(load(l2, kSystem + 4), 0u) << "what is clean stays";
    const uint64_t before = l2.generation();
    l2.invalidate();
    EXPECT_NE(l2.generation(), before) << "host addresses are no longer good";
    EXPECT_EQ(load(l2, kSystem + 4), 77u);
}

TEST_F(L2Test, AWriteBackLeavesBytesAloneThatWavesHaveNotStored) {
    const uint8_t byte = 0xaa;
    EXPECT_EQ(l2.write(kVmid, kSystem + 1, &byte, 1), Fault::None);
    ram[0] = 0x11, ram[2] = 0x22;
    l2.invalidate();
    EXPECT_EQ(ram[0], 0x11);
    EXPECT_EQ(ram[1], 0xaa);
    EXPECT_EQ(ram[2], 0x22);
}

TEST_F(L2Test, NeighboursOfALoadedLineAreMemorys) {
    constexpr uint64_t kLine = 64;
    EXPECT_EQ(load(l2, kSystem + 4), 0u);
    const uint32_t value = 77;
    std::memcpy(ram.data() + kLine - 4, &value, 4);
    std::memcpy(ram.data() + kLine, &value, 4);
    EXPECT_EQ(load(l2, kSystem + kLine - 4), 0u) << "the same line";
    EXPECT_EQ(load(l2, kSystem + kLine), 77u) << "the next one";
}

TEST_F(L2Test, AStoreOfWhatIsThereIsAStore) {
    EXPECT_EQ(load(l2, kSystem), 0u);
    const uint32_t value = 77;
    std::memcpy(ram.data(), &value, 4);
    store(kSystem, 0);
    l2.write_back();
    EXPECT_EQ(ram[0], 0);
}

TEST_F(L2Test, WhatWasStoredStaysAndTheRestOfItsLineIsFetched) {
    store(kSystem, 1);
    l2.write_back();
    const uint32_t others[] = {5, 6};
    std::memcpy(ram.data(), others, 8);
    EXPECT_EQ(load(l2, kSystem), 1u);
    EXPECT_EQ(load(l2, kSystem + 4), 6u);
}

TEST_F(L2Test, AtomicsReachMemoryWithAWriteBack) {
    const uint32_t value = 77;
    std::memcpy(ram.data(), &value, 4);
    EXPECT_EQ(l2.page(kVmid, kSystem, Access::Read), nullptr) << "loads say which line they mean";
    uint8_t* const page = l2.page(kVmid, kSystem, Access::Atomic);
    ASSERT_NE(page, nullptr);
    EXPECT_EQ(page[0], 77);
    page[0] = 78;
    EXPECT_EQ(load(l2, kSystem), 78u);
    EXPECT_EQ(ram[0], 77);
    l2.write_back();
    EXPECT_EQ(ram[0], 78);
}

TEST_F(L2Test, UncachedPagesAndALaxL2HideNothing) {
    store(kUncached, 5);
    EXPECT_EQ(memory(0x201000), 5u);
    env.strict.l2 = false;
    store(kCached, 6);
    EXPECT_EQ(memory(0x200000), 6u);
}

TEST_F(L2Test, AccessesMayCrossPagesOfBothKinds) {
    const uint8_t data[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(l2.write(kVmid, kUncached - 4, data, 8), Fault::None);
    EXPECT_EQ(memory(0x201000), 0x08070605u);
    EXPECT_EQ(memory(0x200ffc), 0u);
    uint8_t back[8] = {};
    EXPECT_EQ(l2.read(kVmid, kUncached - 4, back, 8), Fault::None);
    EXPECT_EQ(std::memcmp(back, data, 8), 0);
    EXPECT_NE(l2.read(kVmid, kSystem + kPageBytes - 4, back, 8), Fault::None) << "the second page is not there";
    EXPECT_EQ(back[0], 0) << "a refused access reads zeros";
}

TEST_F(L2Test, AResetLosesWhatIsDirty) {
    store(kCached, 9);
    l2.reset();
    EXPECT_EQ(load(l2, kCached), 0u);
    l2.write_back();
    EXPECT_EQ(memory(0x200000), 0u);
}

TEST_F(L2Test, AHeavyweightInvalidationOfTranslationsDropsItToo) {
    hub.set_heavyweight([this] { l2.invalidate(); });
    store(kCached, 3);
    namespace request = field::VM_INVALIDATE_ENG_REQ;
    const uint32_t value = 1u << kVmid | request::INVALIDATE_L2_PTES::kMask | request::INVALIDATE_L1_PTES::kMask;
    registers.write(kGfxHub.at.VM_INVALIDATE_ENG_REQ, value);
    EXPECT_EQ(memory(0x200000), 0u);
    registers.write(kGfxHub.at.VM_INVALIDATE_ENG_REQ, request::FLUSH_TYPE::set(value, 2));
    EXPECT_EQ(memory(0x200000), 3u);
}

}  // namespace
}  // namespace lyra
