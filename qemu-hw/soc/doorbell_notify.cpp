// SPDX-License-Identifier: MIT
#include "qemu-hw/soc/doorbell_notify.h"

#include <utility>

namespace lyra {

DoorbellNotify::DoorbellNotify(RegisterFile& registers, std::function<void(const Interrupt&)> raise)
    : raise_(std::move(raise)) {
    static_assert(regs::LYRA::LYRA_DOORBELL_NOTIFY * 4 == LYRA_DOORBELL_NOTIFY_REGISTER);
    registers.attach(regs::Owner::Notify, *this);
}

uint32_t DoorbellNotify::read(uint32_t) { return armed_; }

void DoorbellNotify::write(uint32_t, uint32_t value) { armed_ = value & 1; }

void DoorbellNotify::rung(uint32_t byte_offset) {
    if (!std::exchange(armed_, false)) return;
    Interrupt vector;
    vector.client = ih_client::kGrbmCp;
    vector.source = kSource;
    vector.data[0] = byte_offset;
    raise_(vector);
}

}  // namespace lyra
