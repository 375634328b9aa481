// SPDX-License-Identifier: MIT
// The reader of images accepts a sound one, and refuses one that breaks a rule, for each rule, with that rule's words.
#include "cwsr/image.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "cwsr/control_stack.h"
#include "cwsr/layout.h"

namespace lyra::cwsr {
namespace {

constexpr uint32_t kStackBytes = 0x1000;
constexpr uint64_t kEndOfProgramAt = 0x7000;
constexpr uint32_t kStatus = 1 << 5 | 1 << 6 | 1 << 16, kHalt = 1 << 13;  ///< PRIV, TRAP_EN, VALID

/// Three work-groups: two waves with scratch and LDS, two with larger registers, and one wave.
struct Saved {
    std::vector<SavedGroup> groups = {{24, 16, 1024, 0, {{0, 0, true}, {0, 1, true}}},
                                      {64, 96, 0, 1, {{0, 0, true}, {0, 0, false}}},
                                      {24, 16, 1024, 1, {{0, 2, true}}}};
    std::vector<uint32_t> stack;
    ImageHeader header;
    ImageQueue queue;
    std::vector<uint8_t> bytes;
    std::vector<WaveImage> waves;  ///< where things are

    explicit Saved(Chip chip = Chip::gfx900) {
        queue.chip = chip;
        for (SavedGroup& group : groups) group.acc_first = facts_of(chip).acc_vgprs ? group.vgprs - 16 : 0;
        queue.ring_bytes = 16 * 64;
        queue.read_id = 14;
        queue.write_id = 18;
        queue.tmpring_size = 8 | 4 << 12;
        queue.scratch_base = 0x100000;
        queue.shader_engines = 2;
        queue.debugger_ids = {0x1234};
        queue.read_memory = [](uint64_t va, void* data, size_t size) {
            const uint32_t code = va == kEndOfProgramAt ? 0xbf810000 : 0xbf800000;
            std::memcpy(data, &code, size);
            return true;
        };
        build();
    }
    /// From the groups on.
    void build() {
        Area area;
        area.size = 0x100000;
        area.stack_size = kStackBytes;
        ASSERT_EQ(lay_out(groups, area, stack, queue.chip), Fault::None);
        header = {area.stack_offset, kStackBytes - area.stack_offset, area.wave_end, area.wave_end - kStackBytes};
        bytes.assign(area.wave_end, 0);
        waves.clear();
        uint32_t packet = 14;
        for (const SavedGroup& group : groups) {
            for (unsigned n = 0; n < group.waves.size(); ++n) {
                WaveImage wave;
                wave.record = group.waves[n].record;
                wave.vgprs = group.vgprs;
                wave.acc_first = group.acc_first;
                wave.sgprs = group.sgprs;
                waves.push_back(wave);
                const size_t last = waves.size() - 1;
                put(last, ImageRegister::Status, kStatus);
                put(last, ImageRegister::Pc, 0x6000);
                const bool in_ttmp11 = facts_of(queue.chip).packet_in_ttmp11;
                put(last, ImageRegister::Ttmp, in_ttmp11 ? 0 : packet % 16, 6);
                put(last, ImageRegister::Ttmp, packet, 8);
                put(last, ImageRegister::Ttmp, n | (in_ttmp11 ? packet % 16 << 6 : 0), 11);
            }
            ++packet;
        }
    }
    void put(size_t wave, ImageRegister name, uint32_t value, unsigned number = 0) {
        std::memcpy(&bytes.at(register_address(waves.at(wave), name, number).value()), &value, sizeof value);
    }
    Image read() const {
        const auto area = [&](uint64_t offset, void* data, size_t size) {
            if (offset + size > bytes.size()) return false;
            std::memcpy(data, &bytes[offset], size);
            return true;
        };
        return read_image(header, stack, area, queue);
    }
    /// The words of the stack that are waves, by number.
    uint32_t& wave_word(size_t number) {
        for (size_t n = kHeaderWords; n < stack.size(); ++n) {
            if ((stack[n] & (kStateBit | kEventBit)) == 0 && number-- == 0) return stack[n];
        }
        return stack.at(stack.size());
    }
};

struct Rule {
    const char* text;  ///< as it is in image.cpp
    void (*break_it)(Saved& saved);
};
using R = ImageRegister;

const Rule kRules[] = {
    {"control stack size differs from the header's", [](Saved& s) { s.stack.push_back(0); }},
    {"more wave records than the save area holds", [](Saved& s) { s.header.wave_state_size = s.header.wave_state_offset + 1; }},
    {"control stack and wave records are not adjacent", [](Saved& s) { s.header.control_stack_offset -= 4; }},
    {"wave records without a control stack",
     [](Saved& s) {
         s.stack.clear();
         s.header.control_stack_size = 0;
         s.header.control_stack_offset = kStackBytes;
     }},
    {"control stack over the header",
     [](Saved& s) {
         const uint32_t lower = s.header.control_stack_offset - (kAreaHeaderBytes - 4);
         s.header.control_stack_offset -= lower;
         s.header.wave_state_offset -= lower;
     }},
    {"control stack without any wave",
     [](Saved& s) {
         s.stack.resize(kHeaderWords);
         s.header.control_stack_size = kHeaderWords * 4;
         s.header.control_stack_offset = kStackBytes - kHeaderWords * 4;
     }},
    {"a wave before any state", [](Saved& s) { s.stack[kHeaderWords] |= kEventBit; }},
    {"records end at {:#x}, the wave area begins at {:#x}", [](Saved& s) { s.stack.back() |= kEventBit; }},
    {"records reach below the save area",
     [](Saved& s) { s.stack[kHeaderWords] = StateWord::LdsBlocks::set(s.stack[kHeaderWords], 511); }},
    {"AccVGPRs begin behind the last register",
     [](Saved& s) {
         s = Saved(Chip::gfx90a);
         s.stack[kHeaderWords] = StateWord::AccFirst::set(s.stack[kHeaderWords], 24 / 4);
     }},
    {"save area is not readable at {:#x}", [](Saved& s) { s.bytes.resize(s.waves[2].record); }},
    {"PC {:#x}", [](Saved& s) { s.put(1, R::Pc, 0x6002); }},
    {"PC {:#x}", [](Saved& s) { s.put(1, R::Pc, 0x10000, 1); }},
    {"SAVECTX is still set", [](Saved& s) { s.put(3, R::Trapsts, 1 << 10); }},
    {"STATUS {:#x} lacks bit {}", [](Saved& s) { s.put(0, R::Status, kStatus & ~(1u << 5)); }},
    {"STATUS {:#x} lacks bit {}", [](Saved& s) { s.put(0, R::Status, kStatus & ~(1u << 6)); }},
    {"STATUS {:#x} lacks bit {}", [](Saved& s) { s.put(0, R::Status, kStatus & ~(1u << 16)); }},
    {"parked, but not halted", [](Saved& s) { s.put(4, R::Ttmp, 1u << 30 | 0, 6); }},
    {"unknown id {:#x} in ttmp4 and ttmp5", [](Saved& s) { s.put(2, R::Ttmp, 0x1235, 4); }},
    {"an id that another wave has too",
     [](Saved& s) {
         for (const size_t wave : {0, 4}) s.put(wave, R::Ttmp, 0x1234, 4);
     }},
    {"at an s_endpgm, where a wave ends and is not saved", [](Saved& s) { s.put(2, R::Pc, kEndOfProgramAt); }},
    {"packet {} is outside the ring", [](Saved& s) { s.put(0, R::Ttmp, 16, 6); }},
    {"packet {} is not in [{}, {})", [](Saved& s) { s.put(0, R::Ttmp, 13, 6); }},
    {"packet {} is not in [{}, {})", [](Saved& s) { s.put(4, R::Ttmp, 2, 6); }},
    {"a scratch slot that another wave has too",
     [](Saved& s) { s.wave_word(1) = WaveWord::ScratchSlot::set(s.wave_word(1), 0); }},
    {"shader engine {}", [](Saved& s) { s.wave_word(4) = WaveWord::Engine::set(s.wave_word(4), 2); }},
    {"slots of scratch are not shared evenly by the shader engines", [](Saved& s) { s.queue.tmpring_size = 9 | 4 << 12; }},
    {"scratch slot {} of {}", [](Saved& s) { s.wave_word(4) = WaveWord::ScratchSlot::set(s.wave_word(4), 4); }},
    {"more waves than a work-group has",
     [](Saved& s) {
         s.groups[1].waves.resize(kMaxGroupWaves + 1);
         s.build();
     }},
    {"another group id than its leader", [](Saved& s) { s.put(3, R::Ttmp, 77, 9); }},
    {"another packet than its leader", [](Saved& s) { s.put(3, R::Ttmp, 14, 6); }},
    {"another shader engine than its leader", [](Saved& s) { s.wave_word(3) = WaveWord::Engine::set(s.wave_word(3), 0); }},
    {"number {} in its group", [](Saved& s) { s.put(1, R::Ttmp, kMaxGroupWaves, 11); }},
    {"out of order", [](Saved& s) { s.put(1, R::Ttmp, 0, 11); }},
    {"a work-group that is there already",
     [](Saved& s) {
         s.put(4, R::Ttmp, 14, 6);
         s.put(4, R::Ttmp, 14, 8);
     }},
    {"first and last marks do not match", [](Saved& s) { s.wave_word(0) = WaveWord::Last::set(s.wave_word(0), 1); }},
    {"first and last marks do not match", [](Saved& s) { s.wave_word(2) = WaveWord::First::set(s.wave_word(2), 0); }},
    {"the last group has no last wave", [](Saved& s) { s.wave_word(4) = WaveWord::Last::set(s.wave_word(4), 0); }},
};

/// @param format as it is in the source: every {} stands for some digits
bool is_from(std::string text, const std::string& format) {
    const size_t colon = text.find(": ");
    if (text.rfind("wave ", 0) == 0 && colon != std::string::npos) text.erase(0, colon + 2);
    size_t at = 0;
    for (size_t from = 0; from < format.size();) {
        const size_t open = std::min(format.find('{', from), format.size());
        if (text.compare(at, open - from, format, from, open - from) != 0) return false;
        at += open - from;
        if (open == format.size()) break;
        from = format.find('}', open) + 1;
        at = std::min(text.find_first_not_of("0123456789abcdefx", at), text.size());
    }
    return at == text.size();
}

/// Every text that image.cpp gives to wrong().
std::set<std::string> rules_of_source() {
    std::set<std::string> rules;
    std::ifstream source(LYRA_CWSR_SOURCE "/image.cpp");
    for (std::string line; std::getline(source, line);) {
        const size_t call = line.find("wrong(");
        if (call == std::string::npos) continue;
        const size_t begin = line.find('"', call), end = line.find('"', begin + 1);
        if (end != std::string::npos) rules.insert(line.substr(begin + 1, end - begin - 1));
    }
    rules.erase("wave {}: {}");  // what all of them begin with
    return rules;
}

TEST(Image, SoundOneIsRead) {
    const Saved saved;
    const Image image = saved.read();
    EXPECT_EQ(image.error, "");
    ASSERT_EQ(image.waves.size(), 5u);
    for (size_t n = 0; n < image.waves.size(); ++n) EXPECT_EQ(image.waves[n].record, saved.waves[n].record) << n;
    const WaveImage& wave = image.waves[4];
    EXPECT_EQ(wave.group, 2u);
    EXPECT_EQ(wave.pc, 0x6000u);
    EXPECT_EQ(wave.packet_id, 16u);
    EXPECT_EQ(wave.lds_bytes, 1024u);
    EXPECT_EQ(wave.scratch_address, 0x100000u + (4 + 2) * 4096);
    EXPECT_EQ(image.waves[1].lds_bytes, 0u) << "its leader has it";
    EXPECT_EQ(image.waves[1].number, 1u);
}

/// @source ROCdbgapi architecture.cpp, gfx90a: sizes in units of 8 with the AccVGPRs, which begin at a multiple of 4; the
/// shader engine's place is another
TEST(Image, OfGfx90aHasAccVgprsBehindItsVgprs) {
    Saved saved(Chip::gfx90a);
    saved.queue.shader_engines = 8;
    saved.queue.tmpring_size = 32 | 4 << 12;
    saved.groups[1].vgprs = 512;
    saved.groups[1].acc_first = 256;
    saved.groups[2].engine = 7;
    saved.build();
    const Image image = saved.read();
    EXPECT_EQ(image.error, "");
    ASSERT_EQ(image.waves.size(), 5u);
    for (size_t n = 0; n < image.waves.size(); ++n) EXPECT_EQ(image.waves[n].record, saved.waves[n].record) << n;
    EXPECT_EQ(image.waves[4].engine, 7u);
    EXPECT_EQ(image.waves[4].scratch_address, 0x100000u + (4 * 7 + 2) * 4096);
    const WaveImage& wave = image.waves[2];
    EXPECT_EQ(wave.vgprs, 512u);
    EXPECT_EQ(wave.acc_first, 256u);
    EXPECT_EQ(register_address(wave, R::Vgpr, 255), wave.record + 255 * 256);
    EXPECT_EQ(register_address(wave, R::Vgpr, 256), std::nullopt);
    EXPECT_EQ(register_address(wave, R::AccVgpr, 0), wave.record + 256 * 256);
    EXPECT_EQ(register_address(wave, R::AccVgpr, 255), wave.record + 511 * 256);
    EXPECT_EQ(register_address(wave, R::AccVgpr, 256), std::nullopt);
    EXPECT_EQ(register_address(wave, R::Sgpr, 0), wave.record + 512 * 256);
    EXPECT_EQ(register_address(image.waves[0], R::AccVgpr, 0), image.waves[0].record + 8 * 256);
    // Without AccVGPRs the words say something else.
    saved.queue.chip = Chip::gfx900;
    EXPECT_NE(saved.read().error, "");
}

/// @source ROCdbgapi architecture.cpp, gfx940: the packet is in TTMP11, whose bit 31 says that TTMPs were set up; no wave is
/// parked
TEST(Image, OfGfx942HasItsPacketInTtmp11) {
    Saved saved(Chip::gfx942);
    saved.put(0, R::Ttmp, 0x5678, 4);  // of no meaning without that bit
    saved.put(1, R::Ttmp, 0x1234, 4);
    saved.put(1, R::Ttmp, 1u << 31 | 14 << 6 | 1, 11);
    saved.put(2, R::Ttmp, 1u << 30, 6);
    const Image image = saved.read();
    ASSERT_EQ(image.error, "");
    ASSERT_EQ(image.waves.size(), 5u);
    EXPECT_EQ(image.waves[0].packet, 14u);
    EXPECT_EQ(image.waves[1].number, 1u);
    EXPECT_EQ(image.waves[4].packet_id, 16u);
    EXPECT_EQ(image.waves[0].debugger_id, 0u);
    EXPECT_EQ(image.waves[1].debugger_id, 0x1234u);
    EXPECT_EQ(image.waves[2].stop, WaveStop::Runs);
    saved.put(1, R::Ttmp, 0x5678, 4);
    EXPECT_NE(saved.read().error.find("unknown id"), std::string::npos);
}

TEST(Image, OfGfx900HasNoAccVgprs) {
    const Saved saved;
    const Image image = saved.read();
    ASSERT_FALSE(image.waves.empty());
    EXPECT_EQ(register_address(image.waves[0], R::AccVgpr, 0), std::nullopt);
    EXPECT_EQ(register_address(image.waves[0], R::Vgpr, 23), image.waves[0].record + 23 * 256);
}

TEST(Image, NothingSavedIsSound) {
    Saved saved;
    saved.stack.clear();
    saved.header = {kStackBytes, 0, kStackBytes, 0};
    const Image image = saved.read();
    EXPECT_EQ(image.error, "");
    EXPECT_TRUE(image.waves.empty());
}

TEST(Image, ParkedAndNamedWavesAreSound) {
    Saved saved;
    saved.put(0, R::Ttmp, 0x1234, 4);
    saved.put(0, R::Ttmp, 1u << 30 | 14, 6);
    saved.put(0, R::Ttmp, 0x6100, 7);
    saved.put(0, R::Status, kStatus | kHalt);
    saved.put(2, R::Status, kStatus | kHalt);
    saved.put(2, R::Pc, kEndOfProgramAt);
    const Image image = saved.read();
    EXPECT_EQ(image.error, "");
    ASSERT_EQ(image.waves.size(), 5u);
    EXPECT_EQ(image.waves[0].stop, WaveStop::Parked);
    EXPECT_EQ(image.waves[0].user_pc, 0x6100u);
    EXPECT_EQ(image.waves[2].stop, WaveStop::Halted);
}

TEST(Image, EveryBrokenRuleIsNamed) {
    for (const Rule& rule : kRules) {
        Saved saved;
        ASSERT_EQ(saved.read().error, "");
        rule.break_it(saved);
        EXPECT_TRUE(is_from(saved.read().error, rule.text)) << rule.text << "\ngot: " << saved.read().error;
    }
}

/// Whoever adds a rule adds a row.
TEST(Image, TableHasEveryRuleOfTheSource) {
    std::set<std::string> of_table;
    for (const Rule& rule : kRules) of_table.insert(rule.text);
    EXPECT_EQ(rules_of_source(), of_table);
    EXPECT_GT(of_table.size(), 25u);
}

}  // namespace
}  // namespace lyra::cwsr
