// SPDX-License-Identifier: MIT
// The element types that `lyra exec` reads, makes and prints.
#pragma once

#include <cstdint>
#include <string>

namespace lyra::cli {

struct ElementType {
    const char* name;
    unsigned bytes;
    bool (*parse)(const std::string& text, void* to);   ///< false: not a number of this type
    std::string (*format)(const void* from);            ///< enough digits to read the same value back
    void (*from_index)(uint64_t index, void* to);       ///< 0, 1, 2, ...
    void (*random)(uint64_t bits, void* to);            ///< floats 0..1, integers any
};

/// @return nullptr: no such type
const ElementType* find_element_type(const std::string& name);
/// "i8, u8, ..." for messages.
std::string element_type_names();

}  // namespace lyra::cli
