// SPDX-License-Identifier: MIT
#include "cp-firmware-model/packets/text.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "cp-firmware-model/packets/tc_op.h"

namespace lyra {
namespace {

pm4::Packet packet(pm4::Opcode opcode, std::span<const uint32_t> body) { return {static_cast<uint8_t>(opcode), body}; }

TEST(PacketText, FieldsThatAreNotZero) {
    const uint32_t body[] = {1u << 21 | 3u << 26, 0x400u << 2, 0x8000, 1, 0x9000, 0};
    EXPECT_EQ(packet_text(packet(pm4::Opcode::MAP_QUEUES, body), pm4::kFromHiq),
              "MAP_QUEUES queue_type=1 engine_sel=3 doorbell_offset=1024 mqd_addr=0x100008000 wptr_addr=0x9000");
    const uint32_t atomic[] = {0x2f | 1 << 8, 0x1000, 0, 5, 0, 6, 0, 0};
    EXPECT_EQ(packet_text(packet(pm4::Opcode::ATOMIC_MEM, atomic), pm4::kFromUser),
              "ATOMIC_MEM atomic=47 command=1 addr=0x1000 src_data=5 cmp_data=6");
}

// What the same dwords mean is up to the ring.
TEST(PacketText, FormsOfARing) {
    const uint32_t map[] = {2u << 13 | 1u << 16 | 1u << 18, 0, 0x8000, 0, 0, 0};
    EXPECT_EQ(packet_text(packet(pm4::Opcode::MAP_QUEUES, map), pm4::kFromKiq),
              "MAP_QUEUES mqd_addr=0x8000 queue=2 pipe=1 me=1");
    EXPECT_EQ(packet_text(packet(pm4::Opcode::MAP_QUEUES, map), pm4::kFromHiq), "MAP_QUEUES mqd_addr=0x8000");
}

TEST(PacketText, DwordsWhereThereAreNoRows) {
    const uint32_t body[10] = {1, 2, 0xffffffff};
    EXPECT_EQ(packet_text(packet(pm4::Opcode::CONTEXT_CONTROL, std::span(body).first(3)), pm4::kFromGfx),
              "CONTEXT_CONTROL 0x00000001 0x00000002 0xffffffff");
    const std::string eight = packet_text(packet(pm4::Opcode::NOP, body), pm4::kFromGfx);
    EXPECT_EQ(std::count(eight.begin(), eight.end(), 'x'), 8);
    EXPECT_EQ(packet_text(pm4::Packet{0xff, {}}, pm4::kFromGfx), "opcode 0xff");
    // A packet that is shorter than its rows.
    EXPECT_EQ(packet_text(pm4::Packet{static_cast<uint8_t>(pm4::Opcode::RUN_LIST), {}}, pm4::kFromHiq), "RUN_LIST");
}

TEST(PacketText, Aql) {
    AqlPacket dispatch;
    dispatch.bytes[0] = 2;
    dispatch.bytes[2] = 1;  // setup, and in other packets the vendor's format
    dispatch.bytes[0x0c] = 64;
    EXPECT_EQ(packet_text(dispatch), "KernelDispatch header=2 setup=1 grid_size_x=64");
    AqlPacket vendor;
    vendor.bytes[2] = 1;
    vendor.bytes[0x14] = 10;
    EXPECT_EQ(packet_text(vendor), "Pm4Ib vendor_format=1 dwords_remaining=10");
    vendor.bytes[2] = 77;
    EXPECT_EQ(packet_text(vendor), "VendorSpecific vendor_format=77");
}

TEST(PacketText, Sdma) {
    const sdma::Words fence{5, 0x1000, 1, 7, 9};
    EXPECT_EQ(packet_text(*sdma::find_packet(fence[0]), fence), "FENCE addr=0x100001000 data=7");
    const sdma::Words broadcast{1 | 1u << 27, 63, 1 << 8 | 2 << 24, 0x2000, 0, 0x3000, 0, 0, 1};
    EXPECT_EQ(packet_text(*sdma::find_packet(broadcast[0]), broadcast),
              "COPY_LINEAR_BROADCAST broadcast=1 count=63 dst2_sw=1 src_sw=2 src_addr=0x2000 dst1_addr=0x3000 "
              "dst2_addr=0x100000000");
    // What lies behind a packet is not its own.
    const sdma::Words nop{2u << 16, 7, 8};
    EXPECT_EQ(packet_text(*sdma::find_packet(nop[0]), nop), "NOP count=2");
}

TEST(TcOp, Values) {
    uint64_t value = 0;
    EXPECT_TRUE(tc_op::value<uint64_t>(tc_op::CMPSWAP, 5, 6, 5, value));
    EXPECT_EQ(value, 6u);
    EXPECT_TRUE(tc_op::value<uint64_t>(tc_op::CMPSWAP, 5, 6, 4, value));
    EXPECT_EQ(value, 5u);
    uint32_t word = 0;
    EXPECT_TRUE(tc_op::value<uint32_t>(tc_op::SMIN, 0xffffffff, 1, 0, word));
    EXPECT_EQ(word, 0xffffffffu);
    EXPECT_TRUE(tc_op::value<uint32_t>(tc_op::UMIN, 0xffffffff, 1, 0, word));
    EXPECT_EQ(word, 1u);
    EXPECT_TRUE(tc_op::value<uint32_t>(tc_op::INC, 3, 3, 0, word));
    EXPECT_EQ(word, 0u);
    EXPECT_TRUE(tc_op::value<uint32_t>(tc_op::DEC, 0, 3, 0, word));
    EXPECT_EQ(word, 3u);
    EXPECT_FALSE(tc_op::value<uint32_t>(0, 1, 2, 3, word));
    EXPECT_FALSE(tc_op::value<uint32_t>(31, 1, 2, 3, word));
}

}  // namespace
}  // namespace lyra
