// SPDX-License-Identifier: MIT
// Reads a saved image the way a debugger does, and says what is wrong with it.
#include "cwsr/image.h"

#include <fmt/format.h>

#include "cwsr/layout.h"

namespace lyra::cwsr {

namespace {

struct Reader {
    const ImageHeader& header;
    const ReadArea& read;
    uint64_t ring_bytes;
    Image image;
    uint64_t at = 0;  ///< start of the record last read

    bool wrong(std::string text) {
        if (image.error.empty()) image.error = std::move(text);
        return false;
    }
    uint32_t word(uint64_t offset) {
        uint32_t value = 0;
        if (!read(offset, &value, sizeof value)) wrong(fmt::format("save area is not readable at {:#x}", offset));
        return value;
    }
    bool take_wave(uint32_t word, uint32_t state);
    bool take_words(std::span<const uint32_t> stack);
    bool check_groups();
    bool check_group(size_t first, size_t last);
    std::vector<std::pair<bool, bool>> marks;  ///< first, last of each wave
};

bool Reader::take_wave(uint32_t word_of_wave, uint32_t state) {
    WaveImage wave;
    wave.vgprs = (bits(state, 0, 6) + 1) * 4;
    wave.sgprs = (bits(state, 6, 3) + 1) * 16 - 16;  // the block of TTMPs is not among them
    wave.lds_bytes = bit(word_of_wave, 17) ? bits(state, 9, 9) * 512 : 0;
    wave.engine = bits(word_of_wave, 11, 2);
    wave.scratch_slot = bits(word_of_wave, 0, 9);
    wave.scratch_en = bit(word_of_wave, 15);
    const uint64_t registers = wave.vgprs * 256ull + wave.sgprs * 4ull;
    const uint64_t size = registers + 128 + wave.lds_bytes + 64;
    if (size > at) return wrong("records reach below the save area");
    at -= size;
    wave.record = at;
    const uint64_t hwreg = at + registers;
    wave.m0 = word(hwreg);
    wave.pc = make64(word(hwreg + 4), word(hwreg + 8) & 0xffff);
    wave.exec = make64(word(hwreg + 0xc), word(hwreg + 0x10));
    wave.status = word(hwreg + 0x14);
    wave.trapsts = word(hwreg + 0x18);
    wave.mode = word(hwreg + 0x24);
    wave.debugger_id = make64(word(hwreg + 0x50), word(hwreg + 0x54));
    wave.packet = word(hwreg + 0x58) & 0x1ffffff;
    for (unsigned d = 0; d < 3; ++d) wave.group_id[d] = word(hwreg + 0x60 + 4 * d);
    wave.number = word(hwreg + 0x6c) & 0x3f;
    marks.emplace_back(bit(word_of_wave, 17), bit(word_of_wave, 16));
    image.waves.push_back(wave);
    return image.error.empty();
}

bool Reader::take_words(std::span<const uint32_t> stack) {
    if (stack.size() * 4 != header.control_stack_size) return wrong("control stack size differs from the header's");
    if (header.control_stack_size % 4 != 0) return wrong("control stack is not made of words");
    const uint64_t begin = uint64_t{header.wave_state_offset} - header.wave_state_size;
    if (header.wave_state_size > header.wave_state_offset ||
        uint64_t{header.control_stack_offset} + header.control_stack_size != begin) {
        return wrong("control stack and wave records are not adjacent");
    }
    if (header.control_stack_size != 0 && header.control_stack_offset < kAreaHeaderBytes) return wrong("control stack over the header");
    at = header.wave_state_offset;
    bool has_state = false;
    uint32_t state = 0;
    for (size_t i = kHeaderWords; i < stack.size(); ++i) {
        const uint32_t entry = stack[i];
        if (bit(entry, 31)) {
            state = entry;
            has_state = true;
        } else if (!bit(entry, 30)) {
            if (!has_state) return wrong("a wave before any state");
            if (!take_wave(entry, state)) return false;
        }
    }
    if (at != begin) return wrong(fmt::format("records end at {:#x}, the wave area begins at {:#x}", at, begin));
    return true;
}

bool Reader::check_group(size_t first, size_t last) {
    for (size_t n = first; n <= last; ++n) {
        const WaveImage& wave = image.waves[n];
        if (wave.group_id != image.waves[first].group_id) return wrong(fmt::format("wave {}: another group id than its leader", n));
        if (wave.packet != image.waves[first].packet) return wrong(fmt::format("wave {}: another packet than its leader", n));
        if (n > first && wave.number <= image.waves[n - 1].number) return wrong(fmt::format("wave {}: out of order", n));
    }
    return true;
}

bool Reader::check_groups() {
    unsigned group = 0;
    size_t leader = 0;
    for (size_t n = 0; n < image.waves.size(); ++n) {
        const bool begins = n == 0 || marks[n - 1].second;
        if (marks[n].first != begins) return wrong(fmt::format("wave {}: first and last marks do not match", n));
        if (begins) leader = n;
        WaveImage& wave = image.waves[n];
        wave.group = group;
        if (wave.pc % 4 != 0) return wrong(fmt::format("wave {}: PC {:#x}", n, wave.pc));
        if (bit(wave.trapsts, 10)) return wrong(fmt::format("wave {}: SAVECTX is still set", n));
        if (ring_bytes != 0 && uint64_t{wave.packet} * 64 >= ring_bytes) return wrong(fmt::format("wave {}: no such packet", n));
        if (marks[n].second) {
            if (!check_group(leader, n)) return false;
            ++group;
        }
    }
    if (!marks.empty() && !marks.back().second) return wrong("the last group has no last wave");
    return true;
}

}  // namespace

Image read_image(const ImageHeader& header, std::span<const uint32_t> stack, const ReadArea& read, uint64_t ring_bytes) {
    Reader reader{header, read, ring_bytes, {}, 0, {}};
    if (reader.take_words(stack)) reader.check_groups();
    return std::move(reader.image);
}

}  // namespace lyra::cwsr
