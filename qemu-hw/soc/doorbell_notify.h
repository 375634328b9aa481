// SPDX-License-Identifier: MIT
// An extension that no hardware has: an interrupt when a user queue's doorbell is rung, for scheduling by notification in the
// place of polling (docs/design/doorbell_notify.md). Off until a driver that finds its capability writes its register.
#pragma once

#include <cstdint>
#include <functional>

#include "common/snapshot.h"
#include "cp-firmware-model/cp_bus.h"
#include "qemu-hw/include/lyra.h"
#include "qemu-hw/soc/register_file.h"

namespace lyra {

/// LYRA_DOORBELL_NOTIFY reads 1 while it is armed. A write of 1 arms it for one interrupt, 0 switches it off.
class DoorbellNotify : public RegisterBlock {
public:
    static constexpr uint8_t kSource = LYRA_DOORBELL_NOTIFY_SOURCE;             ///< no source of GFX9 has this number
    static_assert(LYRA_DOORBELL_NOTIFY_CLIENT == ih_client::kGrbmCp);

    DoorbellNotify(RegisterFile& registers, std::function<void(const Interrupt&)> raise);

    uint32_t read(uint32_t dw) override;
    void write(uint32_t dw, uint32_t value) override;
    void reset() { armed_ = false; }
    void visit(StateVisitor& v) { v("armed", armed_); }
    /// A doorbell that may be that of a user queue was rung.
    void rung(uint32_t byte_offset);

private:
    std::function<void(const Interrupt&)> raise_;
    bool armed_ = false;
};

}  // namespace lyra
