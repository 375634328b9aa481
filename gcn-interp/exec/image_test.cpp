// SPDX-License-Identifier: MIT
// Image loads, stores, atomics and sizes: addresses, formats, ranges, registers.
#include "gcn-interp/exec/image_machine.h"

namespace lyra::gcn::test {

TEST_F(ImageMachine, PlaneLoadsAreAtPitchAndZeroOutside) {
    image({.width = 6, .height = 3, .pitch = 64});
    for (unsigned i = 0; i < 64 * 4; ++i) memory.at<uint32_t>(kImage + 4 * i) = 0x04030201u * (1 + i % 50);
    execute("image_load v[4:7], v[1:2], s[8:15] dmask:0xf unorm\n image_load v[8:9], v[1:2], s[8:15] dmask:0xa unorm");
    for (unsigned lane = 0; lane < 64; ++lane) {
        const unsigned x = lane % 8, y = lane / 8 % 4;
        const uint32_t texel = x < 6 && y < 3 ? memory.at<uint32_t>(kImage + 4 * (y * 64 + x)) : 0;
        for (unsigned c = 0; c < 4; ++c) EXPECT_EQ(v(4 + c, lane), texel >> (8 * c) & 0xff) << lane;
        EXPECT_EQ(v(8, lane), texel >> 8 & 0xff);
        EXPECT_EQ(v(9, lane), texel >> 24);
    }
}

TEST_F(ImageMachine, LinesVolumesAndLayers) {
    for (unsigned i = 0; i < 0x4000; ++i) memory.at<uint32_t>(kImage + 4 * i) = i;
    image({.type = 8, .data_format = 4, .width = 7});
    execute("image_load v4, v1, s[8:15] dmask:1 unorm");
    for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(v(4, lane), lane % 8 < 7 ? lane % 8 : 0) << lane;
    image({.type = 10, .data_format = 4, .width = 8, .height = 4, .last_slice = 1, .pitch = 64});
    execute("image_load v4, v[1:4], s[8:15] dmask:1 unorm\n v_mov_b32 v3, 2\n image_load v5, v[1:4], s[8:15] dmask:1 unorm");
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(v(4, lane), (lane / 32 * 4 + lane / 8 % 4) * 64 + lane % 8);
        EXPECT_EQ(v(5, lane), 0u);
    }
    // Layers 1 to 3 of an array of two rows each; without DA the first of them.
    image({.type = 13, .data_format = 4, .width = 8, .height = 2, .last_slice = 3, .pitch = 64, .base_array = 1});
    execute(
        "image_load v4, v[1:4], s[8:15] dmask:1 unorm da\n image_load v5, v[1:2], s[8:15] dmask:1 unorm\n"
        "v_mov_b32 v3, 3\n image_load v6, v[1:4], s[8:15] dmask:1 unorm da");
    for (unsigned lane = 0; lane < 64; ++lane) {
        const unsigned x = lane % 8, y = lane / 8 % 4, layer = lane / 32;
        EXPECT_EQ(v(4, lane), y < 2 ? ((layer + 1) * 2 + y) * 64 + x : 0) << lane;
        EXPECT_EQ(v(5, lane), y < 2 ? (2 + y) * 64 + x : 0) << lane;
        EXPECT_EQ(v(6, lane), 0u);
    }
    image({.type = 12, .data_format = 4, .width = 8, .last_slice = 1, .pitch = 64});
    execute("v_and_b32 v2, 1, v2\n image_load v4, v[1:2], s[8:15] dmask:1 unorm da");
    for (unsigned lane = 0; lane < 64; ++lane) EXPECT_EQ(v(4, lane), lane / 8 % 2 * 64 + lane % 8) << lane;
}

struct FormatCase {
    unsigned data, num;
    std::vector<uint32_t> memory, registers;
};

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }

TEST_F(ImageMachine, FormatsOfHip) {
    const uint32_t one = bits_of(1.0f);
    const FormatCase cases[] = {
        {1, 4, {0xfe}, {0xfe, 0, 0, 1}},
        {1, 5, {0xfe}, {0xfffffffe, 0, 0, 1}},
        {1, 0, {0x33}, {bits_of(0.2f), 0, 0, one}},
        {1, 1, {0x81}, {bits_of(-1.0f), 0, 0, one}},
        {3, 4, {0x0201}, {1, 2, 0, 1}},
        {2, 5, {0x8001}, {0xffff8001, 0, 0, 1}},
        {2, 0, {0xffff}, {one, 0, 0, one}},
        {2, 7, {0xc000}, {bits_of(-2.0f), 0, 0, one}},
        {5, 7, {0x3c004000}, {bits_of(2.0f), one, 0, one}},
        {4, 7, {0x7f7fffff}, {0x7f7fffff, 0, 0, one}},
        {11, 5, {0xffffffff, 7}, {0xffffffff, 7, 0, 1}},
        {10, 0, {0xff003300}, {0, bits_of(0.2f), 0, one}},
        {12, 4, {0x00020001, 0x00040003}, {1, 2, 3, 4}},
        {14, 7, {0x11111111, 0x22222222, 0x33333333, 0x44444444}, {0x11111111, 0x22222222, 0x33333333, 0x44444444}},
    };
    for (const FormatCase& each : cases) {
        image({.data_format = each.data, .num_format = each.num, .width = 8, .height = 4});
        const size_t bytes = each.data == 1 ? 1 : each.data <= 3 ? 2 : 4 * each.memory.size();
        std::memset(&memory.at<uint8_t>(kImage), 0, 0x1000);
        for (size_t b = 0; b < bytes; ++b)
            memory.at<uint8_t>(kImage + 3 * bytes + b) = static_cast<uint8_t>(each.memory[b / 4] >> (8 * (b % 4)));
        // Read, and write back one row below.
        execute(
            "v_mov_b32 v2, 0\n image_load v[4:7], v[1:2], s[8:15] dmask:0xf unorm\n s_waitcnt vmcnt(0)\n v_mov_b32 v2, 1\n"
            "image_store v[4:7], v[1:2], s[8:15] dmask:0xf unorm");
        for (unsigned c = 0; c < 4; ++c)
            EXPECT_EQ(v(4 + c, 3), each.registers[c]) << each.data << '/' << each.num << " component " << c;
        EXPECT_EQ(std::memcmp(&memory.at<uint8_t>(kImage), &memory.at<uint8_t>(kImage + 64 * bytes), 8 * bytes), 0)
            << each.data << '/' << each.num;
        EXPECT_NE(memory.at<uint8_t>(kImage + 67 * bytes) | memory.at<uint8_t>(kImage + 68 * bytes - 1), 0);
    }
}

TEST_F(ImageMachine, StoresFillUpWithZeroAndStayInside) {
    image({.width = 6, .height = 3, .pitch = 64});
    for (unsigned i = 0; i < 64 * 4; ++i) memory.at<uint32_t>(kImage + 4 * i) = 0xaaaaaaaa;
    execute(
        "v_mov_b32 v5, 7\n image_store v[4:5], v[1:2], s[8:15] dmask:0x5 unorm\n v_mov_b32 v4, 9\n"
        "image_store v4, v[1:2], s[8:15] unorm\n"
        "v_cmp_ne_u32 vcc, 1, v2\n v_cndmask_b32_e64 v3, 0, 1, vcc\n"  // the only level there is, in row 1
        "image_store_mip v4, v[1:3], s[8:15] dmask:1 unorm");
    for (unsigned i = 0; i < 64 * 4; ++i) {
        const bool inside = i % 64 < 6 && i / 64 < 3;
        EXPECT_EQ(memory.at<uint32_t>(kImage + 4 * i), !inside ? 0xaaaaaaaau : i / 64 == 1 ? 9u : 0x00070055u) << i;
    }
}

TEST_F(ImageMachine, SwizzledComponentsComeBackToTheirPlace) {
    image({.width = 8, .height = 4, .dst_sel = 6 | 5 << 3 | 4 << 6 | 7 << 9});  // B G R A in memory
    execute(
        "v_mov_b32 v4, 1\n v_mov_b32 v5, 2\n v_mov_b32 v6, 3\n v_mov_b32 v7, 4\n"
        "image_store v[4:7], v[1:2], s[8:15] dmask:0xf unorm\n image_load v[8:11], v[1:2], s[8:15] dmask:0xf unorm");
    EXPECT_EQ(memory.at<uint32_t>(kImage), 0x04010203u);
    for (unsigned c = 0; c < 4; ++c) EXPECT_EQ(v(8 + c, 9), 1 + c);
    image({.data_format = 4, .num_format = 7, .width = 8, .height = 4, .dst_sel = 4 | 1 << 9});  // R 0 0 1
    execute(
        "v_mov_b32 v4, 2.0\n image_store v4, v[1:2], s[8:15] dmask:1 unorm\n image_load v[8:11], v[1:2], s[8:15] dmask:0xf "
        "unorm");
    EXPECT_EQ(f(8, 9), 2.0f);
    EXPECT_EQ(v(9, 9), 0u);
    EXPECT_EQ(f(11, 9), 1.0f);
}

TEST_F(ImageMachine, RegistersOfD16TfeAndNoComponent) {
    image({.data_format = 12, .num_format = 7, .width = 8, .height = 4});
    for (unsigned i = 0; i < 0x400; ++i) memory.at<uint64_t>(kImage + 8 * i) = 0x44004200'40003c00;  // 1 2 3 4
    execute(
        "image_load v[4:5], v[1:2], s[8:15] dmask:0xf unorm d16\n image_load v[8:10], v[1:2], s[8:15] dmask:0x3 unorm tfe\n"
        "image_load v12, v[1:2], s[8:15] unorm\n image_store v[4:5], v[1:2], s[8:15] dmask:0xf unorm d16\n"
        "s_mov_b64 exec, 1\n image_load v14, v[1:2], s[8:15] dmask:0x8 unorm");
    EXPECT_EQ(v(4, 5), 0x40003c00u);
    EXPECT_EQ(v(5, 5), 0x44004200u);
    EXPECT_EQ(v(6, 5), 0x55u);
    EXPECT_EQ(f(8, 5), 1.0f);
    EXPECT_EQ(f(9, 5), 2.0f);
    EXPECT_EQ(v(10, 5), 0u);
    EXPECT_EQ(v(11, 5), 0x55u);
    EXPECT_EQ(v(12, 5), 0u);
    EXPECT_EQ(v(13, 5), 0x55u);
    EXPECT_EQ(f(14, 0), 4.0f);
    EXPECT_EQ(v(14, 1), 0x55u);
    EXPECT_EQ(memory.at<uint64_t>(kImage), 0x44004200'40003c00u);
}

TEST_F(ImageMachine, SizesAndLevels) {
    const std::string code =
        "v_mov_b32 v4, 0\n image_get_resinfo v[8:11], v4, s[8:15] dmask:0xf unorm\n"
        "image_get_resinfo v12, v1, s[8:15] dmask:0x2 unorm";
    image({.type = 10, .width = 100, .height = 200, .last_slice = 7});
    execute(code);
    const uint32_t volume[4] = {100, 200, 8, 1};
    for (unsigned c = 0; c < 4; ++c) EXPECT_EQ(v(8 + c, 3), volume[c]);
    EXPECT_EQ(v(12, 0), 200u);
    EXPECT_EQ(v(12, 1), 0u) << "no such level";
    image({.type = 13, .width = 100, .height = 200, .last_slice = 7, .base_array = 2});
    execute(code);
    EXPECT_EQ(v(10, 3), 6u);
    image({.type = 12, .width = 16384, .last_slice = 7});
    execute(code);
    EXPECT_EQ(v(8, 3), 16384u);
    EXPECT_EQ(v(9, 3), 8u);
}

TEST_F(ImageMachine, AtomicsReturnTheOldTexelWithGlc) {
    image({.data_format = 4, .width = 7, .height = 4});
    for (unsigned i = 0; i < 256; ++i) memory.at<uint32_t>(kImage + 4 * i) = 100 + i;
    execute(
        "v_mov_b32 v4, 5\n v_mov_b32 v5, 5\n image_atomic_add v4, v[1:2], s[8:15] dmask:1 unorm glc\n"
        "image_atomic_sub v5, v[1:2], s[8:15] dmask:1 unorm");
    for (unsigned lane = 0; lane < 64; ++lane) {
        const unsigned x = lane % 8, at = lane / 8 % 4 * 64 + x;
        EXPECT_EQ(v(4, lane), x < 7 ? 100 + at + lane / 32 * 5 : 0) << lane;
        EXPECT_EQ(v(5, lane), 5u);
        EXPECT_EQ(memory.at<uint32_t>(kImage + 4 * at), 100 + at);
    }
    execute("v_mov_b32 v4, 77\n v_mov_b32 v5, 103\n image_atomic_cmpswap v[4:5], v[1:2], s[8:15] dmask:3 unorm glc");
    EXPECT_EQ(memory.at<uint32_t>(kImage + 12), 77u);
    EXPECT_EQ(memory.at<uint32_t>(kImage + 16), 104u);
    EXPECT_EQ(v(4, 3), 103u);
    EXPECT_EQ(v(4, 35), 77u);
    const std::pair<const char*, uint32_t> each[] = {{"swap", 6},    {"smin", 6},       {"umin", 6},      {"smax", 0x90},
                                                     {"umax", 0x90}, {"and", 6 & 0x90}, {"or", 6 | 0x90}, {"xor", 6 ^ 0x90},
                                                     {"inc", 0},     {"dec", 6}};
    for (const auto& [name, expected] : each) {
        memory.at<uint32_t>(kImage) = 0x90;
        execute(std::string("s_mov_b64 exec, 1\n v_mov_b32 v4, 6\n image_atomic_") + name +
                " v4, v[1:2], s[8:15] dmask:1 unorm");
        EXPECT_EQ(memory.at<uint32_t>(kImage), expected) << name;
    }
    image({.data_format = 11, .width = 8, .height = 4});
    memory.at<uint64_t>(kImage) = 0xffffffff;
    execute(
        "s_mov_b64 exec, 1\n v_mov_b32 v4, 1\n v_mov_b32 v5, 2\n image_atomic_add v[4:5], v[1:2], s[8:15] dmask:3 unorm glc");
    EXPECT_EQ(memory.at<uint64_t>(kImage), 0x3'0000'0000u);
    EXPECT_EQ(make64(v(4, 0), v(5, 0)), 0xffffffffu);
}

TEST_F(ImageMachine, GraphicsAndUnknownFormatsAreRefused) {
    const std::string load = "image_load v4, v[1:2], s[8:15] dmask:1 unorm";
    for (const unsigned type : {0u, 7u, 11u, 14u, 15u}) {
        image({.type = type});
        expect_refused(load);
    }
    for (const unsigned data : {0u, 15u, 16u, 35u, 63u}) {
        image({.data_format = data});
        expect_refused(load);
    }
    image({.num_format = 9});
    expect_refused(load);
    image({.last_level = 3});
    expect_refused(load);
    expect_refused("image_get_resinfo v4, v1, s[8:15] dmask:1");
    image({});
    expect_refused(load + " a16");
    expect_refused(load + " lwe");
    expect_refused("image_atomic_add v[4:5], v[1:2], s[8:15] dmask:3 unorm");
    expect_refused("image_load_pck v4, v[1:2], s[8:15] dmask:1 unorm");
    expect_refused("image_sample_c_lz v4, v[1:3], s[8:15], s[16:19] dmask:1");
}

TEST_F(ImageMachine, MemoryThatIsNotThereIsAMemoryViolation) {
    image({.width = 8, .height = 4}, 0x10000);
    for (const char* text : {"image_load v4, v[1:2], s[8:15] dmask:1 unorm", "image_store v4, v[1:2], s[8:15] dmask:1 unorm",
                             "image_sample_lz v4, v[1:2], s[8:15], s[16:19] dmask:1"}) {
        services.errors.clear();
        cu.launch(program(text));
        cu.run(1000);
        EXPECT_EQ(services.errors, std::vector<unsigned>{2}) << text;
        cu.kill_vmid(8);
    }
    // The largest image there can be, at the end of the address space.
    image({.type = 10, .data_format = 14, .width = 16384, .height = 16384, .last_slice = 8191, .pitch = 65536},
          0xffff'ffff'ff00);
    services.errors.clear();
    cu.launch(program(
        "v_mov_b32 v1, 0x3fff\n v_mov_b32 v2, 0x3fff\n v_mov_b32 v3, 0x1fff\n image_load v4, v[1:4], s[8:15] dmask:1 unorm"));
    cu.run(1000);
    EXPECT_EQ(services.errors, std::vector<unsigned>{2});
    cu.kill_vmid(8);
}

}  // namespace lyra::gcn::test
