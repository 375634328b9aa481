// SPDX-License-Identifier: MIT
// PM4 packets that move data between packet, memory and registers; step 4 of the data flow.
#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/mec/pm4_handlers.h"
#include "cp-firmware-model/packets/tc_op.h"
#include "facts/mqd_registers.h"
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

/// MQD dword of a COMPUTE_* register, 0 when it has none. Registers of the slot are not among them.
unsigned compute_dword(uint32_t reg) {
    const unsigned dword = mqd::dword_of(reg);
    return dword < kComputeImage ? dword : 0;
}

/// A shader register belongs to its queue: a user may write it. @return false: it is none of compute shaders
bool write_compute(Hqd& hqd, uint32_t reg, uint32_t value) {
    const unsigned dword = compute_dword(reg);
    if (dword == 0) return false;
    hqd.compute[dword] = value;
    // The driver sets TRAP_PRESENT in the MQD of a process with a trap handler; a program cannot take it away.
    hqd.compute[mqd::compute_pgm_rsrc2] |= field::COMPUTE_PGM_RSRC2::TRAP_PRESENT::of(hqd.trap_present);
    return true;
}

/// Atomic against the guest's CPUs: the host's own compare-and-swap on the guest page.
template <class T>
bool atomic_on_page(uint8_t* host, uint32_t op, T source, T compare, T& old) {
    T* word = reinterpret_cast<T*>(host);
    T expected = __atomic_load_n(word, __ATOMIC_ACQUIRE);
    // A CPU that hammers the word can make us lose; bounded, as everything the guest can lengthen.
    for (unsigned tries = 0; tries < 1u << 20; ++tries) {
        T result{};
        if (!tc_op::value<T>(op, expected, source, compare, result)) return false;
        if (__atomic_compare_exchange_n(word, &expected, result, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) break;
    }
    old = expected;
    return true;
}

constexpr uint32_t kDmaChunk = 256 * 1024;  ///< bytes of one DMA_DATA copied per step

}  // namespace

PacketResult Pm4Handlers::write_data(P& p, Hqd& hqd, const Packet& packet) {
    namespace f = pm4::WRITE_DATA;
    const uint32_t select = f::dst_sel(packet);
    const bool one_address = f::one_addr(packet) != 0;
    const auto data = packet.body.subspan(3);
    if (select == kRegister) {
        const uint32_t reg = f::dst_mmreg_addr(packet);
        if (!p.privileged(hqd)) return p.privilege_fault(hqd, packet, reg);
        if (reg + data.size() > kRegisterDwords) return p.bad_field(hqd, packet, "register outside the aperture");
        for (uint32_t i = 0; i < data.size(); ++i) p.bus_.write_register(reg + (one_address ? 0 : i), data[i]);
        return PacketResult::Done;
    }
    // Preemption state of the gfx ring: kept by the CP only while mid-command-buffer preemption is on, which it never is.
    if (select == kPreemptionState) return PacketResult::Done;
    if (!is_memory(select)) return p.todo(hqd, packet, fmt::format("destination {}", select));
    const uint64_t address = f::dst_mem_addr(packet) & ~uint64_t{3};
    if (one_address) {
        p.memory_.write(p.vmid(hqd), address, &data.back(), sizeof(uint32_t));
    } else {
        p.memory_.write(p.vmid(hqd), address, data.data(), data.size() * sizeof(uint32_t));
    }
    return PacketResult::Done;
}

/// @source Linux 6.12 gfx_v9_0_ring_emit_rreg()
PacketResult Pm4Handlers::copy_data(P& p, Hqd& hqd, const Packet& packet) {
    namespace f = pm4::COPY_DATA;
    const uint32_t from = f::src_sel(packet), to = f::dst_sel(packet);
    const bool wide = f::count_sel(packet) != 0;
    const size_t size = wide ? 8 : 4;
    const uint32_t src_reg = f::src_reg(packet), dst_reg = f::dst_reg(packet);
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
        value = f::src_addr(packet);  // where the data are
    } else if (from == kGpuClock) {
        value = gpu_clock(p.env_);
    } else if (is_memory(from)) {
        const uint64_t address = f::src_addr(packet) & ~uint64_t{size - 1};
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
        p.memory_.write(p.vmid(hqd), f::dst_addr(packet) & ~uint64_t{size - 1}, &value, size);
    } else {
        return p.todo(hqd, packet, fmt::format("destination {}", to));
    }
    return PacketResult::Done;
}

PacketResult Pm4Handlers::copy_chunk(P& p, Hqd& hqd, const Packet& packet, uint32_t total) {
    const uint32_t done = hqd.pm4.packet_progress;
    const uint32_t size = std::min(total - done, kDmaChunk);
    namespace f = pm4::DMA_DATA;
    const uint64_t source = f::src_addr(packet) + done, destination = f::dst_addr(packet) + done;
    std::vector<uint8_t> buffer(size);
    if (f::src_sel(packet) == 2) {
        const uint32_t pattern = f::data(packet);
        for (uint32_t i = 0; i < size; ++i) buffer[i] = static_cast<uint8_t>(pattern >> 8 * ((done + i) & 3));
    } else if (p.memory_.read(p.vmid(hqd), source, buffer.data(), size) != Fault::None) {
        return PacketResult::Done;
    }
    if (p.memory_.write(p.vmid(hqd), destination, buffer.data(), size) != Fault::None) return PacketResult::Done;
    hqd.pm4.packet_progress = done + size;
    return hqd.pm4.packet_progress < total ? PacketResult::More : PacketResult::Done;
}

/// SAS and DAS: from, to registers; SAIC and DAIC: the address stays. @source Linux 6.12 soc15d.h PACKET3_DMA_DATA
PacketResult Pm4Handlers::dma_data(P& p, Hqd& hqd, const Packet& packet) {
    namespace f = pm4::DMA_DATA;
    const uint32_t source = f::src_sel(packet), destination = f::dst_sel(packet);
    if (source == 1 || destination == 1 || destination == 2) return p.todo(hqd, packet, "GDS");
    if (f::sas(packet) != 0 || f::das(packet) != 0) {
        if (!p.privileged(hqd)) return p.privilege_fault(hqd, packet, lo32(f::dst_addr(packet)));
        return p.todo(hqd, packet, "registers");
    }
    if (f::saic(packet) != 0 || f::daic(packet) != 0) return p.todo(hqd, packet, "fixed address");
    const uint32_t total = f::byte_count(packet);
    if (total == 0) return PacketResult::Done;
    return copy_chunk(p, hqd, packet, total);
}

/// Command 1: until the compare holds. @source gem5 pm4_defines.hh
PacketResult Pm4Handlers::atomic_mem(P& p, Hqd& hqd, const Packet& packet) {
    namespace f = pm4::ATOMIC_MEM;
    const uint32_t op = tc_op::Operation::get(f::atomic(packet)), command = f::command(packet);
    const bool wide = tc_op::Wide::get(f::atomic(packet)) != 0;
    const uint64_t address = f::addr(packet) & ~uint64_t{wide ? 7u : 3u};
    const uint64_t source = f::src_data(packet), compare = f::cmp_data(packet);
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
    if (!known) return p.bad_field(hqd, packet, fmt::format("operation {:#x}", f::atomic(packet)));
    return op == tc_op::CMPSWAP && command == 1 && !equal ? PacketResult::Retry : PacketResult::Done;
}

PacketResult Pm4Handlers::reg_rmw(P& p, Hqd& hqd, const Packet& packet) {
    namespace f = pm4::REG_RMW;
    const uint32_t reg = f::mod_addr(packet);
    if (!p.privileged(hqd)) return p.privilege_fault(hqd, packet, reg);
    if (reg >= kRegisterDwords) return p.bad_field(hqd, packet, "register outside the aperture");
    if (f::masks_from_registers(packet) != 0) return p.todo(hqd, packet, "masks from registers");
    p.bus_.write_register(reg, (p.bus_.read_register(reg) & f::and_mask(packet)) | f::or_mask(packet));
    return PacketResult::Done;
}

PacketResult Pm4Processor::set_registers(Hqd& hqd, const pm4::Packet& packet, uint32_t base_dw) {
    const uint32_t reg = base_dw + pm4::SET_CONFIG_REG::reg_offset(packet);
    if (!privileged(hqd)) return privilege_fault(hqd, packet, reg);
    const auto values = packet.body.subspan(1);
    if (reg + values.size() > kRegisterDwords) return bad_field(hqd, packet, "register outside the aperture");
    for (uint32_t i = 0; i < values.size(); ++i) bus_.write_register(reg + i, values[i]);
    return PacketResult::Done;
}

PacketResult Pm4Handlers::set_config_reg(P& p, Hqd& hqd, const Packet& packet) {
    return p.set_registers(hqd, packet, pm4::kConfigRegisters);
}

/// In the packet with an index that says what the register is for. The hardware lets users write these (performance
/// counters, graphics); none of those is modelled.
PacketResult Pm4Handlers::set_uconfig_reg(P& p, Hqd& hqd, const Packet& packet) {
    if (!p.privileged(hqd)) return p.todo(hqd, packet, "user configuration register from a user's buffer");
    return p.set_registers(hqd, packet, pm4::kUconfigRegisters);
}

/// Shader registers belong to the queue. Those of graphics shaders are not kept.
PacketResult Pm4Handlers::set_sh_reg(P&, Hqd& hqd, const Packet& packet) {
    const uint32_t reg = pm4::kShRegisters + pm4::SET_SH_REG::reg_offset(packet);
    const auto values = packet.body.subspan(1);
    for (uint32_t i = 0; i < values.size(); ++i) write_compute(hqd, reg + i, values[i]);
    return PacketResult::Done;
}

}  // namespace lyra
