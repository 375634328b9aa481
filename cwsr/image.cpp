// SPDX-License-Identifier: MIT
// Reads a saved image the way a debugger does, and says what is wrong with it.
#include "cwsr/image.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "cwsr/layout.h"

namespace lyra::cwsr {

namespace {

/// Bits of STATUS, TRAPSTS and TTMPs, apart from the wave's own definitions.
constexpr unsigned kStatusPriv = 5, kStatusTrapEn = 6, kStatusHalt = 13, kStatusValid = 16, kTrapstsSavectx = 10;
constexpr unsigned kTtmp6Parked = 30, kTtmp11SetUp = 31;
constexpr uint32_t kEndOfProgram = 0xbf81;  ///< upper half of s_endpgm

struct Reader {
    const ImageHeader& header;
    const ReadArea& read;
    const ImageQueue& queue;
    Image image;
    uint64_t at = 0;  ///< start of the record last read

    bool wrong(std::string text) {
        if (image.error.empty()) image.error = std::move(text);
        return false;
    }
    bool wrong(size_t wave, std::string_view text) { return wrong(fmt::format("wave {}: {}", wave, text)); }
    uint32_t word(uint64_t offset) {
        uint32_t value = 0;
        if (!read(offset, &value, sizeof value)) wrong(fmt::format("save area is not readable at {:#x}", offset));
        return value;
    }
    bool check_header(size_t stack_words);
    bool take_words(std::span<const uint32_t> stack);
    bool take_wave(uint32_t word, uint32_t state);
    void take_registers(WaveImage& wave);
    void take_stop(WaveImage& wave);
    bool check_groups();
    bool check_group(size_t first, size_t last);
    bool check_wave(size_t n);
    bool check_packet(size_t n);
    bool check_scratch(size_t n);
    std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint32_t>> group_names;
    std::set<std::pair<unsigned, unsigned>> scratch_slots;
    std::set<uint64_t> debugger_ids;
};

bool Reader::check_header(size_t stack_words) {
    if (stack_words * 4 != header.control_stack_size) return wrong("control stack size differs from the header's");
    if (header.wave_state_size > header.wave_state_offset) return wrong("more wave records than the save area holds");
    const uint64_t begin = uint64_t{header.wave_state_offset} - header.wave_state_size;
    if (uint64_t{header.control_stack_offset} + header.control_stack_size != begin) {
        return wrong("control stack and wave records are not adjacent");
    }
    if (stack_words == 0) return header.wave_state_size == 0 || wrong("wave records without a control stack");
    if (header.control_stack_offset < kAreaHeaderBytes) return wrong("control stack over the header");
    return stack_words > kHeaderWords || wrong("control stack without any wave");
}

/// A debugger looks at the event bit before the state bit, and takes every other word for a wave.
bool Reader::take_words(std::span<const uint32_t> stack) {
    if (!check_header(stack.size())) return false;
    const uint64_t begin = uint64_t{header.wave_state_offset} - header.wave_state_size;
    at = header.wave_state_offset;
    std::optional<uint32_t> state;
    for (size_t i = kHeaderWords; i < stack.size(); ++i) {
        const uint32_t entry = stack[i];
        if (bit(entry, 30)) continue;
        if (bit(entry, 31)) {
            state = entry;
            continue;
        }
        if (!state) return wrong("a wave before any state");
        if (!take_wave(entry, *state)) return false;
    }
    if (at != begin) return wrong(fmt::format("records end at {:#x}, the wave area begins at {:#x}", at, begin));
    return true;
}

bool Reader::take_wave(uint32_t word_of_wave, uint32_t state) {
    WaveImage wave;
    const ChipFacts& chip = facts_of(queue.chip);
    wave.vgprs = (bits(state, 0, 6) + 1) * chip.vgpr_granule;
    if (chip.acc_vgprs) wave.acc_first = (bits(state, 24, 6) + 1) * 4;
    if (wave.acc_first > wave.vgprs) return wrong("AccVGPRs begin behind the last register");
    wave.sgprs = (bits(state, 6, 3) + 1) * 16 - 16;  // the block of TTMPs is not among them
    wave.first = bit(word_of_wave, 17);
    wave.last = bit(word_of_wave, 16);
    wave.lds_bytes = wave.first ? bits(state, 9, chip.acc_vgprs ? 8 : 9) * 512 : 0;
    wave.engine = chip.acc_vgprs ? bits(word_of_wave, 9, 3) : bits(word_of_wave, 11, 2);
    wave.scratch_slot = bits(word_of_wave, 0, 9);
    wave.scratch_en = bit(word_of_wave, 15);
    const uint64_t size = wave.vgprs * 256ull + wave.sgprs * 4ull + 128 + wave.lds_bytes + 64;
    if (size > at) return wrong("records reach below the save area");
    at -= size;
    wave.record = at;
    take_registers(wave);
    take_stop(wave);
    image.waves.push_back(wave);
    return image.error.empty();
}

void Reader::take_registers(WaveImage& wave) {
    const auto get = [&](ImageRegister name, unsigned number = 0) {
        return word(register_address(wave, name, number).value());
    };
    wave.m0 = get(ImageRegister::M0);
    wave.pc = make64(get(ImageRegister::Pc), get(ImageRegister::Pc, 1));
    wave.exec = make64(get(ImageRegister::Exec), get(ImageRegister::Exec, 1));
    wave.xnack_mask = make64(get(ImageRegister::XnackMask), get(ImageRegister::XnackMask, 1));
    wave.status = get(ImageRegister::Status);
    wave.trapsts = get(ImageRegister::Trapsts);
    wave.mode = get(ImageRegister::Mode);
    for (const unsigned n : {4, 5, 6, 7, 8, 9, 10, 11, 13}) wave.ttmp[n] = get(ImageRegister::Ttmp, n);
    const bool in_ttmp11 = facts_of(queue.chip).packet_in_ttmp11;
    // Where TTMP11 says so, the handler has set up the TTMPs that debuggers use.
    if (!in_ttmp11 || bit(wave.ttmp[11], kTtmp11SetUp)) wave.debugger_id = make64(wave.ttmp[4], wave.ttmp[5]);
    wave.packet = in_ttmp11 ? bits(wave.ttmp[11], 6, 25) : bits(wave.ttmp[6], 0, 25);
    for (unsigned d = 0; d < 3; ++d) wave.group_id[d] = wave.ttmp[8 + d];
    wave.number = wave.ttmp[11] & 0x3f;
}

/// A parked wave's PC is in TTMP7 and TTMP11. Chips that keep the packet there can halt at s_endpgm, and do not park waves.
void Reader::take_stop(WaveImage& wave) {
    const bool parks = !facts_of(queue.chip).packet_in_ttmp11;
    const bool halted = bit(wave.status, kStatusHalt), parked = parks && bit(wave.ttmp[6], kTtmp6Parked);
    const bool handled = bits(wave.ttmp[6], 25, 7) != 0;
    wave.user_pc = parked ? make64(wave.ttmp[7], bits(wave.ttmp[11], 7, 16)) : wave.pc;
    if (parked)
        wave.stop = WaveStop::Parked;
    else if (halted)
        wave.stop =
            !handled && queue.entry != 0 && (wave.pc ^ queue.entry) << 16 == 0 ? WaveStop::HaltedAtLaunch : WaveStop::Halted;
}

bool Reader::check_wave(size_t n) {
    const WaveImage& wave = image.waves[n];
    if (wave.pc % 4 != 0 || wave.pc >> 48 != 0) return wrong(n, fmt::format("PC {:#x}", wave.pc));
    if (bit(wave.trapsts, kTrapstsSavectx)) return wrong(n, "SAVECTX is still set");
    // The handler notes STATUS in itself: what it needs to run is set there.
    for (const unsigned needed : {kStatusPriv, kStatusTrapEn, kStatusValid}) {
        if (!bit(wave.status, needed)) return wrong(n, fmt::format("STATUS {:#x} lacks bit {}", wave.status, needed));
    }
    if (wave.stop == WaveStop::Parked && !bit(wave.status, kStatusHalt)) return wrong(n, "parked, but not halted");
    if (wave.debugger_id != 0) {
        const auto& known = queue.debugger_ids;
        if (std::find(known.begin(), known.end(), wave.debugger_id) == known.end()) {
            return wrong(n, fmt::format("unknown id {:#x} in ttmp4 and ttmp5", wave.debugger_id));
        }
        if (!debugger_ids.insert(wave.debugger_id).second) return wrong(n, "an id that another wave has too");
    }
    uint32_t code = 0;
    if (queue.read_memory && wave.stop == WaveStop::Runs && !bit(wave.mode, 11) &&
        queue.read_memory(static_cast<uint64_t>(sign_extend(wave.pc, 48)), &code, sizeof code) && code >> 16 == kEndOfProgram) {
        return wrong(n, "at an s_endpgm, where a wave ends and is not saved");
    }
    return check_packet(n) && check_scratch(n);
}

/// The slot's number is completed by the dispatch ids of the queue.
bool Reader::check_packet(size_t n) {
    WaveImage& wave = image.waves[n];
    if (queue.ring_bytes == 0) return true;
    const uint64_t packets = queue.ring_bytes / 64;
    if (wave.packet >= packets) return wrong(n, fmt::format("packet {} is outside the ring", wave.packet));
    if (!queue.read_id || !queue.write_id) return true;
    const uint64_t mask = packets - 1;
    wave.packet_id = wave.packet | (wave.packet >= (*queue.read_id & mask) ? *queue.read_id & ~mask : *queue.write_id & ~mask);
    if (*wave.packet_id < *queue.read_id || *wave.packet_id >= *queue.write_id) {
        return wrong(n, fmt::format("packet {} is not in [{}, {})", *wave.packet_id, *queue.read_id, *queue.write_id));
    }
    return true;
}

/// WAVES 11:0 and WAVESIZE 24:12, in KiB, of COMPUTE_TMPRING_SIZE.
bool Reader::check_scratch(size_t n) {
    WaveImage& wave = image.waves[n];
    if (!wave.scratch_en) return true;
    if (!scratch_slots.emplace(wave.engine, wave.scratch_slot).second)
        return wrong(n, "a scratch slot that another wave has too");
    if (wave.engine >= queue.shader_engines) return wrong(n, fmt::format("shader engine {}", wave.engine));
    if (queue.tmpring_size == 0) return true;
    const uint32_t slots = bits(queue.tmpring_size, 0, 12);
    if (slots % queue.shader_engines != 0) return wrong("slots of scratch are not shared evenly by the shader engines");
    const uint32_t share = slots / queue.shader_engines;
    if (wave.scratch_slot >= share) return wrong(n, fmt::format("scratch slot {} of {}", wave.scratch_slot, share));
    wave.scratch_bytes = bits(queue.tmpring_size, 12, 13) * 1024;
    wave.scratch_address = queue.scratch_base + (uint64_t{share} * wave.engine + wave.scratch_slot) * wave.scratch_bytes;
    return true;
}

bool Reader::check_group(size_t first, size_t last) {
    const WaveImage& leader = image.waves[first];
    if (last - first >= kMaxGroupWaves) return wrong(first, "more waves than a work-group has");
    for (size_t n = first; n <= last; ++n) {
        const WaveImage& wave = image.waves[n];
        if (wave.group_id != leader.group_id) return wrong(n, "another group id than its leader");
        if (wave.packet != leader.packet) return wrong(n, "another packet than its leader");
        if (wave.engine != leader.engine) return wrong(n, "another shader engine than its leader");
        if (wave.number >= kMaxGroupWaves) return wrong(n, fmt::format("number {} in its group", wave.number));
        if (n > first && wave.number <= image.waves[n - 1].number) return wrong(n, "out of order");
    }
    if (!group_names.emplace(leader.packet, leader.group_id[0], leader.group_id[1], leader.group_id[2]).second) {
        return wrong(first, "a work-group that is there already");
    }
    return true;
}

bool Reader::check_groups() {
    unsigned group = 0;
    size_t leader = 0;
    for (size_t n = 0; n < image.waves.size(); ++n) {
        WaveImage& wave = image.waves[n];
        const bool begins = n == 0 || image.waves[n - 1].last;
        if (wave.first != begins) return wrong(n, "first and last marks do not match");
        if (begins) leader = n;
        wave.group = group;
        if (!check_wave(n)) return false;
        if (!wave.last) continue;
        if (!check_group(leader, n)) return false;
        ++group;
    }
    if (!image.waves.empty() && !image.waves.back().last) return wrong("the last group has no last wave");
    return true;
}

}  // namespace

Image read_image(const ImageHeader& header, std::span<const uint32_t> stack, const ReadArea& read, const ImageQueue& queue) {
    Reader reader{header, read, queue, {}, 0, {}, {}, {}};
    if (reader.take_words(stack)) reader.check_groups();
    return std::move(reader.image);
}

/// VCC, XNACK_MASK and FLAT_SCRATCH are the top six SGPRs and have no other name; XNACK_MASK is kept among the hardware
/// registers.
std::optional<uint64_t> register_address(const WaveImage& wave, ImageRegister name, unsigned number) {
    const uint64_t sgprs = wave.record + wave.vgprs * 256ull;
    const uint64_t hwregs = sgprs + wave.sgprs * 4ull, ttmps = hwregs + 64, lds = ttmps + 64;
    const unsigned usable = std::min(108u, wave.sgprs);
    const auto one_of = [&](uint64_t from, unsigned count) -> std::optional<uint64_t> {
        if (number >= count) return std::nullopt;
        return from + number * 4ull;
    };
    const auto row = [&](unsigned first, unsigned count) -> std::optional<uint64_t> {
        if (number >= count) return std::nullopt;
        return wave.record + (first + number) * 256ull;
    };
    switch (name) {
        case ImageRegister::Vgpr: return row(0, wave.acc_first != 0 ? wave.acc_first : wave.vgprs);
        case ImageRegister::AccVgpr: return row(wave.acc_first, wave.acc_first != 0 ? wave.vgprs - wave.acc_first : 0);
        case ImageRegister::Sgpr: return one_of(sgprs, usable - 6);
        case ImageRegister::Vcc: return one_of(sgprs + (usable - 2) * 4ull, 2);
        case ImageRegister::FlatScratch: return one_of(sgprs + (usable - 6) * 4ull, 2);
        case ImageRegister::M0: return one_of(hwregs, 1);
        case ImageRegister::Pc: return one_of(hwregs + 4, 2);
        case ImageRegister::Exec: return one_of(hwregs + 0xc, 2);
        case ImageRegister::Status: return one_of(hwregs + 0x14, 1);
        case ImageRegister::Trapsts: return one_of(hwregs + 0x18, 1);
        case ImageRegister::XnackMask: return one_of(hwregs + 0x1c, 2);
        case ImageRegister::Mode: return one_of(hwregs + 0x24, 1);
        case ImageRegister::Ttmp: return one_of(ttmps, 16);
        case ImageRegister::Lds: return one_of(lds, wave.lds_bytes / 4);
    }
    return std::nullopt;
}

}  // namespace lyra::cwsr
