// SPDX-License-Identifier: MIT
// What the dispatcher has to remember: grids, queues, and what waits for room; step 5 of the data flow.
#include <algorithm>

#include "cp-firmware-model/dispatch/rounds.h"

namespace lyra {

namespace {

constexpr size_t kMaxEnded = size_t{1} << 20;

}  // namespace

/// Numbers that follow from the waves have to be those.
void Dispatcher::check_loaded(StateVisitor& v) {
    struct Counts {
        unsigned waves = 0, ready = 0;
        std::vector<unsigned> on_engine, on_cu;
    };
    std::map<uint32_t, Counts> queues;
    std::map<uint64_t, std::array<uint64_t, 3>> grids;  // waves, groups that run, groups in the save area
    for (const auto& q : queues_) queues[q->id] = {0, 0, std::vector(shape_.engines(), 0u), std::vector(shape_.cus(), 0u)};
    const auto counts_of = [&](uint64_t dispatch) -> Counts* {
        const Grid* grid = grids_.find(dispatch);
        const auto found = grid == nullptr ? queues.end() : queues.find(grid->request.queue_id);
        v.require(found != queues.end(), "waves of a grid that is not there");
        return found == queues.end() ? nullptr : &found->second;
    };
    for (unsigned cu = 0; cu < cus_.size(); ++cu) {
        unsigned scratch = 0;
        for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
            const gcn::Wave& wave = cus_[cu]->wave(slot);
            Counts* const counts = wave.state == gcn::WaveState::Free ? nullptr : counts_of(wave.dispatch);
            if (counts == nullptr) continue;
            ++counts->waves;
            ++counts->on_engine[shape_.engine_of(cu)];
            counts->ready += wave.save == gcn::SaveStep::Ready ? 1 : 0;
            scratch += wave.scratch_slot >= 0 ? 1 : 0;
            ++grids[wave.dispatch][0];
        }
        for (unsigned n = 0; n < gcn::kMaxWorkgroupsPerCu; ++n) {
            const gcn::Workgroup& group = cus_[cu]->workgroup(n);
            Counts* const counts = group.used ? counts_of(group.dispatch) : nullptr;
            if (counts == nullptr) continue;
            ++counts->on_cu[cu];
            ++grids[group.dispatch][1];
        }
        placement_.check_scratch(v, cu, scratch);
    }
    for (const auto& q : queues_) {
        for (const LaunchQueue::Saved& saved : q->saved) ++grids[saved.group.dispatch][2];
        const Counts& counts = queues[q->id];
        v.require(q->waves_live == counts.waves && q->waves_on_engine == counts.on_engine && q->groups_on_cu == counts.on_cu &&
                      q->waves_ready == counts.ready,
                  "a queue has other waves");
    }
    for (const auto& grid : grids_) {
        const auto& [waves, running, saved] = grids[grid->id];
        v.require(grid->waves_live == waves && grid->groups_running == running && grid->groups_saved >= saved,
                  "a grid has other waves");
        const LaunchQueue* const q = queues_.find(grid->request.queue_id);
        const bool waits = q != nullptr && std::count(q->pending.begin(), q->pending.end(), grid->id) == 1;
        v.require(grid->walk.done() || waits, "a grid waits for nobody");
    }
}

void Dispatcher::visit(StateVisitor& v) {
    fill_places();
    v.begin("grids");
    grids_.visit(v, shape_);
    v.end();
    v.begin("queues");
    queues_.visit(v, grids_);
    v.end();
    for (size_t cu = 0; cu < cus_.size(); ++cu) {
        v.begin("cu", cu);
        cus_[cu]->visit(v);
        v.end();
    }
    v("placement", placement_);
    v.begin("global_memory");
    global_memory_.visit(v, shape_.cus());
    v.end();
    v("activity", meter_);
    v("turns", turns_);
    v("next_cu", next_cu_, shape_.cus() - 1);
    rounds_->visit(v);
    v("room_changed", room_changed_);
    v("debug", debug_);
    v("last_launch_ns", last_launch_ns_);
    v.map("ended", ended_, kMaxEnded);
    if (!v.loads()) return;
    const bool changed = room_changed_;
    set_debug(debug_);
    room_changed_ = changed;
    if (v.ok()) check_loaded(v);
}

}  // namespace lyra
