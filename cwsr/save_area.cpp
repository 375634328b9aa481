// SPDX-License-Identifier: MIT
// Reads a save area from its bytes alone.
#include "cwsr/save_area.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/hash.h"
#include "cwsr/layout.h"

namespace lyra::cwsr {

namespace {
/// A control stack is never larger than its field in CP_HQD_CNTL_STACK_SIZE allows.
constexpr uint32_t kMaxStackBytes = 0x8000;
}  // namespace

Image read_save_area(const ReadArea& read, uint32_t ring_bytes, Chip chip) {
    Image image;
    uint32_t words[4] = {};
    if (!read(0, words, sizeof words)) {
        image.error = "the header of the save area is not readable";
        return image;
    }
    const ImageHeader header{words[0], words[1], words[2], words[3]};
    std::vector<uint32_t> stack(std::min(header.control_stack_size, kMaxStackBytes) / sizeof(uint32_t));
    if (!stack.empty() && !read(header.control_stack_offset, stack.data(), stack.size() * sizeof(uint32_t))) {
        image.error = fmt::format("the control stack is not readable at {:#x}", header.control_stack_offset);
        return image;
    }
    ImageQueue queue;
    queue.chip = chip;
    queue.ring_bytes = ring_bytes;
    return read_image(header, stack, read, queue);
}

Image read_save_areas(const ReadArea& read, unsigned xccs, uint64_t area_bytes, uint32_t ring_bytes, Chip chip) {
    Image all;
    for (unsigned xcc = 0; xcc < xccs && all.error.empty(); ++xcc) {
        const uint64_t start = xcc * area_bytes;
        const Image image = read_save_area(
            [&](uint64_t offset, void* data, size_t size) {
                return offset <= area_bytes && size <= area_bytes - offset && read(start + offset, data, size);
            },
            ring_bytes, chip);
        const unsigned groups = all.waves.empty() ? 0 : all.waves.back().group + 1;
        for (WaveImage wave : image.waves) {
            wave.record += start;
            wave.group += groups;
            all.waves.push_back(wave);
        }
        if (!image.error.empty()) all.error = xccs > 1 ? fmt::format("area {}: {}", xcc, image.error) : image.error;
    }
    return all;
}

bool read_registers(const WaveImage& wave, const ReadArea& read, WaveRegisters& registers) {
    registers.sgprs.resize(wave.sgprs);
    registers.vgprs.resize(wave.vgprs);
    registers.lds.resize(wave.lds_bytes / sizeof(uint32_t));
    const auto words = [&](ImageRegister first, auto& to, size_t bytes) {
        return bytes == 0 || read(register_address(wave, first).value(), to.data(), bytes);
    };
    // Lanes of a VGPR follow one another, and so do VGPRs with AccVGPRs, SGPRs and dwords of LDS.
    return words(ImageRegister::Vgpr, registers.vgprs, registers.vgprs.size() * sizeof registers.vgprs[0]) &&
           words(ImageRegister::Sgpr, registers.sgprs, registers.sgprs.size() * sizeof registers.sgprs[0]) &&
           words(ImageRegister::Lds, registers.lds, registers.lds.size() * sizeof registers.lds[0]);
}

WaveDigest digest(const WaveImage& wave, const WaveRegisters& registers) {
    WordHash sgprs, vgprs;
    sgprs.add(registers.sgprs.data(), registers.sgprs.size());
    for (const auto& row : registers.vgprs) vgprs.add(row.data(), row.size());
    return {wave.pc, wave.exec, sgprs.value(), vgprs.value()};
}

}  // namespace lyra::cwsr
