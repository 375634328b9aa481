// SPDX-License-Identifier: MIT
// One row per element type.
#include "tools/lyra/device/element_type.h"

#include <charconv>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

namespace lyra::cli {

namespace {

template <typename T>
bool parse(const std::string& text, void* to) {
    T value{};
    const char *first = text.data(), *last = first + text.size();
    std::from_chars_result result{};
    if constexpr (std::is_floating_point_v<T>) {
        result = std::from_chars(first, last, value);
    } else {
        const bool hex = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
        result = std::from_chars(first + (hex ? 2 : 0), last, value, hex ? 16 : 10);
    }
    std::memcpy(to, &value, sizeof value);
    return result.ec == std::errc{} && result.ptr == last;
}

template <typename T>
std::string format(const void* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    if constexpr (sizeof(T) == 1)
        return fmt::format("{}", static_cast<int>(value));
    else
        return fmt::format("{}", value);
}

template <typename T>
void from_index(uint64_t index, void* to) {
    const T value = static_cast<T>(index);
    std::memcpy(to, &value, sizeof value);
}

template <typename T>
void random(uint64_t bits, void* to) {
    T value;
    if constexpr (std::is_floating_point_v<T>)
        value = static_cast<T>(static_cast<T>(bits >> 40) / static_cast<T>(1 << 24));
    else
        value = static_cast<T>(bits >> (64 - 8 * sizeof(T)));
    std::memcpy(to, &value, sizeof value);
}

template <typename T>
constexpr ElementType row(const char* name) {
    return {name, sizeof(T), parse<T>, format<T>, from_index<T>, random<T>};
}

constexpr ElementType kTypes[] = {
    row<int8_t>("i8"),    row<uint8_t>("u8"),  row<int16_t>("i16"),  row<uint16_t>("u16"), row<int32_t>("i32"),
    row<uint32_t>("u32"), row<int64_t>("i64"), row<uint64_t>("u64"), row<float>("f32"),    row<double>("f64"),
};

}  // namespace

const ElementType* find_element_type(const std::string& name) {
    for (const ElementType& type : kTypes) {
        if (name == type.name) return &type;
    }
    return nullptr;
}

std::string element_type_names() {
    std::string names;
    for (const ElementType& type : kTypes) names += (names.empty() ? "" : ", ") + std::string(type.name);
    return names;
}

}  // namespace lyra::cli
