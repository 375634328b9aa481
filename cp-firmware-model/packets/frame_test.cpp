// SPDX-License-Identifier: MIT
#include "cp-firmware-model/packets/frame.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cp-firmware-model/packets/pm4.h"
#include "cp-firmware-model/packets/sdma.h"

namespace lyra {
namespace {

constexpr uint64_t kPlenty = 1 << 20;

TEST(Pm4Frame, EveryRowIsFoundWithItsLength) {
    for (const pm4::PacketInfo& row : pm4::kPackets) {
        const auto sender = static_cast<pm4::Sender>(row.senders);
        for (const uint32_t body : {std::max<uint32_t>(row.min_body, 1), std::min<uint32_t>(row.max_body, 0x3fff)}) {
            const uint32_t header = pm4::header(static_cast<pm4::Opcode>(row.opcode), body);
            const auto frame = pm4::frame(header, sender, body + 1);
            EXPECT_EQ(frame.fault, Fault::None) << row.name;
            EXPECT_EQ(frame.row, &row) << row.name;
            EXPECT_EQ(frame.dwords, body + 1) << row.name;
            EXPECT_TRUE(pm4::fits(row, body)) << row.name;
            EXPECT_EQ(pm4::frame(header, sender, body).fault, Fault::ShortPacket) << row.name;
        }
    }
}

TEST(Pm4Frame, FaultsComeInOneOrder) {
    EXPECT_EQ(pm4::frame(0x00001000, pm4::kFromUser, kPlenty).fault, Fault::PacketType);
    EXPECT_EQ(pm4::frame(0x40001000, pm4::kFromUser, 0).fault, Fault::PacketType);
    const auto unknown = pm4::frame(0xc0050000, pm4::kFromUser, 2);
    EXPECT_EQ(unknown.fault, Fault::UnknownOpcode) << "although it is short, too";
    EXPECT_EQ(unknown.row, nullptr);
    EXPECT_EQ(unknown.dwords, 7u);
    const auto refused = pm4::frame(pm4::header(pm4::Opcode::MAP_QUEUES, 6), pm4::kFromUser, kPlenty);
    EXPECT_EQ(refused.fault, Fault::UnknownOpcode);
    ASSERT_NE(refused.row, nullptr);
    EXPECT_STREQ(refused.row->name, "MAP_QUEUES");
}

TEST(Pm4Frame, NopsOfOneDword) {
    for (const uint32_t header : {pm4::kOneDwordNop, 0x80000000u, 0xbfffffffu}) {
        const auto frame = pm4::frame(header, pm4::kFromUser, 1);
        EXPECT_TRUE(frame.whole()) << header;
        EXPECT_EQ(frame.dwords, 1u);
        EXPECT_STREQ(frame.row->name, "NOP");
    }
}

TEST(Pm4Fields, LieInTheBodyOfTheirPacket) {
    for (const pm4::Field& field : pm4::kFields) {
        unsigned packets = 0;
        for (const pm4::PacketInfo& row : pm4::kPackets) {
            if (!has(row, pm4::kFromUser, field) && !has(row, pm4::kFromKiq, field) && !has(row, pm4::kFromGfx, field))
                continue;
            ++packets;
            EXPECT_LE(field.dword + (field.width == 64 ? 2u : 1u), row.max_body) << field.packet << " " << field.name;
        }
        EXPECT_EQ(packets, 1u) << field.packet;
    }
}

TEST(SdmaFrame, EveryRowIsFoundWithItsLength) {
    for (const sdma::Packet& row : sdma::kPackets) {
        const sdma::Words words{sdma::header(row)};
        const uint64_t dwords = row.dwords + sdma::tail_dwords(row, words);
        const auto frame = sdma::frame(words, dwords);
        EXPECT_TRUE(frame.whole()) << row.name;
        EXPECT_EQ(frame.row, &row) << row.name;
        EXPECT_EQ(frame.dwords, dwords) << row.name;
        if (dwords == 1) continue;
        EXPECT_EQ(sdma::frame(words, dwords - 1).fault, Fault::ShortPacket) << row.name;
    }
}

// The count of a packet whose fixed part is not all there is not known yet.
TEST(SdmaFrame, LengthOfAPartOfAPacket) {
    const sdma::Words write{2, 0, 0, 99};
    EXPECT_EQ(sdma::frame(write, 3).dwords, 4u);
    EXPECT_EQ(sdma::frame(write, 4).dwords, 104u);
    EXPECT_EQ(sdma::frame(write, 103).fault, Fault::ShortPacket);
    EXPECT_EQ(sdma::frame({0xff}, kPlenty).fault, Fault::SdmaOpcode);
}

}  // namespace
}  // namespace lyra
