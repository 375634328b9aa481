// SPDX-License-Identifier: MIT
// libFuzzer target: the control stack of a queue, edited between the save of its waves and their restore.
#include "cp-firmware-model/fuzz/saved_queue.h"
#include "cwsr/layout.h"

namespace {

using namespace lyra;
using fuzz::SavedQueue;

constexpr unsigned kStackOffset = 174, kStackSize = 175, kWaveEnd = 176;

uint64_t stack_address(SavedQueue& saved) { return saved.victim.ring().mqd + cwsr::kStackFromMqd; }

uint32_t state_word(fuzz::Input& in) {
    uint32_t word = cwsr::kStateBit;
    word = cwsr::StateWord::Vgprs::set(word, in.below(64));
    word = cwsr::StateWord::Sgprs::set(word, in.below(8));
    return cwsr::StateWord::LdsBlocks::set(word, in.below(4) ? in.below(5) : in.below(512));
}

uint32_t wave_word(fuzz::Input& in) {
    const uint8_t marks = in.take<uint8_t>();
    uint32_t word = cwsr::WaveWord::ScratchSlot::set(0u, in.below(512));
    word = cwsr::WaveWord::Engine::set(word, marks >> 4 & 3);
    word = cwsr::WaveWord::ScratchEn::set(word, marks >> 3 & 1);
    word = cwsr::WaveWord::First::set(word, marks & 1);
    return cwsr::WaveWord::Last::set(word, marks >> 1 & 1);
}

/// Whole work-groups, some of them too large.
std::vector<uint32_t> groups(fuzz::Input& in) {
    std::vector<uint32_t> words(cwsr::kHeaderWords);
    for (unsigned groups = 1 + in.below(6); groups != 0; --groups) {
        words.push_back(state_word(in));
        const uint32_t waves = 1 + in.below(20), wave = wave_word(in);
        for (uint32_t n = 0; n < waves; ++n) {
            uint32_t word = cwsr::WaveWord::First::set(wave + n, n == 0);
            words.push_back(cwsr::WaveWord::Last::set(word, n + 1 == waves));
        }
    }
    return words;
}

/// The end of the records that these words describe, so that what they say is believed.
uint32_t end_of_records(SavedQueue& saved, const std::vector<uint32_t>& words) {
    uint32_t end = saved.mqd(kStackSize), state = 0;
    for (size_t n = cwsr::kHeaderWords; n < words.size(); ++n) {
        if (words[n] & cwsr::kEventBit) continue;
        if (words[n] & cwsr::kStateBit) {
            state = words[n];
            continue;
        }
        end +=
            (cwsr::StateWord::Vgprs::get(state) + 1) * 4 * cwsr::kVgprBytes + cwsr::StateWord::Sgprs::get(state) * 16 * 4 + 192;
        if (cwsr::WaveWord::First::get(words[n])) end += cwsr::StateWord::LdsBlocks::get(state) * 512;
    }
    return end;
}

void edit(SavedQueue& saved) {
    fuzz::Input& in = saved.in();
    const uint32_t size = saved.mqd(kStackSize) & 0x7000, offset = std::min(saved.mqd(kStackOffset) & 0x7ffc, size);
    std::vector<uint32_t> words((size - offset) / 4);
    if (in.below(4) == 0) words.resize(cwsr::kHeaderWords + in.below(40));
    const auto at = [&] { return stack_address(saved) + size - words.size() * 4; };
    saved.bus.memory.read(0, at(), words.data(), words.size() * 4);
    const bool made = in.below(4) == 0;
    if (made) words = groups(in);
    for (unsigned edits = made ? in.below(2) : 1 + in.below(8); edits != 0 && !words.empty(); --edits) {
        uint32_t& word = words[in.below(static_cast<uint32_t>(words.size()))];
        switch (in.take<uint8_t>() % 4) {
            case 0: word = state_word(in); break;
            case 1: word = wave_word(in); break;
            case 2: word = words[in.below(static_cast<uint32_t>(words.size()))]; break;
            default: word = saved.value(word); break;
        }
    }
    saved.bus.memory.write(0, at(), words.data(), words.size() * 4);
    saved.put_mqd(kStackOffset, size - static_cast<uint32_t>(words.size()) * 4);
    if (in.below(4) != 0) saved.put_mqd(kWaveEnd, end_of_records(saved, words));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input in(data, size);
    SavedQueue bench(in);
    bench.play(edit);
    return 0;
}
