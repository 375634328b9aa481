// SPDX-License-Identifier: MIT
// Interpolation of parameters in LDS, and the screen partition.
#include <bit>
#include <cmath>

#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {
namespace {

class Graphics : public Machine {
protected:
    static constexpr unsigned kBase = 0x80, kPrimitives = 3;
    /// Quads 1 and 9 begin primitives 1 and 2; each dword of LDS is its own number as a float; v1 is the lane as a float.
    void run_with_parameters(const std::string& text) {
        WorkgroupLaunch launch = simple(R"(
            s_mov_b32 m0, 0x01010080
            v_lshlrev_b32 v7, 2, v0
            v_cvt_f32_u32 v1, v0
            v_add_f32 v8, 0x42800000, v1
            ds_write_b32 v7, v1
            ds_write_b32 v7, v8 offset:256
            v_add_f32 v8, 0x42800000, v8
            ds_write_b32 v7, v8 offset:512
            )" + text);
        launch.lds_bytes = 1024;
        run(launch);
    }
    static float parameter(unsigned attribute, unsigned channel, unsigned which, unsigned lane) {
        const unsigned primitive = lane / 4 >= 9 ? 2 : lane / 4 >= 1 ? 1 : 0;
        return static_cast<float>(kBase / 4 + (attribute * kPrimitives + primitive) * 12 + which * 4 + channel);
    }
    float f(unsigned n, unsigned lane) const { return std::bit_cast<float>(v(n, lane)); }
    static float high_half(float value) {
        const uint32_t bits = std::bit_cast<uint32_t>(value) >> 16;
        return std::ldexp(static_cast<float>(1024 + (bits & 1023)), static_cast<int>(bits >> 10 & 31) - 25);
    }
};

TEST_F(Graphics, InterpolatesFloats) {
    for (const char* form : {"_e32", "_e64"}) {
        const std::string e(form);
        run_with_parameters("v_interp_p1_f32" + e + " v2, v1, attr1.y\n v_mov_b32 v3, v2\n v_interp_p2_f32" + e +
                            " v3, v1, attr1.y\n"
                            "v_interp_mov_f32" +
                            e + " v4, p10, attr2.w\n v_interp_mov_f32" + e +
                            " v5, p20, attr0.x\n"
                            "v_interp_mov_f32" +
                            e + " v6, p0, attr0.x");
        for (const unsigned lane : {0u, 3u, 4u, 35u, 36u, 63u}) {
            const float at = static_cast<float>(lane);
            const float first = parameter(1, 1, 1, lane) * at + parameter(1, 1, 0, lane);
            EXPECT_EQ(f(2, lane), first) << lane;
            EXPECT_EQ(f(3, lane), parameter(1, 1, 2, lane) * at + first) << lane;
            EXPECT_EQ(f(4, lane), parameter(2, 3, 1, lane)) << lane;
            EXPECT_EQ(f(5, lane), parameter(0, 0, 2, lane)) << lane;
            EXPECT_EQ(f(6, lane), parameter(0, 0, 0, lane)) << lane;
        }
    }
}

TEST_F(Graphics, InterpolatesHalves) {
    run_with_parameters(R"(
        v_mov_b32 v10, 0x3c000000
        v_mov_b32 v11, -1
        v_mov_b32 v12, -1
        v_mov_b32 v13, 0.5
        v_interp_p1ll_f16 v2, v1, attr1.x high
        v_interp_p1lv_f16 v3, v1, attr1.x, v10 high
        v_interp_p2_f16 v11, v1, attr1.x, v13 high
        v_interp_p2_legacy_f16 v12, v1, attr1.x, -v13 high
        v_interp_p1_f32_e64 v4, -v1, attr0.x mul:2
        v_interp_p1_f32_e64 v5, v1, attr0.x clamp)");
    for (const unsigned lane : {0u, 1u, 5u, 40u}) {
        const float at = static_cast<float>(lane);
        const float p0 = high_half(parameter(1, 0, 0, lane)), p10 = high_half(parameter(1, 0, 1, lane)),
                    p20 = high_half(parameter(1, 0, 2, lane));
        EXPECT_EQ(f(2, lane), p10 * at + p0) << lane;
        EXPECT_EQ(f(3, lane), p10 * at + 1) << lane;
        EXPECT_EQ(v(11, lane) >> 16, 0xffffu) << lane;
        EXPECT_EQ(v(12, lane) >> 16, 0u) << lane;
        const auto half = [](uint32_t bits) {
            const float size =
                bits & 0x7c00 ? std::ldexp(static_cast<float>(1024 + (bits & 1023)), static_cast<int>(bits >> 10 & 31) - 25)
                              : std::ldexp(static_cast<float>(bits & 1023), -24);
            return bits & 0x8000 ? -size : size;
        };
        EXPECT_NEAR(half(v(11, lane) & 0xffff), p20 * at + 0.5f, 0.001f * (p20 * at + 1)) << lane;
        EXPECT_NEAR(half(v(12, lane) & 0xffff), p20 * at - 0.5f, 0.001f * (p20 * at + 1)) << lane;
        EXPECT_EQ(f(4, lane), 2 * (parameter(0, 0, 1, lane) * -at + parameter(0, 0, 0, lane))) << lane;
        EXPECT_EQ(f(5, lane), 1) << lane;
    }
}

/// Engine of a pixel: {x[5] ^ y[6], y[5] ^ x[6]}. @source AMD Vega ISA document, V_SCREEN_PARTITION_4SE_B32
TEST_F(Graphics, ScreenPartitionCoversTheRectangle) {
    for (unsigned first = 0; first < 256; first += 64) {
        run("v_add_u32 v1, " + std::to_string(first) + ", v0\n v_screen_partition_4se_b32 v2, v1");
        for (unsigned lane = 0; lane < 64; ++lane) {
            const unsigned select = first + lane;
            const unsigned x_min = (select >> 6 & 3) * 32, y_min = (select >> 4 & 3) * 32;
            unsigned x_max = (select >> 2 & 3) * 32, y_max = (select & 3) * 32, covered = 0;
            if (x_max < x_min) x_max += 128;
            if (y_max < y_min) y_max += 128;
            for (unsigned x = x_min; x <= x_max; x += 16) {
                for (unsigned y = y_min; y <= y_max; y += 16) {
                    const unsigned high = (x >> 5 & 1) ^ (y >> 6 & 1), low = (y >> 5 & 1) ^ (x >> 6 & 1);
                    covered |= 1u << (2 * high + low);
                }
            }
            EXPECT_EQ(v(2, lane), covered) << select;
        }
    }
}

}  // namespace
}  // namespace lyra::gcn::test
