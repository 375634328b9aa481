// SPDX-License-Identifier: MIT
// gcn_llvm_random COUNT [SEED]: decode() and disassemble() against LLVM 19 on COUNT random encodings, as many for each chip; or
// gcn_llvm_random --encodings FILE...: on every list of bytes, such as 0x01,0x05,0x0a,0x02, in files (LLVM's own tests), for
// each chip. Exit status 1: a difference that isa/known_differences.h does not name.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>

#include "gcn-interp/isa/llvm_compare.h"

namespace lyra::gcn::test {
namespace {

constexpr uint64_t kBlock = 1 << 16;  ///< words of one seed: the same whatever thread compares them

/// Half of the blocks are uniform, half have the selecting bits of an encoding each.
void compare_block(uint64_t seed, uint64_t block, uint64_t count, LlvmComparer& comparer) {
    Words source(seed * 1'000'003 + block);
    for (uint64_t i = 0; i < count; ++i) {
        uint32_t words[3];
        if (block % 2 == 0) {
            for (uint32_t& word : words) word = source.any();
        } else {
            words_of(kFormats[i % std::size(kFormats)], source, words);
        }
        comparer.compare(words);
    }
}

int tell(const LlvmComparer& all) {
    for (const std::string& example : all.examples()) fmt::print("{}\n", example);
    fmt::print("{}{}\n", all.details(), all.summary());
    return all.unknown() == 0 && all.compared() != 0 ? 0 : 1;
}

int compare_random(uint64_t for_all_chips, uint64_t seed) {
    const uint64_t count = for_all_chips / std::size(kAllChips);
    std::atomic<uint64_t> next{0};
    std::mutex lock;
    LlvmComparer all;
    const auto work = [&] {
        std::deque<LlvmComparer> mine;
        for (const Chip chip : kAllChips) mine.emplace_back(chip);
        for (uint64_t block; (block = next++) * kBlock < count;) {
            for (LlvmComparer& chip : mine) compare_block(seed, block, std::min(kBlock, count - block * kBlock), chip);
        }
        std::lock_guard hold(lock);
        for (const LlvmComparer& chip : mine) all.add(chip);
    };
    std::vector<std::thread> threads;
    for (unsigned n = 1; n < std::thread::hardware_concurrency(); ++n) threads.emplace_back(work);
    work();
    for (std::thread& thread : threads) thread.join();
    return tell(all);
}

/// Bytes of "0x01,0x05" at the start of text. @return characters that were read, 0: no such list
size_t read_bytes(const char* text, std::vector<uint8_t>& bytes) {
    size_t at = 0;
    for (;;) {
        char* end = nullptr;
        if (text[at] != '0' || text[at + 1] != 'x') break;
        const unsigned long value = std::strtoul(text + at, &end, 16);
        if (end != text + at + 4) break;
        bytes.push_back(static_cast<uint8_t>(value));
        at += 4;
        if (text[at] == ',') ++at;
        while (text[at] == ' ') ++at;
    }
    return at;
}

int compare_files(int count, char** names) {
    std::deque<LlvmComparer> chips;
    for (const Chip chip : kAllChips) chips.emplace_back(chip);
    LlvmComparer all;
    uint64_t lists = 0;
    for (int i = 0; i < count; ++i) {
        std::ifstream file(names[i]);
        if (!file) {
            fmt::print(stderr, "{}: cannot read\n", names[i]);
            return 2;
        }
        for (std::string line; std::getline(file, line);) {
            for (size_t at = 0; (at = line.find("0x", at)) != std::string::npos;) {
                std::vector<uint8_t> bytes;
                at += std::max<size_t>(read_bytes(line.c_str() + at, bytes), 2);
                if (bytes.size() < 4 || bytes.size() > 20) continue;
                uint32_t words[3] = {};
                std::memcpy(words, bytes.data(), std::min(bytes.size(), sizeof words));
                ++lists;
                for (LlvmComparer& chip : chips) chip.compare(words);
            }
        }
    }
    for (const LlvmComparer& chip : chips) all.add(chip);
    fmt::print("{} files, {} lists of bytes\n", count, lists);
    return tell(all);
}

}  // namespace
}  // namespace lyra::gcn::test

int main(int argc, char** argv) {
    using namespace lyra::gcn::test;
    if (argc > 2 && std::strcmp(argv[1], "--encodings") == 0) return compare_files(argc - 2, argv + 2);
    const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    if (count == 0 || argc > 3) {
        fmt::print(stderr, "gcn_llvm_random COUNT [SEED] | --encodings FILE...\n");
        return 2;
    }
    return compare_random(count, argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1);
}
