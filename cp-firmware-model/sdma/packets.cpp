// SPDX-License-Identifier: MIT
// SDMA packet actions that move no bulk data: flow, fences, interrupts, polls, atomics, registers, time; step 4.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "cp-firmware-model/packets/tc_op.h"
#include "cp-firmware-model/sdma/engine_impl.h"

namespace lyra {

using namespace sdma;

namespace {

constexpr uint8_t kIvPollTimeout = 246, kIvSrbmWrite = 247;  ///< @source ivsrcid/sdma0/irqsrcs_sdma0_4_0.h
/// Ring ids of interrupt vectors; the driver knows 0 and 3. @source sdma_v4_0.c sdma_v4_0_process_trap_irq
uint8_t iv_ring_id(uint32_t ring) {
    if (ring < 2) return ring == kGfx ? 0 : 3;
    return static_cast<uint8_t>(ring < 4 ? ring - 1 : ring);
}
constexpr unsigned kAtomicTries = 64;

}  // namespace

Step SdmaEngine::Impl::execute(Ring& ring, int64_t& budget) {
    using Action = Step (Impl::*)(Ring&, int64_t&);
    static constexpr Action kActions[] = {
#define SDMA_PACKET(name, op, sub_op, variant, dwords, tail, handler) &Impl::handler,
#include "facts/packets/sdma.def"
#undef SDMA_PACKET
    };
    return (this->*kActions[ring.packet.number])(ring, budget);
}

Step SdmaEngine::Impl::nop(Ring&, int64_t&) { return Step::Done; }

Step SdmaEngine::Impl::todo(Ring& ring, int64_t&) {
    report(env, Fault::TodoPacket, fmt::format("sdma{} ring {} {}", index, ring.index, ring.packet.row()->name));
    return Step::Skip;
}

/// The ring has one set of buffer registers, so that buffers do not nest. User queues stay in their own VMID.
Step SdmaEngine::Impl::indirect(Ring& ring, int64_t&) {
    const Words& words = ring.packet.words;
    if (ring.ib.active) {
        report(env, Fault::IndirectDepth, fmt::format("sdma{} ring {} buffer {:#x}", index, ring.index, ring.ib.base));
        return Step::Stop;
    }
    if (ring.kernel() && !field::SDMA_RING_IB_CNTL::IB_ENABLE::get(ring.regs[ring_reg::IB_CNTL])) return Step::Wait;
    const uint32_t size = INDIRECT::ib_size(words);
    if (size == 0) return Step::Done;
    ring.ib.vmid = ring.privileged() ? INDIRECT::vmid(words) : ring.ring_vmid();
    ring.ib.base = INDIRECT::ib_base(words) & ~uint64_t{31};
    ring.ib.size_dw = size;
    ring.ib.next_dw = 0;
    ring.ib.active = true;
    return Step::Enter;
}

/// Everything before it is complete: the engine works in order.
Step SdmaEngine::Impl::fence(Ring& ring, int64_t& budget) {
    const Words& words = ring.packet.words;
    const uint64_t va = FENCE::addr(words) & ~uint64_t{3};
    if (const Fault fault = store<uint32_t>(ring.vmid(), va, FENCE::data(words)); fault != Fault::None)
        return vm_fault(ring, fault, va);
    count_bytes(ring, sizeof(uint32_t), budget);
    return Step::Done;
}

void SdmaEngine::Impl::interrupt(const Ring& ring, uint8_t source, uint32_t data) {
    Interrupt iv;
    iv.client = static_cast<uint8_t>(ih_client::kSdma0 + index);
    iv.source = source;
    iv.ring_id = iv_ring_id(ring.index);
    iv.vmid = static_cast<uint8_t>(ring.vmid());
    iv.mmhub = true;
    iv.pasid = ring.mapped ? ring.pasid : iv.vmid ? bus.vmid_state(iv.vmid).pasid : 0;
    iv.data[0] = data;
    bus.interrupt(iv);
}

Step SdmaEngine::Impl::trap(Ring& ring, int64_t&) {
    if (field::SDMA_CNTL::TRAP_ENABLE::get(regs[reg::CNTL])) {
        interrupt(ring, ih_source::kSdmaTrap, TRAP::int_context(ring.packet.words));
    }
    return Step::Done;
}

/// One more look is due. Tries count only when the interval (GPU clocks) has passed; the last one ends in a timeout.
Step SdmaEngine::Impl::wait(Ring& ring, uint32_t interval, uint32_t retries) {
    Active& packet = ring.packet;
    const uint64_t now = gpu_clock(env);
    if (retries == kPollForever || now < packet.next_try) return Step::Wait;
    packet.next_try = now + std::max<uint32_t>(interval, 1);
    if (packet.tries++ < retries) return Step::Wait;
    report(env, Fault::SdmaPollTimeout, fmt::format("sdma{} ring {} after {} tries", index, ring.index, packet.tries));
    interrupt(ring, kIvPollTimeout, 0);
    return Step::Skip;
}

bool SdmaEngine::Impl::refuse_unprivileged(Ring& ring) {
    if (ring.privileged()) return false;
    report(env, Fault::SdmaPrivilege,
           fmt::format("sdma{} ring {} vmid {} {}", index, ring.index, ring.vmid(), ring.packet.row()->name));
    return true;
}

/// Poll memory or a register; with HDP_FLUSH first write the reference to the request register, whose address is the high
/// dword.
Step SdmaEngine::Impl::poll(Ring& ring, int64_t&) {
    Active& packet = ring.packet;
    const Words& words = packet.words;
    const uint32_t function = POLL_REGMEM::func(words), reference = POLL_REGMEM::value(words);
    const uint64_t address = POLL_REGMEM::addr(words);
    const bool flush = POLL_REGMEM::hdp_flush(words);
    uint32_t value = 0;
    if (function == 7) {
        report(env, Fault::PacketField, fmt::format("sdma{} ring {} POLL_REGMEM function 7", index, ring.index));
        return Step::Skip;
    }
    if (POLL_REGMEM::mem_poll(words)) {
        const uint64_t va = address & ~uint64_t{3};
        if (const Fault fault = load<uint32_t>(ring.vmid(), va, value); fault != Fault::None) return vm_fault(ring, fault, va);
    } else {
        // An all-zero POLL_REGMEM is the HDP flush of user queues (ROCr hdp_flush_cmd): host memory needs none here.
        if (!flush && function == 0) return Step::Done;
        if (refuse_unprivileged(ring)) return Step::Skip;
        if (flush && !packet.started) {
            packet.started = true;
            const uint32_t epoch = ring.epoch;
            bus.write_register(RegisterAddress::get(hi32(address)), reference);
            if (ring.epoch != epoch) return Step::Done;
        }
        value = bus.read_register(RegisterAddress::get(lo32(address)));
    }
    if (poll_condition(function, value & POLL_REGMEM::mask(words), reference)) return Step::Done;
    return wait(ring, POLL_REGMEM::interval(words), POLL_REGMEM::retry_count(words));
}

Step SdmaEngine::Impl::register_to_memory(Ring& ring, int64_t& budget) {
    if (refuse_unprivileged(ring)) return Step::Skip;
    const Words& words = ring.packet.words;
    const uint64_t va = POLL_REG_WRITE_MEM::addr(words) & ~uint64_t{3};
    const uint32_t value = bus.read_register(RegisterAddress::get(POLL_REG_WRITE_MEM::addr_31_2(words) << 2));
    if (const Fault fault = store<uint32_t>(ring.vmid(), va, value); fault != Fault::None) return vm_fault(ring, fault, va);
    count_bytes(ring, sizeof value, budget);
    return Step::Done;
}

/// Drop the next dwords unless memory holds the reference. @source sdma_v5_0.c sdma_v5_0_ring_init_cond_exec
Step SdmaEngine::Impl::cond_exe(Ring& ring, int64_t&) {
    const Words& words = ring.packet.words;
    const uint64_t va = COND_EXE::addr(words) & ~uint64_t{3};
    uint32_t value = 0;
    if (const Fault fault = load<uint32_t>(ring.vmid(), va, value); fault != Fault::None) return vm_fault(ring, fault, va);
    if (value != COND_EXE::reference(words)) ring.skip_dw = COND_EXE::exec_count(words);
    return Step::Done;
}

/// The next dwords are for the selected devices only; this is device 0.
Step SdmaEngine::Impl::pre_exe(Ring& ring, int64_t&) {
    const Words& words = ring.packet.words;
    if (!(PRE_EXE::dev_sel(words) & 1)) ring.skip_dw = PRE_EXE::exec_count(words);
    return Step::Done;
}

Step SdmaEngine::Impl::atomic(Ring& ring, int64_t& budget) {
    const uint32_t op = ATOMIC::atomic_op(ring.packet.words), kind = tc_op::Operation::get(op);
    const bool wide = tc_op::Wide::get(op);
    const uint64_t va = ATOMIC::addr(ring.packet.words);
    const uint32_t size = wide ? 8 : 4;
    if (va % size) {
        report(env, Fault::PacketField, fmt::format("sdma{} ring {} atomic at {:#x}", index, ring.index, va));
        return Step::Skip;
    }
    const Step step = wide ? atomic_on<uint64_t>(ring, kind, va) : atomic_on<uint32_t>(ring, kind, va);
    if (step == Step::Done) count_bytes(ring, size, budget);
    return step;
}

template <class T>
Step SdmaEngine::Impl::atomic_on(Ring& ring, uint32_t kind, uint64_t va) {
    const Words& words = ring.packet.words;
    const T src = static_cast<T>(ATOMIC::src_data(words)), cmp = static_cast<T>(ATOMIC::cmp_data(words));
    T value{};
    if (!tc_op::value<T>(kind, 0, src, cmp, value)) {
        report(env, Fault::TodoPacket, fmt::format("sdma{} ring {} atomic {:#x}", index, ring.index, kind));
        return Step::Skip;
    }
    MemoryPort& port = bus.mmhub(index);
    T* p = reinterpret_cast<T*>(port.page(ring.vmid(), va, Access::Atomic));
    if (!p) {
        if (const Fault fault = port.check(ring.vmid(), va, Access::Atomic); fault != Fault::None)
            return vm_fault(ring, fault, va);
        // Registers cannot be updated atomically.
        report(env, Fault::NotPlainMemory, fmt::format("sdma{} ring {} atomic at {:#x}", index, ring.index, va));
        return Step::Skip;
    }
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    for (unsigned attempt = 0; attempt < kAtomicTries; ++attempt) {
        tc_op::value<T>(kind, old, src, cmp, value);
        const bool failed_swap = kind == tc_op::CMPSWAP && old != cmp;
        if (failed_swap && ATOMIC::loop(words)) return wait(ring, ATOMIC::loop_interval(words), kPollForever);
        if (failed_swap || __atomic_compare_exchange_n(p, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return Step::Done;
    }
    return Step::Again;  // other agents keep changing it
}

Step SdmaEngine::Impl::timestamp_set(Ring& ring, int64_t&) {
    timestamp_offset = TIMESTAMP_SET::init_data(ring.packet.words) - gpu_clock(env);
    return Step::Done;
}

Step SdmaEngine::Impl::store_clock(Ring& ring, int64_t& budget, uint64_t address, uint64_t offset) {
    const uint64_t va = address & ~uint64_t{7};
    if (const Fault fault = store<uint64_t>(ring.vmid(), va, gpu_clock(env) + offset); fault != Fault::None)
        return vm_fault(ring, fault, va);
    count_bytes(ring, sizeof(uint64_t), budget);
    return Step::Done;
}

Step SdmaEngine::Impl::timestamp_get(Ring& ring, int64_t& budget) {
    return store_clock(ring, budget, TIMESTAMP_GET::write_addr(ring.packet.words), timestamp_offset);
}

Step SdmaEngine::Impl::timestamp_global(Ring& ring, int64_t& budget) {
    return store_clock(ring, budget, TIMESTAMP_GET_GLOBAL::write_addr(ring.packet.words), 0);
}

/// @source sdma_v4_0.c sdma_v4_0_ring_emit_wreg; word 1 is a dword number
Step SdmaEngine::Impl::register_write(Ring& ring, int64_t&) {
    if (refuse_unprivileged(ring)) {
        interrupt(ring, kIvSrbmWrite, 0);
        return Step::Skip;
    }
    const Words& words = ring.packet.words;
    const uint32_t address = SRBM_WRITE::addr(words), enable = SRBM_WRITE::byte_en(words);
    uint32_t mask = 0;
    for (unsigned byte = 0; byte < 4; ++byte) mask |= bit(enable, byte) ? 0xffu << (8 * byte) : 0;
    if (mask == 0) return Step::Done;
    const uint32_t data = SRBM_WRITE::data(words);
    const uint32_t kept = mask == ~0u ? 0 : bus.read_register(address) & ~mask;
    bus.write_register(address, kept | (data & mask));
    return Step::Done;
}

}  // namespace lyra
