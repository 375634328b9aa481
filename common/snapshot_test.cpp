// SPDX-License-Identifier: MIT
#include "common/snapshot.h"

#include <deque>
#include <map>
#include <unordered_map>

#include <gtest/gtest.h>

namespace lyra {
namespace {

enum class Colour : uint8_t { Red, Green, Blue };

struct Item {
    uint64_t address = 0;
    int32_t slot = -1;
    void visit(StateVisitor& v) {
        v("address", address);
        v("slot", slot, 10);
    }
};

struct Thing {
    bool on = false;
    Colour colour = Colour::Red;
    uint16_t number = 0;
    std::array<uint32_t, 3> words{};
    std::array<Item, 2> items{};
    std::deque<Item> waiting;
    std::vector<bool> flags = std::vector<bool>(3);
    std::unordered_map<uint64_t, uint32_t> table;
    std::vector<uint8_t> memory = std::vector<uint8_t>(4 * StateVisitor::kSparseBytes);

    void visit(StateVisitor& v) {
        v.begin("thing");
        v("on", on);
        v("colour", colour, Colour::Blue);
        v("number", number);
        v("words", words);
        v("items", items);
        v.list("waiting", waiting, 4);
        v.fixed("flags", flags);
        v.map("table", table, 100);
        v.sparse("memory", memory.data(), memory.size());
        v.end();
    }
};

Thing example() {
    Thing thing;
    thing.on = true;
    thing.colour = Colour::Green;
    thing.number = 0xffff;
    thing.words = {1, 2, 3};
    thing.items[1].address = ~uint64_t{0};
    thing.items[1].slot = 10;
    thing.waiting = {{5, 6}, {7, 8}};
    thing.flags[2] = true;
    thing.table = {{9, 1}, {3, 2}, {~uint64_t{0}, 3}};
    thing.memory[2 * StateVisitor::kSparseBytes + 7] = 0xaa;
    return thing;
}

std::vector<uint8_t> saved(Thing thing) {
    StateWriter writer;
    thing.visit(writer);
    return writer.take();
}

std::string loaded(std::span<const uint8_t> bytes, Thing& thing) {
    StateLoader loader(bytes);
    thing.visit(loader);
    loader.finish();
    return loader.error();
}

// slot is -1 in most: an int32_t has the bits of its unsigned type, of which 10 is not the largest.
Thing with_slots(Thing thing) {
    for (Item& item : thing.items) item.slot = std::max(item.slot, 0);
    return thing;
}

TEST(Snapshot, WhatIsLoadedIsWhatWasSaved) {
    const std::vector<uint8_t> bytes = saved(with_slots(example()));
    EXPECT_LT(bytes.size(), 2 * StateVisitor::kSparseBytes);
    Thing thing;
    thing.waiting = {{1, 1}};
    thing.table = {{4, 4}};
    thing.memory[0] = 1;
    ASSERT_EQ(loaded(bytes, thing), "");
    EXPECT_EQ(saved(thing), bytes);
    EXPECT_TRUE(thing.flags[2]);
    EXPECT_EQ(thing.memory[0], 0);
    EXPECT_EQ(thing.table.size(), 3u);
}

TEST(Snapshot, EveryTruncationIsRefused) {
    const std::vector<uint8_t> bytes = saved(with_slots(example()));
    for (size_t size = 0; size < bytes.size(); size += size < 300 ? 1 : 97) {
        Thing thing;
        EXPECT_NE(loaded(std::span(bytes).first(size), thing), "") << size;
    }
    std::vector<uint8_t> longer = bytes;
    longer.push_back(0);
    Thing thing;
    EXPECT_EQ(loaded(longer, thing), ": something follows its end");
}

TEST(Snapshot, ValuesThatCannotBeAreRefused) {
    Thing thing = with_slots(example());
    thing.waiting[1].slot = 11;
    EXPECT_EQ(loaded(saved(thing), thing), "thing/waiting[1]: slot cannot be 0xb");
    thing = with_slots(example());
    thing.colour = static_cast<Colour>(3);
    EXPECT_EQ(loaded(saved(thing), thing), "thing: colour cannot be 0x3");
    thing = with_slots(example());
    thing.waiting.resize(5);
    EXPECT_EQ(loaded(saved(thing), thing), "thing: waiting cannot have 5 elements");
    thing = with_slots(example());
    thing.flags.push_back(true);
    Thing shorter;
    EXPECT_EQ(loaded(saved(thing), shorter), "thing: flags cannot have 4 elements");
}

struct Other {
    uint16_t renamed = 0;
    void visit(StateVisitor& v) {
        v.begin("thing");
        v("renamed", renamed);
        v.end();
    }
};

TEST(Snapshot, OtherValuesOfTheSameLengthAreRefused) {
    struct Numbered {
        uint16_t number = 5;
        void visit(StateVisitor& v) {
            v.begin("thing");
            v("number", number);
            v.end();
        }
    } numbered;
    StateWriter writer;
    numbered.visit(writer);
    const std::vector<uint8_t> bytes = writer.take();
    Other other;
    StateLoader loader(bytes);
    other.visit(loader);
    EXPECT_EQ(loader.error(), "thing: its values are not those of this version");
}

TEST(Snapshot, AComparisonNamesWhatDiffers) {
    Thing thing = with_slots(example());
    const std::vector<uint8_t> bytes = saved(thing);
    StateComparer same(bytes);
    thing.visit(same);
    EXPECT_TRUE(same.ok());
    EXPECT_TRUE(same.differences().empty());

    thing.waiting[1].address = 0x70;
    thing.words[2] = 4;
    thing.memory[StateVisitor::kSparseBytes] = 1;
    StateComparer comparer(bytes);
    thing.visit(comparer);
    EXPECT_TRUE(comparer.ok());
    EXPECT_EQ(comparer.differences(), (std::vector<std::string>{"thing/words: byte 8 is 0x4, in the stream 0x3",
                                                                "thing/waiting[1]/address: 0x70, in the stream 0x7",
                                                                "thing/memory: the page at 0x1000"}));
}

TEST(Snapshot, PrintingLeavesOutZeros) {
    Thing thing;
    thing.colour = Colour::Blue;
    thing.words[1] = 0x10;
    thing.items[0].slot = thing.items[1].slot = 0;
    StatePrinter printer;
    thing.visit(printer);
    EXPECT_EQ(printer.text(), "thing/colour = 0x2\nthing/words = 00000000 00000010 00000000\nthing/flags: 3\n");
}

}  // namespace
}  // namespace lyra
