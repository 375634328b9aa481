// SPDX-License-Identifier: MIT
// Sampling of images: coordinates, address modes, filters, against the definitions written out for one texel at a time.
#include <cmath>
#include <random>

#include "gcn-interp/exec/image_machine.h"

namespace lyra::gcn::test {
namespace {

/// A coordinate of texel number i under an address mode, by walking; -1 is the border.
int texel_of(int i, int size, unsigned clamp) {
    switch (clamp) {
        case 0:
            while (i < 0) i += size;
            while (i >= size) i -= size;
            return i;
        case 1:
            while (i < 0 || i >= size) i = i < 0 ? -1 - i : 2 * size - 1 - i;
            return i;
        case 3: i = i < 0 ? -1 - i : i; [[fallthrough]];
        case 2: return i < 0 ? 0 : i >= size ? size - 1 : i;
        case 7: i = i < 0 ? -1 - i : i; [[fallthrough]];
        default: return i < 0 || i >= size ? -1 : i;
    }
}

float value_at(int x, int y, int z) { return static_cast<float>(3 + 7 * x + 100 * y * y + 1000 * z); }

}  // namespace

class Sampling : public ImageMachine {
protected:
    static constexpr int kWidth = 5, kHeight = 4, kDepth = 3;

    /// One float per texel, value_at().
    void fill(TestImage description) {
        description.data_format = 4, description.num_format = 7;
        description.width = kWidth, description.height = kHeight;
        image(description);
        for (int z = 0; z < kDepth; ++z)
            for (int y = 0; y < kHeight; ++y)
                for (int x = 0; x < 64; ++x)
                    memory.at<float>(kImage + 4 * static_cast<uint64_t>((z * kHeight + y) * 64 + x)) =
                        x < kWidth ? value_at(x, y, z) : -1e6f;
    }
    std::vector<std::array<float, 4>> coordinates(float low, float high, unsigned seed, bool whole_texels = false) {
        std::mt19937 random(seed);
        std::vector<std::array<float, 4>> out(64);
        for (auto& each : out)
            for (unsigned n = 0; n < 3; ++n) {
                each[n] = std::uniform_real_distribution<float>(low, high)(random);
                const float size = static_cast<float>(n == 0 ? kWidth : n == 1 ? kHeight : kDepth);
                if (whole_texels) each[n] = (std::floor(each[n] * size) + 0.5f) / size;  // the middle of a texel
            }
        return out;
    }
};

TEST_F(Sampling, PointUnderEveryAddressMode) {
    fill({});
    for (const unsigned clamp : {0u, 1u, 2u, 3u, 6u, 7u}) {
        sampler({.clamp = clamp, .border = 2});
        const auto at = coordinates(-2.5f, 3.5f, clamp, true);
        execute_sample("image_sample_lz v12, v[4:5], s[8:15], s[16:19] dmask:1", at);
        unsigned borders = 0;
        for (unsigned lane = 0; lane < 64; ++lane) {
            const int x = texel_of(static_cast<int>(std::floor(at[lane][0] * kWidth)), kWidth, clamp);
            const int y = texel_of(static_cast<int>(std::floor(at[lane][1] * kHeight)), kHeight, clamp);
            borders += x < 0 || y < 0;
            EXPECT_EQ(f(12, lane), x < 0 || y < 0 ? 1.0f : value_at(x, y, 0))
                << clamp << ": " << at[lane][0] << ' ' << at[lane][1];
        }
        EXPECT_EQ(borders > 10, clamp >= 6);
    }
}

TEST_F(Sampling, LinearIsTheWeightedMeanOfFour) {
    fill({});
    for (const unsigned clamp : {0u, 1u, 2u, 3u, 6u, 7u}) {
        sampler({.clamp = clamp, .filter = 1});
        auto at = coordinates(-1.5f, 2.5f, 10 + clamp);
        execute_sample("image_sample v12, v[4:5], s[8:15], s[16:19] dmask:1", at);
        for (unsigned lane = 0; lane < 64; ++lane) {
            // Coordinates of the neighbours in 1/256 texel.
            const int u = static_cast<int>(std::lround(std::floor((double{at[lane][0]} * kWidth - 0.5) * 256 + 0.5)));
            const int w = static_cast<int>(std::lround(std::floor((double{at[lane][1]} * kHeight - 0.5) * 256 + 0.5)));
            const int x0 = u >> 8, y0 = w >> 8, fx = u & 255, fy = w & 255;
            double sum = 0;
            for (int j = 0; j < 2; ++j)
                for (int i = 0; i < 2; ++i) {
                    const int x = texel_of(x0 + i, kWidth, clamp), y = texel_of(y0 + j, kHeight, clamp);
                    sum += (i ? fx : 256 - fx) * (j ? fy : 256 - fy) / 65536.0 * (x < 0 || y < 0 ? 0.0 : value_at(x, y, 0));
                }
            EXPECT_EQ(f(12, lane), static_cast<float>(sum)) << clamp << ": " << at[lane][0] << ' ' << at[lane][1];
        }
    }
}

TEST_F(Sampling, UnnormalizedCoordinatesCountTexels) {
    fill({});
    const std::vector<std::array<float, 4>> at = {{0.0f, 0.0f},    {1.99f, 3.5f}, {4.999f, 0.0f}, {7.0f, -3.0f},
                                                  {NAN, INFINITY}, {2.5f, 1.5f},  {2.999f, 0.0f}};
    const float expected[] = {value_at(0, 0, 0), value_at(1, 3, 0), value_at(4, 0, 0), value_at(4, 0, 0),
                              value_at(0, 3, 0), value_at(2, 1, 0), value_at(2, 0, 0)};
    sampler({.unnormalized = true});
    execute_sample("image_sample_lz v12, v[4:5], s[8:15], s[16:19] dmask:1", at);
    for (unsigned lane = 0; lane < std::size(expected); ++lane) EXPECT_EQ(f(12, lane), expected[lane]) << lane;
    sampler({});
    execute_sample("image_sample_lz v12, v[4:5], s[8:15], s[16:19] dmask:1 unorm", at);
    for (unsigned lane = 0; lane < std::size(expected); ++lane) EXPECT_EQ(f(12, lane), expected[lane]) << lane;
    sampler({.unnormalized = true, .truncate = false});  // 2.999 is 3 in 1/256
    execute_sample("image_sample_lz v12, v[4:5], s[8:15], s[16:19] dmask:1", at);
    EXPECT_EQ(f(12, 6), value_at(3, 0, 0));
}

TEST_F(Sampling, VolumesMixEightTexels) {
    fill({.type = 10, .last_slice = kDepth - 1});
    const std::vector<std::array<float, 4>> at = {{1.75f, 2.25f, 1.5f}, {1.5f, 1.5f, 1.25f}, {0.0f, 0.5f, 9.0f}};
    const auto mean = [](double fx, int x, double fy, int y, double fz, int z) {
        double sum = 0;
        for (int i = 0; i < 8; ++i)
            sum += (i & 1 ? fx : 1 - fx) * (i & 2 ? fy : 1 - fy) * (i & 4 ? fz : 1 - fz) *
                   value_at(x + (i & 1), y + (i >> 1 & 1), z + (i >> 2));
        return static_cast<float>(sum);
    };
    sampler({.filter = 1, .unnormalized = true});
    execute_sample("image_sample_lz v12, v[4:7], s[8:15], s[16:19] dmask:1", at);
    EXPECT_EQ(f(12, 0), mean(0.25, 1, 0.75, 1, 0, 1));
    EXPECT_EQ(f(12, 1), mean(0, 1, 0, 1, 0.75, 0));
    EXPECT_EQ(f(12, 2), value_at(0, 0, 2));
    sampler({.filter = 1, .z_filter = 1, .unnormalized = true});
    execute_sample("image_sample_lz v12, v[4:7], s[8:15], s[16:19] dmask:1", at);
    EXPECT_EQ(f(12, 1), value_at(1, 1, 1));
}

TEST_F(Sampling, LayersAreRoundedAndClamped) {
    fill({.type = 13, .last_slice = kDepth - 1});
    sampler({.unnormalized = true});
    const std::vector<std::array<float, 4>> at = {{1, 2, 0.4f}, {1, 2, 0.6f}, {1, 2, 1.5f}, {1, 2, 9}, {1, 2, -3}, {1, 2, NAN}};
    const int layers[] = {0, 1, 2, 2, 0, 0};
    execute_sample("image_sample_lz v12, v[4:7], s[8:15], s[16:19] dmask:1 da", at);
    for (unsigned lane = 0; lane < std::size(layers); ++lane) EXPECT_EQ(f(12, lane), value_at(1, 2, layers[lane])) << lane;
}

TEST_F(Sampling, LinesAndDerivativesAndLevels) {
    fill({.type = 8});
    sampler({.filter = 1, .unnormalized = true});
    execute_sample("image_sample_lz v12, v4, s[8:15], s[16:19] dmask:1", {{1.25f, 0, 0, 0}});
    EXPECT_EQ(f(12, 0), 0.25f * value_at(0, 0, 0) + 0.75f * value_at(1, 0, 0));
    // Two derivatives before the coordinate.
    execute_sample("image_sample_d v12, v[4:7], s[8:15], s[16:19] dmask:1", {{9, 9, 1.25f, 0}});
    EXPECT_EQ(f(12, 0), 0.25f * value_at(0, 0, 0) + 0.75f * value_at(1, 0, 0));
    // Point when enlarged, linear when made smaller.
    sampler({.min_filter = 1, .unnormalized = true});
    execute_sample("image_sample_l v12, v[4:5], s[8:15], s[16:19] dmask:1", {{1.25f, 0, 0, 0}, {1.25f, 0.5f, 0, 0}});
    EXPECT_EQ(f(12, 0), value_at(1, 0, 0));
    EXPECT_EQ(f(12, 1), 0.25f * value_at(0, 0, 0) + 0.75f * value_at(1, 0, 0));
}

TEST_F(Sampling, FourComponentsAreMixedEachAndIntegersAreTaken) {
    image({.num_format = 0, .width = 2});
    memory.at<uint32_t>(kImage) = 0xff003300;
    memory.at<uint32_t>(kImage + 4) = 0x00ff3300;
    sampler({.filter = 1, .unnormalized = true});
    execute_sample(
        "image_sample_lz v[12:15], v[4:5], s[8:15], s[16:19] dmask:0xf\n"
        "image_sample_lz v[16:17], v[4:5], s[8:15], s[16:19] dmask:0xf d16",
        {{1.0f, 0.5f}});
    const float expected[4] = {0.0f, 0.2f, 0.5f, 0.5f};
    for (unsigned c = 0; c < 4; ++c) EXPECT_EQ(f(12 + c, 5), expected[c]) << c;
    EXPECT_EQ(v(16, 5), 0x32660000u);
    EXPECT_EQ(v(17, 5), 0x38003800u);
    image({.num_format = 5, .width = 2});
    memory.at<uint32_t>(kImage + 4) = 0x01fe03fc;
    sampler({.unnormalized = true});
    execute_sample("image_sample_lz v[12:15], v[4:5], s[8:15], s[16:19] dmask:0xf", {{1.0f, 0.5f}});
    const int integers[4] = {-4, 3, -2, 1};
    for (unsigned c = 0; c < 4; ++c) EXPECT_EQ(static_cast<int>(v(12 + c, 5)), integers[c]) << c;
}

TEST_F(Sampling, GatherGivesTheFourNeighbours) {
    fill({});
    sampler({.unnormalized = true});
    execute_sample("image_gather4_lz v[12:15], v[4:5], s[8:15], s[16:19] dmask:1", {{2.0f, 3.0f}, {0.0f, 0.5f}});
    const float inside[4] = {value_at(1, 3, 0), value_at(2, 3, 0), value_at(2, 2, 0), value_at(1, 2, 0)};
    for (unsigned c = 0; c < 4; ++c) EXPECT_EQ(f(12 + c, 0), inside[c]) << c;
    const float edge[4] = {value_at(0, 1, 0), value_at(0, 1, 0), value_at(0, 0, 0), value_at(0, 0, 0)};
    for (unsigned c = 0; c < 4; ++c) EXPECT_EQ(f(12 + c, 1), edge[c]) << c;
}

TEST_F(Sampling, WhatNeedsGraphicsIsRefused) {
    const std::string lz = "image_sample_lz v12, v[4:5], s[8:15], s[16:19] dmask:1";
    fill({});
    for (const unsigned clamp : {4u, 5u}) {
        sampler({.clamp = clamp});
        expect_refused(lz);
    }
    sampler({.clamp = 6, .border = 3});
    expect_refused(lz);
    sampler({.filter = 2});
    expect_refused(lz);
    sampler({.min_filter = 1});
    expect_refused("image_sample v12, v[4:5], s[8:15], s[16:19] dmask:1");
    image({});
    sampler({.filter = 1});
    expect_refused(lz);
    fill({.type = 10});
    sampler({});
    expect_refused("image_gather4_lz v[12:15], v[4:7], s[8:15], s[16:19] dmask:1");
}

}  // namespace lyra::gcn::test
