// SPDX-License-Identifier: MIT
// The fuzzers' packets are whole ones, of every row.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <set>

#include "cp-firmware-model/fuzz/packets.h"

namespace lyra::fuzz {
namespace {

constexpr uint64_t kPlaces[] = {0x100000000, 0x200000000};

/// @param make  a packet of an input. @return the rows that some inputs gave
template <class Make>
std::set<const void*> rows_of(Make make) {
    std::mt19937_64 random(1);
    std::set<const void*> rows;
    for (unsigned n = 0; n < 4000; ++n) {
        std::array<uint8_t, 256> bytes{};
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
        Input in(bytes.data(), bytes.size());
        rows.insert(make(in));
    }
    return rows;
}

TEST(ComposedPackets, AllRowsOfPm4) {
    const auto rows = rows_of([](Input& in) -> const void* {
        const Dwords words = pm4_packet(in, pm4::kFromKiq, kPlaces);
        return pm4::info(pm4::opcode(words[0]));
    });
    EXPECT_EQ(rows.size(), std::size(pm4::kPackets));
}

TEST(ComposedPackets, AllRowsOfSdma) {
    const auto rows = rows_of([](Input& in) -> const void* {
        const Dwords words = sdma_packet(in, kPlaces);
        return sdma::find_packet(words[0]);
    });
    EXPECT_EQ(rows.size(), std::size(sdma::kPackets));
}

TEST(ComposedPackets, FieldsAreWhereTheRowsHaveThem) {
    const uint8_t bytes[512] = {};
    for (uint8_t n = 0; n < std::size(sdma::kPackets); ++n) {
        std::array<uint8_t, 256> input{n};
        Input in(input.data(), input.size());
        const Dwords words = sdma_packet(in, kPlaces);
        sdma::Words fixed{};
        std::copy_n(words.begin(), std::min(words.size(), fixed.size()), fixed.begin());
        sdma::each_field(sdma::kPackets[n], [&](const sdma::Field& field) {
            if (field.width == 64) EXPECT_EQ(field.get(fixed), kPlaces[0]) << field.name;
        });
    }
    Input in(bytes, sizeof bytes);
    const Dwords nop = pm4_packet(in, pm4::kFromUser, kPlaces);
    EXPECT_EQ(nop, (Dwords{pm4::header(pm4::Opcode::NOP, 1), 0}));
}

TEST(ComposedPackets, AsManyDwordsAsAreWanted) {
    std::array<uint8_t, 256> bytes;
    bytes.fill(1);
    Input in(bytes.data(), bytes.size());
    const auto next = [&] { return sdma_packet(in, kPlaces); };
    EXPECT_EQ(packets(in, 9, next).size(), 9u);
    EXPECT_GT(packets(in, 1000, next).size(), 9u);
    EXPECT_TRUE(in.empty());
    EXPECT_EQ(packets(in, 1000, next).size(), 0u);
}

}  // namespace
}  // namespace lyra::fuzz
