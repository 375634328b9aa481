// SPDX-License-Identifier: MIT
// Memory for generated code: each page is writable in one mapping and executable in another; step 6 of the data flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace lyra::gcn {

/// A fixed amount of memory from which pieces of code are taken and to which they return. No address is ever writable and
/// executable: one memory file is mapped twice. Where the host refuses that, nothing can be added, and the interpreter runs.
class CodeArena {
public:
    explicit CodeArena(size_t bytes);
    ~CodeArena();
    CodeArena(const CodeArena&) = delete;
    CodeArena& operator=(const CodeArena&) = delete;

    /// Copy position-independent code. @return where it can be called, nullptr when there is no room
    const uint8_t* add(const uint8_t* code, size_t bytes);
    /// Nothing may be executing it. @param code  an answer of add()
    void remove(const uint8_t* code);

    size_t used() const;
    size_t capacity() const { return bytes_; }

private:
    size_t bytes_ = 0;
    uint8_t* writable_ = nullptr;
    uint8_t* executable_ = nullptr;
    mutable std::mutex mutex_;
    std::map<size_t, size_t> free_;   ///< offset, bytes; neighbours are joined
    std::map<size_t, size_t> taken_;
};

}  // namespace lyra::gcn
