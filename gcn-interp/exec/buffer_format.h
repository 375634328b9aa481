// SPDX-License-Identifier: MIT
// Data formats of buffers: memory elements to registers and back.
#pragma once

#include <cstdint>

namespace lyra::gcn {

/// How elements lie in memory. @source AMD Vega ISA document, "Data formats"; Linux 6.12 soc15 BUF_DATA_FORMAT_*
struct BufferFormat {
    uint8_t components = 0;   ///< 0: not a format
    uint8_t bits[4] = {};     ///< of each component, the first one in the lowest bits
    uint8_t num_format = 0;   ///< 0 unorm, 1 snorm, 2 uscaled, 3 sscaled, 4 uint, 5 sint, 7 float

    unsigned bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
    bool integer() const { return num_format == 4 || num_format == 5; }
};

BufferFormat buffer_format(unsigned data_format, unsigned num_format);

/// Element to four 32-bit registers (floats, or integers of integer formats). Missing components are 0, 0, 0, 1.
void unpack_element(const BufferFormat& format, const uint8_t* element, uint32_t out[4]);
/// Four registers to an element of format.bytes().
void pack_element(const BufferFormat& format, const uint32_t in[4], uint8_t* element);

/// Component as a descriptor's DST_SEL asks: 0, 1, or one of X Y Z W.
uint32_t selected_component(uint32_t select, const BufferFormat& format, const uint32_t element[4]);

/// A component to 16 bits of a register, and back.
uint32_t narrow_component(const BufferFormat& format, uint32_t value);
uint32_t widen_component(const BufferFormat& format, uint32_t half);
inline void put_half(uint32_t& word, bool high, uint32_t half) {
    word = high ? (word & 0xffff) | half << 16 : (word & 0xffff0000) | half;
}

/// IEEE half precision, round to nearest even.
uint16_t to_half(float value);
float from_half(uint16_t value);

}  // namespace lyra::gcn
