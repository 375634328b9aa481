// SPDX-License-Identifier: MIT
// Ranges of memory that the page cache and its TLBs hold: where they end, and when they are forgotten.
#include "gcn-interp/exec/page_cache.h"

#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace lyra::gcn {
namespace {

/// 8 MiB of memory from kBase on, for each of two VMIDs.
class Memory : public MemoryPort {
public:
    static constexpr uint64_t kBase = 0x7f0000200000, kSize = 8 << 20;
    using MemoryPort::translations_changed;
    using MemoryPort::turn_began;

    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override {
        return allowed(va, access) ? bytes.data() + vmid % 2 * kSize + moved + (va - kBase) : nullptr;
    }
    HostRange range(uint32_t vmid, uint64_t va, Access access) override {
        ++asked;
        HostRange found = MemoryPort::range(vmid, va, access);
        if (found.size == 0 || watched) return found;
        while (allowed(found.start - 1, access)) found.start -= kPageBytes, found.size += kPageBytes, found.host -= kPageBytes;
        while (allowed(found.start + found.size, access)) found.size += kPageBytes;
        return found;
    }
    Fault read(uint32_t, uint64_t, void*, size_t) override { return Fault::PageNotPresent; }
    Fault write(uint32_t, uint64_t, const void*, size_t) override { return Fault::PageNotPresent; }
    void touch(uint8_t* host) override { touched.push_back(host); }

    std::vector<uint8_t> bytes = std::vector<uint8_t>(2 * kSize + kPageBytes);
    uint64_t moved = 0;
    std::set<uint64_t> holes, readonly;  ///< pages
    bool watched = false;
    unsigned asked = 0;
    std::vector<uint8_t*> touched;

private:
    bool allowed(uint64_t va, Access access) const {
        const uint64_t page = va & ~(kPageBytes - 1);
        return va - kBase < kSize && !holes.contains(page) &&
               (access == Access::Read || access == Access::Scalar || !readonly.contains(page));
    }
};

class PageCacheTest : public testing::Test {
protected:
    static constexpr uint64_t kBase = Memory::kBase;
    uint8_t* host(uint64_t va) { return memory.bytes.data() + (va - kBase); }
    /// Every page of [first, end) has the answer that the port gives.
    void expect_right(uint32_t vmid, uint64_t first, uint64_t end, Access access) {
        for (uint64_t va = first; va < end; va += kPageBytes)
            ASSERT_EQ(cache.page(vmid, va, access), memory.page(vmid, va, access)) << std::hex << va;
    }
    Memory memory;
    PageCache cache{memory};
};

TEST_F(PageCacheTest, OneQuestionForARange) {
    EXPECT_EQ(cache.page(1, kBase + 0x5000, Access::Read), memory.bytes.data() + Memory::kSize + 0x5000);
    EXPECT_EQ(cache.page(1, kBase + 0x1ff000, Access::Read), memory.bytes.data() + Memory::kSize + 0x1ff000);
    EXPECT_EQ(memory.asked, 1u) << "the same 2 MiB";
    cache.page(1, kBase + 0x1ff000, Access::Write);
    EXPECT_EQ(memory.asked, 2u) << "another kind of access";
    cache.page(2, kBase + 0x1ff000, Access::Write);
    EXPECT_EQ(memory.asked, 3u) << "another VMID";
    expect_right(1, kBase, kBase + Memory::kSize, Access::Read);
    expect_right(2, kBase, kBase + Memory::kSize, Access::Read);
}

TEST_F(PageCacheTest, HolesAndRightsEndARange) {
    memory.holes = {kBase + 0x10000, kBase + 0x12000, kBase + 0x300000};
    memory.readonly = {kBase + 0x20000};
    for (unsigned n = 0; n < 2; ++n) {
        expect_right(0, kBase, kBase + Memory::kSize, Access::Read);
        expect_right(0, kBase, kBase + Memory::kSize, Access::Write);
        expect_right(0, kBase, kBase + Memory::kSize, Access::Atomic);
    }
    const TlbEntry* entry = cache.range(0, kBase + 0x11008, Access::Read);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->start, kBase + 0x11000);
    EXPECT_EQ(entry->size, kPageBytes);
    EXPECT_TRUE(entry->holds_to_end(kBase + 0x11ff8, 8));
    EXPECT_FALSE(entry->holds_to_end(kBase + 0x11ff9, 8));
    EXPECT_EQ(cache.range(0, kBase + 0x12000, Access::Read), nullptr);
    EXPECT_EQ(cache.range(0, kBase - 1, Access::Read), nullptr);
    EXPECT_EQ(cache.range(0, kBase + Memory::kSize, Access::Read), nullptr);
}

// Non-canonical addresses, and those whose difference to a range wraps, are in none.
TEST_F(PageCacheTest, FarAddressesAreInNoRange) {
    expect_right(0, kBase, kBase + kPageBytes, Access::Read);
    for (const uint64_t bit : {uint64_t{1} << 63, uint64_t{1} << 52, uint64_t{1} << 47})
        EXPECT_EQ(cache.range(0, kBase ^ bit, Access::Read), nullptr) << std::hex << bit;
}

TEST_F(PageCacheTest, RangesOfOne64KiBTakeTurns) {
    for (uint64_t page = 1; page < 16; page += 2) memory.holes.insert(kBase + page * kPageBytes);
    for (unsigned n = 0; n < 3; ++n) expect_right(0, kBase, kBase + 16 * kPageBytes, Access::Read);
    EXPECT_EQ(memory.asked, 8u + 3 * 8u) << "the pages once, the holes each time";
}

TEST_F(PageCacheTest, ForgetsWithTheGeneration) {
    expect_right(0, kBase, kBase + Memory::kSize, Access::Write);
    memory.moved = kPageBytes;
    memory.holes = {kBase + 0x4000};
    memory.translations_changed();
    cache.begin();
    expect_right(0, kBase, kBase + Memory::kSize, Access::Write);
}

TEST_F(PageCacheTest, KeepsPagesOverTheTurnsOfAWatch) {
    memory.watched = true;
    expect_right(0, kBase, kBase + 4 * kPageBytes, Access::Read);
    const unsigned asked = memory.asked;
    for (unsigned turn = 0; turn < 3; ++turn) {
        memory.turn_began();
        memory.touched.clear();
        cache.begin();
        for (unsigned n = 0; n < 2; ++n) expect_right(0, kBase, kBase + 4 * kPageBytes, Access::Read);
        EXPECT_EQ(memory.touched,
                  (std::vector<uint8_t*>{host(kBase), host(kBase + 0x1000), host(kBase + 0x2000), host(kBase + 0x3000)}));
        EXPECT_EQ(memory.asked, asked);
    }
}

// touch() tells of a page: an answer from before the watch, which has more, is asked for anew.
TEST_F(PageCacheTest, KeepsNoRangeOverATurn) {
    expect_right(0, kBase, kBase + 4 * kPageBytes, Access::Read);
    memory.watched = true;
    memory.turn_began();
    cache.begin();
    const unsigned asked = memory.asked;
    expect_right(0, kBase, kBase + 4 * kPageBytes, Access::Read);
    EXPECT_EQ(memory.asked, asked + 4);
    EXPECT_TRUE(memory.touched.empty());
}

}  // namespace
}  // namespace lyra::gcn
