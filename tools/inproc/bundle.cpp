// SPDX-License-Identifier: MIT
// Offload bundles as clang writes them: a table of (offset, size, target name) after a magic string.
#include "tools/inproc/bundle.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace lyra::inproc {

namespace {

constexpr std::string_view kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressedMagic = "CCOB";
constexpr uint64_t kMaxEntries = 1024, kMaxName = 4096;  // far above what compilers write

/// Contents that are in memory already.
class MemorySource : public ByteSource {
public:
    explicit MemorySource(const Bytes& bytes) : bytes_(bytes) {}
    uint64_t size() const override { return bytes_.size(); }
    bool read(uint64_t offset, void* to, uint64_t bytes) const override {
        if (offset > bytes_.size() || bytes > bytes_.size() - offset) return false;
        if (bytes != 0) std::memcpy(to, bytes_.data() + offset, bytes);
        return true;
    }

private:
    const Bytes& bytes_;
};

/// A source with a position, never outside.
class Reader {
public:
    Reader(const ByteSource& source, uint64_t at) : source_(source), at_(at) {}
    std::optional<uint64_t> u64() {
        uint64_t value;
        if (!source_.read(at_, &value, 8)) return std::nullopt;
        at_ += 8;
        return value;
    }
    std::optional<std::string> text(uint64_t bytes) {
        std::string value(bytes, 0);
        if (!source_.read(at_, value.data(), bytes)) return std::nullopt;
        at_ += bytes;
        return value;
    }

private:
    const ByteSource& source_;
    uint64_t at_;
};

bool starts_with(const ByteSource& source, std::string_view text) {
    std::string start(text.size(), 0);
    return source.read(0, start.data(), start.size()) && start == text;
}

Bytes part(const ByteSource& source, uint64_t offset, uint64_t bytes, std::string& error) {
    Bytes made(bytes);
    if (source.read(offset, made.data(), bytes)) return made;
    error = "the file cannot be read";
    return {};
}

// "hipv4-amdgcn-amd-amdhsa--gfx900:xnack-" is for gfx900.
bool is_for(std::string_view target, std::string_view chip) {
    const size_t at = target.rfind(chip);
    if (at == std::string_view::npos || at == 0 || target[at - 1] != '-') return false;
    const std::string_view rest = target.substr(at + chip.size());
    return rest.empty() || rest[0] == ':';
}

// A bundle that begins at `start`.
Bytes from_bundle(const ByteSource& file, uint64_t start, const std::string& chip, std::string& error) {
    const uint64_t size = file.size() - start;
    Reader reader(file, start + kBundleMagic.size());
    const auto entries = reader.u64();
    std::string found;
    for (uint64_t i = 0; entries && i < *entries && i < kMaxEntries; ++i) {
        const auto offset = reader.u64(), bytes = reader.u64(), name_bytes = reader.u64();
        const auto target = name_bytes && *name_bytes <= kMaxName ? reader.text(*name_bytes) : std::nullopt;
        if (!target) break;
        if (*offset > size || *bytes > size - *offset) {
            error = "the offload bundle is truncated";
            return {};
        }
        if (is_for(*target, chip)) return part(file, start + *offset, *bytes, error);
        found += (found.empty() ? "" : ", ") + *target;
    }
    error = "the offload bundle has no code for " + chip + (found.empty() ? "" : " (it has: " + found + ")");
    return {};
}

// The section of a host program that holds bundles, which are page-aligned: looked for piece by piece.
Bytes from_host_program(const ByteSource& file, const std::string& chip, std::string& error) {
    constexpr uint64_t kPiece = 1 << 20, kStep = 16;
    Bytes piece;
    for (uint64_t at = 0; at < file.size(); at += kPiece) {
        piece.resize(std::min(kPiece + kBundleMagic.size(), file.size() - at));
        if (!file.read(at, piece.data(), piece.size())) break;
        for (uint64_t i = 0; i < kPiece && i + kBundleMagic.size() <= piece.size(); i += kStep) {
            if (std::memcmp(&piece[i], kBundleMagic.data(), kBundleMagic.size()) != 0) continue;
            Bytes found = from_bundle(file, at + i, chip, error);
            if (!found.empty()) return found;
        }
    }
    if (error.empty()) error = "the program contains no GPU code";
    return {};
}

}  // namespace

FileSource::FileSource(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status;
    if (descriptor_ >= 0 && ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode)) {
        size_ = static_cast<uint64_t>(status.st_size);
    } else if (descriptor_ >= 0) {
        ::close(descriptor_);
        descriptor_ = -1;
    }
}
FileSource::~FileSource() {
    if (descriptor_ >= 0) ::close(descriptor_);
}
bool FileSource::read(uint64_t offset, void* to, uint64_t bytes) const {
    if (offset > size_ || bytes > size_ - offset) return false;
    for (uint64_t done = 0; done < bytes;) {
        const ssize_t got =
            ::pread(descriptor_, static_cast<uint8_t*>(to) + done, bytes - done, static_cast<off_t>(offset + done));
        if (got <= 0) return false;
        done += static_cast<uint64_t>(got);
    }
    return true;
}

Bytes extract_code_object(const ByteSource& file, const std::string& chip, std::string& error) {
    error.clear();
    if (starts_with(file, kBundleMagic)) return from_bundle(file, 0, chip, error);
    if (starts_with(file, kCompressedMagic)) {
        error = "compressed offload bundles are not supported: compile with --no-offload-compress";
        return {};
    }
    Elf64_Ehdr header;
    if (!starts_with(file, ELFMAG) || !file.read(0, &header, sizeof header)) {
        error = "neither an ELF file nor an offload bundle";
        return {};
    }
    return header.e_machine == EM_AMDGPU ? part(file, 0, file.size(), error) : from_host_program(file, chip, error);
}

Bytes extract_code_object(const Bytes& file, const std::string& chip, std::string& error) {
    return extract_code_object(MemorySource(file), chip, error);
}

}  // namespace lyra::inproc
