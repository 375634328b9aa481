// SPDX-License-Identifier: MIT
// lyra guest: an interactive shell in the guest.
#include <unistd.h>

#include "tools/lyra/cli/cli.h"
#include "tools/lyra/guest/machine.h"

namespace lyra::cli {

std::function<int()> set_up_guest(CLI::App& app) {
    auto options = std::make_shared<GuestOptions>();
    add_guest_options(app, *options);
    add_snapshot_option(app, *options);
    app.footer("A shell on this terminal; `exit` or Ctrl-A x ends the guest. Nothing is kept but what is written to --share.");
    return [options] {
        catch_signals();
        GuestMachine guest(*options);
        guest.prepare();
        return guest.shell();
    };
}

}  // namespace lyra::cli
