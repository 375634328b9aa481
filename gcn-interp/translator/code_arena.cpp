// SPDX-License-Identifier: MIT
// Memory for generated code; step 6 of the data flow.
#include "gcn-interp/translator/code_arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace lyra::gcn {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

CodeArena::CodeArena(size_t bytes) {
    const int file = memfd_create("lyra-code", MFD_CLOEXEC);
    if (file < 0) return;
    void* rw = MAP_FAILED;
    void* rx = MAP_FAILED;
    if (ftruncate(file, static_cast<off_t>(bytes)) == 0) {
        rw = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        rx = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    }
    close(file);
    if (rw == MAP_FAILED || rx == MAP_FAILED) {
        if (rw != MAP_FAILED) munmap(rw, bytes);
        if (rx != MAP_FAILED) munmap(rx, bytes);
        return;
    }
    writable_ = static_cast<uint8_t*>(rw);
    executable_ = static_cast<uint8_t*>(rx);
    bytes_ = bytes;
    free_.emplace(0, bytes);
}

CodeArena::~CodeArena() {
    if (bytes_ == 0) return;
    munmap(writable_, bytes_);
    munmap(executable_, bytes_);
}

const uint8_t* CodeArena::add(const uint8_t* code, size_t bytes) {
    const size_t need = (bytes + kAlignment - 1) & ~(kAlignment - 1);
    const std::lock_guard lock(mutex_);
    for (auto at = free_.begin(); at != free_.end(); ++at) {
        const auto [offset, room] = *at;
        if (room < need) continue;
        free_.erase(at);
        if (room > need) free_.emplace(offset + need, room - need);
        taken_.emplace(offset, need);
        std::memcpy(writable_ + offset, code, bytes);
        return executable_ + offset;
    }
    return nullptr;
}

void CodeArena::remove(const uint8_t* code) {
    const std::lock_guard lock(mutex_);
    const auto found = taken_.find(static_cast<size_t>(code - executable_));
    if (found == taken_.end()) return;
    auto [offset, size] = *found;
    taken_.erase(found);
    auto next = free_.lower_bound(offset);
    if (next != free_.end() && next->first == offset + size) {
        size += next->second;
        next = free_.erase(next);
    }
    if (next != free_.begin()) {
        const auto before = std::prev(next);
        if (before->first + before->second == offset) {
            before->second += size;
            return;
        }
    }
    free_.emplace(offset, size);
}

size_t CodeArena::used() const {
    const std::lock_guard lock(mutex_);
    size_t bytes = 0;
    for (const auto& [offset, size] : taken_) bytes += size;
    return bytes;
}

}  // namespace lyra::gcn
