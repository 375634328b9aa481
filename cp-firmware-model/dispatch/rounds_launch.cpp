// SPDX-License-Identifier: MIT
// Groups that rounds launch: of which grid, which of them for which compute unit, and when; step 5 of the data flow.
#include <algorithm>
#include <numeric>
#include <utility>

#include "cp-firmware-model/dispatch/rounds_link.h"
#include "cwsr/area.h"

namespace lyra {

namespace {

constexpr uint64_t kFirstTurn = 4096;  ///< instructions that each wave gets when it is launched
/// Waves that a compute unit gets at a time: each time takes the lock.
constexpr unsigned kRefillWaves = 32;
/// Waves that a part of a grid has one behind the other, and that it may be ahead of another part. What a part has in caches
/// begins and ends where the parts meet, and what is fetched in advance goes beyond.
constexpr unsigned kStrideWaves = 2048, kLagWaves = 4096;
/// Times that each compute unit gets groups of what is left of its part, if all get as many: of the last groups each has few,
/// and no thread has the longest waves alone while others wait.
constexpr unsigned kTimesOfRest = 2;

}  // namespace

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

uint32_t Dispatcher::Rounds::units_in_use() const {
    const bool owed = owes_places_ && launches();
    uint32_t used = 0;
    for (unsigned cu = 0; cu < d_.cus_.size(); ++cu)
        used += d_.cus_[cu]->waves_live() != 0 || (owed && std::ranges::find(todo_, cu) != todo_.end()) ? 1 : 0;
    return used;
}

void Dispatcher::Rounds::fill_places() {
    if (!std::exchange(owes_places_, false)) return;
    const Grid* const grid = begin_launches();
    for (auto& link : links_) link->begin_round(false);
    for (unsigned cu = 0; cu < d_.cus_.size(); ++cu) {
        if (grid == nullptr || !worth_a_visit(cu, grid)) continue;
        d_.current_cu_ = cu;
        fill(cu);
    }
    end_launches();
}

void Dispatcher::Rounds::fill(unsigned cu) {
    used_ += refill(cu, 0);
    tell(cu);
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
        const uint64_t stride = shared_.deal.stride, rest = shared_.size[part] - nth;
        const uint64_t times = shared_.deal.parts > 1 ? kTimesOfRest * links_.size() / shared_.deal.parts : 1;
        const uint64_t fair = rest / times;
        groups = std::min({uint64_t{most}, std::max<uint64_t>(fair, 1), stride - nth % stride});
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
