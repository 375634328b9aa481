// SPDX-License-Identifier: MIT
// Hashes that are the same on every machine: to compare what two readers see, and to name what is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace lyra {

/// FNV-1a. @param start  what came before
constexpr uint64_t hash_text(std::string_view text, uint64_t start = 0xcbf29ce484222325) {
    for (const char c : text) start = (start ^ static_cast<uint8_t>(c)) * 0x100000001b3;
    return start;
}

/// FNV-1a over 32-bit words instead of bytes.
class WordHash {
public:
    void add(const uint32_t* words, size_t count) {
        for (size_t n = 0; n < count; ++n) value_ = (value_ ^ words[n]) * 0x100000001b3;
    }
    uint64_t value() const { return value_; }

private:
    uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace lyra
