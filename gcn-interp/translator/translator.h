// SPDX-License-Identifier: MIT
// Generated code by page of code, shared by all compute units of a device; step 6 of the data flow.
//
// Code is found by what its page contains, not by its address, so that all compute units, processes and copies share it, and so
// that whoever notices that a page has changed (CodeCache) looks it up anew. A block is generated when it has been entered
// often.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "common/memory_port.h"
#include "facts/chips.h"
#include "gcn-interp/exec/exec.h"
#include "gcn-interp/translator/code_arena.h"
#include "gcn-interp/translator/config.h"
#include "gcn-interp/wave/backend.h"
#include "gcn-interp/wave/begin.h"

namespace lyra::gcn {

struct Region;
struct CodeFrame;
class TranslatedPage;
class Translator;

/// What code is generated from: a page, and the next one where it may cross into it.
struct PagesOfCode {
    std::span<const uint8_t> page, next;  ///< next: may be empty
    bool crosses_within = false;  ///< an instruction may be in both
};

/// VGPRs that a wave need not have when it begins in some code with all lanes on: the code writes them before it reads them.
struct FirstRows {
    std::vector<std::pair<uint32_t, uint16_t>> written;  ///< by offset in the page of the instruction that writes it
    std::vector<uint16_t> others;  ///< the rest of what waves of this code have, the first one first
    /// From a VGPR on.
    std::span<const uint16_t> others_behind(unsigned first) const {
        return {std::ranges::lower_bound(others, first), others.end()};
    }
};

/// The code of one page for waves of one configuration.
class PageCode {
public:
    PageCode(Translator& translator, const TranslatedPage& page, CodeConfig config);
    ~PageCode();

    /// Where the block at an offset of the page begins, nullptr while there is none. Counts the calls that find none.
    /// @param wave  is there: what its VGPRs hold decides for which ones the code is good
    const uint8_t* at(uint32_t offset, const Wave& wave) {
        const uint8_t* code = code_[offset / 4].load(std::memory_order_acquire);
        return code != nullptr ? (code != kNever ? code : nullptr) : warm(offset, wave);
    }
    /// The same, if there is some.
    const uint8_t* known(uint32_t offset) const {
        const uint8_t* code = code_[offset / 4].load(std::memory_order_acquire);
        return code != kNever ? code : nullptr;
    }
    /// A wave came back that has executed nothing: its budget was too small, or it gave up at once.
    void came_back() {
        if (gave_up_often()) stop_affine();
    }
    const CodeConfig& config() const { return config_; }
    /// @param code  an answer of at(). nullptr: a wave that begins there needs all its VGPRs
    std::shared_ptr<const FirstRows> first_rows(const uint8_t* code);

private:
    bool gave_up_often();
    void stop_affine();
    const uint8_t* warm(uint32_t offset, const Wave& wave);
    void generate(uint32_t offset, const Wave& wave);
    std::shared_ptr<const FirstRows> first_rows_of(std::vector<std::pair<uint32_t, uint16_t>> written) const;
    void forget_affine();

    static const uint8_t* const kNever;  ///< the interpreter's for good
    static constexpr size_t kDwords = kPageBytes / 4;

    Translator& translator_;
    std::shared_ptr<CodeArena> arena_;
    const TranslatedPage& page_;
    CodeConfig config_;
    std::array<std::atomic<const uint8_t*>, kDwords> code_{};
    std::array<std::atomic<uint8_t>, kDwords> heat_{};
    std::mutex mutex_;
    uint32_t gave_up_ = 0;  ///< counted by generated code
    bool uses_affine_ = true;  ///< until too many waves gave up
    struct Unit;
    std::vector<std::unique_ptr<Unit>> units_;
};

/// One page of code and what was generated from it; with the next one, where there is one, so that loops may cross.
class TranslatedPage {
public:
    TranslatedPage(Translator& translator, const PagesOfCode& from);
    bool is_of(const PagesOfCode& from) const;
    /// nullptr: more configurations than it keeps
    PageCode* code(CodeConfig config);

private:
    friend class Translator;
    friend class PageCode;
    static constexpr size_t kConfigs = 16;  ///< kernels of one page differ in how many registers they have
    Translator& translator_;
    std::vector<uint8_t> bytes_;  ///< of one page or two
    bool crosses_within_;
    std::array<std::atomic<PageCode*>, kConfigs> codes_{};
    std::array<std::unique_ptr<PageCode>, kConfigs> owned_;
    std::mutex mutex_;
};

class Translator {
public:
    struct Options {
        size_t code_bytes = size_t{64} << 20;  ///< for all code that is generated
        uint8_t hot = 50;  ///< entries after which a block is generated
        bool limited = true;  ///< how much is generated depends on how much runs
        bool all_affine = false;  ///< see Circumstances
        std::optional<Backend> backend = host();  ///< Avx512 or Avx2; nullopt: none, and no code is generated
    };
    explicit Translator(Chip chip) : Translator(chip, Options{}) {}
    Translator(Chip chip, const Options& options);
    ~Translator();

    /// What code of this host is generated for; nullopt: nothing that it can run.
    static std::optional<Backend> host();
    static bool supported() { return host().has_value(); }
    bool usable() const { return arena_->capacity() != 0; }

    std::shared_ptr<TranslatedPage> page(const PagesOfCode& from);

    struct Counters {
        std::atomic<uint64_t> blocks{0};  ///< generated
        std::atomic<uint64_t> executed{0};  ///< wave instructions that generated code has executed
        std::atomic<uint64_t> generating_ns{0};  ///< processor time of generating
    };
    Counters& counters() { return counters_; }

    /// The same of all translators that this process has had. It is no state of a device: it depends on the host.
    struct Generated {
        uint64_t blocks = 0;
        uint64_t ns = 0;
    };
    static Generated generated_by_process();

    /// Run a wave from a block on. @param code  an answer of PageCode::at() @param stopped_at  PC of the instruction that asked
    /// for something or faulted @return instructions executed; 0 when the budget does not last for the block
    /// @param ids  of a wave that begins here and has executed nothing yet; nullptr: of another one
    uint64_t run(const uint8_t* code, ExecContext& ctx, uint64_t page_va, uint64_t budget, uint64_t& stopped_at,
                 const WorkItemIds* ids = nullptr) const;
    /// The same of a wave that begins here. @param past_first  becomes true if it comes to the end of the region's first block
    uint64_t run_first(const uint8_t* code, ExecContext& ctx, uint64_t page_va, uint64_t budget, uint64_t& stopped_at,
                       const WorkItemIds& ids, bool& past_first) const;

private:
    friend class PageCode;
    uint64_t enter(CodeFrame& frame, const uint8_t* code, ExecContext& ctx, uint64_t page_va, uint64_t budget,
                   uint64_t& stopped_at, const WorkItemIds* ids) const;
    bool may_generate(size_t cost);
    void count_generated(size_t blocks, uint64_t ns);
    /// Give up the pages that no compute unit has any more.
    void drop_unused();
    void erase_unused();

    static constexpr size_t kMaxPages = 1024;
    /// What may be generated at once (Region::cost), and one more for each so many instructions that ran: a guest that writes
    /// its code anew all the time is interpreted.
    static constexpr uint32_t kMayGiveUp = 256;  ///< waves, until code without affine VGPRs is generated for the page
    static constexpr uint64_t kFreeCost = 50'000, kRunPerCost = 16;

    Chip chip_;
    Options options_;
    std::shared_ptr<CodeArena> arena_;  ///< also of pages that outlive this
    const uint8_t* entry_ = nullptr;
    Counters counters_;
    std::atomic<uint64_t> generated_{0};
    std::mutex mutex_;
    std::unordered_multimap<uint64_t, std::shared_ptr<TranslatedPage>> pages_;
};

}  // namespace lyra::gcn
