// SPDX-License-Identifier: MIT
// Decoded code by page; step 6 of the data flow.
#include "gcn-interp/cu/code_cache.h"

#include <cstring>

#include "gcn-interp/exec/fp_exceptions.h"
#include "gcn-interp/exec/observe.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

/// s_getreg_b32 with a field of HW_REG_TRAPSTS that begins in EXCP. Data that looks like one does no harm.
bool reads_exceptions(const uint8_t* page) {
    constexpr uint32_t kGetreg = 0xb8800000, kOpcode = 0xff800000, kTrapsts = 3;
    bool found = false;
    for (size_t at = 0; at < kPageBytes; at += sizeof(uint32_t)) {
        uint32_t word;
        std::memcpy(&word, page + at, sizeof word);
        found |= (word & (kOpcode | 63)) == (kGetreg | kTrapsts) && (word >> 6 & 31) < 7;
    }
    return found;
}

}  // namespace

void CodePage::reset(uint32_t vmid, uint64_t va) {
    vmid_ = vmid;
    va_ = va;
    bytes_behind_ = 0;
    index_.fill(0);
    entries_.clear();
}

const uint8_t* CodePage::page_behind(MemoryPort& port) const { return port.page(vmid_, va_ + kPageBytes, Access::Execute); }

bool CodePage::decode_one(MemoryPort& port, size_t offset, CodeEntry& entry) {
    size_t available = kPageBytes - offset;
    uint32_t words[3] = {};
    if (available < sizeof words) {
        const uint8_t* const behind = bytes_behind_ == 0 ? page_behind(port) : nullptr;
        if (behind != nullptr) {
            std::memcpy(raw_.data() + kPageBytes, behind, kTailBytes);
            bytes_behind_ = kTailBytes;
        }
        if (bytes_behind_ != 0) available = sizeof words;
    }
    std::memcpy(words, raw_.data() + offset, std::min(available, sizeof words));
    entry.inst = decode(words, std::size(words), chip_);
    if (entry.inst.size_bytes > available) return false;
    if (entry.inst.format != Format::Invalid) entry.fn = exec_function(entry.inst.op, entry.inst.format);
    entry.pace = pace_of(entry.inst);
    entry.then = entry.fn ? then_of(entry.inst) : Then::Jump;
    if (tracked_ && entry.fn && raises_exceptions(entry.inst)) {
        entry.fn = tracked_function();
        entry.then = Then::Check;
    }
    if (entry.then == Then::Next && exec_observer() != nullptr) entry.then = Then::Check;  // an observer sees the PC
    return true;
}

const CodeEntry* CodePage::decode_at(MemoryPort& port, uint64_t pc) {
    const size_t first = entries_.size();
    size_t offset = pc % kPageBytes & ~size_t{3};
    while (offset < kPageBytes && index_[offset / 4] == 0) {
        CodeEntry entry;
        if (!decode_one(port, offset, entry)) break;
        if (!entry.fn && entries_.size() != first) break;  // the step loop meets it when it gets there
        entries_.push_back(entry);
        index_[offset / 4] = static_cast<uint16_t>(entries_.size());
        if (entry.then == Then::Jump) break;
        offset += entry.inst.size_bytes;
    }
    if (entries_.size() == first) return nullptr;
    entries_.back().then = Then::Jump;  // what follows it is not the next entry
    return &entries_[first];
}

bool CodeCache::refresh(CodePage& page) {
    const uint8_t* host = port_.page(page.vmid_, page.va_, Access::Execute);
    if (!host) return false;
    bool same = !page.entries_.empty() && std::memcmp(page.raw_.data(), host, kPageBytes) == 0;
    if (same && page.bytes_behind_ != 0) {
        const uint8_t* const behind = page.page_behind(port_);
        same = behind != nullptr && std::memcmp(page.raw_.data() + kPageBytes, behind, page.bytes_behind_) == 0;
    }
    if (!same) {
        page.reset(page.vmid_, page.va_);
        std::memcpy(page.raw_.data(), host, kPageBytes);
        page.reads_exceptions_ = reads_exceptions(page.raw_.data());
        page.translated_ = nullptr;
        if (translator_ != nullptr) {
            if (const uint8_t* const behind = page.page_behind(port_)) {
                std::memcpy(page.raw_.data() + kPageBytes, behind, kPageBytes);
                page.bytes_behind_ = kPageBytes;
            }
            page.translated_ = translator_->page({page.raw_.data(), kPageBytes + page.bytes_behind_});
        }
    }
    page.epoch_ = epoch_;
    return true;
}

CodePage* CodeCache::page(uint32_t vmid, uint64_t pc) {
    if (const uint64_t now = port_.generation(); now != generation_) {
        if (!same_translations(now, generation_)) invalidate();  // a copy of the page needs no watch
        generation_ = now;
    }
    const uint64_t va = pc & ~(kPageBytes - 1);
    std::unique_ptr<CodePage>& slot = pages_[(va / kPageBytes + vmid * 17) % kPages];
    if (!slot) {
        slot = std::make_unique<CodePage>();
        slot->chip_ = chip_;
        slot->tracked_ = tracked_;
    }
    CodePage& page = *slot;
    if (page.va_ == va && page.vmid_ == vmid && page.epoch_ == epoch_) return &page;
    if (page.va_ != va || page.vmid_ != vmid) page.reset(vmid, va);
    if (refresh(page)) return &page;
    page.va_ = 1;
    return nullptr;
}

}  // namespace lyra::gcn
