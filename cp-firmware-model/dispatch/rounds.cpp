// SPDX-License-Identifier: MIT
// Rounds of compute units over host threads; step 5 of the data flow.
#include <algorithm>

#include "cp-firmware-model/dispatch/rounds_link.h"

namespace lyra {

namespace {

constexpr uint64_t kLeastPiece = 128,
                   kMostPiece = 2048;  ///< instructions before a compute unit gets new groups and others are looked at
/// Most instructions of a compute unit in a round: some 100 us, beside which what a round costs is little. Its registers and
/// LDS come to the cache nearest to the thread meanwhile.
constexpr uint64_t kShare = 4096, kTranslatedShare = 65536;
constexpr uint64_t kLeastShare = 256;  ///< less is not worth a turn
/// The part of its share after which a turn ends when others have nothing to do because waves or groups are running out. While
/// they are not, each compute unit gets its share.
constexpr uint64_t kLeastOfShort = 16;
/// Instructions before helpers are called while there are fewer than kManyWaves: short kernels do better without.
constexpr uint64_t kWarmUp = 2048;
constexpr uint64_t kManyWaves = 16;
/// Instructions of groups that are launched at a time on a compute unit that goes ahead: some us, for which another thread may
/// have to wait.
constexpr uint64_t kAheadPiece = 4096;
constexpr unsigned kLockSpins = 256;

}  // namespace

Dispatcher::Rounds::Rounds(Dispatcher& dispatcher, unsigned threads)
    : d_(dispatcher), threads_(threads), parts_(threads), pool_(threads - 1, [this](unsigned thread) { take_pieces(thread); }) {
    for (unsigned cu = 0; cu < d_.shape_.cus(); ++cu) links_.push_back(std::make_unique<Link>(*this, cu));
}

Dispatcher::Rounds::~Rounds() = default;

gcn::CuServices& Dispatcher::Rounds::services(unsigned cu) { return *links_[cu]; }

MemoryPort& Dispatcher::Rounds::memory(unsigned cu) { return *links_[cu]; }

void Dispatcher::Rounds::visit(StateVisitor& v) {
    for (size_t cu = 0; cu < links_.size(); ++cu) {
        v.begin("share", cu);
        v("ahead", links_[cu]->ahead, kTranslatedShare);
        v("rest", links_[cu]->rest, 2 * kTranslatedShare);
        v.end();
    }
}

/// For what compute unit cu asks. Held for tens of nanoseconds mostly, so it is worth waiting for awake.
std::unique_lock<std::mutex> Dispatcher::Rounds::hold(unsigned cu) {
    std::unique_lock<std::mutex> held;
    if (parallel_) {
        held = std::unique_lock(lock_, std::try_to_lock);
        for (unsigned n = 0; n < kLockSpins && !held && !held.try_lock(); ++n) {}
        if (!held) held.lock();
    }
    d_.current_cu_ = cu;
    return held;
}

bool Dispatcher::Rounds::later(const Gws::Waiter& waiter) {
    if (!parallel_ || waiter.cu == d_.current_cu_) return false;
    released_.push_back(waiter);
    return true;
}

/// A compute unit has something to do in the next round. @param grid  of which rounds launch groups; nullptr: of none
bool Dispatcher::Rounds::worth_a_visit(unsigned cu, const Grid* grid) const {
    if (d_.cus_[cu]->runnable()) return true;
    if (grid == nullptr) return false;
    const LaunchQueue& q = *d_.queues_.find(grid->request.queue_id);
    if (!d_.placement_.engine_allows(q, *grid, d_.shape_.engine_of(cu)) || !d_.placement_.cu_allows(q, *grid, cu)) return false;
    gcn::WorkgroupLaunch whole = grid->launch;
    whole.group_valid = whole.group_size;
    return d_.cus_[cu]->fits(whole);
}

uint64_t Dispatcher::Rounds::run(uint64_t budget) {
    const auto n = static_cast<unsigned>(d_.cus_.size());
    const Grid* const grid = begin_launches();
    const bool all = grid != nullptr;
    owes_places_ = false;
    todo_.clear();
    for (unsigned i = 0; i < n; ++i) {
        const unsigned cu = (d_.next_cu_ + i) % n;
        if (worth_a_visit(cu, grid)) todo_.push_back(cu);
    }
    if (todo_.empty()) {
        end_launches();
        warm_ = 0;
        return 0;
    }
    const bool may_share = threads_ > 1 && todo_.size() > 1 && !d_.env_.tracer.on();
    const bool parallel = may_share && (all || warm_ >= kWarmUp || waves_of_round() >= kManyWaves);
    // Alone the round takes as long as one with helpers.
    budget_ = std::max<uint64_t>(parallel ? budget : budget / threads_, 1);
    fills_ = true;
    if (may_share && !parallel) {
        pool_.call();
        fills_ = budget_ <= kWarmUp;
        budget_ = std::min(budget_, kWarmUp);
    }
    // A recorded device launches when it did, whoever looks.
    const bool owes = all && fills_ && !d_.env_.repeatable && !d_.env_.tracer.on();
    if (owes) fills_ = false;
    const uint64_t most = d_.translator_ && !d_.env_.repeatable ? kTranslatedShare : kShare;
    share_ = threads_ == 1 ? std::min(most, budget_) : std::clamp(budget_ / todo_.size(), std::min(kLeastShare, budget_), most);
    goes_ahead_ = parallel && budget_ >= todo_.size() * kLeastShare;
    deal(goes_ahead_);
    used_ = 0;
    over_ = short_ = false;
    for (auto& link : links_) link->begin_round(parallel);
    if (parallel) {
        parallel_ = true;
        pool_.round();
        parallel_ = false;
        for (const Gws::Waiter& waiter : released_) d_.cus_[waiter.cu]->gws_done(waiter.slot);
        released_.clear();
    } else {
        take_pieces(0);
    }
    if (all && fills_) {
        for (const Part& part : parts_)
            for (size_t at = part.taken(); at < part.todo.size(); ++at) {
                d_.current_cu_ = part.todo[at];
                fill(part.todo[at]);
            }
    }
    end_launches();
    d_.next_cu_ = first_of_next();
    owes_places_ = owes;
    warm_ += used_;
    return parallel ? used_.load() : used_ * threads_;
}

uint64_t Dispatcher::Rounds::waves_of_round() const {
    uint64_t waves = 0;
    for (const unsigned cu : todo_) waves += d_.cus_[cu]->waves_live();
    return waves;
}

/// Who takes which compute units first. @param to_threads  to each its own; otherwise whoever is free takes the next one, so
/// that all have the same when the budget does not last for all
void Dispatcher::Rounds::deal(bool to_threads) {
    for (Part& part : parts_) {
        part.todo.clear();
        part.took.clear();
        part.next = 0;
    }
    const size_t cus = d_.cus_.size();
    for (const unsigned cu : todo_) parts_[to_threads ? cu * parts_.size() / cus : 0].todo.push_back(cu);
    if (!to_threads) first_part_ = 0;
}

/// Runs on each thread, one compute unit after the other: first its own, then what the others have left. A thread that finds no
/// work left tells the others, whose turns end sooner when waves are running out.
void Dispatcher::Rounds::take_pieces(unsigned thread) {
    ++busy_;
    for (unsigned n = 0; n < parts_.size(); ++n) {
        Part& part = parts_[(thread + first_part_ + n) % parts_.size()];
        for (;;) {
            const uint64_t used = used_.load(std::memory_order_relaxed);
            if (used >= budget_) break;
            const size_t at = part.next.fetch_add(1);
            if (at >= part.todo.size()) break;
            parts_[thread].took.push_back(part.todo[at]);
            used_ += take_turn(part.todo[at], budget_ - used);
        }
    }
    over_ = true;
    --busy_;
    if (goes_ahead_) go_ahead(thread);
    // Between rounds, where queues are taken away, waves are in every place that hardware would have filled.
    if (!fills_) return;
    for (const unsigned cu : parts_[thread].took) fill(cu);
}

/// The thread has nothing to do while others end their turns. Meanwhile the compute units that it had in this round go on, the
/// last one first, which is in its caches. What they get is taken from their next turn, of which they always have a half.
void Dispatcher::Rounds::go_ahead(unsigned thread) {
    const std::vector<unsigned>& took = parts_[thread].took;
    for (auto cu = took.rbegin(); cu != took.rend() && busy_ != 0; ++cu) {
        Link& link = *links_[*cu];
        if (link.ahead + kLeastShare > share_ / 2) continue;
        const uint64_t used = run_share(*cu, share_ / 2 - link.ahead, true);
        used_ += used;
        link.ahead = std::min(link.ahead + used, kTranslatedShare);
    }
}

/// @param budget  instructions; when they are less than its share, the rest of it comes first in the next round
uint64_t Dispatcher::Rounds::take_turn(unsigned cu, uint64_t budget) {
    Link& link = *links_[cu];
    // Where the budget lasts for all, others have a share in this round, too.
    const uint64_t rest = std::min(link.rest, share_), all = goes_ahead_ || rest == 0 ? share_ + rest : rest;
    const uint64_t paid = std::min(link.ahead, all / 2), owed = all - paid;
    const uint64_t share = std::min(owed, budget);
    link.had_turn = true;
    link.rest = owed - share;
    const uint64_t used = run_share(cu, share);
    // Waves run in whole slices.
    const uint64_t beyond = goes_ahead_ ? used - std::min(used, share) : 0;
    link.ahead = std::min(link.ahead - paid + beyond, kTranslatedShare);
    return used;
}

/// The compute unit that comes first in the next round. When no helper came to its part, the dispatcher's thread begins with it
/// itself, so that none waits forever.
unsigned Dispatcher::Rounds::first_of_next() {
    const auto waits = [&](unsigned cu) { return !links_[cu]->had_turn || links_[cu]->rest != 0; };
    const auto first = std::ranges::find_if(todo_, waits);
    first_part_ = 0;
    if (first == todo_.end()) return (d_.next_cu_ + 1) % static_cast<unsigned>(d_.cus_.size());
    for (unsigned n = 0; n < parts_.size(); ++n) {
        const auto& todo = parts_[n].todo;
        if (parts_[n].taken() == 0 && std::ranges::find(todo, *first) != todo.end()) first_part_ = n;
    }
    return *first;
}

/// What has happened on the compute unit, which the thread is done with.
void Dispatcher::Rounds::tell(unsigned cu) {
    d_.cus_[cu]->tell_counts();
    if (!links_[cu]->has_news()) return;
    const auto held = hold(cu);
    settle(cu);
}

bool Dispatcher::Rounds::others_wait(uint64_t used, uint64_t share) const {
    return over_.load(std::memory_order_relaxed) && short_.load(std::memory_order_relaxed) && used >= share / kLeastOfShort;
}

/// @param ahead  only as long as others are busy
uint64_t Dispatcher::Rounds::run_share(unsigned cu, uint64_t share, bool ahead) {
    const uint64_t piece = std::clamp(share / 4, kLeastPiece, kMostPiece);
    uint64_t used = 0;
    while (used < share) {
        const uint64_t ran = d_.cus_[cu]->run(std::min(piece, share - used));
        const uint64_t rest = share - std::min(share, used + ran);
        const uint64_t refilled = rest != 0 ? refill(cu, ahead ? std::min(rest, kAheadPiece) : rest) : 0;
        used += ran + refilled;
        if (ran + refilled == 0) {
            used = std::max(used, kVisitCost);
            // Waves that sleep leave the others their shares.
            if (d_.cus_[cu]->waves_live() == 0) short_ = true;
            break;
        }
        if (ahead ? busy_ == 0 : others_wait(used, share)) break;
    }
    if (!fills_) tell(cu);
    return used;
}

}  // namespace lyra
