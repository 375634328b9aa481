// SPDX-License-Identifier: MIT
// The loop that steps the waves of one compute unit; step 6 of the data flow.
#include "gcn-interp/cu/compute_unit.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "gcn-interp/cu/code_cache.h"
#include "gcn-interp/cu/paced.h"
#include "gcn-interp/cu/plan.h"
#include "gcn-interp/cu/shadow.h"
#include "gcn-interp/exec/flow.h"
#include "gcn-interp/exec/fp_exact.h"
#include "gcn-interp/exec/observe.h"
#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/translator.h"

namespace lyra::gcn {
namespace {

constexpr uint64_t kAllSlots = granule_mask(0, kWaveSlots);
/// Instructions a wave may execute before the next one gets its turn. Long enough to hide the switch, short enough that a
/// wave which spins on another one does not wait long.
constexpr uint64_t kSlice = 256, kTranslatedSlice = 2048;
/// A wave asks again for a page so often, if translations have not changed meanwhile. The hub tells the driver no more often.
constexpr uint64_t kPageRetryNs = 1'000'000;

}  // namespace

ComputeUnit::ComputeUnit(Env& env, MemoryPort& memory, CuServices& services, unsigned index, Chip chip)
    : env_(env), memory_(memory), services_(services), index_(index), waves_{}, workgroups_{},
      storage_(std::make_unique<Storage>(env, memory, chip)) {}

ComputeUnit::~ComputeUnit() = default;

uint64_t ComputeUnit::run(uint64_t instruction_budget) {
    const uint64_t slice = whole_blocks_ && translator_ != nullptr ? kTranslatedSlice : kSlice;
    const bool overdraws = whole_blocks_ && instruction_budget >= slice;
    uint64_t done = 0;
    write_registers();
    while (live_ != 0 && done < instruction_budget) {
        bool ran = false;
        const unsigned first = next_slot_;
        unsigned passed = 0;
        while (done < instruction_budget) {
            const uint64_t from_first = (awake_ >> first | awake_ << (kWaveSlots - first)) & kAllSlots;
            const uint64_t left = from_first >> passed << passed;
            if (left == 0) break;
            passed = static_cast<unsigned>(std::countr_zero(left));
            Wave& wave = waves_[(first + passed) % kWaveSlots];
            ++passed;
            if (wave.state == WaveState::Sleeping && wave.sleep_until_round <= round_) set_state(wave, WaveState::Running);
            if (wave.state == WaveState::AtPage && page_may_be_there(wave)) set_state(wave, WaveState::Running);
            if (wave.state == WaveState::Running) {
                done += step(wave, overdraws ? slice : std::min(slice, instruction_budget - done));
                ran = true;
            }
        }
        if (done >= instruction_budget) next_slot_ = (first + passed) % kWaveSlots;
        ++round_;
        // With only sleepers left the caller gets the time they give away; but a call never does nothing while one exists.
        if (!ran && (done != 0 || !wake_next_sleeper())) break;
    }
    count(done);
    return done;
}

bool ComputeUnit::wake_next_sleeper() {
    uint64_t earliest = ~uint64_t{0};
    for (uint64_t left = awake_; left != 0; left &= left - 1) {
        const Wave& wave = waves_[static_cast<unsigned>(std::countr_zero(left))];
        if (wave.state == WaveState::Sleeping) earliest = std::min(earliest, wave.sleep_until_round);
    }
    if (earliest == ~uint64_t{0}) return false;
    round_ = std::max(round_, earliest);
    return true;
}

/// XNACK: the instruction at pc has not happened. A save meanwhile keeps its address, so it is executed after the restore.
bool ComputeUnit::wait_for_page(Wave& wave, uint64_t pc) {
    wave.pc = pc;
    wave.stepped = false;
    wave.page_generation = memory_.generation();
    wave.page_until_ns = env_.now_ns() + kPageRetryNs;
    set_state(wave, WaveState::AtPage);
    halt_if_asked(wave);
    return false;
}

bool ComputeUnit::page_may_be_there(const Wave& wave) const {
    return !same_translations(memory_.generation(), wave.page_generation) || env_.now_ns() >= wave.page_until_ns;
}

uint64_t ComputeUnit::step(Wave& wave, uint64_t limit) {
    return ModeBits::DebugEn::get(wave.mode) ? step_debugged(wave) : execute(wave, limit);
}

/// @return true when the wave is in its trap handler because it has made its step
bool ComputeUnit::step_trap(Wave& wave) {
    if (!wave.stepped || wave.priv()) return false;
    wave.stepped = false;
    if (!ModeBits::DebugEn::get(wave.mode)) return false;  // it has switched its steps off
    return enter_trap(wave, 0, wave.pc, kCauseStep);
}

/// MODE.DEBUG_EN: a trap without any cause of its own follows each instruction, before the next one.
uint64_t ComputeUnit::step_debugged(Wave& wave) {
    if (step_trap(wave)) return 1;
    const bool user = !wave.priv();
    const uint64_t done = execute(wave, 1);
    const bool lives = wave.state != WaveState::Free && wave.state != WaveState::Ended;
    wave.stepped = user && lives && wave.state != WaveState::AtPage && !wave.priv() && ModeBits::DebugEn::get(wave.mode);
    return done;
}

namespace {

/// Execute entries that follow one another, from the one at wave.pc on. @return how many; the last one is at last_pc
uint64_t run_straight(ExecContext& ctx, const CodeEntry* entry, uint64_t limit, uint64_t& last_pc) {
    Wave& wave = ctx.wave;
    uint64_t pc = wave.pc, done = 0;
    const uint64_t before = wave.instructions;
    for (;; ++entry) {
        const uint64_t next = pc + entry->inst.size_bytes;
        ++done;
        if (entry->then == Then::Next) {
            entry->fn(ctx, entry->inst);
            pc = next;
            if (done < limit) continue;
            wave.instructions = before + done;
            wave.pc = next;
            return done;
        }
        wave.instructions = before + done;
        wave.pc = next;
        entry->fn(ctx, entry->inst);
        last_pc = pc;
        if (entry->then >= Then::Jump || ctx.yield || ctx.fault != Fault::None || done == limit) return done;
        pc = next;
    }
}

}  // namespace

inline bool ComputeUnit::tracks_exceptions(const Wave& wave) const {
    return env_.fp_exceptions == FpExceptions::Always || TrapstsBits::ReadsExcp::get(wave.trapsts) ||
           (ModeBits::ExcpEn::get(wave.mode) & excp::kFloatingPoint) != 0;
}

/// What the last lookup found is what one for this wave would find. Most waves of a kernel are alike.
inline bool ComputeUnit::is_last_code(const Wave& wave, uint64_t va) const {
    const LastCode& last = storage_->last_code(va);
    return last.generated != nullptr && storage_->code.is_current(*last.page, wave.vmid, va) &&
           last.page->translated() == last.owner.get() && !last.page->reads_exceptions() &&
           last.generated->config() == CodeConfig::of(wave) && !tracks_exceptions(wave) && watch_ == nullptr && !all_seen(env_);
}

/// What was found for another wave of the kernel, which began like this one, has not changed.
inline bool ComputeUnit::is_current(const FirstCode& code, const Wave& wave, uint64_t va) const {
    const LastCode& last = storage_->last_code(va);
    return code.page != nullptr && last.page == code.page && last.generated == code.generated &&
           storage_->code.is_current(*code.page, wave.vmid, va) && code.page->translated() == last.owner.get() &&
           watch_ == nullptr && !all_seen(env_);
}

/// VGPRs that the kernel's next wave need not have: they are written first by the code in which it begins, and which it enters
/// at once with all lanes on. nullptr: it needs all
const FirstRows* ComputeUnit::first_rows() const {
    FirstCode& first = prepared_->first_code;
    const Wave& wave = prepared_->image;
    if (shadow_ || !is_current(first, wave, wave.pc & ~(kPageBytes - 1)) || !may_run_translated(wave)) return nullptr;
    const uint8_t* const code = first.generated->known(wave.pc % kPageBytes);
    if (code == nullptr) return nullptr;
    if (code != first.entered) {
        first.entered = code;
        first.rows = first.generated->first_rows(code);
    }
    return first.rows.get();
}

/// Most waves of a kernel are alike, and the next one is where the last one was. @return the answer holds for the next one that
/// begins as this one did
[[gnu::always_inline]] inline bool ComputeUnit::look_up_code(Wave& wave, uint64_t va, CodePage*& page, PageCode*& generated) {
    LastCode& last = storage_->last_code(va);
    if (!is_last_code(wave, va)) {
        page = code_page(wave, wave.pc);
        generated = page ? generated_code(wave, *page, wave.pc) : nullptr;
        last = {page, generated, generated ? page->shared_translated() : nullptr};
    }
    page = last.page;
    generated = last.generated;
    return generated != nullptr;
}

/// @param first  for a wave that begins as the last one did @param group  for waves of one work-group, one after the other
/// @param ids  what its VGPRs hold then
uint64_t ComputeUnit::execute(Wave& wave, uint64_t limit, FirstCode* first, const WorkItemIds* ids, GroupCode* group) {
    ExecContext ctx{wave, &env_, &memory_, &services_, storage_->lds.data()};
    ctx.pages = &storage_->pages;
    ctx.watch = watch_;
    uint64_t done = 0;
    uint64_t page_va = 1;  // never page aligned
    CodePage* page = nullptr;
    PageCode* generated = nullptr;
    uint64_t translated = 0;
    FirstCode* const begun = first;
    if (group != nullptr) {
        if (group->generated != nullptr && !tracks_exceptions(wave) && !group->page->reads_exceptions()) {
            page_va = group->page_va;
            page = group->page;
            generated = group->generated;
        }
        *group = {};
    }
    while (done < limit) {
        const uint64_t pc = wave.pc;
        if (const uint64_t va = pc & ~(kPageBytes - 1); va != page_va) {
            if (first != nullptr && is_current(*first, wave, va)) {
                page = first->page;
                generated = first->generated;
            } else {
                const bool same_for_next = look_up_code(wave, va, page, generated);
                if (first != nullptr) first->look(same_for_next ? page : nullptr, generated);
            }
            first = nullptr;
            page_va = page ? va : 1;
        }
        if (generated != nullptr && may_run_translated(wave)) {
            if (const uint8_t* code = generated->at(pc % kPageBytes, wave)) {
                uint64_t stopped_at = pc;
                const uint64_t ran =
                    shadow_ ? shadow_->run(*translator_, *generated, ctx, *page, page_va, limit - done, stopped_at)
                            : translator_->run(code, ctx, page_va, limit - done, stopped_at, std::exchange(ids, nullptr));
                if (ran != 0) {
                    done += ran;
                    translated += ran;
                    wave.instructions += ran;
                    if (!ctx.yield && ctx.fault == Fault::None) continue;
                    if (ctx.request == Request::End) {
                        end_wave(wave);
                        break;
                    }
                    if (ctx.request == Request::Barrier) {
                        ctx.yield = false;
                        ctx.request = Request::None;
                        if (!arrive_at_barrier(wave)) {
                            if (group != nullptr) *group = {page_va, page, generated};
                            break;
                        }
                        page_va = 1;
                        continue;
                    }
                    if (!after(ctx, stopped_at)) break;
                    page_va = 1;
                    continue;
                }
                generated->came_back();
                if (done != 0 && whole_blocks_) break;
            }
        }
        const CodeEntry* entry = page ? page->at(memory_, pc) : nullptr;
        if (!entry) {
            ++done;
            if (!fetch_failed(wave, pc)) break;
            continue;
        }
        if (!entry->fn) {
            ++done;
            if (!cannot_execute(wave, entry->inst, pc)) break;
            continue;
        }
        if (entry->then == Then::End) {
            ++done;
            ++wave.instructions;
            wave.pc = pc + entry->inst.size_bytes;
            end_wave(wave);
            break;
        }
        uint64_t last_pc = pc, ran = 1;
        ctx.rows_written = true;
        ids = nullptr;
        if (!ModeBits::Vskip::get(wave.mode)) {
            ran = run_straight(ctx, entry, limit - done, last_pc);
        } else {
            ++wave.instructions;
            wave.pc = pc + entry->inst.size_bytes;
            if (!flow::skipped(wave, entry->inst)) entry->fn(ctx, entry->inst);
        }
        done += ran;
        if (!ctx.yield && ctx.fault == Fault::None) continue;
        if (!after(ctx, last_pc)) break;
        page_va = 1;  // it may have looked at other code
    }
    if (begun != nullptr) begun->rows_written = ctx.rows_written || shadow_ != nullptr;
    translated_ += translated;
    return done;
}

/// Not in the loop: a locked addition takes as long as a short wave.
void ComputeUnit::count(uint64_t instructions) {
    executed_ += instructions;
    if (!counts_later_) tell_counts();
}

void ComputeUnit::tell_counts() {
    env_.stats.add(Stat::instructions, std::exchange(executed_, 0u));
    if (started_waves_ != 0) env_.stats.add(Stat::waves, std::exchange(started_waves_, 0u));
    if (translated_ == 0) return;
    env_.stats.add(Stat::translated_instructions, translated_);
    translator_->counters().executed.fetch_add(translated_, std::memory_order_relaxed);
    translated_ = 0;
}

/// Code that was generated from a page for waves like this one. nullptr where somebody looks at single instructions, and where
/// a branch may leave the 48 bits of an address.
PageCode* ComputeUnit::generated_code(const Wave& wave, CodePage& page, uint64_t pc) const {
    constexpr uint64_t kBranchReach = uint64_t{1} << 18;
    if (translator_ == nullptr || page.is_tracked() || watch_ != nullptr || all_seen(env_)) return nullptr;
    for (const uint64_t far : {pc + kBranchReach, pc - kBranchReach}) {
        if (flow::code_address(far) != (far & ~uint64_t{3})) return nullptr;
    }
    storage_->code.translate(page, *translator_);
    return page.translated() != nullptr ? page.translated()->code(CodeConfig::of(wave)) : nullptr;
}

std::shared_ptr<Translator> make_translator(Chip chip) {
    const char* const named = std::getenv("LYRA_JIT");
    const std::string_view wanted = named != nullptr ? named : "";
    const auto has = [&](std::string_view word) { return wanted.find(word) != std::string_view::npos; };
    if (has("off")) return nullptr;
    Translator::Options options;
    if (has("avx2") && supported(Backend::Avx2)) options.backend = Backend::Avx2;
    if (has("eager") || Shadow::wanted()) options.hot = 0;  // all that runs is compared
    auto translator = options.backend ? std::make_shared<Translator>(chip, options) : nullptr;
    return translator && translator->usable() ? translator : nullptr;
}

void ComputeUnit::set_translator(Translator* translator) {
    translator_ = translator;
    storage_->last_codes = {};
    storage_->code.forget_translated();
    if (translator != nullptr && Shadow::wanted()) shadow_ = std::make_shared<Shadow>();
}

/// Code is decoded twice, so that waves whose exceptions nobody can see do not know of them. The trap handler looks at TRAPSTS
/// as a matter of course.
CodePage* ComputeUnit::code_page(Wave& wave, uint64_t pc) {
    if (tracks_exceptions(wave)) return storage_->tracked_code.page(wave.vmid, pc);
    CodePage* page = storage_->code.page(wave.vmid, pc);
    if (page == nullptr || !page->reads_exceptions() || wave.priv()) return page;
    wave.trapsts = TrapstsBits::ReadsExcp::set(wave.trapsts, 1);
    return storage_->tracked_code.page(wave.vmid, pc);
}

bool ComputeUnit::fetch_failed(Wave& wave, uint64_t pc) {
    if (memory_.check(wave.vmid, pc, Access::Execute) == Fault::PageRetry) return wait_for_page(wave, pc);
    return raise_exception(wave, Fault::InstructionFetch, pc);
}

bool ComputeUnit::cannot_execute(Wave& wave, const Inst& inst, uint64_t pc) {
    const bool known = inst.format != Format::Invalid;
    if (known) return raise_exception(wave, Fault::TodoInstruction, pc, disassemble(inst, wave.chip));
    return raise_exception(wave, Fault::IllegalInstruction, pc);
}

bool ComputeUnit::runnable() const {
    for (uint64_t left = awake_; left != 0; left &= left - 1) {
        const Wave& wave = waves_[static_cast<unsigned>(std::countr_zero(left))];
        if (wave.state == WaveState::Running || wave.state == WaveState::Sleeping) return true;
        if (wave.state == WaveState::AtPage && page_may_be_there(wave)) return true;
    }
    return false;
}

bool ComputeUnit::waits_for_page() const {
    for (uint64_t left = awake_; left != 0; left &= left - 1) {
        if (waves_[static_cast<unsigned>(std::countr_zero(left))].state == WaveState::AtPage) return true;
    }
    return false;
}

unsigned ComputeUnit::waves_live() const { return live_; }

unsigned ComputeUnit::waves_live(uint64_t dispatch) const {
    return static_cast<unsigned>(std::count_if(waves_.begin(), waves_.end(), [=](const Wave& wave) {
        return wave.state != WaveState::Free && wave.dispatch == dispatch;
    }));
}

void ComputeUnit::reset() {
    storage_->unwritten_waves = storage_->unwritten_groups = 0;
    for (Wave& wave : waves_) wave = Wave{};
    for (Workgroup& group : workgroups_) group = Workgroup{};
    storage_->taken = Taken(storage_->chip);
    if (prepared_) prepared_->reserved = prepared_->started = 0;
    invalidate_code();
    live_ = next_slot_ = 0;
    awake_ = 0;
    changed_ = ~uint64_t{0};
    round_ = 0;
    watch_ = nullptr;
}

void ComputeUnit::invalidate_code() {
    storage_->code.invalidate();
    storage_->tracked_code.invalidate();
}

}  // namespace lyra::gcn
