// SPDX-License-Identifier: MIT
// Prints the waves of a save area as a debugger shows them.
#include "cwsr/listing.h"

#include <algorithm>

#include <fmt/format.h>

#include "common/hash.h"
#include "cwsr/layout.h"

namespace lyra::cwsr {

namespace {

constexpr unsigned kLanes = 64, kTtmps = 16, kSpecialSgprs = 6, kMostPlainSgprs = 102;
/// A control stack is never larger than its field in CP_HQD_CNTL_STACK_SIZE allows.
constexpr uint32_t kMaxStackBytes = 0x8000;

uint64_t hwreg_offset(const WaveImage& wave) {
    return wave.record + uint64_t{wave.vgprs} * kVgprBytes + uint64_t{wave.sgprs} * kSgprBytes;
}

/// s0, or what the highest of the allocated registers are called.
std::string sgpr_name(const WaveImage& wave, unsigned n) {
    constexpr const char* kNames[kSpecialSgprs] = {"flat_scratch_lo", "flat_scratch_hi", "xnack_mask_lo", "xnack_mask_hi", "vcc_lo", "vcc_hi"};
    const unsigned special = std::min<unsigned>(wave.sgprs, kMostPlainSgprs + kSpecialSgprs) - kSpecialSgprs;
    if (n < special) return fmt::format("s{}", n);
    return n - special < kSpecialSgprs ? kNames[n - special] : fmt::format("(s{})", n);
}

std::string sgpr_lines(const WaveImage& wave, const WaveRegisters& registers) {
    constexpr unsigned kPerLine = 8;
    std::string text;
    for (unsigned n = 0; n < registers.sgprs.size(); n += kPerLine) {
        const unsigned end = std::min<unsigned>(n + kPerLine, static_cast<unsigned>(registers.sgprs.size()));
        text += fmt::format("    {:<16}", sgpr_name(wave, n));
        for (unsigned i = n; i < end; ++i) text += fmt::format(" {:08x}", registers.sgprs[i]);
        text += fmt::format("  {}\n", sgpr_name(wave, end - 1));
    }
    return text;
}

/// "1 2 3 7*61": equal neighbours are counted.
template <class Words>
std::string runs(const Words& words) {
    std::string text;
    for (size_t n = 0, end; n < words.size(); n = end) {
        for (end = n + 1; end < words.size() && words[end] == words[n]; ++end) {}
        text += end - n > 1 ? fmt::format(" {:08x}*{}", words[n], end - n) : fmt::format(" {:08x}", words[n]);
    }
    return text;
}

std::string summary(size_t number, const WaveImage& wave) {
    const bool halted = bit(wave.status, 13);
    std::string text = fmt::format("wave {}: group {} ({},{},{}) wave {}, packet {}, SE{}", number, wave.group, wave.group_id[0],
                                   wave.group_id[1], wave.group_id[2], wave.number, wave.packet, wave.engine);
    if (wave.scratch_en) text += fmt::format(", scratch slot {}", wave.scratch_slot);
    if (wave.lds_bytes) text += fmt::format(", {} bytes of LDS", wave.lds_bytes);
    text += halted ? ", halted\n" : "\n";
    return text + fmt::format("    pc {:#018x}  exec {:#018x}  m0 {:#010x}\n    status {:#010x}  mode {:#010x}  trapsts {:#010x}\n",
                              wave.pc, wave.exec, wave.m0, wave.status, wave.mode, wave.trapsts);
}

}  // namespace

uint64_t sgpr_offset(const WaveImage& wave, unsigned sgpr) {
    return wave.record + uint64_t{wave.vgprs} * kVgprBytes + uint64_t{sgpr} * kSgprBytes;
}

uint64_t vgpr_offset(const WaveImage& wave, unsigned vgpr, unsigned lane) {
    return wave.record + uint64_t{vgpr} * kVgprBytes + lane * sizeof(uint32_t);
}

uint64_t pc_offset(const WaveImage& wave) { return hwreg_offset(wave) + kPcLo; }

Image read_save_area(const ReadArea& read, uint32_t ring_bytes) {
    ImageHeader header;
    Image image;
    uint32_t words[4] = {};
    if (!read(0, words, sizeof words)) {
        image.error = "the header of the save area is not readable";
        return image;
    }
    header.control_stack_offset = words[0];
    header.control_stack_size = words[1];
    header.wave_state_offset = words[2];
    header.wave_state_size = words[3];
    std::vector<uint32_t> stack(std::min(header.control_stack_size, kMaxStackBytes) / sizeof(uint32_t));
    if (!stack.empty() && !read(header.control_stack_offset, stack.data(), stack.size() * sizeof(uint32_t))) {
        image.error = fmt::format("the control stack is not readable at {:#x}", header.control_stack_offset);
        return image;
    }
    ImageQueue queue;
    queue.ring_bytes = ring_bytes;
    return read_image(header, stack, read, queue);
}

bool read_registers(const WaveImage& wave, const ReadArea& read, WaveRegisters& registers) {
    registers.vgprs.resize(wave.vgprs);
    registers.sgprs.resize(wave.sgprs);
    registers.lds.resize(wave.lds_bytes / sizeof(uint32_t));
    const uint64_t hwreg = hwreg_offset(wave);
    const auto words = [&](uint64_t at, uint32_t* data, size_t count) { return count == 0 || read(at, data, count * sizeof(uint32_t)); };
    for (unsigned n = 0; n < wave.vgprs; ++n) {
        if (!words(vgpr_offset(wave, n, 0), registers.vgprs[n].data(), kLanes)) return false;
    }
    return words(sgpr_offset(wave, 0), registers.sgprs.data(), registers.sgprs.size()) &&
           words(hwreg + kTtmp0, registers.ttmps.data(), kTtmps) &&
           words(hwreg + kHwregBytes + kTtmpBytes, registers.lds.data(), registers.lds.size());
}

WaveDigest digest(const WaveImage& wave, const WaveRegisters& registers) {
    WordHash sgprs, vgprs;
    sgprs.add(registers.sgprs.data(), registers.sgprs.size());
    for (const auto& row : registers.vgprs) vgprs.add(row.data(), row.size());
    return {wave.pc, wave.exec, sgprs.value(), vgprs.value()};
}

std::string listing(const Image& image, const ReadArea& read, const ListingOptions& options) {
    std::string text;
    for (size_t n = 0; n < image.waves.size(); ++n) {
        const WaveImage& wave = image.waves[n];
        text += summary(n, wave);
        WaveRegisters registers;
        if (!read_registers(wave, read, registers)) {
            text += "    registers are not readable\n";
            continue;
        }
        if (options.registers) {
            text += sgpr_lines(wave, registers);
            for (size_t v = 0; v < registers.vgprs.size(); ++v) text += fmt::format("    v{:<3}{}\n", v, runs(registers.vgprs[v]));
        }
        if (options.lds && !registers.lds.empty()) text += fmt::format("    lds {}\n", runs(registers.lds));
    }
    if (!image.error.empty()) text += fmt::format("damaged: {}\n", image.error);
    return text;
}

}  // namespace lyra::cwsr
