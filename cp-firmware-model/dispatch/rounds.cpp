// SPDX-License-Identifier: MIT
// Rounds of compute units over host threads; step 5 of the data flow.
#include "cp-firmware-model/dispatch/rounds.h"

#include <algorithm>

#include "cwsr/area.h"

namespace lyra {

namespace {

constexpr uint64_t kLeastPiece = 128,
                   kMostPiece = 512;   ///< instructions before a compute unit gets new groups and others are looked at
constexpr uint64_t kShare = 4096;      ///< most instructions of a compute unit in a round
constexpr uint64_t kLeastShare = 256;  ///< less is not worth a turn
constexpr uint64_t kWarmUp = 2048;     ///< instructions before helpers are called: short kernels do better without
constexpr unsigned kLockSpins = 256;

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
    Link(Rounds& rounds, unsigned cu) : rounds_(rounds), d_(rounds.d_), port_(rounds.d_.bus_.wave_memory()), cu_(cu) {
        share_generation(*this, port_);
    }

    void wave_interrupt(const gcn::Wave& wave, uint32_t data) override {
        locked([&] { d_.wave_interrupt(wave, data); });
    }
    void wave_error(const gcn::Wave& wave, unsigned error) override {
        locked([&] { d_.wave_error(wave, error); });
    }
    /// Ends come often and nobody waits for them: they are told before the next launch here, many under one lock.
    void wave_ended(const gcn::Wave& wave) override {
        room = true;
        if (!in_round_) return locked([&] { d_.wave_ended(wave); });
        ends_.push_back({wave.dispatch, wave.scratch_slot, wave.save, End::Wave});
    }
    void workgroup_ended(uint64_t dispatch) override {
        if (!in_round_) return locked([&] { d_.workgroup_ended(dispatch); });
        ends_.push_back({dispatch, -1, gcn::SaveStep::None, End::Group});
    }
    void wave_save_ready(const gcn::Wave& wave) override {
        locked([&] { d_.wave_save_ready(wave); });
    }
    void workgroup_saved(uint64_t dispatch) override {
        if (!in_round_) return locked([&] { d_.workgroup_saved(dispatch); });
        ends_.push_back({dispatch, -1, gcn::SaveStep::None, End::SavedGroup});
    }
    bool has_ends() const { return !ends_.empty(); }
    /// Under the lock, for this compute unit.
    void tell_ends() {
        for (const Ended& end : ends_) {
            wave_.dispatch = end.dispatch;
            wave_.scratch_slot = end.scratch_slot;
            wave_.save = end.save;
            if (end.what == End::Wave) d_.wave_ended(wave_);
            if (end.what == End::Group) d_.workgroup_ended(end.dispatch);
            if (end.what == End::SavedGroup) d_.workgroup_saved(end.dispatch);
        }
        ends_.clear();
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
    void begin_round() {
        keep_generation(*this, port_);
        in_round_ = true;
    }
    void end_round() {
        share_generation(*this, port_);
        in_round_ = false;
    }
    void look_again() {
        room = true;
        prepared = 0;
    }

    bool room = true;  ///< a wave has ended since no group could be placed here
    uint64_t prepared = 0;  ///< dispatch that launch belongs to
    gcn::WorkgroupLaunch launch;  ///< its next group

private:
    Rounds& rounds_;
    Dispatcher& d_;
    MemoryPort& port_;
    unsigned cu_;
    bool in_round_ = false;  ///< with helpers
    enum class End : uint8_t { Wave, Group, SavedGroup };
    struct Ended {
        uint64_t dispatch;
        int32_t scratch_slot;
        gcn::SaveStep save;
        End what;
    };
    std::vector<Ended> ends_;
    gcn::Wave wave_;  ///< what the dispatcher wants to know of one that has ended
};

Dispatcher::Rounds::Rounds(Dispatcher& dispatcher, unsigned threads)
    : d_(dispatcher), threads_(threads), pool_(threads - 1, [this] { take_pieces(); }) {
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
    if (d_.placement_.reserves() || d_.shape_.cus_per_engine * gcn::kWaveSlots > cwsr::kMaxWavesPerEngine) return kQueueIds;
    const LaunchQueue* only = nullptr;
    for (const auto& q : d_.queues_) {
        if (!q->waits_for_room()) continue;
        if (only != nullptr) return kQueueIds;
        only = q.get();
    }
    return only != nullptr && only->saved.empty() ? only->id : kQueueIds;
}

uint64_t Dispatcher::Rounds::run(uint64_t budget) {
    const auto n = static_cast<unsigned>(d_.cus_.size());
    todo_.clear();
    for (unsigned i = 0; i < n; ++i) {
        const unsigned cu = (d_.next_cu_ + i) % n;
        if (d_.cus_[cu]->runnable()) todo_.push_back(cu);
    }
    if (todo_.empty()) {
        warm_ = 0;
        return 0;
    }
    refill_ = only_waiting_queue();
    const bool parallel = todo_.size() > 1 && warm_ >= kWarmUp && !d_.env_.tracer.on();
    // Alone the round takes as long as one with helpers.
    budget_ = std::max<uint64_t>(parallel ? budget : budget / threads_, 1);
    share_ = std::clamp(budget_ / todo_.size(), std::min(kLeastShare, budget_), kShare);
    next_ = 0;
    used_ = 0;
    over_ = false;
    for (auto& link : links_) link->look_again();
    if (parallel) {
        for (auto& link : links_) link->begin_round();
        parallel_ = true;
        pool_.round();
        parallel_ = false;
        for (auto& link : links_) link->end_round();
        for (const Gws::Waiter& waiter : released_) d_.cus_[waiter.cu]->gws_done(waiter.slot);
        released_.clear();
    } else {
        take_pieces();
    }
    const size_t taken = std::min(next_.load(), todo_.size());
    d_.next_cu_ = taken < todo_.size() ? todo_[taken] : (d_.next_cu_ + 1) % n;
    refill_ = kQueueIds;
    warm_ += used_;
    return parallel ? used_.load() : used_ * threads_;
}

/// Runs on each thread, one compute unit after the other. A thread that finds no work left tells the others to stop, so that
/// the next round can begin.
void Dispatcher::Rounds::take_pieces() {
    while (used_.load(std::memory_order_relaxed) < budget_) {
        const size_t at = next_.fetch_add(1);
        if (at >= todo_.size()) break;
        used_ += run_piece(todo_[at]);
    }
    over_ = true;
}

uint64_t Dispatcher::Rounds::run_piece(unsigned cu) {
    const uint64_t piece = std::clamp(share_ / 4, kLeastPiece, kMostPiece);
    uint64_t used = 0;
    while (used < share_) {
        const uint64_t ran = d_.cus_[cu]->run(std::min(piece, share_ - used));
        const unsigned launched = refill(cu);
        used += ran + launched * kLaunchCost;
        if (ran + launched == 0) {
            used = std::max(used, kVisitCost);
            break;
        }
        if (over_.load(std::memory_order_relaxed) && used >= share_ / 4) break;
    }
    if (Link& link = *links_[cu]; link.has_ends()) {
        const auto held = hold(cu);
        link.tell_ends();
    }
    return used;
}

/// As many groups as find room. @return their number
unsigned Dispatcher::Rounds::refill(unsigned cu) {
    Link& link = *links_[cu];
    if (!link.room) return 0;
    unsigned launched = 0;
    for (;;) {
        if (link.prepared != 0) {
            link.launch.group_valid = link.launch.group_size;
            if (!d_.cus_[cu]->fits(link.launch)) {
                link.room = false;
                break;
            }
        }
        const uint64_t before = link.prepared;
        if (!next_launch(cu, link.launch, link.prepared)) break;
        if (link.prepared != before) continue;  // another kernel: does it fit?
        d_.cus_[cu]->launch(link.launch);
        ++launched;
    }
    return launched;
}

/// The next group of the queue that fills up, for this compute unit; or, when it is of another grid than the one before, what
/// all groups of that have in common. @return false: none may be launched here
bool Dispatcher::Rounds::next_launch(unsigned cu, gcn::WorkgroupLaunch& launch, uint64_t& prepared) {
    const auto held = hold(cu);
    links_[cu]->tell_ends();
    LaunchQueue* const refilling = d_.queues_.find(refill_);
    if (refilling == nullptr || !refilling->waits_for_room()) return false;
    LaunchQueue& q = *refilling;
    Grid& grid = *d_.grids_.find(q.pending.front());
    const unsigned engine = d_.shape_.engine_of(cu);
    if (d_.debug_.stalls(grid.request.vmid) || !d_.placement_.engine_allows(q, grid, engine) ||
        !d_.placement_.cu_allows(q, grid, cu))
        return false;
    if (prepared != grid.id) {
        launch = grid.launch;
        launch.shader_engine = engine;
        launch.cu_in_engine = cu % d_.shape_.cus_per_engine;
        d_.debug_.apply(grid.request, launch);
        prepared = grid.id;
        return true;
    }
    const std::array<uint32_t, 3> valid = grid.walk.valid();
    // Which waves a partial group has is known only when it is there: their scratch is left to placement.
    if (grid.scratch.used() && valid != launch.group_size) return false;
    launch.group_id = grid.walk.group();
    launch.group_valid = valid;
    d_.placement_.take_scratch(q, grid, cu, launch);
    const unsigned waves = valid == launch.group_size ? grid.waves_per_group : gcn::wave_count(launch);
    d_.count_launch(q, grid, cu, waves);
    d_.env_.stats.add(Stat::workgroups);
    grid.walk.next();
    if (grid.walk.done()) q.pending.pop_front();
    q.failed_passes = 0;
    return true;
}

}  // namespace lyra
