// SPDX-License-Identifier: MIT
// Grids in, waves run, grids complete; step 5 of the data flow. Launching is in launch.cpp.
#include "cp-firmware-model/dispatch/dispatcher.h"

#include <algorithm>
#include <numeric>

#include "cp-firmware-model/dispatch/rounds.h"
#include "gcn-interp/cu/compute_unit.h"

namespace lyra {

namespace {

constexpr uint32_t kMaxGroupItems = 1024;

uint64_t group_items(const std::array<uint32_t, 3>& size) {
    uint64_t product = 1;
    for (const uint32_t n : size) {
        if (n == 0 || n > kMaxGroupItems) return n == 0 ? 0 : ~uint64_t{0};
        product *= n;
    }
    return product;
}

}  // namespace

Dispatcher::Dispatcher(Env& env, CpBus& bus, const GpuShape& shape, const gcn::MakeCu& make_cu)
    : env_(env), bus_(bus), shape_(shape), queues_(shape), placement_(env, shape, cus_), global_memory_(bus) {
    if (env.jit && !make_cu) translator_ = gcn::make_translator(shape.chip);
    rounds_ = std::make_unique<Rounds>(*this, std::max(shape.threads, 1u));
    const bool free_running = !env.clock.on();
    for (unsigned i = 0; i < shape.cus(); ++i) {
        MemoryPort& memory = free_running ? rounds_->memory(i) : bus.wave_memory(shape.xcc_of_cu(i));
        gcn::CuServices& services = free_running ? rounds_->services(i) : *this;
        if (make_cu) {
            cus_.push_back(make_cu(env, memory, services, i));
            continue;
        }
        auto unit = std::make_unique<gcn::ComputeUnit>(env, memory, services, i, shape.chip);
        unit->set_translator(translator_.get());
        unit->set_whole_blocks(free_running && !env.repeatable);
        cus_.push_back(std::move(unit));
    }
}

Dispatcher::~Dispatcher() = default;

Fault Dispatcher::check(const DispatchRequest& request) const {
    const uint64_t items = group_items(request.group_size);
    if (items == 0 || items > kMaxGroupItems) return Fault::AqlWorkgroupSize;
    if (request.lds_bytes > gcn::kLdsBytes) return Fault::AqlGroupMemory;
    if (request.user_sgpr_count > request.user_sgprs.size()) return Fault::AqlRegisters;
    const gcn::WorkgroupLaunch launch = make_launch(request);
    if (!gcn::can_ever_fit(launch)) return Fault::AqlRegisters;
    const ScratchShare scratch = scratch_share(request, shape_);
    const unsigned waves = gcn::wave_count(launch);
    if (scratch.used() && waves > std::min(scratch.slots_per_engine, shape_.max_scratch_slots_per_cu)) return Fault::AqlScratch;
    return Fault::None;
}

gcn::WorkgroupLaunch Dispatcher::make_launch(const DispatchRequest& request) const {
    gcn::WorkgroupLaunch launch;
    const VmidState vm = bus_.vmid_state(request.vmid);
    launch.entry = request.entry;
    launch.vmid = request.vmid;
    launch.rsrc1 = request.rsrc1;
    launch.rsrc2 = request.rsrc2;
    launch.rsrc3 = request.rsrc3;
    launch.chip = shape_.chip;
    if (field::COMPUTE_PGM_RSRC2::TRAP_PRESENT::get(request.rsrc2) && vm.tba != 0) {
        launch.tba = vm.tba;
        launch.tma = vm.tma;
    } else {
        launch.rsrc2 = field::COMPUTE_PGM_RSRC2::TRAP_PRESENT::set(launch.rsrc2, 0);
    }
    launch.private_base = vm.private_base();
    launch.shared_base = vm.shared_base();
    launch.scratch_base = request.scratch_base;
    launch.retry = vm.retry();
    launch.lds_bytes = static_cast<uint32_t>(align_up(request.lds_bytes, 512));
    launch.user_sgprs = request.user_sgprs;
    launch.user_sgpr_count = request.user_sgpr_count;
    launch.group_size = request.group_size;
    launch.group_valid = request.group_size;
    launch.packet_index = request.packet_index;
    launch.doorbell_id = request.doorbell_id;
    launch.scratch_slot.fill(-1);
    return launch;
}

uint64_t Dispatcher::start(const DispatchRequest& request) {
    fill_places();
    Grid& grid = grids_.add();
    const uint64_t id = grid.id;
    grid.request = request;
    grid.walk = GridWalk(request.grid, request.group_size, request.group_start);
    grid.launch = make_launch(request);
    grid.launch.dispatch = id;
    grid.scratch = scratch_share(request, shape_);
    grid.waves_per_group = gcn::wave_count(grid.launch);
    grid.no_room.assign(cus_.size(), 0);
    env_.clock.owe(env_.timing.dispatch_ns);
    grid.ready_ns = env_.now_ns() + env_.timing.dispatch_ns;
    env_.stats.add(Stat::dispatches);
    emit<event::dispatch_begin>(env_.tracer, env_.now_ns(), id, request.queue_id, grid.walk.total(), request.entry);
    invalidate_code();
    if (!grid.walk.done()) queue_of(grid).pending.push_back(id);
    finish_if_done(grid);
    room_changed_ = true;
    return id;
}

bool Dispatcher::launched(uint64_t dispatch) const {
    const Grid* grid = grids_.find(dispatch);
    return grid == nullptr || grid->walk.done();
}

bool Dispatcher::complete(uint64_t dispatch) const {
    if (grids_.find(dispatch) != nullptr) return false;
    const auto ended = ended_.find(dispatch);
    return ended == ended_.end() || ended->second <= env_.clock.ns();
}

void Dispatcher::finish_if_done(Grid& grid) {
    if (!grid.ended()) return;
    emit<event::dispatch_end>(env_.tracer, env_.now_ns(), grid.id, grid.request.queue_id);
    if (env_.clock.on()) ended_[grid.id] = env_.now_ns() + env_.timing.end_of_pipe_ns + grid.request.release_ns;
    grids_.erase(grid.id);
}

void Dispatcher::set_priority(uint32_t queue_id, const QueuePriority& priority) { queues_.at(queue_id).priority = priority; }

void Dispatcher::stall_queue(uint32_t queue_id, bool stalled) {
    fill_places();
    queues_.at(queue_id).stalled = stalled;
    room_changed_ = true;
}

unsigned Dispatcher::waves_live(uint32_t queue_id) const {
    fill_places();
    const LaunchQueue* const q = queues_.find(queue_id);
    return q == nullptr ? 0 : q->waves_live;
}

unsigned Dispatcher::waves_live(uint32_t queue_id, unsigned xcc) const {
    fill_places();
    const LaunchQueue* const q = queues_.find(queue_id);
    if (q == nullptr || xcc >= shape_.xccs) return 0;
    const auto first = q->waves_on_engine.begin() + xcc * shape_.shader_engines;
    return std::accumulate(first, first + shape_.shader_engines, 0u);
}

unsigned Dispatcher::waves_live_total() const {
    fill_places();
    unsigned n = 0;
    for (const auto& q : queues_) n += q->waves_live;
    return n;
}

unsigned Dispatcher::waves_on_engine(unsigned engine) const {
    fill_places();
    unsigned n = 0;
    for (const auto& q : queues_) n += engine < q->waves_on_engine.size() ? q->waves_on_engine[engine] : 0;
    return n;
}

bool Dispatcher::only_halted_waves(uint32_t queue_id) const {
    fill_places();
    bool halted = false;
    for (const auto& cu : cus_) {
        for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
            const gcn::Wave& wave = cu->wave(slot);
            if (wave.state == gcn::WaveState::Free || wave.state == gcn::WaveState::Ended) continue;
            const Grid* grid = grids_.find(wave.dispatch);
            if (grid == nullptr || grid->request.queue_id != queue_id) continue;
            if (wave.state == gcn::WaveState::Halted)
                halted = true;
            else if (wave.state != gcn::WaveState::AtBarrier && wave.state != gcn::WaveState::AtGws &&
                     wave.state != gcn::WaveState::Saving)
                return false;
        }
    }
    return halted;
}

void Dispatcher::kill_grid(Grid& grid) {
    const uint64_t id = grid.id;
    LaunchQueue& q = queue_of(grid);
    std::erase(q.pending, id);
    std::erase_if(q.saved, [id](const LaunchQueue::Saved& saved) { return saved.group.dispatch == id; });
    grid.stop();
    for (unsigned i = 0; i < cus_.size(); ++i) {
        current_cu_ = i;
        cus_[i]->kill_dispatch(id);
    }
    // The last workgroup_ended() has erased it, unless nothing was running.
    if (Grid* rest = grids_.find(id)) {
        rest->groups_running = rest->groups_saved = 0;
        rest->resuming = false;
        finish_if_done(*rest);
    }
    room_changed_ = true;
}

template <class Match>
void Dispatcher::kill_if(Match match) {
    std::vector<uint64_t> ids;
    for (const auto& grid : grids_) {
        if (match(grid->request)) ids.push_back(grid->id);
    }
    for (const uint64_t id : ids) {
        if (Grid* grid = grids_.find(id)) kill_grid(*grid);
    }
}

void Dispatcher::kill_queue(uint32_t queue_id) {
    kill_if([=](const DispatchRequest& r) { return r.queue_id == queue_id; });
    forget_queue(queue_id);
}

void Dispatcher::kill_vmid(uint32_t vmid) {
    kill_if([=](const DispatchRequest& r) { return r.vmid == vmid; });
}

void Dispatcher::reset() {
    for (unsigned i = 0; i < cus_.size(); ++i) {
        current_cu_ = i;
        cus_[i]->reset();
    }
    placement_.reset();
    grids_.clear();
    queues_.clear();
    ended_.clear();
    global_memory_.reset();
    turns_.reset();
    debug_ = {};
    room_changed_ = false;
    note_activity();
}

void Dispatcher::fill_places() const { rounds_->fill_places(); }

const gcn::CuPort& Dispatcher::cu(unsigned index) const {
    fill_places();
    return *cus_[index];
}

void Dispatcher::note_activity() {
    const uint32_t used = rounds_->units_in_use();
    if (used != meter_.units()) meter_.update(env_.now_ns(), used);
}

void Dispatcher::invalidate_code() {
    for (auto& cu : cus_) cu->invalidate_code();
}

RunState Dispatcher::state_after(uint64_t used) const {
    if (used != 0) return RunState::Busy;
    const bool waits = std::any_of(cus_.begin(), cus_.end(), [](const auto& cu) { return cu->waits_for_page(); });
    return waits ? RunState::Polling : RunState::Idle;
}

RunState Dispatcher::run(uint64_t budget) {
    uint64_t used = launch_groups() * kLaunchCost;
    note_activity();
    // What is left in the end is not worth a round.
    for (const uint64_t enough = budget - budget / 16; used < enough;) {
        const uint64_t ran = rounds_->run(budget - used);
        const uint64_t launched = room_changed_ ? launch_groups() : 0;
        if (ran + launched == 0) break;
        used += ran + launched * kLaunchCost;
    }
    return state_after(used);
}

}  // namespace lyra
