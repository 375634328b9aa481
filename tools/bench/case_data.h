// SPDX-License-Identifier: MIT
// What the cases of `lyra bench` are made of: buffers whose content is the same every time, arguments, shapes.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <vector>

#include "tools/bench/kernel_case.h"

namespace lyra::bench {

/// FFT, sparse matrix, SHA-256, dot products, sort.
std::vector<KernelCase> further_cases();

namespace data {

using Bytes = std::vector<uint8_t>;

template <typename T>
T* as(Bytes& bytes) {
    return reinterpret_cast<T*>(bytes.data());
}
template <typename T>
Bytes made(size_t count, const std::function<T(size_t)>& value) {
    Bytes bytes(count * sizeof(T));
    for (size_t i = 0; i < count; ++i) as<T>(bytes)[i] = value(i);
    return bytes;
}
template <typename T>
Bytes empty(size_t count) {
    return Bytes(count * sizeof(T));
}
inline Bytes floats(size_t count, float low, float high, unsigned seed) {
    std::mt19937 random(seed);
    return made<float>(count, [&](size_t) { return low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f; });
}

inline Argument buffer(int number) { return {number, {}}; }
template <typename T>
Argument value(T v) {
    Argument argument;
    argument.value.resize(sizeof v);
    std::memcpy(argument.value.data(), &v, sizeof v);
    return argument;
}

inline KernelCase shaped(const char* name, uint32_t gx, uint32_t gy, uint32_t lx, uint32_t ly) {
    KernelCase made;
    made.name = name;
    made.global[0] = gx, made.global[1] = gy;
    made.local[0] = lx, made.local[1] = ly;
    return made;
}

}  // namespace data
}  // namespace lyra::bench
