// SPDX-License-Identifier: MIT
// Generated code by page; step 6 of the data flow.
#include "gcn-interp/translator/translator.h"

#include <time.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "gcn-interp/exec/page_cache.h"
#include "gcn-interp/translator/avx2_emitter.h"
#include "gcn-interp/translator/emitter.h"
#include "gcn-interp/translator/region.h"
#include "gcn-interp/wave/backend.h"

namespace lyra::gcn {
namespace {

constexpr uint8_t kNeverByte = 0;
constexpr size_t kBufferBytes = size_t{2} << 20;  ///< more than the longest region needs

std::atomic<uint64_t> process_blocks{0}, process_ns{0};

uint64_t thread_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t hash_of(std::span<const uint8_t> bytes) {
    return std::hash<std::string_view>{}({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::unique_ptr<Emitter> make_emitter(Backend backend, uint8_t* buffer, size_t bytes, const CodeConfig& config) {
    if (backend == Backend::Avx2) return std::make_unique<Avx2Emitter>(buffer, bytes, config);
    return std::make_unique<Emitter>(buffer, bytes, config);
}

}  // namespace

const uint8_t* const PageCode::kNever = &kNeverByte;

/// A region and its code. The code points to the region's instructions.
struct PageCode::Unit {
    Region region;
    const uint8_t* code = nullptr;
    const uint8_t* entry = nullptr;  ///< code of its first block
    std::shared_ptr<const FirstRows> first_rows;  ///< of waves that begin there
};

PageCode::PageCode(Translator& translator, const TranslatedPage& page, CodeConfig config)
    : translator_(translator), arena_(translator.arena_), page_(page), config_(config) {}

PageCode::~PageCode() {
    for (const auto& unit : units_) arena_->remove(unit->code);
}

bool PageCode::gave_up_often() { return std::atomic_ref(gave_up_).load(std::memory_order_relaxed) > Translator::kMayGiveUp; }

void PageCode::stop_affine() {
    const std::lock_guard lock(mutex_);
    forget_affine();
}

/// Code for the waves that came first is not good for those of now. Who is in it may stay there, and count on.
void PageCode::forget_affine() {
    std::atomic_ref(gave_up_).store(0, std::memory_order_relaxed);
    if (!std::exchange(uses_affine_, false)) return;
    for (std::atomic<const uint8_t*>& code : code_) {
        if (code.load(std::memory_order_relaxed) != kNever) code.store(nullptr, std::memory_order_release);
    }
}

const uint8_t* PageCode::warm(uint32_t offset, const Wave& wave) {
    std::atomic<uint8_t>& heat = heat_[offset / 4];
    const uint8_t now = heat.load(std::memory_order_relaxed);
    heat.store(static_cast<uint8_t>(now + 1), std::memory_order_relaxed);  // a lost count does not matter
    if (now < translator_.options_.hot) return nullptr;
    const std::lock_guard lock(mutex_);
    if (gave_up_often()) forget_affine();
    if (code_[offset / 4].load(std::memory_order_relaxed) == nullptr) generate(offset, wave);
    const uint8_t* code = code_[offset / 4].load(std::memory_order_relaxed);
    return code == kNever ? nullptr : code;
}

void PageCode::generate(uint32_t offset, const Wave& wave) {
    const uint64_t start = thread_ns();
    auto unit = std::make_unique<Unit>();
    const auto existing = [this](uint32_t at) {
        const uint8_t* code = at < kPageBytes ? code_[at / 4].load(std::memory_order_relaxed) : nullptr;
        return code == kNever ? nullptr : code;
    };
    unit->region = discover({page_.bytes_, page_.crosses_within_}, offset, translator_.chip_, config_.acc_first,
                            [&](uint32_t at) { return existing(at) != nullptr; });
    // A block without an instruction of its own would hand every wave back at once.
    if (unit->region.blocks.front().count() == 0) {
        code_[offset / 4].store(kNever, std::memory_order_release);
        return;
    }
    if (!translator_.may_generate(unit->region.cost)) {
        heat_[offset / 4].store(0, std::memory_order_relaxed);  // ask again later
        return;
    }
    static thread_local std::vector<VgprRow> room(kBufferBytes / sizeof(VgprRow));  // aligned as code in the arena is
    uint8_t* const buffer = reinterpret_cast<uint8_t*>(room.data());
    std::optional<Emitter::Output> output;
    // Versions of blocks may take more room than there is.
    for (uint32_t* const gave_up : {uses_affine_ ? &gave_up_ : nullptr, static_cast<uint32_t*>(nullptr)}) {
        try {
            const auto emitter = make_emitter(*translator_.options_.backend, buffer, kBufferBytes, config_);
            output = emitter->generate(unit->region, existing, {wave.vgpr, gave_up, translator_.options_.all_affine});
            break;
        } catch (const Xbyak::Error&) {
            output.reset();
        }
    }
    if (!output) {
        code_[offset / 4].store(kNever, std::memory_order_release);
        return;
    }
    unit->code = arena_->add(buffer, output->bytes);
    if (unit->code == nullptr) {
        heat_[offset / 4].store(0, std::memory_order_relaxed);  // there may be room later
        translator_.drop_unused();
        return;
    }
    for (size_t i = 0; i < output->entries.size(); ++i) {
        if (unit->region.blocks[i].count() == 0) continue;
        const auto [at, code] = output->entries[i];
        if (at >= kPageBytes) continue;  // the next page has code of its own
        std::atomic<const uint8_t*>& slot = code_[at / 4];
        if (slot.load(std::memory_order_relaxed) == nullptr) slot.store(unit->code + code, std::memory_order_release);
    }
    unit->entry = unit->code + output->entries.front().second;
    unit->first_rows = first_rows_of(std::move(output->written_first));
    units_.push_back(std::move(unit));
    translator_.count_generated(output->entries.size(), thread_ns() - start);
}

std::shared_ptr<const FirstRows> PageCode::first_rows_of(std::vector<std::pair<uint32_t, uint16_t>> written) const {
    // With few, it takes longer to look for them, or to write the others one by one.
    constexpr size_t kFewest = 7;
    if (written.size() < kFewest || 3 * written.size() < config_.vgprs) return nullptr;
    auto rows = std::make_shared<FirstRows>();
    std::vector<bool> is_written(config_.vgprs);
    for (const auto& [offset, vgpr] : written) is_written[vgpr] = true;
    for (unsigned vgpr = 0; vgpr < config_.vgprs; ++vgpr) {
        if (!is_written[vgpr]) rows->others.push_back(static_cast<uint16_t>(vgpr));
    }
    rows->written = std::move(written);
    return rows;
}

std::shared_ptr<const FirstRows> PageCode::first_rows(const uint8_t* code) {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(units_, code, [](const auto& unit) { return unit->entry; });
    return found != units_.end() ? (*found)->first_rows : nullptr;
}

TranslatedPage::TranslatedPage(Translator& translator, const PagesOfCode& from)
    : translator_(translator), bytes_(from.page.begin(), from.page.end()), crosses_within_(from.crosses_within) {
    bytes_.insert(bytes_.end(), from.next.begin(), from.next.end());
}

bool TranslatedPage::is_of(const PagesOfCode& from) const {
    const std::span own(bytes_);
    return from.crosses_within == crosses_within_ && std::ranges::equal(own.first(kPageBytes), from.page) &&
           std::ranges::equal(own.subspan(kPageBytes), from.next);
}

PageCode* TranslatedPage::code(CodeConfig config) {
    for (const auto& each : codes_) {
        PageCode* const code = each.load(std::memory_order_acquire);
        if (code == nullptr) break;
        if (code->config() == config) return code;
    }
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < kConfigs; ++i) {
        if (owned_[i] == nullptr) {
            owned_[i] = std::make_unique<PageCode>(translator_, *this, config);
            codes_[i].store(owned_[i].get(), std::memory_order_release);
        }
        if (owned_[i]->config() == config) return owned_[i].get();
    }
    return nullptr;
}

Translator::Translator(Chip chip, const Options& options)
    : chip_(chip), options_(options), arena_(std::make_shared<CodeArena>(options.backend ? options.code_bytes : 0)) {
    if (!usable()) return;
    std::vector<uint8_t> buffer(kPageBytes);
    Emitter emitter(buffer.data(), buffer.size(), {});
    emitter.generate_entry();
    entry_ = arena_->add(buffer.data(), emitter.getSize());
}
Translator::~Translator() = default;

// LYRA_BACKEND names a narrower one. A sanitized build has no AVX-512 in the interpreter, which does not matter here.
std::optional<Backend> Translator::host() {
    if (host_backend() == kWidest && gcn::supported(Backend::Avx512)) return Backend::Avx512;
    return host_backend() == Backend::Portable ? std::nullopt : std::optional(Backend::Avx2);
}

[[gnu::always_inline]] inline uint64_t Translator::enter(CodeFrame& frame, const uint8_t* code, ExecContext& ctx,
                                                         uint64_t page_va, uint64_t budget, uint64_t& stopped_at,
                                                         const WorkItemIds* ids) const {
    if (ids != nullptr && ids->made == nullptr && ids->rows != 0) {
        frame.counts_ids = true;
        frame.first_id = ids->first;
    }
    frame.context = &ctx;
    frame.page_va = page_va;
    if (ctx.pages != nullptr) {
        frame.generation = &ctx.memory->generation_counter();
        frame.seen_generation = &ctx.pages->seen_generation();
        frame.reads = &ctx.pages->tlb(ctx.wave.vmid, Access::Read);
        frame.writes = &ctx.pages->tlb(ctx.wave.vmid, Access::Write);
    }
    if (ctx.lds != nullptr) {
        frame.lds = ctx.lds + ctx.wave.lds_base;
        frame.lds_bytes = ctx.wave.lds_bytes;
    }
    const auto begin = reinterpret_cast<GeneratedFn>(reinterpret_cast<uintptr_t>(entry_));  // NOLINT(performance-no-int-to-ptr)
    const uint64_t left = begin(&frame, &ctx.wave, budget, code);
    stopped_at = frame.stopped_at;
    ctx.rows_written |= frame.rows_written;
    return budget - left;
}

uint64_t Translator::run(const uint8_t* code, ExecContext& ctx, uint64_t page_va, uint64_t budget, uint64_t& stopped_at,
                         const WorkItemIds* ids) const {
    CodeFrame frame;
    return enter(frame, code, ctx, page_va, budget, stopped_at, ids);
}

uint64_t Translator::run_first(const uint8_t* code, ExecContext& ctx, uint64_t page_va, uint64_t budget, uint64_t& stopped_at,
                               const WorkItemIds& ids, bool& past_first) const {
    CodeFrame frame;
    frame.past_first = false;
    const uint64_t done = enter(frame, code, ctx, page_va, budget, stopped_at, &ids);
    past_first = frame.past_first;
    return done;
}

bool Translator::may_generate(size_t cost) {
    const uint64_t allowed = kFreeCost + counters_.executed.load(std::memory_order_relaxed) / kRunPerCost;
    if (options_.limited && generated_.load(std::memory_order_relaxed) + cost > allowed) return false;
    generated_.fetch_add(cost, std::memory_order_relaxed);
    return true;
}

void Translator::count_generated(size_t blocks, uint64_t ns) {
    counters_.blocks.fetch_add(blocks, std::memory_order_relaxed);
    counters_.generating_ns.fetch_add(ns, std::memory_order_relaxed);
    process_blocks.fetch_add(blocks, std::memory_order_relaxed);
    process_ns.fetch_add(ns, std::memory_order_relaxed);
}

Translator::Generated Translator::generated_by_process() {
    return {process_blocks.load(std::memory_order_relaxed), process_ns.load(std::memory_order_relaxed)};
}

void Translator::drop_unused() {
    const std::lock_guard lock(mutex_);
    erase_unused();
}

void Translator::erase_unused() {
    std::erase_if(pages_, [](const auto& each) { return each.second.use_count() == 1; });
}

std::shared_ptr<TranslatedPage> Translator::page(const PagesOfCode& from) {
    // Of both: the guest decides how many next pages one page has.
    const uint64_t hash = hash_of(from.page) * 31 + hash_of(from.next);
    const std::lock_guard lock(mutex_);
    const auto [first, last] = pages_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
        if (at->second->is_of(from)) return at->second;
    }
    if (pages_.size() >= kMaxPages) erase_unused();
    auto made = std::make_shared<TranslatedPage>(*this, from);
    if (pages_.size() < kMaxPages) pages_.emplace(hash, made);
    return made;
}

}  // namespace lyra::gcn
