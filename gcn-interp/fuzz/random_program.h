// SPDX-License-Identifier: MIT
// Fuzzing only: instructions from bytes, most of them such that they decode.
#pragma once

#include <cstdint>
#include <vector>

#include "gcn-interp/isa/fields.h"

namespace lyra::gcn::fuzz {

/// The fuzzer's bytes; when they are used up, pseudo-random ones that follow from them.
class Bytes {
public:
    Bytes(const uint8_t* data, std::size_t size) : data_(data), size_(size) {}
    uint8_t u8() {
        const uint8_t given = at_ < size_ ? data_[at_] : 0;
        state_ = state_ * 6364136223846793005u + 1442695040888963407u + given;
        return at_++ < size_ ? given : static_cast<uint8_t>(state_ >> 56);
    }
    uint32_t u32() { return u8() | u8() << 8 | u8() << 16 | static_cast<uint32_t>(u8()) << 24; }
    uint64_t u64() { return make64(u32(), u32()); }
    unsigned below(unsigned n) { return (u8() | u8() << 8u) % n; }
    bool one_in(unsigned n) { return u8() % n == 0; }

private:
    const uint8_t* data_;
    std::size_t size_, at_ = 0;
    uint64_t state_ = 1;
};

inline const FormatInfo& encoding_of(Format format) {
    for (const FormatInfo& row : kFormats)
        if (row.format == format) return row;
    return kFormats[0];
}

/// Opcode of a row in another of its encodings (VOP3 forms).
inline unsigned opcode_in(const InstInfo& row, Format format) {
    if (format != Format::VOP3 || row.format == Format::VOP3) return row.opcode;
    const unsigned base = row.format == Format::VOPC   ? kVop3OfVopc
                          : row.format == Format::VOP2 ? kVop3OfVop2
                          : row.format == Format::VOP1 ? kVop3OfVop1
                                                       : kVop3OfVintrp;
    return base + row.opcode;
}

/// Words of a row in some encoding, other bits from the bytes. Registers are often low ones, so that instructions meet.
inline void try_words(Bytes& bytes, const InstInfo& row, uint32_t (&words)[3]) {
    const bool short_vector = row.format == Format::VOP1 || row.format == Format::VOP2 || row.format == Format::VOPC;
    const unsigned way = bytes.below(6);
    const Format format = short_vector && way < 2 ? Format::VOP3 : row.format;
    const FormatInfo& encoding = encoding_of(format);
    const uint32_t op_field = encoding.op_bits ? ((1u << encoding.op_bits) - 1) << encoding.op_low : 0;
    for (uint32_t& word : words) word = bytes.u32();
    if (bytes.one_in(2)) words[0] &= bytes.u32();
    if (bytes.one_in(2)) words[1] &= 0x0f0f0f0f;
    if (bytes.one_in(2)) words[1] |= 0x01000100;  // sources that are VGPRs
    words[0] = (words[0] & ~op_field) | ((opcode_in(row, format) << encoding.op_low) & op_field);
    words[0] = (words[0] & ~encoding.mask) | encoding.match | (encoding.match & op_field);
    if (short_vector && format == row.format && way >= 4) {
        words[0] = (words[0] & ~0x1ffu) | (way == 4 ? kSrcSdwa : kSrcDpp);
        if (way == 4) words[1] = (words[1] & 0x3f3f00ff) | 0x00000600 | (bytes.one_in(2) ? 0x06060000 : 0x01040000);
        if (way == 5) {
            words[1] &= ~0xf0u;  // a low register
            if (bytes.one_in(2)) words[1] = (words[1] & ~0x1ff00u) | (0x100u + bytes.below(0x44)) << 8;
            if (bytes.one_in(2)) words[1] |= 0xff000000;  // all rows and banks
        }
    }
    switch (format) {
        case Format::FLAT:
            if (bytes.one_in(2)) words[1] |= kSaddrOff << 16;
            if (bytes.one_in(2)) words[0] &= ~0x3000u;
            break;
        case Format::VOP3:
            if (bytes.one_in(2)) words[1] &= ~(0x1ffu << 18);
            if (bytes.one_in(2)) words[0] &= ~0x7f00u;
            break;
        case Format::DS:
            if (bytes.one_in(2)) words[0] &= ~0x1ff00u;  // no GDS, short offsets
            break;
        case Format::SOPP:
        case Format::SOPK:
            if (bytes.one_in(4)) break;
            words[0] = (words[0] & ~0xffffu) | (static_cast<uint32_t>(static_cast<int8_t>(bytes.u8() % 32 - 12)) & 0xffff);
            break;
        case Format::MUBUF:
        case Format::MTBUF:
            if (bytes.one_in(2)) words[1] &= ~0x800000u;
            break;
        case Format::MIMG:
            if (bytes.one_in(2)) words[1] &= ~0x83e00000u;
            words[0] &= ~1u;
            break;
        default: break;
    }
}

/// One instruction: of a random row, or any words at all.
inline void add_instruction(Bytes& bytes, Chip chip, std::vector<uint32_t>& code) {
    uint32_t words[3];
    if (bytes.one_in(16)) {
        code.push_back(bytes.u32());
        return;
    }
    const InstInfo& row = kInstInfo[1 + bytes.below(kOpCount - 1)];
    for (unsigned tries = 0; tries < 8; ++tries) {
        try_words(bytes, row, words);
        const Inst inst = decode(words, 3, chip);
        if (inst.format == Format::Invalid) continue;
        code.insert(code.end(), words, words + inst.size_bytes / 4);
        return;
    }
}

}  // namespace lyra::gcn::fuzz
