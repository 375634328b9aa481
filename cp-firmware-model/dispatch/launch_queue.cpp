// SPDX-License-Identifier: MIT
// Queues of the dispatcher come into being, and are kept in a stream; step 5 of the data flow.
#include "cp-firmware-model/dispatch/launch_queue.h"

#include <algorithm>

namespace lyra {

namespace {

constexpr size_t kMaxPending = size_t{1} << 20, kMaxSaved = size_t{1} << 16;

}  // namespace

LaunchQueue& LaunchQueues::at(uint32_t id) {
    if (LaunchQueue* const known = find(id)) return *known;
    const auto after = std::find_if(queues_.begin(), queues_.end(), [&](const auto& q) { return q->id > id; });
    LaunchQueue& made = **queues_.insert(after, std::make_unique<LaunchQueue>(id, shape_));
    for (size_t n = 0; n < queues_.size(); ++n) place_[queues_[n]->id] = static_cast<uint8_t>(n);
    return made;
}

void LaunchQueues::clear() {
    queues_.clear();
    place_.fill(kNone);
}

void LaunchQueue::Saved::visit(StateVisitor& v) {
    v("group", group);
    v("image", image);
}

void LaunchQueue::visit(StateVisitor& v, const GridTable& grids, const GpuShape& shape) {
    v.list("pending", pending, kMaxPending);
    v("scratch", scratch);
    v.fixed("waves_on_engine", waves_on_engine);
    v.fixed("groups_on_cu", groups_on_cu);
    v("waves_live", waves_live);
    for (unsigned xcc = 0; xcc < shape.xccs; ++xcc) v("next_engine", next_engine[xcc], shape.shader_engines - 1);
    v("failed_passes", failed_passes);
    v("next_reserved", next_reserved);
    v("stalled", stalled);
    v("priority", priority);
    v("no_room", no_room);
    v("waves_ready", waves_ready);
    v.list("saved", saved, kMaxSaved);
    if (!v.loads()) return;
    for (Saved& each : saved) {
        each.group.chip = shape.chip;
        v.require(gcn::can_ever_fit(each.group) && each.group.waves == each.image.waves.size(),
                  "saved waves that no unit can run");
    }
    for (auto at = pending.begin(); at != pending.end(); ++at) {
        const Grid* const grid = grids.find(*at);
        v.require(
            grid != nullptr && !grid->walk.done() && grid->request.queue_id == id && std::find(pending.begin(), at, *at) == at,
            "a grid waits that is not there");
        if (!v.ok()) break;
    }
    for (const Saved& group : saved) v.require(group.image.engine < shape.engines(), "saved waves of no shader engine");
}

void LaunchQueues::visit(StateVisitor& v, const GridTable& grids) {
    std::vector<uint32_t> ids(queues_.size());
    std::transform(queues_.begin(), queues_.end(), ids.begin(), [](const auto& q) { return q->id; });
    v.list("queue_ids", ids, kQueueIds);
    if (v.loads()) clear();
    for (const uint32_t id : ids) {
        v.begin("queue", id);
        v.require(id < kQueueIds, "there is no such queue");
        if (v.ok()) at(id).visit(v, grids, shape_);
        v.end();
    }
}

}  // namespace lyra
