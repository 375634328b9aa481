// SPDX-License-Identifier: MIT
// Elements of typed buffers: every pair of data and number format has a defined result, reserved ones too.
#include "gcn-interp/exec/buffer_format.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lyra::gcn {
namespace {

TEST(BufferFormat, EveryPairOfFormatsIsDefined) {
    for (unsigned data = 0; data < 16; ++data) {
        for (unsigned number = 0; number < 8; ++number) {
            const BufferFormat format = buffer_format(data, number);
            for (const int fill : {0x00, 0x55, 0x80, 0xff}) {
                uint8_t element[16], back[16] = {};
                std::memset(element, fill, sizeof element);
                uint32_t values[4];
                unpack_element(format, element, values);
                pack_element(format, values, back);
                const bool exact = number == 2 || number == 4 || number == 5;  // USCALED, UINT, SINT
                const bool fits = data != 0 && data != 15 && (number != 2 || format.bits[0] <= 16);
                if (exact && fits)
                    EXPECT_EQ(std::memcmp(element, back, format.bytes()), 0) << data << " " << number << " " << fill;
            }
        }
    }
}

/// 10_10_10_2 as a float: three small floats, and two bits that cannot be one.
TEST(BufferFormat, ATwoBitComponentIsNoFloat) {
    const BufferFormat format = buffer_format(9, 7);
    const uint8_t element[4] = {0xff, 0xff, 0xff, 0xff};
    uint32_t values[4] = {1, 1, 1, 1};
    unpack_element(format, element, values);
    EXPECT_EQ(values[3], 0u);
    uint8_t back[4] = {};
    const uint32_t ones[4] = {0x3f800000, 0x3f800000, 0x3f800000, 0x3f800000};
    pack_element(format, ones, back);
    EXPECT_EQ(back[3] >> 6, 0) << "and stores nothing";
    EXPECT_NE(back[3], 0);
}

}  // namespace
}  // namespace lyra::gcn
