// SPDX-License-Identifier: MIT
// A hash of words that is the same on every machine, to compare what two readers see.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lyra {

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
