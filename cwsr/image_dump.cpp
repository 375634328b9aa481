// SPDX-License-Identifier: MIT
// A saved image as text: waves with their registers and LDS, for people.
#include <fmt/format.h>

#include "common/bits.h"
#include "cwsr/image.h"

namespace lyra::cwsr {

namespace {

const char* stop_name(WaveStop stop) {
    switch (stop) {
        case WaveStop::Runs: return "runs";
        case WaveStop::Halted: return "halted";
        case WaveStop::HaltedAtLaunch: return "halted at launch";
        case WaveStop::Parked: return "parked";
    }
    return "";
}

class Dump {
public:
    explicit Dump(const ReadArea& read) : read_(read) {}

    void wave(size_t n, const WaveImage& w) {
        line("wave {}: group {} ({},{},{}) number {} packet {} {} engine {}{}", n, w.group, w.group_id[0], w.group_id[1],
             w.group_id[2], w.number, w.packet_id ? *w.packet_id : w.packet, stop_name(w.stop), w.engine,
             w.debugger_id != 0 ? fmt::format(" id {}", w.debugger_id) : std::string());
        line("  pc {:#x} exec {:#018x} status {:#010x} trapsts {:#010x} mode {:#010x} m0 {:#010x}", w.user_pc, w.exec, w.status,
             w.trapsts, w.mode, w.m0);
        const auto pair = [&](ImageRegister name) { return make64(word(w, name, 0), word(w, name, 1)); };
        line("  vcc {:#018x} flat_scratch {:#x} xnack_mask {:#x} vgprs {}{} sgprs {} lds {}", pair(ImageRegister::Vcc),
             pair(ImageRegister::FlatScratch), w.xnack_mask, w.acc_first != 0 ? w.acc_first : w.vgprs,
             w.acc_first != 0 ? fmt::format(" accvgprs {}", w.vgprs - w.acc_first) : std::string(), w.sgprs, w.lds_bytes);
        if (w.scratch_en) line("  scratch slot {} at {:#x}, {} bytes", w.scratch_slot, w.scratch_address, w.scratch_bytes);
    }
    void registers(const WaveImage& w) {
        row("  s", w, ImageRegister::Sgpr, w.sgprs, 8);
        rows('v', w, ImageRegister::Vgpr);
        rows('a', w, ImageRegister::AccVgpr);
    }
    void lds(const WaveImage& w) {
        if (w.lds_bytes == 0) return;
        text_ += "  lds  ";
        words(register_address(w, ImageRegister::Lds).value(), w.lds_bytes / 4);
    }
    std::string take() { return std::move(text_); }

private:
    template <class... Args>
    void line(fmt::format_string<Args...> format, Args&&... args) {
        text_ += fmt::format(format, std::forward<Args>(args)...);
        text_ += '\n';
    }
    uint32_t word_at(uint64_t address) {
        uint32_t value = 0;
        if (!read_(address, &value, sizeof value)) value = 0;
        return value;
    }
    uint32_t word(const WaveImage& w, ImageRegister name, unsigned number) {
        const auto address = register_address(w, name, number);
        return address ? word_at(*address) : 0;
    }
    void rows(char name, const WaveImage& w, ImageRegister kind) {
        for (unsigned n = 0; const auto address = register_address(w, kind, n); ++n) {
            text_ += fmt::format("  {}{:<4}", name, n);
            words(*address, 64);
        }
    }
    /// Registers by number, several to a line.
    void row(const char* name, const WaveImage& w, ImageRegister kind, unsigned count, unsigned per_line) {
        for (unsigned n = 0; n < count; ++n) {
            if (!register_address(w, kind, n)) break;
            if (n % per_line == 0) text_ += fmt::format("{}{:<4}", name, n);
            text_ += fmt::format(" {:08x}", word(w, kind, n));
            const bool ends = n % per_line == per_line - 1 || n + 1 == count || !register_address(w, kind, n + 1);
            if (ends) text_ += '\n';
        }
    }
    /// On one line; equal neighbours are counted: "00000001 00000007*63".
    void words(uint64_t address, unsigned count) {
        for (unsigned n = 0, end; n < count; n = end) {
            const uint32_t value = word_at(address + 4 * n);
            for (end = n + 1; end < count && word_at(address + 4 * end) == value; ++end) {}
            text_ += end - n > 1 ? fmt::format(" {:08x}*{}", value, end - n) : fmt::format(" {:08x}", value);
        }
        text_ += '\n';
    }
    const ReadArea& read_;
    std::string text_;
};

}  // namespace

std::string dump_image(const Image& image, const ReadArea& read, const DumpOptions& options) {
    Dump dump(read);
    for (size_t n = 0; n < image.waves.size(); ++n) {
        const WaveImage& wave = image.waves[n];
        dump.wave(n, wave);
        if (options.registers) dump.registers(wave);
        if (options.lds) dump.lds(wave);
    }
    return dump.take();
}

}  // namespace lyra::cwsr
