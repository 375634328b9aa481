// SPDX-License-Identifier: MIT
// Rounds of compute units over host threads; step 5 of the data flow.
#include "cp-firmware-model/dispatch/rounds.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "cwsr/area.h"

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
constexpr uint64_t kWarmUp = 2048;     ///< instructions before helpers are called: short kernels do better without
constexpr uint64_t kFirstTurn = 4096;  ///< instructions that each wave gets when it is launched
constexpr unsigned kLockSpins = 256;
/// Waves that a compute unit gets at a time: each time takes the lock.
constexpr unsigned kRefillWaves = 32;
/// Waves that a part of a grid has one behind the other, and that it may be ahead of another part. What a part has in caches
/// begins and ends where the parts meet, and what is fetched in advance goes beyond.
constexpr unsigned kStrideWaves = 2048, kLagWaves = 4096;

}  // namespace

/// Services and memory of one compute unit. The memory's generation stays what it was when the round began: whatever happens to
/// translations meanwhile, the compute unit sees it in the next one.
class Dispatcher::Rounds::Link final : public gcn::CuServices, public MemoryPort {
    template <class F>
    auto locked(F f) {
        const auto hold = rounds_.hold(cu_);
        return f();
    }

public:
    Link(Rounds& rounds, unsigned cu)
        : rounds_(rounds), d_(rounds.d_), port_(rounds.d_.bus_.wave_memory(rounds.d_.shape_.xcc_of_cu(cu))), cu_(cu) {
        share_generation(*this, port_);
    }

    void wave_interrupt(const gcn::Wave& wave, uint32_t data) override {
        locked([&] { d_.wave_interrupt(wave, data); });
    }
    void wave_error(const gcn::Wave& wave, unsigned error) override {
        locked([&] { d_.wave_error(wave, error); });
    }
    /// Ends come often and nobody waits for them: they are counted, and told before the next launch here.
    void wave_ended(const gcn::Wave& wave) override {
        room = true;
        if (!counts_ends_) return locked([&] { d_.wave_ended(wave); });
        if (wave.scratch_slot < 0 && wave.save == gcn::SaveStep::None)
            ++counts_of(wave.dispatch).waves;
        else
            ends_.push_back({wave.dispatch, wave.scratch_slot, wave.save});
    }
    void workgroup_ended(uint64_t dispatch) override {
        if (!counts_ends_) return locked([&] { d_.workgroup_ended(dispatch); });
        ++counts_of(dispatch).groups;
    }
    void wave_save_ready(const gcn::Wave& wave) override {
        locked([&] { d_.wave_save_ready(wave); });
    }
    void workgroup_saved(uint64_t dispatch) override {
        if (!counts_ends_) return locked([&] { d_.workgroup_saved(dispatch); });
        ++counts_of(dispatch).saved_groups;
    }
    /// Of so many waves that were counted as launched. Some were none, others have ended.
    void launched(uint64_t dispatch, uint64_t waves, const gcn::CuPort::Started& started) {
        const uint64_t gone = waves - started.waves + started.ended_waves;
        if (gone == 0 && started.ended_groups == 0) return;
        if (!counts_ends_) return locked([&] { d_.ended(dispatch, gone, started.ended_groups); });
        Counts& counts = counts_of(dispatch);
        counts.waves += gone;
        counts.groups += started.ended_groups;
    }
    bool has_news() const { return claimed != 0 || !ends_.empty() || counts_.dispatch != 0; }
    /// Under the lock, for this compute unit. A grid is forgotten with its last group, so the waves are first.
    void tell_ends() {
        for (const Ended& end : ends_) {
            wave_.dispatch = end.dispatch;
            wave_.scratch_slot = end.scratch_slot;
            wave_.save = end.save;
            d_.wave_ended(wave_);
        }
        if (counts_.dispatch != 0) other_counts_.push_back(std::exchange(counts_, {}));
        for (const Counts& ended : other_counts_) {
            for (uint64_t n = 0; n < ended.saved_groups; ++n) d_.workgroup_saved(ended.dispatch);
            d_.ended(ended.dispatch, ended.waves, ended.groups);
        }
        ends_.clear();
        other_counts_.clear();
    }
    gcn::GwsAnswer gws(const gcn::Wave& wave, gcn::GwsOp op, uint32_t resource, uint32_t value) override {
        return locked([&] { return d_.gws(wave, op, resource, value); });
    }
    gcn::GdsWindow gds(uint32_t vmid) override {
        return locked([&] { return d_.gds(vmid); });
    }
    void gws_left(const gcn::Wave& wave) override {
        locked([&] { d_.gws_left(wave); });
    }
    uint64_t shader_clock() override {
        return locked([&] { return d_.shader_clock(); });
    }
    uint64_t reference_clock() override {
        return locked([&] { return d_.reference_clock(); });
    }

    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override {
        return locked([&] { return port_.page(vmid, va, access); });
    }
    HostRange range(uint32_t vmid, uint64_t va, Access access) override {
        return locked([&] { return port_.range(vmid, va, access); });
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        return locked([&] { return port_.read(vmid, va, data, size); });
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        return locked([&] { return port_.write(vmid, va, data, size); });
    }
    Fault check(uint32_t vmid, uint64_t va, Access access) override {
        return locked([&] { return port_.check(vmid, va, access); });
    }
    void touch(uint8_t* host) override { port_.touch(host); }
    void begin_round(bool parallel) {
        if (parallel) keep_generation(*this, port_);
        parallel_ = parallel;
        counts_ends_ = !d_.env_.tracer.on();  // in a trace they stand where they were
        d_.cus_[cu_]->set_counts_later(true);
        room = true;
        prepared = 0;
        had_turn = false;
    }
    void end_round() {
        if (parallel_) share_generation(*this, port_);
        parallel_ = counts_ends_ = false;
        d_.cus_[cu_]->set_counts_later(false);
    }
    /// For groups of the grid.
    void prepare(const Grid& grid) {
        launch = grid.launch;
        d_.place_launch(launch, cu_);
        d_.debug_.apply(grid.request, launch);
        d_.cus_[cu_]->prepare(launch);
        prepared = grid.id;
        waves_per_group = grid.waves_per_group;
    }

    bool room = true;  ///< a wave has ended since no group could be placed here
    uint64_t prepared = 0;  ///< dispatch whose kernel the compute unit has prepared
    gcn::WorkgroupLaunch launch;  ///< its next group
    unsigned waves_per_group = 1;
    uint64_t group_cost = 1024;  ///< instructions that work-groups have taken when they were launched, on average
    GridWalk walk;  ///< begins with those that have been claimed
    uint64_t claimed = 0;  ///< groups of the shared grid that have not been counted here
    unsigned part = 0;  ///< of the shared grid
    uint64_t far = 0;  ///< groups of the part: with fewer it is not far ahead
    bool had_turn = false;  ///< in this round
    uint64_t rest = 0;  ///< of its share, for which the budget of the round was too small: what it gets in its next turn

private:
    Rounds& rounds_;
    Dispatcher& d_;
    MemoryPort& port_;
    unsigned cu_;
    bool parallel_ = false;  ///< in a round with helpers
    bool counts_ends_ = false;  ///< in a round
    struct Counts {
        uint64_t dispatch = 0;
        uint64_t waves = 0, groups = 0, saved_groups = 0;
    };
    Counts& counts_of(uint64_t dispatch) {
        if (counts_.dispatch != dispatch) {
            if (counts_.dispatch != 0) other_counts_.push_back(counts_);
            counts_ = {dispatch};
        }
        return counts_;
    }
    /// Here, and not the last of the others: elements of a small vector share their line with those of other compute units.
    Counts counts_;
    std::vector<Counts> other_counts_;
    struct Ended {
        uint64_t dispatch;
        int32_t scratch_slot;
        gcn::SaveStep save;
    };
    std::vector<Ended> ends_;  ///< waves of which more is to be told
    gcn::Wave wave_;  ///< what the dispatcher wants to know of one that has ended
};

Dispatcher::Rounds::Rounds(Dispatcher& dispatcher, unsigned threads)
    : d_(dispatcher), threads_(threads), parts_(threads), pool_(threads - 1, [this](unsigned thread) { take_pieces(thread); }) {
    for (unsigned cu = 0; cu < d_.shape_.cus(); ++cu) links_.push_back(std::make_unique<Link>(*this, cu));
}

Dispatcher::Rounds::~Rounds() = default;

gcn::CuServices& Dispatcher::Rounds::services(unsigned cu) { return *links_[cu]; }

MemoryPort& Dispatcher::Rounds::memory(unsigned cu) { return *links_[cu]; }

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

/// One queue alone wants to launch, and nothing but room is in its way.
uint32_t Dispatcher::Rounds::only_waiting_queue() const {
    // Groups are dealt to XCCs in turn, which rounds do not.
    if (d_.placement_.xccs() > 1 || d_.placement_.reserves() ||
        d_.shape_.cus_per_engine * gcn::kWaveSlots > cwsr::kMaxWavesPerEngine)
        return kQueueIds;
    const LaunchQueue* only = nullptr;
    for (const auto& q : d_.queues_) {
        if (!q->waits_for_room()) continue;
        if (only != nullptr) return kQueueIds;
        only = q.get();
    }
    return only != nullptr && only->saved.empty() ? only->id : kQueueIds;
}

bool Dispatcher::Rounds::launches() const {
    const LaunchQueue* const q = d_.queues_.find(only_waiting_queue());
    if (q == nullptr || d_.env_.tracer.on()) return false;
    const Grid& grid = *d_.grids_.find(q->pending.front());
    if (d_.debug_.stalls(grid.request.vmid)) return false;
    const uint64_t held = d_.cus_.size() * gcn::kWaveSlots / grid.waves_per_group + 1;
    return !Placement::limits_groups(grid) && grid.walk.total() >= held;
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

/// Which queue's groups take the place of those that end. @return its grid, when all its groups are left to rounds
const Grid* Dispatcher::Rounds::begin_launches() {
    const bool all = launches();
    refill_ = only_waiting_queue();
    share_grid();
    return all ? d_.grids_.find(d_.queues_.find(refill_)->pending.front()) : nullptr;
}

void Dispatcher::Rounds::end_launches() {
    count_claims();
    shared_.id = 0;
    refill_ = kQueueIds;
    for (auto& link : links_) link->end_round();
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
        warm_ = 0;
        refill_ = kQueueIds;
        shared_.id = 0;
        return 0;
    }
    const bool may_share = threads_ > 1 && todo_.size() > 1 && !d_.env_.tracer.on();
    const bool parallel = may_share && (all || warm_ >= kWarmUp);
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
    deal(parallel && budget_ >= todo_.size() * kLeastShare);
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
/// work left tells the others to stop, so that the next round can begin.
void Dispatcher::Rounds::take_pieces(unsigned thread) {
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
    // Between rounds, where queues are taken away, waves are in every place that hardware would have filled.
    if (!fills_) return;
    for (const unsigned cu : parts_[thread].took) fill(cu);
}

/// @param budget  instructions; when they are less than its share, the rest of it comes first in the next round
uint64_t Dispatcher::Rounds::take_turn(unsigned cu, uint64_t budget) {
    Link& link = *links_[cu];
    const uint64_t owed = link.rest != 0 ? std::min(link.rest, share_) : share_;
    const uint64_t share = std::min(owed, budget);
    link.had_turn = true;
    link.rest = owed - share;
    return run_share(cu, share);
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

bool Dispatcher::Rounds::in_use(unsigned cu) const {
    return d_.cus_[cu]->waves_live() != 0 || (owes_places_ && std::ranges::find(todo_, cu) != todo_.end());
}

void Dispatcher::Rounds::fill_places() {
    if (!std::exchange(owes_places_, false)) return;
    const Grid* const grid = begin_launches();
    if (grid == nullptr) return;
    for (auto& link : links_) link->begin_round(false);
    for (unsigned cu = 0; cu < d_.cus_.size(); ++cu) {
        if (!worth_a_visit(cu, grid)) continue;
        d_.current_cu_ = cu;
        fill(cu);
    }
    end_launches();
}

void Dispatcher::Rounds::fill(unsigned cu) {
    used_ += refill(cu, 0);
    tell(cu);
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

uint64_t Dispatcher::Rounds::run_share(unsigned cu, uint64_t share) {
    const uint64_t piece = std::clamp(share / 4, kLeastPiece, kMostPiece);
    uint64_t used = 0;
    while (used < share) {
        const uint64_t ran = d_.cus_[cu]->run(std::min(piece, share - used));
        const uint64_t refilled = used + ran < share ? refill(cu, share - used - ran) : 0;
        used += ran + refilled;
        if (ran + refilled == 0) {
            used = std::max(used, kVisitCost);
            if (!short_.load(std::memory_order_relaxed)) short_ = true;
            break;
        }
        if (others_wait(used, share)) break;
    }
    if (!fills_) tell(cu);
    return used;
}

/// One grid alone is being launched, and whether a compute unit may have one more group of it is not to be asked for each.
void Dispatcher::Rounds::share_grid() {
    shared_.id = 0;
    const LaunchQueue* const q = d_.queues_.find(refill_);
    if (q == nullptr || d_.env_.tracer.on()) return;
    const Grid& grid = *d_.grids_.find(q->pending.front());
    const uint64_t groups = grid.walk.total();
    if (Placement::limits_groups(grid) || groups > GridDeal::kMostGroups) return;
    const auto parts = std::min<uint64_t>({threads_, d_.cus_.size(), GridDeal::kMostParts});
    const uint64_t stride = std::min<uint64_t>(kStrideWaves / grid.waves_per_group, (groups + parts - 1) / parts);
    GridDeal deal{.parts = static_cast<unsigned>(parts),
                  .stride = static_cast<uint32_t>(std::max<uint64_t>(stride, 1)),
                  .groups = groups};
    // It may have been dealt on a machine with other threads. Then what is left behind is launched first.
    if (grid.deal.dealt() && (grid.deal.parts != deal.parts || grid.deal.stride != deal.stride)) return;
    counted_claims_ = 0;
    for (unsigned part = 0; part < deal.parts; ++part) {
        deal.launched[part] = grid.deal.dealt() ? grid.deal.launched[part] : deal.below(part, grid.walk.index());
        counted_claims_ += claims_[part].groups = deal.launched[part];
        shared_.size[part] = deal.size(part);
    }
    for (unsigned cu = 0; cu < links_.size(); ++cu) {
        links_[cu]->part = static_cast<unsigned>(cu * deal.parts / links_.size());
        links_[cu]->far = 0;
    }
    shared_.deal = deal;
    shared_.walk = grid.walk;
    shared_.lag = std::max(kLagWaves / grid.waves_per_group, 1u);
    shared_.id = grid.id;
}

GridDeal Dispatcher::Rounds::claims() const {
    GridDeal deal = shared_.deal;
    for (unsigned part = 0; part < deal.parts; ++part)
        deal.launched[part] = claims_[part].groups.load(std::memory_order_relaxed);
    return deal;
}

/// Under the lock. What has been claimed is counted as running, though not yet where.
void Dispatcher::Rounds::count_claims() {
    if (shared_.id == 0) return;
    const GridDeal deal = claims();
    const uint64_t claimed = std::accumulate(deal.launched.begin(), deal.launched.end(), uint64_t{0});
    const auto groups = static_cast<unsigned>(claimed - std::exchange(counted_claims_, claimed));
    if (groups == 0) return;
    LaunchQueue& q = *d_.queues_.find(refill_);
    Grid& grid = *d_.grids_.find(shared_.id);
    count_launch(q, grid, groups, groups * grid.waves_per_group);
    d_.env_.stats.add(Stat::workgroups, groups);
    d_.walk_on(q, grid, groups, &deal);
    q.failed_passes = 0;
}

/// Under the lock: what the compute unit has claimed, and what has ended there.
void Dispatcher::Rounds::settle(unsigned cu) {
    Link& link = *links_[cu];
    count_claims();
    if (const uint64_t claimed = std::exchange(link.claimed, 0u); claimed != 0) {
        const auto groups = static_cast<unsigned>(claimed);
        d_.count_place(*d_.queues_.find(refill_), cu, groups, groups * link.waves_per_group);
    }
    link.tell_ends();
}

/// As many groups as run in so many instructions; 0: as find room, none of which runs yet. @return instructions, and what
/// launches cost
uint64_t Dispatcher::Rounds::refill(unsigned cu, uint64_t budget) {
    Link& link = *links_[cu];
    gcn::CuPort& unit = *d_.cus_[cu];
    const bool fills = budget == 0;
    uint64_t used = 0;
    while (link.room && (fills || used < budget)) {
        if (!fills && others_wait(used, budget)) break;
        const uint64_t prepared = link.prepared;
        const uint64_t affordable = fills ? kRefillWaves : (budget - used) / link.group_cost + 1;
        const auto wanted = static_cast<unsigned>(std::min<uint64_t>(affordable, kRefillWaves / link.waves_per_group));
        // With one place more than are wanted.
        const unsigned places = prepared == 0 ? 0 : unit.reserve(std::max(wanted, 1u) + 1);
        link.room = prepared == 0 || places != 0;
        if (!link.room) break;
        const unsigned groups = claim(cu, places);
        for (unsigned n = 0; n < groups; ++n, link.walk.next()) {
            link.launch.group_id = link.walk.group();
            link.launch.group_valid = link.walk.valid();
            const uint64_t turn = budget >= kFirstTurn ? kFirstTurn * link.waves_per_group : budget - std::min(used, budget);
            const uint64_t cost = unit.start(link.launch, turn) + kLaunchCost;
            used += cost;
            if (!fills) link.group_cost = (3 * link.group_cost + cost) / 4;
        }
        // Claimed were whole groups; those at the grid's edge may have fewer waves.
        if (places != 0) link.launched(prepared, uint64_t{groups} * link.waves_per_group, unit.started());
        if (!fills && groups != 0 && unit.waves_live() != 0) break;  // others want a turn first
        if (groups == 0 && link.prepared == prepared) break;
    }
    unit.finish();
    return used;
}

/// The next groups of the queue that fills up, for this compute unit: the link's walk begins with them. They are counted as
/// running. When they are of another kernel than the prepared one, that one is prepared in their place.
///
/// A group may wait for those below it, which on hardware are launched first. So the last place is for the lowest one that has
/// not been launched: whatever waits in the others, that one comes.
/// @return groups; when there is more than one place, one less at most
unsigned Dispatcher::Rounds::claim(unsigned cu, unsigned places) {
    Link& link = *links_[cu];
    const unsigned most = places > 1 ? places - 1 : places;
    if (shared_.id != 0 && link.prepared == shared_.id) {
        unsigned groups = places == 1 || far_ahead(cu) ? 0 : claim_of(cu, link.part, most);
        while (groups == 0) {
            const unsigned part = claims().lowest();
            if (part == shared_.deal.parts) break;
            groups = claim_of(cu, part, most);
        }
        if (groups != 0) return groups;
    }
    return claim_next(cu, most);
}

/// @return groups of a part of the shared grid, at most so many; 0: it has none any more
unsigned Dispatcher::Rounds::claim_of(unsigned cu, unsigned part, unsigned most) {
    std::atomic<uint64_t>& claims = claims_[part].groups;
    uint64_t nth = claims.load(std::memory_order_relaxed), groups = 0;
    do {
        if (nth >= shared_.size[part]) return 0;
        const uint64_t stride = shared_.deal.stride;
        groups = std::min({uint64_t{most}, shared_.size[part] - nth, stride - nth % stride});
    } while (!claims.compare_exchange_weak(nth, nth + groups, std::memory_order_relaxed));
    Link& link = *links_[cu];
    link.walk = shared_.walk;
    link.walk.go_to_index(shared_.deal.number(part, nth));
    link.claimed += groups;
    return static_cast<unsigned>(groups);
}

/// The compute unit's part is as far ahead of another one as it may be.
bool Dispatcher::Rounds::far_ahead(unsigned cu) {
    Link& link = *links_[cu];
    const uint64_t own = claims_[link.part].groups.load(std::memory_order_relaxed);
    if (own < link.far) return false;
    const GridDeal deal = claims();
    const unsigned lowest = deal.lowest();
    if (lowest == deal.parts) return false;
    link.far = deal.launched[lowest] + shared_.lag;
    return own >= link.far;
}

/// The same with the lock, of any grid.
unsigned Dispatcher::Rounds::claim_next(unsigned cu, unsigned most) {
    const auto held = hold(cu);
    Link& link = *links_[cu];
    settle(cu);
    LaunchQueue* const q = d_.queues_.find(refill_);
    if (q == nullptr || !q->waits_for_room()) return 0;
    Grid& grid = *d_.grids_.find(q->pending.front());
    const unsigned engine = d_.shape_.engine_of(cu);
    if (d_.debug_.stalls(grid.request.vmid) || !d_.placement_.engine_allows(*q, grid, engine) ||
        !d_.placement_.cu_allows(*q, grid, cu))
        return 0;
    if (link.prepared != grid.id) {
        d_.cus_[cu]->finish();
        link.prepare(grid);
        return 0;
    }
    // Which waves a partial group has is known only when it is there: their scratch is left to placement.
    if (grid.scratch.used() && grid.walk.valid() != link.launch.group_size) return 0;
    const auto groups = static_cast<unsigned>(grid.next_groups(Placement::limits_groups(grid) ? 1 : most));
    link.walk = grid.walk;
    d_.placement_.take_scratch(*q, grid, cu, link.launch);
    count_launch(*q, grid, groups, groups * grid.waves_per_group);
    d_.count_place(*q, cu, groups, groups * grid.waves_per_group);
    d_.env_.stats.add(Stat::workgroups, groups);
    d_.walk_on(*q, grid, groups);
    q->failed_passes = 0;
    return groups;
}

}  // namespace lyra
