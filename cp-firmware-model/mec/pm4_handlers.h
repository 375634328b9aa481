// SPDX-License-Identifier: MIT
// What each PM4 packet does; one function per entry of the handler column in facts/packets/pm4.def; step 4 of the data flow.
#pragma once

#include "cp-firmware-model/mec/pm4.h"

namespace lyra {

struct Pm4Handlers {
    using P = Pm4Processor;
    using Packet = pm4::Packet;

    // pm4_flow.cpp: what runs next
    static PacketResult no_effect(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult todo(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult cond_exec(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult pred_exec(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult indirect_buffer(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult scheduler(P& p, Hqd& hqd, const Packet& packet);

    // pm4_data.cpp: memory and registers
    static PacketResult write_data(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult copy_data(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult dma_data(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult atomic_mem(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult reg_rmw(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult set_config_reg(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult set_uconfig_reg(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult set_sh_reg(P& p, Hqd& hqd, const Packet& packet);

    // pm4_sync.cpp: waiting, fences, caches
    static PacketResult wait_reg_mem(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult release_mem(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult acquire_mem(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult event_write(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult invalidate_tlbs(P& p, Hqd& hqd, const Packet& packet);

    // pm4_dispatch.cpp: grids
    static PacketResult set_base(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult dispatch_direct(P& p, Hqd& hqd, const Packet& packet);
    static PacketResult dispatch_indirect(P& p, Hqd& hqd, const Packet& packet);

private:
    static PacketResult copy_chunk(P& p, Hqd& hqd, const Packet& packet, uint32_t total);
};

/// Registers that a packet may name: dwords of BAR5 (512 KiB).
inline constexpr uint32_t kRegisterDwords = 0x20000;

}  // namespace lyra
