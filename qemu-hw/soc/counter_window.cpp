// SPDX-License-Identifier: MIT
#include "qemu-hw/soc/counter_window.h"

namespace lyra {

CounterWindow::CounterWindow(RegisterFile& registers, const Stats& stats) : stats_(stats) {
    registers.attach(regs::Owner::Counters, *this);
}

uint32_t CounterWindow::read(uint32_t dw) {
    const uint32_t number = dw - kRegister;
    return number < kStatCount ? static_cast<uint32_t>(stats_.get(static_cast<Stat>(number))) : 0;
}

}  // namespace lyra
