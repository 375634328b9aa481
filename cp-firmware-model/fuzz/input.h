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
    size_t size() const { return size_; }
    template <class T>
    T take() {
        T value{};
        take_bytes(&value, sizeof value);
        return value;
    }
    /// @return how many there were
    size_t take_bytes(void* out, size_t n) {
        n = n < size_ ? n : size_;
        if (n != 0) std::memcpy(out, data_, n);
        data_ += n;
        size_ -= n;
        return n;
    }
    /// A number below count.
    uint32_t below(uint32_t count) { return (count > 256 ? take<uint16_t>() : take<uint8_t>()) % count; }

private:
    const uint8_t* data_;
    size_t size_;
};

}  // namespace lyra::fuzz
