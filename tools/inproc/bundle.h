// SPDX-License-Identifier: MIT
// Finds the code object for one chip in a file: a bare ELF, an offload bundle, or a host program with a fat binary.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lyra::inproc {

using Bytes = std::vector<uint8_t>;

/// A file's contents, of which only what is asked for gets into memory: programs with code for many chips have gigabytes.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    virtual uint64_t size() const = 0;
    /// @return false: the range does not lie inside, or cannot be read
    virtual bool read(uint64_t offset, void* to, uint64_t bytes) const = 0;
};

/// A regular file.
class FileSource : public ByteSource {
public:
    explicit FileSource(const std::string& path);
    ~FileSource() override;
    FileSource(const FileSource&) = delete;
    bool ok() const { return descriptor_ >= 0; }  ///< false: it cannot be opened, or is not a regular file
    uint64_t size() const override { return size_; }
    bool read(uint64_t offset, void* to, uint64_t bytes) const override;

private:
    int descriptor_ = -1;
    uint64_t size_ = 0;
};

/// @param file   contents of the file
/// @param chip   such as "gfx900"
/// @param error  receives what is wrong, with the chips found when none fits
/// @return the ELF of the code object; empty on error
Bytes extract_code_object(const ByteSource& file, const std::string& chip, std::string& error);
Bytes extract_code_object(const Bytes& file, const std::string& chip, std::string& error);

}  // namespace lyra::inproc
