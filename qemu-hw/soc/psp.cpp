// SPDX-License-Identifier: MIT
// PSP mailbox registers and command ring. @source Linux 6.12 psp_v11_0.c, amdgpu_psp.c, psp_gfx_if.h
#include "qemu-hw/soc/psp.h"

#include <array>

#include <fmt/format.h>

#include "common/bits.h"

namespace lyra {

namespace {

using namespace regs::MP0;

constexpr uint32_t kReady = 0x80000000;

// Commands of the mailbox register C2PMSG_64.
constexpr uint32_t kCreateRing = 2, kDestroyRings = 3, kMode1Reset = 7;

// Commands of a ring frame: PSP_CMD(id, name)
struct PspCommand {
    uint32_t id;
    const char* name;
};
constexpr PspCommand kCommands[] = {
    {1, "LOAD_TA"},   {2, "UNLOAD_TA"},       {3, "INVOKE_CMD"},  {4, "LOAD_ASD"},
    {5, "SETUP_TMR"}, {6, "LOAD_IP_FW"},      {7, "DESTROY_TMR"}, {8, "SAVE_RESTORE"},
    {9, "SETUP_VMR"}, {0x20, "AUTOLOAD_RLC"}, {0x21, "BOOT_CFG"}, {0x27, "SRIOV_SPATIAL_PART"},
};

constexpr uint32_t kSpatialPartition = 0x27;
constexpr uint32_t kFrameBytes = 64;
constexpr uint32_t kCommandIdOffset = 8, kArgumentOffset = 28, kResponseOffset = 864;

}  // namespace

Psp::Psp(Env& env, RegisterFile& registers, MemoryPort& mmhub, std::function<void()> reset,
         std::function<bool(uint32_t)> partition)
    : env_(env), registers_(registers), mmhub_(mmhub), reset_(std::move(reset)), partition_(std::move(partition)) {
    registers.attach(regs::Owner::Psp, *this);
}

void Psp::reset() {
    done_wptr_dw_ = 0;
    ring_on_ = false;
}

void Psp::visit(StateVisitor& v) {
    v("done_wptr_dw", done_wptr_dw_);
    v("ring_on", ring_on_);
}

uint32_t Psp::read(uint32_t dw) { return registers_.stored(dw); }

void Psp::write(uint32_t dw, uint32_t value) {
    if (dw == MP0_SMN_C2PMSG_33 || dw == MP0_SMN_C2PMSG_35 || dw == MP0_SMN_C2PMSG_81) return;
    if (dw == MP0_SMN_C2PMSG_64) return mailbox(value);
    registers_.store(dw, value);
    if (dw == MP0_SMN_C2PMSG_67) run_ring(value);
}

void Psp::mailbox(uint32_t value) {
    const uint32_t command = (value >> 16) & 0xff;
    if (command == kCreateRing) {
        ring_on_ = true;
        done_wptr_dw_ = 0;
        registers_.store(MP0_SMN_C2PMSG_67, 0);
    } else if (command == kDestroyRings) {
        ring_on_ = false;
    } else if (command == kMode1Reset) {
        reset_();
    } else {
        report(env_, Fault::PspCommand, fmt::format("mailbox command {:#x}", value));
    }
    registers_.store(MP0_SMN_C2PMSG_64, kReady);
}

void Psp::run_ring(uint32_t wptr_dw) {
    const uint32_t ring_bytes = registers_.stored(MP0_SMN_C2PMSG_71);
    if (!ring_on_ || ring_bytes < kFrameBytes || ring_bytes > (1u << 20)) return;
    const uint64_t base = make64(registers_.stored(MP0_SMN_C2PMSG_69), registers_.stored(MP0_SMN_C2PMSG_70));
    const uint32_t ring_dw = ring_bytes / 4, frame_dw = kFrameBytes / 4;
    wptr_dw %= ring_dw;
    // The pointer wraps in the ring: at most one round of frames per write.
    for (uint32_t n = 0; done_wptr_dw_ != wptr_dw && n < ring_dw / frame_dw; ++n) {
        run_frame(base + uint64_t{done_wptr_dw_} * 4);
        done_wptr_dw_ = (done_wptr_dw_ + frame_dw) % ring_dw;
    }
    done_wptr_dw_ = wptr_dw;
}

void Psp::run_frame(uint64_t address) {
    std::array<uint32_t, kFrameBytes / 4> frame{};
    if (mmhub_.read(0, address, frame.data(), kFrameBytes) != Fault::None) return;
    const uint64_t command = make64(frame[0], frame[1]), fence = make64(frame[3], frame[4]);
    uint32_t id = 0;
    mmhub_.read(0, command + kCommandIdOffset, &id, 4);
    bool known = false;
    for (const PspCommand& row : kCommands) known |= row.id == id;
    if (id == kSpatialPartition) {
        uint32_t count = 0;
        mmhub_.read(0, command + kArgumentOffset, &count, 4);
        known = partition_(count);
    }
    if (!known) report(env_, Fault::PspCommand, fmt::format("ring command {:#x}", id));
    const uint32_t response[2] = {known ? 0u : 0xffff000au, 1};  // status, session id
    mmhub_.write(0, command + kResponseOffset, response, sizeof(response));
    mmhub_.write(0, fence, &frame[5], 4);
}

}  // namespace lyra
