// SPDX-License-Identifier: MIT
// Offload bundles as clang writes them: a table of (offset, size, target name) after a magic string.
#include "tools/inproc/bundle.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>

namespace lyra::inproc {

namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr uint64_t kMaxEntries = 1024, kMaxName = 4096;  // far above what compilers write

/// Bytes of a file with a position, never outside.
class Reader {
public:
    Reader(const uint8_t* data, uint64_t size) : data_(data), size_(size) {}
    std::optional<uint64_t> u64() {
        const uint8_t* at = take(8);
        if (!at) return std::nullopt;
        uint64_t value;
        std::memcpy(&value, at, 8);
        return value;
    }
    const uint8_t* take(uint64_t bytes) {
        if (bytes > size_ - at_) return nullptr;
        at_ += bytes;
        return data_ + at_ - bytes;
    }

private:
    const uint8_t* data_;
    uint64_t size_, at_ = 0;
};

bool starts_with(const uint8_t* data, uint64_t size, std::string_view text) {
    return size >= text.size() && std::memcmp(data, text.data(), text.size()) == 0;
}

// "hipv4-amdgcn-amd-amdhsa--gfx900:xnack-" is for gfx900.
bool is_for(std::string_view target, std::string_view chip) {
    const size_t at = target.rfind(chip);
    if (at == std::string_view::npos || at == 0 || target[at - 1] != '-') return false;
    const std::string_view rest = target.substr(at + chip.size());
    return rest.empty() || rest[0] == ':';
}

Bytes from_bundle(const uint8_t* data, uint64_t size, const std::string& chip, std::string& error) {
    Reader reader(data, size);
    reader.take(kBundleMagic.size());
    const auto entries = reader.u64();
    std::string found;
    for (uint64_t i = 0; entries && i < *entries && i < kMaxEntries; ++i) {
        const auto offset = reader.u64(), bytes = reader.u64(), name_bytes = reader.u64();
        const uint8_t* name = name_bytes && *name_bytes <= kMaxName ? reader.take(*name_bytes) : nullptr;
        if (!name) break;
        const std::string target(reinterpret_cast<const char*>(name), *name_bytes);
        if (*offset > size || *bytes > size - *offset) {
            error = "the offload bundle is truncated";
            return {};
        }
        if (is_for(target, chip)) return Bytes(data + *offset, data + *offset + *bytes);
        found += (found.empty() ? "" : ", ") + target;
    }
    error = "the offload bundle has no code for " + chip + (found.empty() ? "" : " (it has: " + found + ")");
    return {};
}

// The section of a host program that holds bundles.
Bytes from_host_program(const Bytes& file, const std::string& chip, std::string& error) {
    for (size_t at = 0; at + kBundleMagic.size() <= file.size(); at += 16) {  // bundles are page-aligned
        if (starts_with(&file[at], file.size() - at, kBundleMagic)) {
            Bytes found = from_bundle(&file[at], file.size() - at, chip, error);
            if (!found.empty()) return found;
        }
    }
    if (error.empty()) error = "the program contains no GPU code";
    return {};
}

}  // namespace

Bytes extract_code_object(const Bytes& file, const std::string& chip, std::string& error) {
    error.clear();
    if (starts_with(file.data(), file.size(), kBundleMagic)) return from_bundle(file.data(), file.size(), chip, error);
    if (starts_with(file.data(), file.size(), kCompressedMagic)) {
        error = "compressed offload bundles are not supported: compile with --no-offload-compress";
        return {};
    }
    if (!starts_with(file.data(), file.size(), ELFMAG) || file.size() < sizeof(Elf64_Ehdr)) {
        error = "neither an ELF file nor an offload bundle";
        return {};
    }
    Elf64_Ehdr header;
    std::memcpy(&header, file.data(), sizeof header);
    return header.e_machine == EM_AMDGPU ? file : from_host_program(file, chip, error);
}

}  // namespace lyra::inproc
