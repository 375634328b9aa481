// SPDX-License-Identifier: MIT
// Test only: compares decode() and disassemble() with LLVM, and makes words worth comparing.
#pragma once

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gcn-interp/isa/fields.h"
#include "gcn-interp/isa/known_differences.h"

namespace lyra::gcn::test {

/// Compares words; counts known differences and all others.
class LlvmComparer {
public:
    explicit LlvmComparer(Chip chip = Chip::gfx900) : chip_(chip), oracle_(facts_of(chip).name) {}

    /// @return true when both accept the words and print the same text
    bool compare(const uint32_t (&words)[3]) {
        if (oracle_.crashes(words)) {
            ++skipped_;
            return false;
        }
        const Inst inst = decode(words, 3, chip_);
        Comparison c{words, oracle_.decode(words, 3), {}, chip_, oracle_.version()};
        if (inst.format != Format::Invalid) c.ours = {inst.size_bytes, disassemble(inst, chip_), false};
        ++compared_;
        accepted_ += c.llvm.size != 0;
        wrong_register_ += c.llvm.wrong_register;
        if (c.agrees()) return c.llvm.size != 0;
        if (const KnownDifference* row = known_difference(c)) {
            ++by_name_[row->name];
        } else if (++unknown_ <= kShown) {
            examples_.push_back(fmt::format("{:08x} {:08x} {:08x} on {}\n  LLVM {} bytes: {}\n  ours {} bytes: {}", words[0],
                                            words[1], words[2], facts_of(chip_).name, c.llvm.size, c.llvm.text, c.ours.size,
                                            c.ours.text));
        }
        return false;
    }

    void add(const LlvmComparer& other) {
        compared_ += other.compared_, accepted_ += other.accepted_, wrong_register_ += other.wrong_register_;
        unknown_ += other.unknown_, skipped_ += other.skipped_;
        for (const auto& [name, count] : other.by_name_) by_name_[name] += count;
        examples_.insert(examples_.end(), other.examples_.begin(), other.examples_.end());
    }

    uint64_t compared() const { return compared_; }
    uint64_t accepted() const { return accepted_; }
    uint64_t unknown() const { return unknown_; }  ///< differences that known_differences.h does not name
    const std::vector<std::string>& examples() const { return examples_; }
    uint64_t known() const {
        uint64_t sum = 0;
        for (const auto& [name, count] : by_name_) sum += count;
        return sum;
    }
    std::string summary() const {
        return fmt::format(
            "{} encodings compared, {} accepted by LLVM, {} of the others only for a wrong register, {} known differences, "
            "{} others, {} not given to LLVM",
            compared_, accepted_, wrong_register_, known(), unknown_, skipped_);
    }
    std::string details() const {
        std::string text;
        for (const auto& [name, count] : by_name_) text += fmt::format("  {:8} {}\n", count, name);
        return text;
    }

private:
    static constexpr unsigned kShown = 20;
    Chip chip_;
    LlvmOracle oracle_;
    uint64_t compared_ = 0, accepted_ = 0, wrong_register_ = 0, unknown_ = 0, skipped_ = 0;
    std::map<std::string, uint64_t> by_name_;
    std::vector<std::string> examples_;
};

/// Random dwords; some with few bits set, so that fields which must be zero sometimes are.
class Words {
public:
    explicit Words(uint64_t seed) : random_(seed) {}
    uint32_t any() { return static_cast<uint32_t>(random_()); }
    uint32_t sparse() {
        switch (random_() % 4) {
            case 0: return any() & any() & any();
            case 1: return any() & any();
            case 2: return any() & any() & any() & any() & any();
            default: return any();
        }
    }
    bool one_in(unsigned n) { return random_() % n == 0; }

private:
    std::mt19937_64 random_;
};

/// Fields whose value decides whether an instruction exists at all are often given the usual one.
inline void usual_values(const FormatInfo& format, Words& source, uint32_t (&words)[3]) {
    switch (format.format) {
        case Format::FLAT:
            if (source.one_in(2))
                words[1] |= kSaddrOff << 16;
            else if (source.one_in(2))
                words[1] &= ~(kSaddrOff << 16);
            if (source.one_in(2)) words[0] &= ~0x2000u;
            break;
        case Format::VOP3:
            if (source.one_in(2)) words[1] &= ~(0x1ffu << 18);
            if (source.one_in(2)) words[1] |= 0x20100u;
            if (source.one_in(2)) words[0] &= ~0x7f00u;
            break;
        case Format::DS:
            if (source.one_in(2)) words[1] &= ~0x00ff0000u;
            if (source.one_in(2)) words[1] &= ~0xff000000u;
            if (source.one_in(4)) words[1] &= ~0x0000ff00u;
            break;
        case Format::SOPP:
            if (source.one_in(2)) words[0] &= 0xffff0000u;
            break;
        case Format::VOP1:
            if (source.one_in(4)) words[0] &= ~(0xffu << 17);
            break;
        case Format::MUBUF:
        case Format::MTBUF:
            if (source.one_in(2)) words[0] &= ~0x1f000u;
            if (source.one_in(2)) words[1] &= ~0x800000u;
            break;
        case Format::MIMG:
            if (source.one_in(2)) words[1] &= ~0x83e00000u;
            words[0] &= ~1u;
            break;
        default: break;
    }
}

/// Three dwords of the encoding, its other bits random.
inline void words_of(const FormatInfo& format, Words& source, uint32_t (&words)[3]) {
    for (uint32_t& word : words) word = source.sparse();
    words[0] = (words[0] & ~format.mask) | format.match;
    usual_values(format, source, words);
}

}  // namespace lyra::gcn::test
