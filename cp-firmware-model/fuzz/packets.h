// SPDX-License-Identifier: MIT
// Whole packets out of a fuzzer's input, by the rows of their tables: the input chooses the row and what is in the fields, so
// that few of its bytes reach far into the packet's work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "cp-firmware-model/fuzz/input.h"
#include "cp-firmware-model/packets/pm4.h"
#include "cp-firmware-model/packets/sdma.h"

namespace lyra::fuzz {

using Dwords = std::vector<uint32_t>;

/// A value for a field of 64 bits near one of the places, of others mostly a small number.
inline uint64_t field_value(Input& in, unsigned width, std::span<const uint64_t> places) {
    constexpr unsigned kSmall = 12;
    if (width == 64) return places[in.below(static_cast<uint32_t>(places.size()))] + in.take<uint8_t>() * uint64_t{4};
    const uint8_t first = in.take<uint8_t>();
    return width < kSmall || first % 4 != 0 ? first : in.take<uint32_t>();
}

template <class Field>
void put_field(Dwords& words, size_t dword, const Field& field, uint64_t value) {
    if (field.width == 64) {
        words[dword] = lo32(value);
        words[dword + 1] = hi32(value);
    } else {
        const uint32_t mask = static_cast<uint32_t>(((uint64_t{1} << field.width) - 1) << field.low);
        words[dword] = (words[dword] & ~mask) | (static_cast<uint32_t>(value) << field.low & mask);
    }
}

/// @param places  addresses that its fields should name
inline Dwords pm4_packet(Input& in, pm4::Sender sender, std::span<const uint64_t> places) {
    const pm4::PacketInfo& row = pm4::kPackets[in.below(std::size(pm4::kPackets))];
    constexpr uint32_t kMore = 8;  // beyond the shortest
    const uint32_t shortest = std::max<uint32_t>(row.min_body, 1);
    const uint32_t body = shortest + in.below(std::min<uint32_t>(row.max_body - shortest, kMore) + 1);
    Dwords words(body + 1);
    for (uint32_t& word : words) word = in.take<uint8_t>();
    words[0] = pm4::header(static_cast<pm4::Opcode>(row.opcode), body);
    pm4::each_field(row, sender, [&](const pm4::Field& field) {
        if (field.dword + (field.width == 64 ? 2u : 1u) > body) return;
        put_field(words, field.dword + 1u, field, field_value(in, field.width, places));
    });
    if (pm4::frame(words[0], static_cast<pm4::Sender>(row.senders), words.size()).fault != Fault::None) __builtin_trap();
    return words;
}

inline Dwords sdma_packet(Input& in, std::span<const uint64_t> places) {
    const sdma::Packet& row = sdma::kPackets[in.below(std::size(sdma::kPackets))];
    Dwords words(row.dwords);
    words[0] = sdma::header(row);
    sdma::each_field(row, [&](const sdma::Field& field) {
        if (std::string_view(field.name) == "broadcast") return;  // chooses the row
        const bool of_tail = row.tail != sdma::Tail::None && std::string_view(field.name) == "count";
        put_field(words, field.dword, field, of_tail ? in.take<uint8_t>() % 16u : field_value(in, field.width, places));
    });
    sdma::Words fixed{};
    std::copy(words.begin(), words.end(), fixed.begin());
    for (uint32_t n = sdma::tail_dwords(row, fixed); n != 0; --n) words.push_back(in.take<uint8_t>());
    const Frame<sdma::Packet> frame = sdma::frame(fixed, words.size());
    if (frame.row != &row || frame.dwords != words.size() || !frame.whole()) __builtin_trap();
    return words;
}

/// Packets until there are so many dwords, or the input ends. @param next  makes one
template <class Next>
Dwords packets(Input& in, size_t dwords, Next next) {
    Dwords words;
    while (words.size() < dwords && !in.empty()) {
        const Dwords more = next();
        words.insert(words.end(), more.begin(), more.end());
    }
    words.resize(std::min(words.size(), dwords));
    return words;
}

}  // namespace lyra::fuzz
