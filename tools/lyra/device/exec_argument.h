// SPDX-License-Identifier: MIT
// --arg of `lyra exec`: what the user wrote, made into bytes for the kernel and a place for the result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tools/inproc/bundle.h"
#include "tools/lyra/device/element_type.h"

namespace lyra::cli {

struct ExecArgument {
    enum class Kind : uint8_t {
        Value,    ///< bytes are the argument itself
        Buffer,   ///< buffer_bytes of memory, the argument is its address
        Lds,      ///< lds_bytes of dynamic LDS, the argument is its address there
    };
    Kind kind = Kind::Value;
    std::string text;                    ///< as the user wrote it
    const ElementType* type = nullptr;   ///< of a buffer
    std::vector<uint8_t> bytes;
    uint64_t buffer_bytes = 0;
    /// Makes the first content of a buffer in place, of buffer_bytes zeros: it may be as large as VRAM, and is there once.
    /// Empty: zeros. Once only. Throws UserError.
    std::function<void(uint8_t*)> fill;
    uint32_t lds_bytes = 0;
    std::string destination;             ///< of a buffer: file that receives its content, "-" prints, empty: nowhere
};

/// Throws UserError. Looks for the files that are named; fill() reads them.
ExecArgument parse_exec_argument(const std::string& text);

/// The syntax, for --help.
std::string exec_argument_help();

/// The ELF for the chip in a code object, bundle or program; of a large program only that is read. Throws UserError.
inproc::Bytes read_code_object(const std::string& path, const std::string& chip);
std::vector<uint8_t> read_file(const std::string& path);
void write_file(const std::string& path, const void* data, size_t bytes);

}  // namespace lyra::cli
