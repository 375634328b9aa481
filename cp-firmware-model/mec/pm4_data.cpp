// SPDX-License-Identifier: MIT
// PM4 packets that move data between packet, memory and registers; step 4 of the data flow.
#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/mec/pm4_handlers.h"
#include "cp-firmware-model/mqd/mqd.h"
#include "facts/registers.h"

namespace lyra {

namespace {

/// dst_sel of WRITE_DATA and COPY_DATA, src_sel of COPY_DATA. @source Linux 6.12 soc15d.h, kfd_pm4_headers_ai.h
enum Select : uint32_t {
    kRegister = 0,
    kMemorySync = 1,
    kMemoryL2 = 2,
    kGds = 3,
    kPerfCounter = 4,
    kImmediate = 5,
    kMemoryAsync = 5,
    kPreemptionState = 8,
    kGpuClock = 9,
};

constexpr bool is_memory(uint32_t select) { return select == kMemorySync || select == kMemoryL2 || select == kMemoryAsync; }

/// Where the packets SET_SH_REG, SET_CONFIG_REG and SET_UCONFIG_REG count from, dwords of BAR5.
constexpr uint32_t kShRegisters = 0x2c00, kConfigRegisters = 0x2000, kUconfigRegisters = 0xc000;

/// COMPUTE_* registers, and the MQD dwords that hold them. @source docs/spec/front-end.md 1.1
struct ComputeRange {
    uint32_t first, count, mqd_dword;
};
constexpr ComputeRange kComputeRanges[] = {
    {regs::GC::COMPUTE_DISPATCH_INITIATOR, 37, 1},       // to WAVE_RESTORE_ADDR_HI
    {regs::GC::COMPUTE_STATIC_THREAD_MGMT_SE4, 4, 39},   // to SE7
    {regs::GC::COMPUTE_USER_DATA, 16, 65},
};

/// MQD dword of a COMPUTE_* register, 0 when it has none.
uint32_t compute_dword(uint32_t reg) {
    for (const ComputeRange& range : kComputeRanges) {
        if (reg >= range.first && reg < range.first + range.count) return range.mqd_dword + reg - range.first;
    }
    return 0;
}

/// A shader register belongs to its queue: a user may write it. @return false: it is none of compute shaders
bool write_compute(Hqd& hqd, uint32_t reg, uint32_t value) {
    const uint32_t dword = compute_dword(reg);
    if (dword == 0) return false;
    hqd.compute[dword] = value;
    // The driver sets TRAP_PRESENT in the MQD of a process with a trap handler; a program cannot take it away.
    hqd.compute[mqd::PgmRsrc2] |= uint32_t{hqd.trap_present} << 6;
    return true;
}

// TC_OP numbers without bit 5 (64 bits wide) and bit 6 (no value returned). @source vega10_enum.h TC_OP
enum AtomicOp : uint32_t {
    kSwap = 7,
    kCmpSwap = 8,
    kAdd = 15,
    kSub,
    kSmin,
    kUmin,
    kSmax,
    kUmax,
    kAnd,
    kOr,
    kXor,
    kInc,
    kDec,
};

template <class T>
bool atomic_result(uint32_t op, T old, T source, T compare, T& result) {
    using S = std::make_signed_t<T>;
    switch (op) {
        case kSwap: result = source; return true;
        case kCmpSwap: result = old == compare ? source : old; return true;
        case kAdd: result = old + source; return true;
        case kSub: result = old - source; return true;
        case kSmin: result = static_cast<S>(old) < static_cast<S>(source) ? old : source; return true;
        case kUmin: result = std::min(old, source); return true;
        case kSmax: result = static_cast<S>(old) > static_cast<S>(source) ? old : source; return true;
        case kUmax: result = std::max(old, source); return true;
        case kAnd: result = old & source; return true;
        case kOr: result = old | source; return true;
        case kXor: result = old ^ source; return true;
        case kInc: result = old >= source ? 0 : old + 1; return true;
        case kDec: result = old == 0 || old > source ? source : old - 1; return true;
        default: return false;
    }
}

/// Atomic against the guest's CPUs: the host's own compare-and-swap on the guest page.
template <class T>
bool atomic_on_page(uint8_t* host, uint32_t op, T source, T compare, T& old) {
    T* word = reinterpret_cast<T*>(host);
    T expected = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    // A CPU that hammers the word can make us lose; bounded, as everything the guest can lengthen.
    for (unsigned tries = 0; tries < 1u << 20; ++tries) {
        T result{};
        if (!atomic_result(op, expected, source, compare, result)) return false;
        if (__atomic_compare_exchange_n(word, &expected, result, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) break;
    }
    old = expected;
    return true;
}

constexpr uint32_t kDmaChunk = 256 * 1024;  ///< bytes of one DMA_DATA copied per step

}  // namespace

/// dw1: dst_sel 11:8, one address 16; dw2,3 address (register: dword number in dw2); data follow.
PacketResult Pm4Handlers::write_data(P& p, Hqd& hqd, const Packet& packet) {
    const uint32_t select = bits(packet[0], 8, 4);
    const bool one_address = bit(packet[0], 16);
    const auto data = packet.body.subspan(3);
    if (select == kRegister) {
        const uint32_t reg = bits(packet[1], 0, 18);
        if (!p.privileged(hqd)) return p.privilege_fault(hqd, packet, reg);
        if (reg + data.size() > kRegisterDwords) return p.bad_field(hqd, packet, "register outside the aperture");
        for (uint32_t i = 0; i < data.size(); ++i) p.bus_.write_register(reg + (one_address ? 0 : i), data[i]);
        return PacketResult::Done;
    }
    // Preemption state of the gfx ring: kept by the CP only while mid-command-buffer preemption is on, which it never is.
    if (select == kPreemptionState) return PacketResult::Done;
    if (!is_memory(select)) return p.todo(hqd, packet, fmt::format("destination {}", select));
    const uint64_t address = make64(packet[1] & ~3u, packet[2]);
    if (one_address) {
        p.memory_.write(p.vmid(hqd), address, &data.back(), sizeof(uint32_t));
    } else {
        p.memory_.write(p.vmid(hqd), address, data.data(), data.size() * sizeof(uint32_t));
    }
    return PacketResult::Done;
}

/// dw1: src_sel 3:0, dst_sel 11:8, 64 bits 16; dw2,3 source; dw4,5 destination. @source Linux 6.12 gfx_v9_0_ring_emit_rreg()
PacketResult Pm4Handlers::copy_data(P& p, Hqd& hqd, const Packet& packet) {
    const uint32_t from = bits(packet[0], 0, 4), to = bits(packet[0], 8, 4);
    const bool wide = bit(packet[0], 16);
    const size_t size = wide ? 8 : 4;
    const uint32_t src_reg = bits(packet[1], 0, 18), dst_reg = bits(packet[3], 0, 18);
    const bool to_compute = to == kRegister && compute_dword(dst_reg) != 0;
    if ((from == kRegister || (to == kRegister && !to_compute)) && !p.privileged(hqd)) {
        return p.privilege_fault(hqd, packet, from == kRegister ? src_reg : dst_reg);
    }
    if ((from == kRegister && src_reg + 2 > kRegisterDwords) || (to == kRegister && dst_reg + 2 > kRegisterDwords)) {
        return p.bad_field(hqd, packet, "register outside the aperture");
    }
    uint64_t value = 0;
    if (from == kRegister) {
        value = p.bus_.read_register(src_reg);
        if (wide) value |= uint64_t{p.bus_.read_register(src_reg + 1)} << 32;
    } else if (from == kPerfCounter) {
        p.todo(hqd, packet, "performance counter");  // there are none: it reads 0
    } else if (from == kImmediate) {
        value = make64(packet[1], packet[2]);
    } else if (from == kGpuClock) {
        value = gpu_clock(p.env_);
    } else if (is_memory(from)) {
        const uint64_t address = make64(packet[1], packet[2]) & ~uint64_t{size - 1};
        if (p.memory_.read(p.vmid(hqd), address, &value, size) != Fault::None) return PacketResult::Done;
    } else {
        return p.todo(hqd, packet, fmt::format("source {}", from));
    }
    if (to_compute) {
        write_compute(hqd, dst_reg, lo32(value));
        if (wide) write_compute(hqd, dst_reg + 1, hi32(value));
    } else if (to == kRegister) {
        p.bus_.write_register(dst_reg, lo32(value));
        if (wide) p.bus_.write_register(dst_reg + 1, hi32(value));
    } else if (is_memory(to)) {
        p.memory_.write(p.vmid(hqd), make64(packet[3], packet[4]) & ~uint64_t{size - 1}, &value, size);
    } else {
        return p.todo(hqd, packet, fmt::format("destination {}", to));
    }
    return PacketResult::Done;
}

PacketResult Pm4Handlers::copy_chunk(P& p, Hqd& hqd, const Packet& packet, uint32_t total) {
    const uint32_t done = hqd.packet_progress;
    const uint32_t size = std::min(total - done, kDmaChunk);
    const uint64_t source = make64(packet[1], packet[2]) + done, destination = make64(packet[3], packet[4]) + done;
    std::vector<uint8_t> buffer(size);
    if (bits(packet[0], 29, 2) == 2) {
        const uint32_t pattern = packet[1];
        for (uint32_t i = 0; i < size; ++i) buffer[i] = static_cast<uint8_t>(pattern >> 8 * ((done + i) & 3));
    } else if (p.memory_.read(p.vmid(hqd), source, buffer.data(), size) != Fault::None) {
        return PacketResult::Done;
    }
    if (p.memory_.write(p.vmid(hqd), destination, buffer.data(), size) != Fault::None) return PacketResult::Done;
    hqd.packet_progress = done + size;
    return hqd.packet_progress < total ? PacketResult::More : PacketResult::Done;
}

/// dw1: dst_sel 21:20, src_sel 30:29; dw2,3 source or data; dw4,5 destination; dw6: bytes 25:0, register flags 27:26,
/// fixed addresses 29:28. @source Linux 6.12 soc15d.h PACKET3_DMA_DATA
PacketResult Pm4Handlers::dma_data(P& p, Hqd& hqd, const Packet& packet) {
    const uint32_t source = bits(packet[0], 29, 2), destination = bits(packet[0], 20, 2), command = packet[5];
    if (source == 1 || destination == 1 || destination == 2) return p.todo(hqd, packet, "GDS");
    if (bits(command, 26, 2)) {
        if (!p.privileged(hqd)) return p.privilege_fault(hqd, packet, packet[3]);
        return p.todo(hqd, packet, "registers");
    }
    if (bits(command, 28, 2)) return p.todo(hqd, packet, "fixed address");
    const uint32_t total = bits(command, 0, 26);
    if (total == 0) return PacketResult::Done;
    return copy_chunk(p, hqd, packet, total);
}

/// dw1: operation 6:0, command 11:8 (1: until the compare holds); dw2,3 address; dw4,5 source; dw6,7 compare.
/// @source kfd_pm4_headers_ai.h family, gem5 pm4_defines.hh
PacketResult Pm4Handlers::atomic_mem(P& p, Hqd& hqd, const Packet& packet) {
    const uint32_t op = bits(packet[0], 0, 5), command = bits(packet[0], 8, 4);
    const bool wide = bit(packet[0], 5);
    const uint64_t address = make64(packet[1], packet[2]) & ~uint64_t{wide ? 7u : 3u};
    const uint64_t source = make64(packet[3], packet[4]), compare = make64(packet[5], packet[6]);
    uint8_t* host = p.memory_.page(p.vmid(hqd), address, Access::Atomic);
    if (!host) {
        uint64_t probe = 0;  // tells why, and raises the VM fault
        if (p.memory_.read(p.vmid(hqd), address, &probe, wide ? 8 : 4) == Fault::None) {
            report(p.env_, Fault::NotPlainMemory, fmt::format("queue {}: ATOMIC_MEM at {:#x}", hqd.id(), address));
        }
        return PacketResult::Done;
    }
    bool known = false, equal = false;
    if (wide) {
        uint64_t old = 0;
        known = atomic_on_page<uint64_t>(host, op, source, compare, old);
        equal = old == compare;
    } else {
        uint32_t old = 0;
        known = atomic_on_page<uint32_t>(host, op, lo32(source), lo32(compare), old);
        equal = old == lo32(compare);
    }
    if (!known) return p.bad_field(hqd, packet, fmt::format("operation {:#x}", bits(packet[0], 0, 7)));
    return op == kCmpSwap && command == 1 && !equal ? PacketResult::Retry : PacketResult::Done;
}

/// dw1: register 17:0; dw2 AND mask, dw3 OR mask.
PacketResult Pm4Handlers::reg_rmw(P& p, Hqd& hqd, const Packet& packet) {
    const uint32_t reg = bits(packet[0], 0, 18);
    if (!p.privileged(hqd)) return p.privilege_fault(hqd, packet, reg);
    if (reg >= kRegisterDwords) return p.bad_field(hqd, packet, "register outside the aperture");
    if (bits(packet[0], 30, 2)) return p.todo(hqd, packet, "masks from registers");
    p.bus_.write_register(reg, (p.bus_.read_register(reg) & packet[1]) | packet[2]);
    return PacketResult::Done;
}

PacketResult Pm4Processor::set_registers(Hqd& hqd, const pm4::Packet& packet, uint32_t base_dw) {
    const uint32_t reg = base_dw + bits(packet[0], 0, 16);
    if (!privileged(hqd)) return privilege_fault(hqd, packet, reg);
    const auto values = packet.body.subspan(1);
    if (reg + values.size() > kRegisterDwords) return bad_field(hqd, packet, "register outside the aperture");
    for (uint32_t i = 0; i < values.size(); ++i) bus_.write_register(reg + i, values[i]);
    return PacketResult::Done;
}

PacketResult Pm4Handlers::set_config_reg(P& p, Hqd& hqd, const Packet& packet) {
    return p.set_registers(hqd, packet, kConfigRegisters);
}

/// Register 15:0, and in the packet with an index what it is for in 31:28. The hardware lets users write these (performance
/// counters, graphics); none of those is modelled.
PacketResult Pm4Handlers::set_uconfig_reg(P& p, Hqd& hqd, const Packet& packet) {
    if (!p.privileged(hqd)) return p.todo(hqd, packet, "user configuration register from a user's buffer");
    return p.set_registers(hqd, packet, kUconfigRegisters);
}

/// Shader registers belong to the queue. Those of graphics shaders are not kept.
PacketResult Pm4Handlers::set_sh_reg(P&, Hqd& hqd, const Packet& packet) {
    const uint32_t reg = kShRegisters + bits(packet[0], 0, 16);
    const auto values = packet.body.subspan(1);
    for (uint32_t i = 0; i < values.size(); ++i) write_compute(hqd, reg + i, values[i]);
    return PacketResult::Done;
}

}  // namespace lyra
