// SPDX-License-Identifier: MIT
// Decoded code by page; step 6 of the data flow.
#include "gcn-interp/cu/code_cache.h"

#include <cstring>

#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

void CodePage::reset(uint32_t vmid, uint64_t va) {
    vmid_ = vmid;
    va_ = va;
    tail_used_ = false;
    index_.fill(0);
    entries_.clear();
}

bool CodePage::fetch_tail(MemoryPort& port, uint8_t* tail) const {
    const uint8_t* host = port.page(vmid_, va_ + kPageBytes, Access::Execute);
    if (host) std::memcpy(tail, host, kTailBytes);
    return host != nullptr;
}

const CodeEntry* CodePage::decode_at(MemoryPort& port, uint64_t pc) {
    const size_t offset = pc % kPageBytes & ~size_t{3};
    size_t available = kPageBytes - offset;
    uint32_t words[3] = {};
    if (available < sizeof words) {
        if (!tail_used_ && fetch_tail(port, raw_.data() + kPageBytes)) tail_used_ = true;
        if (tail_used_) available = sizeof words;
    }
    std::memcpy(words, raw_.data() + offset, std::min(available, sizeof words));
    CodeEntry entry;
    entry.inst = decode(words, std::size(words), chip_);
    if (entry.inst.size_bytes > available) return nullptr;
    if (entry.inst.format != Format::Invalid) entry.fn = exec_function(entry.inst.op, entry.inst.format);
    entry.pace = pace_of(entry.inst);
    entries_.push_back(entry);
    index_[offset / 4] = static_cast<uint16_t>(entries_.size());
    return &entries_.back();
}

bool CodeCache::refresh(CodePage& page) {
    const uint8_t* host = port_.page(page.vmid_, page.va_, Access::Execute);
    if (!host) return false;
    bool same = !page.entries_.empty() && std::memcmp(page.raw_.data(), host, kPageBytes) == 0;
    if (same && page.tail_used_) {
        uint8_t tail[CodePage::kTailBytes];
        same = page.fetch_tail(port_, tail) && std::memcmp(page.raw_.data() + kPageBytes, tail, sizeof tail) == 0;
    }
    if (!same) {
        page.reset(page.vmid_, page.va_);
        std::memcpy(page.raw_.data(), host, kPageBytes);
    }
    page.epoch_ = epoch_;
    return true;
}

CodePage* CodeCache::page(uint32_t vmid, uint64_t pc) {
    if (const uint64_t now = port_.generation(); now != generation_) {
        generation_ = now;
        invalidate();
    }
    const uint64_t va = pc & ~(kPageBytes - 1);
    std::unique_ptr<CodePage>& slot = pages_[(va / kPageBytes + vmid * 17) % kPages];
    if (!slot) {
        slot = std::make_unique<CodePage>();
        slot->chip_ = chip_;
    }
    CodePage& page = *slot;
    if (page.va_ == va && page.vmid_ == vmid && page.epoch_ == epoch_) return &page;
    if (page.va_ != va || page.vmid_ != vmid) page.reset(vmid, va);
    if (refresh(page)) return &page;
    page.va_ = 1;
    return nullptr;
}

}  // namespace lyra::gcn
