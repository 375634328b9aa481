// SPDX-License-Identifier: MIT
// Visitors of the device's state: what a stream looks like, and how far it is trusted.
#include "common/snapshot.h"

#include <cstring>

#include <fmt/format.h>

#include "common/hash.h"

namespace lyra {

namespace {

constexpr size_t kMaxDifferences = 20;

bool is_zero(const uint8_t* page) {
    uint64_t any = 0;
    for (size_t n = 0; n < StateVisitor::kSparseBytes; n += 8) {
        uint64_t word;
        std::memcpy(&word, page + n, sizeof word);
        any |= word;
    }
    return any == 0;
}

}  // namespace

// --- StateVisitor ---

void StateVisitor::refuse(std::string_view why) {
    if (error_.empty()) error_ = fmt::format("{}: {}", path(""), why);
}

std::string StateVisitor::path(const char* name) const {
    std::string text;
    for (const Step& step : path_) {
        text += step.name;
        if (step.index != kNoIndex) text += fmt::format("[{}]", step.index);
        if (step.name[0] || step.index != kNoIndex) text += '/';
    }
    text += name;
    while (text.ends_with('/')) text.pop_back();
    return text;
}

void StateVisitor::begin(const char* name) {
    const bool outermost = path_.empty();
    path_.push_back({name, kNoIndex});
    if (outermost) {
        mark_ = hash_text(name);
        opened(name);
    }
}

void StateVisitor::end() {
    if (path_.size() == 1) closed();
    path_.pop_back();
}

void StateVisitor::note(const char* name, uint64_t bytes) {
    mark_ = hash_text(name, mark_) ^ bytes * 0x9e3779b97f4a7c15;  // an odd number: other sizes change all bits
}

// --- StateWriter ---

void StateWriter::put(const void* data, size_t bytes) {
    const auto* from = static_cast<const uint8_t*>(data);
    bytes_.insert(bytes_.end(), from, from + bytes);
}

void StateWriter::opened(const char*) {
    const uint64_t block = mark();
    put(&block, sizeof block);
}

void StateWriter::closed() {
    const uint64_t block = mark();
    put(&block, sizeof block);
}

void StateWriter::word(const char* name, uint64_t& value, unsigned bytes, uint64_t) {
    note(name, bytes);
    put(&value, bytes);
}

void StateWriter::plain(const char* name, void* data, size_t bytes) {
    note(name, bytes);
    put(data, bytes);
}

size_t StateWriter::length(const char* name, size_t size, size_t) {
    note(name, 0);
    const uint64_t count = size;
    put(&count, sizeof count);
    return size;
}

/// Number of the page, from 1 on, and the page; 0 at the end.
void StateWriter::sparse(const char* name, void* data, size_t bytes) {
    note(name, bytes);
    const auto* memory = static_cast<const uint8_t*>(data);
    uint64_t number = 1;
    for (size_t at = 0; at < bytes; at += kSparseBytes, ++number) {
        if (is_zero(memory + at)) continue;
        put(&number, sizeof number);
        put(memory + at, kSparseBytes);
    }
    number = 0;
    put(&number, sizeof number);
}

// --- StateReader ---

void StateReader::take(void* data, size_t bytes) {
    if (bytes == 0) return;
    if (bytes > rest_.size()) refuse("it ends too early");
    if (!ok()) {
        std::memset(data, 0, bytes);
        return;
    }
    std::memcpy(data, rest_.data(), bytes);
    rest_ = rest_.subspan(bytes);
}

uint64_t StateReader::take_word(const char* name, unsigned bytes, uint64_t most) {
    note(name, bytes);
    uint64_t value = 0;
    take(&value, bytes);
    if (value > most) refuse(fmt::format("{} cannot be {:#x}", name, value));
    return ok() ? value : 0;
}

void StateReader::opened(const char* name) {
    uint64_t block = 0;
    take(&block, sizeof block);
    if (block != mark()) refuse(fmt::format("no block '{}'", name));
}

void StateReader::closed() {
    uint64_t block = 0;
    take(&block, sizeof block);
    if (block != mark()) refuse("its values are not those of this version");
}

size_t StateReader::length(const char* name, size_t, size_t most) {
    note(name, 0);
    uint64_t count = 0;
    take(&count, sizeof count);
    // An element has at least a byte: no more memory is taken than the stream itself is long, times the size of an element.
    if (count > most || count > rest_.size()) refuse(fmt::format("{} cannot have {} elements", name, count));
    return ok() ? static_cast<size_t>(count) : 0;
}

template <class Visit>
void StateReader::take_pages(const char* name, size_t bytes, Visit visit) {
    note(name, bytes);
    size_t at = 0;
    for (;;) {
        uint64_t number = 0;
        take(&number, sizeof number);
        const bool last = number == 0 || !ok();
        if (!last && (number - 1 >= bytes / kSparseBytes || (number - 1) * kSparseBytes < at)) {
            refuse(fmt::format("{} has no page {} there", name, number - 1));
            return;
        }
        const size_t end = last ? bytes : (number - 1) * kSparseBytes;
        for (; at < end; at += kSparseBytes) visit(at, static_cast<const uint8_t*>(nullptr));
        if (last) return;
        std::array<uint8_t, kSparseBytes> page;
        take(page.data(), page.size());
        visit(at, page.data());
        at += kSparseBytes;
    }
}

// --- StateLoader ---

void StateLoader::word(const char* name, uint64_t& value, unsigned bytes, uint64_t most) {
    value = take_word(name, bytes, most);
}

void StateLoader::plain(const char* name, void* data, size_t bytes) {
    note(name, bytes);
    take(data, bytes);
}

// Memory that is 0 already is not written, so that what the host has not given yet is not asked for.
void StateLoader::sparse(const char* name, void* data, size_t bytes) {
    auto* memory = static_cast<uint8_t*>(data);
    take_pages(name, bytes, [&](size_t at, const uint8_t* page) {
        if (page)
            std::memcpy(memory + at, page, kSparseBytes);
        else if (!is_zero(memory + at))
            std::memset(memory + at, 0, kSparseBytes);
    });
}

// --- StateComparer ---

void StateComparer::differ(const char* name, const std::string& what) {
    if (differences_.size() < kMaxDifferences && ok()) differences_.push_back(path(name) + ": " + what);
}

void StateComparer::word(const char* name, uint64_t& value, unsigned bytes, uint64_t most) {
    const uint64_t stream = take_word(name, bytes, most);
    if (stream != value) differ(name, fmt::format("{:#x}, in the stream {:#x}", value, stream));
}

void StateComparer::plain(const char* name, void* data, size_t bytes) {
    note(name, bytes);
    const auto* memory = static_cast<const uint8_t*>(data);
    std::vector<uint8_t> stream(bytes);
    take(stream.data(), bytes);
    for (size_t n = 0; n < bytes; ++n) {
        if (memory[n] == stream[n]) continue;
        return differ(name, fmt::format("byte {} is {:#x}, in the stream {:#x}", n, memory[n], stream[n]));
    }
}

size_t StateComparer::length(const char* name, size_t size, size_t most) {
    const size_t stream = StateReader::length(name, size, most);
    if (stream == size) return size;
    differ(name, fmt::format("{} elements, in the stream {}", size, stream));
    refuse("a list of another length");  // what follows cannot be told apart
    return size;
}

void StateComparer::sparse(const char* name, void* data, size_t bytes) {
    auto* memory = static_cast<const uint8_t*>(data);
    take_pages(name, bytes, [&](size_t at, const uint8_t* page) {
        const bool same = page ? std::memcmp(memory + at, page, kSparseBytes) == 0 : is_zero(memory + at);
        if (!same) differ(name, fmt::format("the page at {:#x}", at));
    });
}

// --- StatePrinter ---

void StatePrinter::word(const char* name, uint64_t& value, unsigned, uint64_t) {
    if (value != 0) text_ += fmt::format("{} = {:#x}\n", path(name), value);
}

void StatePrinter::plain(const char* name, void* data, size_t bytes) {
    const auto* memory = static_cast<const uint8_t*>(data);
    std::string words;
    bool any = false;
    for (size_t at = 0; at < bytes; at += sizeof(uint32_t)) {
        uint32_t word = 0;
        std::memcpy(&word, memory + at, std::min(sizeof word, bytes - at));
        any |= word != 0;
        words += fmt::format(" {:08x}", word);
    }
    if (any) text_ += fmt::format("{} ={}\n", path(name), words);
}

size_t StatePrinter::length(const char* name, size_t size, size_t) {
    if (size != 0) text_ += fmt::format("{}: {}\n", path(name), size);
    return size;
}

void StatePrinter::sparse(const char* name, void* data, size_t bytes) {
    const auto* memory = static_cast<const uint8_t*>(data);
    size_t pages = 0;
    for (size_t at = 0; at < bytes; at += kSparseBytes) pages += is_zero(memory + at) ? 0 : 1;
    if (pages != 0) text_ += fmt::format("{}: {} pages that are not 0\n", path(name), pages);
}

}  // namespace lyra
