// SPDX-License-Identifier: MIT
// Shadow mode; step 6 of the data flow.
#include "gcn-interp/cu/shadow.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "gcn-interp/isa/effects.h"

namespace lyra::gcn {
namespace {

constexpr uint64_t kLongestPiece = 128;

/// It has an effect, or a result, that a second execution changes.
bool happens_once(const Inst& inst) {
    const Effects effects = effects_of(inst);
    return (effects.reads & effect::Clock) != 0 || ((effects.reads | effects.writes) & effect::Gds) != 0;
}

/// An atomic operation on memory: a processor of the guest may act on it at once, so it cannot be undone.
bool others_see(const Inst& inst) {
    const Effects effects = effects_of(inst);
    return (effects.reads & effects.writes & effect::Memory) != 0;
}

/// What this process has compared; told when it ends, so that nobody takes a run for a comparison that was none.
struct Tally {
    std::atomic<uint64_t> generated{0}, interpreted{0}, overtaken{0};
    ~Tally() {
        if (generated + interpreted == 0) return;
        std::fprintf(stderr,
                     "lyra: shadow mode compared %llu instructions of generated code; %llu had none; %llu pieces loaded what "
                     "others wrote\n",
                     static_cast<unsigned long long>(generated), static_cast<unsigned long long>(interpreted),
                     static_cast<unsigned long long>(overtaken));
    }
} tally;

}  // namespace

Shadow::Kind Shadow::kind() {
    static const Kind kind = [] {
        const char* const text = std::getenv("LYRA_SHADOW");
        const std::string_view word = text != nullptr ? text : "";
        return word == "1" ? Kind::Alone : word == "guest" ? Kind::BesideProcessors : Kind::None;
    }();
    return kind;
}

void Shadow::State::take(const ExecContext& ctx) {
    wave = ctx.wave;
    rows.assign(wave.vgpr, wave.vgpr + wave.vgpr_count);
    const uint8_t* first = ctx.lds + wave.lds_base;
    lds.assign(first, first + (ctx.lds != nullptr ? wave.lds_bytes : 0));
}

void Shadow::State::give(ExecContext& ctx) const {
    ctx.wave = wave;
    std::copy(rows.begin(), rows.end(), wave.vgpr);
    if (!lds.empty()) std::memcpy(ctx.lds + wave.lds_base, lds.data(), lds.size());
}

/// Bytes of plain memory. @return false where there is none
bool Shadow::copy(uint64_t va, uint8_t* data, unsigned bytes, bool store) {
    for (unsigned at = 0; at < bytes;) {
        const auto room = static_cast<unsigned>(kPageBytes - (va + at) % kPageBytes), n = std::min(bytes - at, room);
        uint8_t* const host = port_->page(vmid_, va + at, Access::Write);
        if (host == nullptr) return false;
        store ? std::memcpy(host, data + at, n) : std::memcpy(data + at, host, n);
        at += n;
    }
    return true;
}

void Shadow::access(const uint64_t* va, uint64_t active, unsigned bytes, Access access) {
    for (uint64_t mask = active; mask != 0; mask &= mask - 1) {
        const uint64_t address = va[std::countr_zero(mask)];
        // What reads something else than memory, or tells of a fault, is not asked for twice.
        if (access == Access::Read || access == Access::Scalar) {
            const uint8_t* const host = port_->page(vmid_, address, Access::Read);
            final_ |= host == nullptr;
            if (host == nullptr) continue;
            Load load{host, address, std::min({bytes, 64u, static_cast<unsigned>(kPageBytes - address % kPageBytes)}), {}};
            std::memcpy(load.found, host, load.bytes);
            loads_.push_back(load);
            continue;
        }
        for (unsigned at = 0; at < bytes; at += 16) {
            Store store{address + at, std::min(bytes - at, 16u), {}, {}};
            if (!copy(store.va, store.before, store.bytes, false)) {
                final_ = true;
                return;
            }
            stores_.push_back(store);
        }
    }
}

uint64_t Shadow::interpret(ExecContext& ctx, CodePage& page, uint64_t page_va, uint64_t limit, uint64_t& stopped_at) {
    uint64_t done = 0;
    // A MODE that generated code does not know is the caller's, as are indexed and skipped instructions.
    while (done < limit && (ctx.wave.pc & ~(kPageBytes - 1)) == page_va && may_run_translated(ctx.wave)) {
        const uint64_t pc = ctx.wave.pc;
        const CodeEntry* const entry = page.at(*port_, pc);
        if (entry == nullptr || entry->fn == nullptr || happens_once(entry->inst)) break;
        if (kind() == Kind::BesideProcessors && others_see(entry->inst)) {
            if (done != 0) break;
            final_ = true;
        }
        ctx.wave.pc = pc + entry->inst.size_bytes;
        entry->fn(ctx, entry->inst);
        ++done;
        stopped_at = pc;
        if (ctx.yield || ctx.fault != Fault::None || final_) break;
    }
    return done;
}

void Shadow::differ(const ExecContext& ctx, CodePage& page, uint64_t page_va, const char* what) const {
    std::fprintf(stderr, "lyra: generated code differs from the interpreter: %s; from pc %#llx to %#llx\n", what,
                 static_cast<unsigned long long>(before_.wave.pc), static_cast<unsigned long long>(after_.wave.pc));
    const auto tell = [](const char* name, unsigned n, unsigned lane, uint32_t right, uint32_t wrong) {
        if (right != wrong) std::fprintf(stderr, "  %s%u lane %u: %#x, generated %#x\n", name, n, lane, right, wrong);
    };
    const Wave &right = after_.wave, &wrong = ctx.wave;
    for (unsigned n = 0; n < right.sgpr_count; ++n) tell("s", n, 0, right.sgpr[n], wrong.sgpr[n]);
    for (unsigned n = 0; n < right.vgpr_count; ++n) {
        for (unsigned lane = 0; lane < kLanes; ++lane) tell("v", n, lane, after_.rows[n].lane[lane], wrong.vgpr[n].lane[lane]);
    }
    std::fprintf(stderr,
                 "  pc %#llx, generated %#llx; exec %#llx, generated %#llx; scc %u, generated %u; m0 %#x, generated %#x\n",
                 static_cast<unsigned long long>(right.pc), static_cast<unsigned long long>(wrong.pc),
                 static_cast<unsigned long long>(right.exec), static_cast<unsigned long long>(wrong.exec), right.scc, wrong.scc,
                 right.m0, wrong.m0);
    for (uint64_t pc = before_.wave.pc, n = 0; n < 40 && (pc & ~(kPageBytes - 1)) == page_va; ++n) {
        const CodeEntry* const entry = page.at(*port_, pc);
        if (entry == nullptr || entry->inst.size_bytes == 0) break;
        std::fprintf(stderr, "  %#llx: %s\n", static_cast<unsigned long long>(pc),
                     disassemble(entry->inst, before_.wave.chip).c_str());
        pc += entry->inst.size_bytes;
    }
    std::abort();
}

/// Of what both have done; nullptr: none.
const char* Shadow::difference(const ExecContext& ctx) {
    const Wave &right = after_.wave, &wrong = ctx.wave;
    if (right.pc != wrong.pc || right.exec != wrong.exec || right.scc != wrong.scc || right.m0 != wrong.m0 ||
        right.mode != wrong.mode || right.status != wrong.status || right.trapsts != wrong.trapsts ||
        right.ib_sts != wrong.ib_sts)
        return "state";
    // Generated code does not write registers that nobody sees any more.
    const bool ended = ctx.request == Request::End;
    if (!ended && (right.sgpr != wrong.sgpr || right.ttmp != wrong.ttmp)) return "scalar registers";
    if (!ended && std::memcmp(after_.rows.data(), wrong.vgpr, after_.rows.size() * sizeof(VgprRow)) != 0)
        return "vector registers";
    if (!after_.lds.empty() && std::memcmp(after_.lds.data(), ctx.lds + wrong.lds_base, after_.lds.size()) != 0) return "LDS";
    for (const Store& store : stores_) {
        uint8_t now[16] = {};
        if (!copy(store.va, now, store.bytes, false) || std::memcmp(now, store.after, store.bytes) != 0) return "memory";
    }
    return nullptr;
}

/// A processor of the guest, or another device, has written where the piece has loaded, and the piece itself has not.
bool Shadow::others_wrote() const {
    return std::any_of(loads_.begin(), loads_.end(), [this](const Load& load) {
        const bool own = std::any_of(stores_.begin(), stores_.end(), [&](const Store& store) {
            return store.va < load.va + load.bytes && load.va < store.va + store.bytes;
        });
        return !own && std::memcmp(load.found, load.host, load.bytes) != 0;
    });
}

uint64_t Shadow::run(Translator& translator, PageCode& generated, ExecContext& ctx, CodePage& page, uint64_t page_va,
                     uint64_t budget, uint64_t& stopped_at) {
    port_ = ctx.memory;
    vmid_ = ctx.wave.vmid;
    stores_.clear();
    loads_.clear();
    final_ = false;
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    const uint64_t limit = std::min(budget, 1 + (random_ >> 33) % kLongestPiece);
    before_.take(ctx);
    ctx.watch = &nothing_;
    set_access_listener(this);
    const uint64_t done = interpret(ctx, page, page_va, limit, stopped_at);
    set_access_listener(nullptr);
    ctx.watch = nullptr;
    if (done == 0 || final_ || ctx.fault != Fault::None) return done;

    after_.take(ctx);
    const bool yielded = ctx.yield;
    const Request request = ctx.request;
    const uint32_t argument = ctx.request_arg;
    for (Store& store : stores_) copy(store.va, store.after, store.bytes, false);
    for (auto store = stores_.rbegin(); store != stores_.rend(); ++store) copy(store->va, store->before, store->bytes, true);
    before_.give(ctx);
    ctx.yield = false;
    ctx.request = Request::None;
    uint64_t ran = 0;
    while (ran < done && !ctx.yield && ctx.fault == Fault::None) {
        const uint8_t* const code = generated.at(ctx.wave.pc % kPageBytes, ctx.wave);
        uint64_t n = code != nullptr ? translator.run(code, ctx, page_va, done - ran, stopped_at) : 0;
        tally.generated.fetch_add(n, std::memory_order_relaxed);
        if (n == 0) {
            n = interpret(ctx, page, page_va, 1, stopped_at);
            tally.interpreted.fetch_add(n, std::memory_order_relaxed);
        }
        ran += n;
        if (n == 0) break;
    }
    const char* what = ran != done || ctx.fault != Fault::None ? "instructions" : nullptr;
    if (what == nullptr && (ctx.yield != yielded || ctx.request != request || (yielded && ctx.request_arg != argument)))
        what = "request";
    if (what == nullptr) what = difference(ctx);
    if (what == nullptr) return done;
    if (!others_wrote()) differ(ctx, page, page_va, what);
    ++tally.overtaken;
    return ran;
}

}  // namespace lyra::gcn
