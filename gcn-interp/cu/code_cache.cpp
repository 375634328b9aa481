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
    tail_used_ = false;
    index_.fill(0);
    entries_.clear();
}

bool CodePage::fetch_tail(MemoryPort& port, uint8_t* tail) const {
    const uint8_t* host = port.page(vmid_, va_ + kPageBytes, Access::Execute);
    if (host) std::memcpy(tail, host, kTailBytes);
    return host != nullptr;
}

bool CodePage::decode_one(MemoryPort& port, size_t offset, CodeEntry& entry) {
    size_t available = kPageBytes - offset;
    uint32_t words[3] = {};
    if (available < sizeof words) {
        if (!tail_used_ && fetch_tail(port, raw_.data() + kPageBytes)) {
            tail_used_ = true;
            translated_ = nullptr;  // the instruction may be part of it now
        }
        if (tail_used_) available = sizeof words;
    }
    std::memcpy(words, raw_.data() + offset, std::min(available, sizeof words));
    entry.inst = decode(words, std::size(words), chip_);
    if (entry.inst.size_bytes > available) return false;
    const bool observed = env_->observer != nullptr;
    if (entry.inst.format != Format::Invalid) entry.fn = exec_function(entry.inst, observed);
    entry.pace = pace_of(entry.inst);
    entry.then = entry.fn ? then_of(entry.inst) : Then::Jump;
    if (tracked_ && entry.fn && raises_exceptions(entry.inst)) {
        entry.fn = tracked_function(observed);
        entry.then = Then::Check;
    }
    if (all_seen(*env_)) {
        if (entry.then == Then::Next) entry.then = Then::Check;  // an observer sees the PC
    } else if (entry.fn && entry.inst.op == Op::s_endpgm) {
        entry.then = Then::End;
    }
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
        if (entry.then == Then::Jump || entry.then == Then::End) break;
        offset += entry.inst.size_bytes;
    }
    if (entries_.size() == first) return nullptr;
    // What follows it is not the next entry.
    if (entries_.back().then != Then::End) entries_.back().then = Then::Jump;
    return &entries_[first];
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
        page.reads_exceptions_ = reads_exceptions(page.raw_.data());
        page.alone_ = page.with_next_ = nullptr;
    }
    page.translated_ = nullptr;
    choose_anew_before(page.vmid_, page.va_);
    page.epoch_ = epoch_;
    return true;
}

/// The page if it is here and has nothing to compare.
CodePage* CodeCache::current(uint32_t vmid, uint64_t va) {
    CodePage* const page = slot(vmid, va).get();
    return page != nullptr && page->va_ == va && page->vmid_ == vmid && page->epoch_ == epoch_ ? page : nullptr;
}

/// A page comes or goes: the one before it is translated with it or without.
void CodeCache::choose_anew_before(uint32_t vmid, uint64_t va) {
    CodePage* const before = slot(vmid, va - kPageBytes).get();
    if (before != nullptr && before->va_ == va - kPageBytes && before->vmid_ == vmid) before->translated_ = nullptr;
}

void CodeCache::translate(CodePage& page, Translator& translator) {
    if (page.translated_ != nullptr) return;
    const std::span<const uint8_t> own(page.raw_.data(), kPageBytes);
    const CodePage* const next = current(page.vmid_, page.va_ + kPageBytes);
    // The interpreter may have read the tail at another time.
    const bool same_tail = next != nullptr && (!page.tail_used_ || std::memcmp(own.data() + kPageBytes, next->raw_.data(),
                                                                               CodePage::kTailBytes) == 0);
    if (!same_tail) {
        if (page.alone_ == nullptr) page.alone_ = translator.page({own, {}, false});
        page.translated_ = page.alone_;
        return;
    }
    const PagesOfCode both{own, std::span(next->raw_).first(kPageBytes), page.tail_used_};
    if (page.with_next_ == nullptr || !page.with_next_->is_of(both)) page.with_next_ = translator.page(both);
    page.translated_ = page.with_next_;
}

void CodeCache::forget_translated() {
    for (const auto& page : pages_) {
        if (page) page->translated_ = page->alone_ = page->with_next_ = nullptr;
    }
}

CodePage* CodeCache::page(uint32_t vmid, uint64_t pc) {
    if (const uint64_t now = port_.generation(); now != generation_) {
        if (!same_translations(now, generation_)) invalidate();  // a copy of the page needs no watch
        generation_ = now;
    }
    const uint64_t va = pc & ~(kPageBytes - 1);
    std::unique_ptr<CodePage>& here = slot(vmid, va);
    if (!here) {
        here = std::make_unique<CodePage>();
        here->chip_ = chip_;
        here->env_ = &env_;
        here->tracked_ = tracked_;
    }
    CodePage& page = *here;
    if (page.va_ == va && page.vmid_ == vmid && page.epoch_ == epoch_) return &page;
    if (page.va_ != va || page.vmid_ != vmid) {
        choose_anew_before(page.vmid_, page.va_);
        page.reset(vmid, va);
    }
    if (refresh(page)) return &page;
    page.va_ = 1;
    return nullptr;
}

}  // namespace lyra::gcn
