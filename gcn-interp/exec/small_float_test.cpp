// SPDX-License-Identifier: MIT
// 8-bit floats: every one of them widened, and narrowing next to every place where its result changes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "gcn-interp/exec/small_float.h"

namespace lyra::gcn {
namespace {

/// Value of a number from zero on, by its definition; the one behind the last as if it were one.
template <SmallFloat kFormat>
double number(unsigned n) {
    const unsigned field = n >> kFormat.fraction, digits = n % (1u << kFormat.fraction);
    const double whole = field == 0 ? digits : digits + (1u << kFormat.fraction);
    return std::ldexp(whole, static_cast<int>(field == 0 ? 1 : field) - kFormat.bias - static_cast<int>(kFormat.fraction));
}

template <class T>
class SmallFloats : public testing::Test {};
struct Fp8 {
    static constexpr SmallFloat kFormat = kFp8;
    static constexpr double kLargest = 240, kSmallest = 0x1p-10;
};
struct Bf8 {
    static constexpr SmallFloat kFormat = kBf8;
    static constexpr double kLargest = 57344, kSmallest = 0x1p-17;
};
using Formats = testing::Types<Fp8, Bf8>;
TYPED_TEST_SUITE(SmallFloats, Formats);

TYPED_TEST(SmallFloats, AreWidenedToTheirValues) {
    constexpr SmallFloat kFormat = TypeParam::kFormat;
    EXPECT_EQ(widened<kFormat>(0x7f), TypeParam::kLargest);
    EXPECT_EQ(widened<kFormat>(0x01), TypeParam::kSmallest);
    for (unsigned n = 0; n < 128; ++n) {
        EXPECT_EQ(widened<kFormat>(n | 0xabcd00), number<kFormat>(n)) << n << ": only the lowest byte counts";
        if (n != 0) EXPECT_EQ(widened<kFormat>(n | 0x80), -number<kFormat>(n)) << n;
    }
    EXPECT_FALSE(std::signbit(widened<kFormat>(0)));
    EXPECT_EQ(std::bit_cast<uint32_t>(widened<kFormat>(0x80)), 0x7fc00000u);
}

TYPED_TEST(SmallFloats, AreNarrowedToTheNearest) {
    constexpr SmallFloat kFormat = TypeParam::kFormat;
    for (unsigned n = 0; n < 127; ++n) {
        const auto here = static_cast<float>(number<kFormat>(n)), next = static_cast<float>(number<kFormat>(n + 1));
        const float middle = (here + next) / 2;
        const auto expect = [&](float value, unsigned result) {
            EXPECT_EQ(narrowed<kFormat>(value, nullptr, false), result) << value;
            EXPECT_EQ(narrowed<kFormat>(-value, nullptr, false), result == 0 ? 0 : result | 0x80) << -value;
        };
        expect(here, n);
        expect(std::nextafter(middle, 0.0f), n);
        expect(middle, n + n % 2);
        expect(std::nextafter(middle, next), n + 1);
    }
    EXPECT_EQ(narrowed<kFormat>(std::numeric_limits<float>::denorm_min(), nullptr, false), 0u);
    EXPECT_EQ(narrowed<kFormat>(-0x1p-60f, nullptr, false), 0u) << "no zero with a sign";
}

TYPED_TEST(SmallFloats, TooLargeIsNanOrTheLargest) {
    constexpr SmallFloat kFormat = TypeParam::kFormat;
    const auto bound = static_cast<float>((number<kFormat>(127) + number<kFormat>(128)) / 2);
    EXPECT_EQ(narrowed<kFormat>(std::nextafter(bound, 0.0f), nullptr, false), 0x7fu);
    for (const float value : {bound, 2 * bound, std::numeric_limits<float>::max()}) {
        EXPECT_EQ(narrowed<kFormat>(value, nullptr, false), 0x80u) << value;
        EXPECT_EQ(narrowed<kFormat>(-value, nullptr, false), 0x80u) << value;
        EXPECT_EQ(narrowed<kFormat>(value, nullptr, true), 0x7fu) << value;
        EXPECT_EQ(narrowed<kFormat>(-value, nullptr, true), 0xffu) << value;
    }
    for (const bool saturate : {false, true})
        for (const float value : {INFINITY, -INFINITY, NAN, -NAN})
            EXPECT_EQ(narrowed<kFormat>(value, nullptr, saturate), 0x80u);
}

/// Of all random numbers as many round up as the value is above the lower neighbour.
TYPED_TEST(SmallFloats, AreNarrowedAtRandom) {
    constexpr SmallFloat kFormat = TypeParam::kFormat;
    constexpr unsigned kBits = 23 - kFormat.fraction, kAll = 1u << kBits, kStep = 1u << 9;
    for (const unsigned n : {0u, 3u, 8u, 77u, 126u}) {
        const double here = number<kFormat>(n), step = number<kFormat>(n + 1) - here;
        for (const unsigned part : {0u, 1u, 5u, 16u, 31u}) {
            const auto value = static_cast<float>(here + step * part / 32);
            unsigned up = 0;
            for (uint32_t random = 0; random < kAll; random += kStep) {
                const uint32_t result = narrowed<kFormat>(value, &random, false);
                ASSERT_TRUE(result == n || result == n + 1) << value;
                up += result == n + 1;
            }
            EXPECT_EQ(up, kAll / kStep / 32 * part) << value;
        }
    }
    const uint32_t most = kAll - 1;
    EXPECT_EQ(narrowed<kFormat>(static_cast<float>(TypeParam::kLargest), &most, false), 0x7fu) << "exact: nothing to round";
    EXPECT_EQ(narrowed<kFormat>(std::nextafter(static_cast<float>(TypeParam::kLargest), INFINITY), &most, false), 0x80u);
}

}  // namespace
}  // namespace lyra::gcn
