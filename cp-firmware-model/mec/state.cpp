// SPDX-License-Identifier: MIT
// What the micro engines have to remember: queue slots, turns of the pipes; steps 3 and 4.
#include "cp-firmware-model/mec/mec.h"

namespace lyra {

void Mec::visit(StateVisitor& v) {
    v("slots", slots_);
    v("gfx", gfx_);
    v("halted", halted_);
    v("unmap", unmap_);
    for (size_t n = 0; n < pipes_.size(); ++n) {
        v.begin("pipe", n);
        v("hold", pipes_[n].hold);
        v("level", pipes_[n].level, 3);
        v.end();
    }
    v("weights", weights_);
    v("first", first_, pipes_.size() - 1);
    v("pipe_free_ns", pipe_free_ns_);
}

}  // namespace lyra
