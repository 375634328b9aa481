// SPDX-License-Identifier: MIT
// --arg of `lyra exec`: what the user wrote, made into bytes for the kernel and a place for the result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/lyra/element_type.h"

namespace lyra::cli {

struct ExecArgument {
    enum class Kind : uint8_t {
        Value,    ///< bytes are the argument itself
        Buffer,   ///< bytes are the first content of a buffer, the argument is its address
        Lds,      ///< lds_bytes of dynamic LDS, the argument is its address there
    };
    Kind kind = Kind::Value;
    std::string text;                    ///< as the user wrote it
    const ElementType* type = nullptr;   ///< of a buffer
    std::vector<uint8_t> bytes;
    uint32_t lds_bytes = 0;
    std::string destination;             ///< of a buffer: file that receives its content, "-" prints, empty: nowhere
};

/// Throws UserError. Reads the files that are named.
ExecArgument parse_exec_argument(const std::string& text);

/// The syntax, for --help.
std::string exec_argument_help();

std::vector<uint8_t> read_file(const std::string& path);
void write_file(const std::string& path, const void* data, size_t bytes);

}  // namespace lyra::cli
