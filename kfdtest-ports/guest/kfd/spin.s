// SPDX-License-Identifier: MIT
// A second-level trap handler that never returns: the wave stays in the trap handler, where no context save reaches it.
spin:
  s_branch spin
