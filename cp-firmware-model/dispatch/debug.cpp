// SPDX-License-Identifier: MIT
// What a debugger does to waves: launch modes, exceptions, watched addresses, SQ_CMD; step 5 of the data flow.
// @source Linux 6.12 amdgpu_amdkfd_gfx_v9.c (kgd_gfx_v9_set_wave_launch_mode() and its neighbours)
#include "cp-firmware-model/dispatch/dispatcher.h"

namespace lyra {

namespace {

namespace rsrc1 = field::COMPUTE_PGM_RSRC1;
namespace rsrc2 = field::COMPUTE_PGM_RSRC2;

}  // namespace

void Dispatcher::set_debug(const DebugControls& controls) {
    fill_places();
    debug_ = controls;
    for (auto& cu : cus_) cu->set_watch(debug_.watch.any() ? &debug_.watch : nullptr);
    room_changed_ = true;
}

void DebugControls::visit(StateVisitor& v) {
    v("stall", stall);
    v("stalled_vmids", stalled_vmids);
    v("vmid", of_vmid);
    v("watch", watch.points);
}

void DebugControls::OfVmid::visit(StateVisitor& v) {
    v("exceptions", exceptions);
    v("replace_exceptions", replace_exceptions);
    v("launch_mode", launch_mode, LaunchMode::SingleStep);
}

void DebugControls::apply(const DispatchRequest& request, gcn::WorkgroupLaunch& launch) const {
    const uint32_t own = rsrc2::EXCP_EN::get(request.rsrc2) | rsrc2::EXCP_EN_MSB::get(request.rsrc2) << 7;
    const OfVmid& set = of_vmid[request.vmid % kVmids];
    const uint32_t enabled = set.replace_exceptions ? set.exceptions : own | set.exceptions;
    launch.rsrc2 = rsrc2::EXCP_EN::set(launch.rsrc2, enabled);
    launch.rsrc2 = rsrc2::EXCP_EN_MSB::set(launch.rsrc2, enabled >> 7);
    launch.halted = set.launch_mode == LaunchMode::Halt;
    launch.rsrc1 = set.launch_mode == LaunchMode::SingleStep ? rsrc1::DEBUG_MODE::set(launch.rsrc1, 1) : request.rsrc1;
}

void Dispatcher::command_waves(gcn::WaveCommand command, uint32_t data, const WaveSelection& selection) {
    fill_places();
    const auto is = [](int wanted, unsigned value) { return wanted < 0 || static_cast<unsigned>(wanted) == value; };
    const auto match = [&](const gcn::Wave& wave) {
        if (!is(selection.simd, wave.slot % gcn::kSimdsPerCu) || !is(selection.wave, wave.slot / gcn::kSimdsPerCu))
            return false;
        if (!is(selection.vmid, wave.vmid)) return false;
        const Grid* grid = grids_.find(wave.dispatch);
        return grid != nullptr && selection.queues.test(grid->request.queue_id);
    };
    for (unsigned cu = 0; cu < cus_.size(); ++cu) {
        if (!is(selection.engine, shape_.engine_of(cu) % shape_.shader_engines) ||
            !is(selection.cu, cu % shape_.cus_per_engine))
            continue;
        current_cu_ = cu;
        cus_[cu]->command(command, data, match);
    }
    room_changed_ = true;
}

}  // namespace lyra
