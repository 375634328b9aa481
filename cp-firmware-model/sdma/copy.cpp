// SPDX-License-Identifier: MIT
// SDMA data movement: linear, broadcast and rectangular copies, inline data, fills and page-table entries, page by page;
// step 4.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "cp-firmware-model/sdma/engine_impl.h"

namespace lyra {

using namespace sdma;

namespace {

constexpr uint64_t kPageMask = kPageBytes - 1;

/// Bytes from va to the end of its page.
constexpr uint64_t page_after(uint64_t va) { return kPageBytes - (va & kPageMask); }
/// Bytes from the start of the page of the byte before va, to va.
constexpr uint64_t page_before(uint64_t va) { return ((va - 1) & kPageMask) + 1; }

constexpr uint64_t at_most(uint64_t size, int64_t budget) { return std::min<uint64_t>(size, budget > 0 ? budget : 1); }

}  // namespace

/// Page by page: bulk access to plain memory, through the port to everything else. The port reports the fault.
Fault SdmaEngine::Impl::read_memory(uint32_t vmid, uint64_t va, void* data, uint64_t size) {
    MemoryPort& port = bus.mmhub(index);
    auto* out = static_cast<uint8_t*>(data);
    for (uint64_t done = 0, n = 0; done < size; done += n) {
        n = std::min(size - done, page_after(va + done));
        if (const uint8_t* p = port.page(vmid, va + done, Access::Read)) {
            std::memcpy(out + done, p, n);
        } else if (const Fault fault = port.read(vmid, va + done, out + done, n); fault != Fault::None) {
            return fault;
        }
    }
    return Fault::None;
}

Fault SdmaEngine::Impl::write_memory(uint32_t vmid, uint64_t va, const void* data, uint64_t size) {
    MemoryPort& port = bus.mmhub(index);
    const auto* in = static_cast<const uint8_t*>(data);
    for (uint64_t done = 0, n = 0; done < size; done += n) {
        n = std::min(size - done, page_after(va + done));
        if (uint8_t* p = port.page(vmid, va + done, Access::Write)) {
            std::memcpy(p, in + done, n);
        } else if (const Fault fault = port.write(vmid, va + done, in + done, n); fault != Fault::None) {
            return fault;
        }
    }
    return Fault::None;
}

/// Copy within one source and one destination page; the two may be the same memory.
Fault SdmaEngine::Impl::move_within_pages(uint32_t vmid, uint64_t source, uint64_t destination, uint64_t size) {
    MemoryPort& port = bus.mmhub(index);
    const uint64_t generation = port.generation();
    const uint8_t* from = port.page(vmid, source, Access::Read);
    uint8_t* to = port.page(vmid, destination, Access::Write);
    if (from && to && port.generation() == generation) {
        std::memmove(to, from, size);
        return Fault::None;
    }
    uint8_t bounce[kPageBytes];
    const Fault fault = read_memory(vmid, source, bounce, size);
    return fault != Fault::None ? fault : write_memory(vmid, destination, bounce, size);
}

/// Dwords from the present position + skip_dw of the indirect buffer or the ring, which wraps. The caller has checked that
/// they are there.
Fault SdmaEngine::Impl::fetch(const Ring& ring, uint64_t skip_dw, uint32_t* words, uint64_t count) {
    const uint64_t size = count * sizeof(uint32_t);
    if (ring.ib.active) {
        return read_memory(ring.ib.vmid, ring.ib.base + (ring.ib.next_dw + skip_dw) * sizeof(uint32_t), words, size);
    }
    const uint64_t bytes = ring.bytes(), position = (ring.rptr + skip_dw * sizeof(uint32_t)) & (bytes - 1);
    const uint64_t first = std::min(size, bytes - position);
    const Fault fault = read_memory(ring.ring_vmid(), ring.base() + position, words, first);
    if (fault != Fault::None || first == size) return fault;
    return read_memory(ring.ring_vmid(), ring.base(), words + first / sizeof(uint32_t), size - first);
}

void SdmaEngine::Impl::count_bytes(Ring& ring, uint64_t size, int64_t& budget) {
    ring.packet.done += size;
    ring.packet.left -= std::min(ring.packet.left, size);
    budget -= static_cast<int64_t>(size);
    env.stats.add(Stat::sdma_bytes, size);
    env.clock.owe(size * 1000 / env.timing.sdma_mb_per_s);
}

/// Without retry the hardware drops the access, raises one interrupt and goes on. The rest of the packet is dropped with it:
/// KFD takes the queue away when it sees the interrupt, and a storm of one fault per page would help nobody. With retry the
/// packet waits where it is.
Step SdmaEngine::Impl::vm_fault(const Ring& ring, Fault fault, uint64_t va) {
    if (fault == Fault::PageRetry) return Step::Wait;
    report(env, Fault::SdmaVmHole,
           fmt::format("sdma{} ring {} vmid {} {} near {:#x}", index, ring.index, ring.vmid(),
                       ring.packet.row() ? ring.packet.row()->name : "packet", va));
    return Step::Skip;
}

/// Overlapping ranges give what was in the source before; the engine copies from the far end when it must.
Step SdmaEngine::Impl::copy(Ring& ring, int64_t& budget) {
    Active& packet = ring.packet;
    // The driver's header has 22 bits for all chips.
    const uint64_t size = (packet.words[1] & ((uint64_t{1} << count_bits) - 1)) + 1;
    const uint64_t source = COPY_LINEAR::src_addr(packet.words), destination = COPY_LINEAR::dst_addr(packet.words);
    const bool backwards = destination > source && destination - source < size;
    while (packet.done < size) {
        packet.left = size - packet.done;
        if (budget <= 0) return Step::Again;
        uint64_t offset = packet.done, n = at_most(packet.left, budget);
        if (backwards) {
            n = std::min({n, page_before(source + packet.left), page_before(destination + packet.left)});
            offset = packet.left - n;
        } else {
            n = std::min({n, page_after(source + offset), page_after(destination + offset)});
        }
        const Fault fault = move_within_pages(ring.vmid(), source + offset, destination + offset, n);
        if (!packet.row()) return Step::Done;  // a register page in the destination took the packet away
        if (fault != Fault::None) return vm_fault(ring, fault, destination + offset);
        count_bytes(ring, n, budget);
    }
    return Step::Done;
}

Step SdmaEngine::Impl::copy_broadcast(Ring& ring, int64_t& budget) {
    namespace f = COPY_LINEAR_BROADCAST;
    Active& packet = ring.packet;
    const uint64_t size = uint64_t{f::count(packet.words)} + 1;
    const uint64_t source = f::src_addr(packet.words);
    const uint64_t targets[2] = {f::dst1_addr(packet.words), f::dst2_addr(packet.words)};
    while (packet.done < size) {
        packet.left = size - packet.done;
        if (budget <= 0) return Step::Again;
        const uint64_t offset = packet.done;
        uint64_t n = std::min({at_most(packet.left, budget), page_after(source + offset), page_after(targets[0] + offset)});
        n = std::min(n, page_after(targets[1] + offset));
        for (const uint64_t target : targets) {
            const Fault fault = move_within_pages(ring.vmid(), source + offset, target + offset, n);
            if (!packet.row()) return Step::Done;
            if (fault != Fault::None) return vm_fault(ring, fault, target + offset);
        }
        count_bytes(ring, n, budget);
    }
    return Step::Done;
}

/// Linear sub-window: rect_z slices of rect_y rows of rect_x elements, upwards. @source SDMA_PKT_COPY_LINEAR_SUBWIN; ROCr
Step SdmaEngine::Impl::copy_rect(Ring& ring, int64_t& budget) {
    namespace f = COPY_LINEAR_SUB_WINDOW;
    Active& packet = ring.packet;
    const Words& w = packet.words;
    const uint32_t shift = f::elementsize(w);
    if (shift > 4) {
        report(env, Fault::PacketField, fmt::format("sdma{} ring {} element of 2^{} bytes", index, ring.index, shift));
        return Step::Skip;
    }
    const uint64_t row_bytes = (uint64_t{f::rect_x(w)} + 1) << shift, rows = f::rect_y(w) + 1;
    const uint64_t size = row_bytes * rows * (f::rect_z(w) + 1);
    struct Window {
        uint64_t base, x, y, z, pitch, slice;
    };
    const Window from = {f::src_addr(w), f::src_x(w), f::src_y(w), f::src_z(w), f::src_pitch(w), f::src_slice_pitch(w)};
    const Window to = {f::dst_addr(w), f::dst_x(w), f::dst_y(w), f::dst_z(w), f::dst_pitch(w), f::dst_slice_pitch(w)};
    const auto address = [&](const Window& window, uint64_t x, uint64_t y, uint64_t z) {
        const uint64_t element = window.x + (window.y + y) * (window.pitch + 1) + (window.z + z) * (window.slice + 1);
        return window.base + (element << shift) + x;
    };
    while (packet.done < size) {
        packet.left = size - packet.done;
        if (budget <= 0) return Step::Again;
        const uint64_t x = packet.done % row_bytes, line = packet.done / row_bytes;
        const uint64_t source = address(from, x, line % rows, line / rows), target = address(to, x, line % rows, line / rows);
        const uint64_t n = std::min({at_most(row_bytes - x, budget), page_after(source), page_after(target)});
        const Fault fault = move_within_pages(ring.vmid(), source, target, n);
        if (!packet.row()) return Step::Done;
        if (fault != Fault::None) return vm_fault(ring, fault, target);
        count_bytes(ring, n, budget);
        budget -= static_cast<int64_t>(kPacketCost / 8);  // narrow rows cost more than their bytes
    }
    return Step::Done;
}

/// The data follow the packet in the ring or buffer.
Step SdmaEngine::Impl::write(Ring& ring, int64_t& budget) {
    Active& packet = ring.packet;
    const uint64_t size = uint64_t{packet.total_dw - packet.row()->dwords} * sizeof(uint32_t);
    const uint64_t destination = WRITE_LINEAR::dst_addr(packet.words) & ~uint64_t{3};
    uint32_t data[kPageBytes / sizeof(uint32_t)];
    while (packet.done < size) {
        packet.left = size - packet.done;
        if (budget <= 0) return Step::Again;
        const uint64_t va = destination + packet.done;
        const uint64_t n = std::min(packet.left, page_after(va));
        if (fetch(ring, packet.row()->dwords + packet.done / sizeof(uint32_t), data, n / sizeof(uint32_t)) != Fault::None) {
            report(env, Fault::RingUnreadable, fmt::format("sdma{} ring {} data of WRITE_LINEAR", index, ring.index));
            return Step::Stop;
        }
        const Fault fault =
            n == sizeof(uint32_t) ? store<uint32_t>(ring.vmid(), va, data[0]) : write_memory(ring.vmid(), va, data, n);
        if (!packet.row()) return Step::Done;
        if (fault != Fault::None) return vm_fault(ring, fault, va);
        count_bytes(ring, n, budget);
    }
    return Step::Done;
}

/// The dword repeats, or its low byte does. The count is in bytes in both cases.
Step SdmaEngine::Impl::const_fill(Ring& ring, int64_t& budget) {
    Active& packet = ring.packet;
    const uint64_t size = uint64_t{CONST_FILL::count(packet.words)} + 1;
    const uint32_t data = CONST_FILL::src_data_31_0(packet.words);
    const bool dwords = CONST_FILL::fillsize(packet.words) == kFillDwords;
    const uint32_t value = dwords ? data : (data & 0xff) * 0x01010101u;
    const uint64_t destination = CONST_FILL::dst_addr(packet.words);
    uint32_t pattern[kPageBytes / sizeof(uint32_t) + 1];
    std::fill(std::begin(pattern), std::end(pattern), value);
    while (packet.done < size) {
        packet.left = size - packet.done;
        if (budget <= 0) return Step::Again;
        const uint64_t va = destination + packet.done;
        const uint64_t n = std::min(at_most(packet.left, budget), page_after(va));
        const auto* phase = reinterpret_cast<const uint8_t*>(pattern) + packet.done % sizeof(uint32_t);
        const Fault fault = write_memory(ring.vmid(), va, phase, n);
        if (!packet.row()) return Step::Done;
        if (fault != Fault::None) return vm_fault(ring, fault, va);
        count_bytes(ring, n, budget);
    }
    return Step::Done;
}

/// count entries: (value + i * increment) | flags. @source sdma_v4_0.c sdma_v4_0_vm_set_pte_pde
Step SdmaEngine::Impl::gen_pte_pde(Ring& ring, int64_t& budget) {
    Active& packet = ring.packet;
    const Words& words = packet.words;
    const uint64_t size = (uint64_t{GEN_PTEPDE::count(words)} + 1) * sizeof(uint64_t);
    const uint64_t destination = GEN_PTEPDE::dst_addr(words) & ~uint64_t{7};
    const uint64_t flags = GEN_PTEPDE::mask(words), value = GEN_PTEPDE::init(words), increment = GEN_PTEPDE::incr(words);
    uint64_t entries[kPageBytes / sizeof(uint64_t)];
    while (packet.done < size) {
        packet.left = size - packet.done;
        if (budget <= 0) return Step::Again;
        const uint64_t va = destination + packet.done, n = std::min(packet.left, page_after(va));
        const uint64_t first = packet.done / sizeof(uint64_t);
        for (uint64_t i = 0; i < n / sizeof(uint64_t); ++i) entries[i] = (value + (first + i) * increment) | flags;
        const Fault fault = write_memory(ring.vmid(), va, entries, n);
        if (!packet.row()) return Step::Done;
        if (fault != Fault::None) return vm_fault(ring, fault, va);
        count_bytes(ring, n, budget);
    }
    return Step::Done;
}

}  // namespace lyra
