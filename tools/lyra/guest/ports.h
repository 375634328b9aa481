// SPDX-License-Identifier: MIT
// The streams that come from a guest while it runs.
#pragma once

#include <functional>
#include <vector>

#include "tools/lyra/guest/machine.h"

namespace lyra::cli {

/// A stream from the guest: virtio port lyra.NAME.
struct Port {
    const char* name;  ///< nullptr: QEMU's monitor
    OutputSink sink;
    int ours = -1, theirs = -1;
};

/// Move the streams until all have ended, or the user or the clock says stop. each_second is called so often.
GuestResult::End pump(std::vector<Port>& ports, double timeout_s, const std::function<void()>& each_second);

/// The same with files that QEMU writes: a reader of a socket could make the guest wait. Ends with QEMU.
GuestResult::End pump_files(std::vector<Port>& ports, Child& child, double timeout_s);

}  // namespace lyra::cli
