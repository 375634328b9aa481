// SPDX-License-Identifier: MIT
// Builds and reads the control stack. It is read from its low end up, while the records it names lie from high to low.
// @source docs/spec/front-end.md 6.3
#include "cwsr/control_stack.h"

#include "cwsr/layout.h"
#include "facts/chips.h"
#include "facts/pm4_header.h"
#include "facts/registers.h"

namespace lyra::cwsr {

namespace {

constexpr uint32_t kTtmpBlock = 16;  ///< TTMPs, counted as SGPRs
constexpr uint32_t kAccBlock = 4;
constexpr uint32_t kSgprBlock = same_for_all_chips(&ChipFacts::sgpr_granule);
constexpr uint32_t kLdsBlock = same_for_all_chips(&ChipFacts::lds_granule);

/// SET_SH_REG of COMPUTE_RELAUNCH. Nobody reads it.
constexpr uint32_t kRelaunchRegister = regs::GC::COMPUTE_RELAUNCH - pm4::kShRegisters;
uint32_t packet_header(size_t words) { return pm4::header(pm4::Opcode::SET_SH_REG, static_cast<uint32_t>(words)); }

uint32_t state_word(const SavedGroup& group, const ChipFacts& chip) {
    uint32_t word = kStateBit;
    word = StateWord::Vgprs::set(word, group.vgprs / chip.vgpr_granule - 1);
    if (chip.acc_vgprs) word = StateWord::AccFirst::set(word, group.acc_first / kAccBlock - 1);
    word = StateWord::Sgprs::set(word, (group.sgprs + kTtmpBlock) / kSgprBlock - 1);
    return StateWord::LdsBlocks::set(word, group.lds_bytes / kLdsBlock);
}

uint32_t engine_of(uint32_t word, const ChipFacts& chip) {
    return chip.acc_vgprs ? WaveWord::EngineOfMany::get(word) : WaveWord::Engine::get(word);
}

uint32_t wave_word(const SavedGroup& group, size_t n, const ChipFacts& chip) {
    uint32_t word = 0;
    word = WaveWord::ScratchSlot::set(word, group.waves[n].scratch_slot);
    word = chip.acc_vgprs ? WaveWord::EngineOfMany::set(word, group.engine) : WaveWord::Engine::set(word, group.engine);
    word = WaveWord::ScratchEn::set(word, group.waves[n].scratch_en);
    word = WaveWord::First::set(word, n == 0);
    return WaveWord::Last::set(word, n + 1 == group.waves.size());
}

std::vector<uint32_t> stack_words(const std::vector<SavedGroup>& groups, const ChipFacts& chip) {
    std::vector<uint32_t> words(kHeaderWords);
    uint32_t state = 0;
    for (const SavedGroup& group : groups) {
        const uint32_t own = state_word(group, chip);
        if (own != state) words.push_back(own);
        state = own;
        for (size_t n = 0; n < group.waves.size(); ++n) words.push_back(wave_word(group, n, chip));
    }
    words[0] = packet_header(words.size() - 1);
    words[1] = kRelaunchRegister;
    return words;
}

uint64_t bytes_of(const std::vector<SavedGroup>& groups) {
    uint64_t bytes = 0;
    for (const SavedGroup& group : groups) {
        for (size_t n = 0; n < group.waves.size(); ++n) bytes += group.record_bytes(n == 0);
    }
    return bytes;
}

/// Records from the top down, in reading order.
void place_records(std::vector<SavedGroup>& groups, uint64_t end) {
    for (SavedGroup& group : groups) {
        for (size_t n = 0; n < group.waves.size(); ++n) {
            end -= group.record_bytes(n == 0);
            group.waves[n].record = end;
        }
    }
}

}  // namespace

uint64_t SavedGroup::hwreg_offset() const { return uint64_t{vgprs} * kVgprBytes + uint64_t{sgprs} * kSgprBytes; }

uint64_t SavedGroup::record_bytes(bool first) const {
    return hwreg_offset() + kHwregBytes + kTtmpBytes + kGapBytes + (first ? lds_bytes : 0);
}

Fault lay_out(std::vector<SavedGroup>& groups, Area& area, std::vector<uint32_t>& words, Chip of) {
    if (groups.empty()) {
        words.clear();
        area.stack_offset = area.wave_end = area.stack_size;
        return Fault::None;
    }
    std::vector<uint32_t> made = stack_words(groups, facts_of(of));
    const uint64_t end = area.stack_size + bytes_of(groups);
    const uint64_t stack_bytes = made.size() * sizeof(uint32_t);
    if (end > area.size || stack_bytes + kAreaHeaderBytes > area.stack_size) return Fault::SaveAreaFull;
    place_records(groups, end);
    area.stack_offset = area.stack_size - static_cast<uint32_t>(stack_bytes);
    area.wave_end = static_cast<uint32_t>(end);
    words = std::move(made);
    return Fault::None;
}

Fault parse(std::span<const uint32_t> words, const Area& area, std::vector<SavedGroup>& groups, Chip of) {
    const ChipFacts& chip = facts_of(of);
    groups.clear();
    uint32_t state = 0;
    bool open = false;  // in the middle of a group
    for (size_t i = kHeaderWords; i < words.size(); ++i) {
        const uint32_t word = words[i];
        if (word & kEventBit) continue;
        if (word & kStateBit) {
            if (open) return Fault::SavedImage;
            state = word;
            continue;
        }
        if (state == 0 || open == (WaveWord::First::get(word) != 0)) return Fault::SavedImage;
        if (!open) {
            SavedGroup group;
            group.vgprs = (StateWord::Vgprs::get(state) + 1) * chip.vgpr_granule;
            if (chip.acc_vgprs) group.acc_first = (StateWord::AccFirst::get(state) + 1) * kAccBlock;
            if (group.acc_first > group.vgprs) return Fault::SavedImage;
            if (StateWord::Sgprs::get(state) == 0) return Fault::SavedImage;
            group.sgprs = (StateWord::Sgprs::get(state) + 1) * kSgprBlock - kTtmpBlock;
            group.lds_bytes = StateWord::LdsBlocks::get(state) * kLdsBlock;
            group.engine = engine_of(word, chip);
            groups.push_back(group);
        }
        SavedGroup& group = groups.back();
        if (group.waves.size() >= kMaxGroupWaves || engine_of(word, chip) != group.engine) return Fault::SavedImage;
        group.waves.push_back({0, WaveWord::ScratchSlot::get(word), WaveWord::ScratchEn::get(word) != 0});
        open = !WaveWord::Last::get(word);
    }
    const uint64_t end = area.stack_size + bytes_of(groups);
    if (open || groups.empty() || end != area.wave_end || end > area.size) return Fault::SavedImage;
    place_records(groups, end);
    return Fault::None;
}

void SavedWave::visit(StateVisitor& v) {
    v("record", record);
    v("scratch_slot", scratch_slot);
    v("scratch_en", scratch_en);
}

void SavedGroup::visit(StateVisitor& v) {
    v("vgprs", vgprs);
    v("sgprs", sgprs);
    v("lds_bytes", lds_bytes);
    v("engine", engine);
    v.list("waves", waves, kMaxGroupWaves);
    v("acc_first", acc_first);
}

void Area::visit(StateVisitor& v) {
    v("base", base);
    v("size", size);
    v("stack_size", stack_size);
    v("stack_offset", stack_offset);
    v("wave_end", wave_end);
}

}  // namespace lyra::cwsr
