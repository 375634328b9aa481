// SPDX-License-Identifier: MIT
// Memory of the in-process GPU: VRAM, and system memory behind bus addresses. Only who owns which pages, no mappings.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace lyra::inproc {

inline constexpr uint64_t kPageBytes = 4096;

/// Where memory lives.
enum class Domain : uint8_t { Vram, System };

/// Anonymous memory that costs only what is touched.
class HostMapping {
public:
    explicit HostMapping(uint64_t bytes);
    ~HostMapping();
    HostMapping(const HostMapping&) = delete;
    HostMapping& operator=(const HostMapping&) = delete;
    uint8_t* data() const { return data_; }  ///< nullptr: the host refused
    uint64_t bytes() const { return bytes_; }

private:
    uint8_t* data_ = nullptr;
    uint64_t bytes_ = 0;
};

/// Whole pages of VRAM and of system memory, by offset from the start of either.
class GpuMemory {
public:
    static constexpr uint64_t kSystemBusBase = uint64_t{4} << 30;  ///< bus address of the first byte of system memory
    static constexpr uint64_t kNoSpace = ~uint64_t{0};

    GpuMemory(uint64_t vram_bytes, uint64_t system_bytes) : vram_(vram_bytes), system_(system_bytes) {}

    bool ok() const { return vram_.data() && system_.data(); }
    uint8_t* vram() const { return vram_.data(); }
    uint64_t vram_bytes() const { return vram_.bytes(); }
    uint8_t* system() const { return system_.data(); }
    uint64_t system_bytes() const { return system_.bytes(); }
    uint8_t* host(Domain domain, uint64_t offset) const { return (domain == Domain::Vram ? vram() : system()) + offset; }

    /// Zero-filled pages. @param align power of two  @return their offset, kNoSpace when the domain is full
    uint64_t take(Domain domain, uint64_t bytes, uint64_t align = kPageBytes);
    /// Pages of one take(), with the same number of bytes. Only a request of just as many gets them again.
    void give_back(Domain domain, uint64_t offset, uint64_t bytes);

private:
    HostMapping vram_, system_;
    uint64_t next_vram_ = uint64_t{1} << 20;  ///< the first MiB stays empty: VRAM offset 0 is a likely wrong address
    uint64_t next_system_ = 0;
    std::map<std::pair<Domain, uint64_t>, std::vector<uint64_t>> free_;  ///< by domain and size
};

constexpr uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

}  // namespace lyra::inproc
