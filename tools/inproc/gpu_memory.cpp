// SPDX-License-Identifier: MIT
// Memory of the in-process GPU: host mappings and the allocation of pages.
#include "tools/inproc/gpu_memory.h"

#include <sys/mman.h>

namespace lyra::inproc {

namespace {
constexpr uint64_t kVramReserve = uint64_t{2} << 20;  // the end of VRAM holds the discovery table
}

HostMapping::HostMapping(uint64_t bytes) : bytes_(bytes) {
    void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    data_ = data == MAP_FAILED ? nullptr : static_cast<uint8_t*>(data);
}

HostMapping::~HostMapping() {
    if (data_) munmap(data_, bytes_);
}

uint64_t GpuMemory::take(Domain domain, uint64_t bytes, uint64_t align) {
    const uint64_t size = round_up(bytes, kPageBytes);
    uint64_t& next = domain == Domain::Vram ? next_vram_ : next_system_;
    const uint64_t end = domain == Domain::Vram ? vram_.bytes() - kVramReserve : system_.bytes();
    if (size < bytes) return kNoSpace;
    if (const auto found = free_.find({domain, size}); found != free_.end()) {
        std::vector<uint64_t>& offsets = found->second;
        if (!offsets.empty() && offsets.back() % align == 0) {
            const uint64_t offset = offsets.back();
            offsets.pop_back();
            return offset;
        }
    }
    const uint64_t start = round_up(next, align);
    if (size > end || start > end - size) return kNoSpace;
    next = start + size;
    return start;
}

void GpuMemory::give_back(Domain domain, uint64_t offset, uint64_t bytes) {
    const uint64_t size = round_up(bytes, kPageBytes);
    madvise(host(domain, offset), size, MADV_DONTNEED);  // reads as zero from now on
    free_[{domain, size}].push_back(offset);
}

}  // namespace lyra::inproc
