// SPDX-License-Identifier: MIT
// Decoded code by page: the step loop looks up a handler per instruction; step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/memory_port.h"
#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/then.h"
#include "gcn-interp/isa/pace.h"
#include "gcn-interp/translator/translator.h"

namespace lyra::gcn {

struct CodeEntry {
    ExecFn fn = nullptr;  ///< nullptr: not an instruction, or one that the model lacks
    Inst inst;
    Pace pace = Pace::Scalar;
    Then then = Then::Jump;
};

/// One 4-KiB page of code. Instructions are decoded when one of them is first executed: from there up to a branch, so that what
/// follows one another in the program does so in memory.
class CodePage {
public:
    /// @param pc  inside the page. @return nullptr when the instruction reaches into a page that cannot be fetched. Valid until
    /// the next call; so are the entries after it, up to the first that says Jump.
    const CodeEntry* at(MemoryPort& port, uint64_t pc) {
        const uint16_t index = index_[pc % kPageBytes / 4];
        return index ? &entries_[index - 1] : decode_at(port, pc);
    }

    /// The same if it is decoded already.
    const CodeEntry* decoded(uint64_t pc) const {
        const uint16_t index = index_[pc % kPageBytes / 4];
        return index ? &entries_[index - 1] : nullptr;
    }

    /// A program here may look at its exceptions: somewhere an s_getreg_b32 reads TRAPSTS.EXCP.
    bool reads_exceptions() const { return reads_exceptions_; }

    /// It is for waves whose exceptions are tracked: not translated.
    bool is_tracked() const { return tracked_; }

    /// What was generated from the page, nullptr before CodeCache::translate().
    TranslatedPage* translated() const { return translated_.get(); }
    const std::shared_ptr<TranslatedPage>& shared_translated() const { return translated_; }

private:
    friend class CodeCache;
    const CodeEntry* decode_at(MemoryPort& port, uint64_t pc);
    bool decode_one(MemoryPort& port, size_t offset, CodeEntry& entry);
    bool fetch_tail(MemoryPort& port, uint8_t* tail) const;
    void reset(uint32_t vmid, uint64_t va);

    static constexpr size_t kTailBytes = 8;  ///< of the next page: an instruction is at most 12 bytes long
    uint64_t va_ = 1;  ///< of the page; 1 never matches
    uint32_t vmid_ = 0;
    Chip chip_ = Chip::gfx900;
    const Env* env_ = nullptr;
    uint64_t epoch_ = 0;  ///< of the cache when the bytes were last compared with memory
    bool tail_used_ = false;
    bool tracked_ = false;
    bool reads_exceptions_ = false;
    std::array<uint8_t, kPageBytes + kTailBytes> raw_{};
    std::array<uint16_t, kPageBytes / 4> index_{};  ///< 1 + number of the entry, 0 = not decoded
    std::vector<CodeEntry> entries_;
    std::shared_ptr<TranslatedPage> translated_;  ///< one of the two
    std::shared_ptr<TranslatedPage> alone_, with_next_;
};

/// Direct-mapped by VMID and page. After invalidate(), or when translations changed, a page is compared with memory once
/// before it is used again, so that unchanged code is not decoded anew.
class CodeCache {
public:
    /// @param tracked  for waves whose floating-point exceptions are tracked: exec/fp_exceptions.h
    CodeCache(const Env& env, MemoryPort& port, Chip chip, bool tracked)
        : env_(env), port_(port), chip_(chip), tracked_(tracked), generation_(port.generation()) {}

    /// Page that holds pc, nullptr when it cannot be fetched. Valid until the next call.
    CodePage* page(uint32_t vmid, uint64_t pc);
    /// page() would answer this one, and has nothing to compare.
    bool is_current(const CodePage& page, uint32_t vmid, uint64_t va) const {
        return port_.generation() == generation_ && page.va_ == va && page.vmid_ == vmid && page.epoch_ == epoch_;
    }
    void invalidate() { ++epoch_; }
    /// Changes when decoded code may have become stale, but for what the port's generation tells.
    uint64_t epoch() const { return epoch_; }
    /// Choose what the page is translated with: the next page belongs to it while that is here, too, with the content that the
    /// interpreter would execute.
    void translate(CodePage& page, Translator& translator);
    /// What was generated belongs to a translator that is not in use any more.
    void forget_translated();

private:
    bool refresh(CodePage& page);
    std::unique_ptr<CodePage>& slot(uint32_t vmid, uint64_t va) { return pages_[(va / kPageBytes + vmid * 17) % kPages]; }
    CodePage* current(uint32_t vmid, uint64_t va);
    void choose_anew_before(uint32_t vmid, uint64_t va);

    static constexpr size_t kPages = 64;
    const Env& env_;
    MemoryPort& port_;
    Chip chip_;
    bool tracked_;
    uint64_t generation_;
    uint64_t epoch_ = 1;
    std::array<std::unique_ptr<CodePage>, kPages> pages_;
};

}  // namespace lyra::gcn
