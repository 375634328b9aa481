// SPDX-License-Identifier: MIT
// The bytes of a fuzzer's input, taken from the front; zeros after its end.
#pragma once

#include <cstdint>
#include <cstring>

namespace lyra::fuzz {

class Input {
public:
    Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
    bool empty() const { return size_ == 0; }
    template <class T>
    T take() {
        T value{};
        const size_t n = sizeof value < size_ ? sizeof value : size_;
        if (n != 0) std::memcpy(&value, data_, n);
        data_ += n;
        size_ -= n;
        return value;
    }
    /// A number below count.
    uint32_t below(uint32_t count) { return (count > 256 ? take<uint16_t>() : take<uint8_t>()) % count; }

private:
    const uint8_t* data_;
    size_t size_;
};

}  // namespace lyra::fuzz
