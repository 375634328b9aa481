// SPDX-License-Identifier: MIT
// MQD image in and out, with the private part that keeps half-executed indirect buffers over an unmap.
#include "cp-firmware-model/mqd/mqd.h"

#include <algorithm>

namespace lyra::mqd {

namespace {

constexpr uint32_t kMagic = 0x4c595241;
constexpr uint32_t kSavedDwords = 5, kMaxSaved = 3;
constexpr uint32_t kSavedHeader = lyra_ib_list - lyra_ib_magic;

using SavedWords = std::array<uint32_t, kSavedHeader + lyra_ib_list_dwords>;
static_assert(lyra_ib_list_dwords == kSavedDwords * kMaxSaved);

/// Buffers continue where the unmap interrupted them. What the guest made of the words is checked like any packet's.
void load_buffers(const Image& image, Hqd& hqd) {
    hqd.pm4.ib_stack.clear();
    hqd.pm4.drop_dwords = 0;
    if (image[lyra_ib_magic] != kMagic) return;
    hqd.pm4.drop_dwords = image[lyra_ib_drop] & 0x3fff;
    const uint32_t count = std::min(image[lyra_ib_count], kMaxSaved);
    for (uint32_t i = 0; i < count; ++i) {
        const uint32_t* words = &image[lyra_ib_list + i * kSavedDwords];
        IndirectBuffer ib;
        ib.base = make64(words[0] & ~3u, words[1]);
        ib.size_dw = words[2] & 0xfffff;
        ib.next_dw = std::min(words[3], ib.size_dw);
        // Only kernel queues choose a VMID for a buffer.
        ib.vmid = hqd.kind == QueueKind::User ? hqd.vmid() : words[4] & 0xf;
        hqd.pm4.ib_stack.push_back(ib);
    }
}

SavedWords saved_buffers(const Hqd& hqd) {
    SavedWords words{};
    const auto count = static_cast<uint32_t>(std::min<size_t>(hqd.pm4.ib_stack.size(), kMaxSaved));
    // An AQL queue starts its packet again, so the buffers of the packet are not kept.
    if (hqd.is_aql() || (count == 0 && hqd.pm4.drop_dwords == 0)) return words;
    words[0] = kMagic;
    words[lyra_ib_count - lyra_ib_magic] = count;
    words[lyra_ib_drop - lyra_ib_magic] = hqd.pm4.drop_dwords;
    for (uint32_t i = 0; i < count; ++i) {
        const IndirectBuffer& ib = hqd.pm4.ib_stack[i];
        const uint32_t saved[kSavedDwords] = {lo32(ib.base), hi32(ib.base), ib.size_dw, ib.next_dw, ib.vmid};
        std::copy(std::begin(saved), std::end(saved), &words[kSavedHeader + i * kSavedDwords]);
    }
    return words;
}

}  // namespace

namespace {

void take_private(const Image& image, Hqd& hqd) {
    std::copy_n(image.begin(), hqd.compute.size(), hqd.compute.begin());
    hqd.trap_present = field::COMPUTE_PGM_RSRC2::TRAP_PRESENT::get(image[compute_pgm_rsrc2]);
    load_buffers(image, hqd);
    std::copy_n(image.begin() + lyra_flight, hqd.save.flight.size(), hqd.save.flight.begin());
    std::copy_n(image.begin() + lyra_gws, hqd.gws.size(), hqd.gws.begin());
}

}  // namespace

Fault load(MemoryPort& memory, Hqd& hqd, uint64_t address) {
    Image image{};
    if (memory.read(0, address, image.data(), sizeof image) != Fault::None) return Fault::MqdUnreadable;
    const uint32_t vmid = hqd.regs[hqd_reg::CP_HQD_VMID];
    std::copy_n(image.begin() + cp_mqd_base_addr_lo, hqd.regs.size(), hqd.regs.begin());
    hqd.regs[hqd_reg::CP_HQD_VMID] = vmid;
    take_private(image, hqd);
    return Fault::None;
}

Fault load_private(MemoryPort& memory, Hqd& hqd, uint64_t address) {
    Image image{};
    if (memory.read(0, address, image.data(), sizeof image) != Fault::None) return Fault::MqdUnreadable;
    take_private(image, hqd);
    return Fault::None;
}

Fault store(MemoryPort& memory, const Hqd& hqd, uint64_t address) {
    auto regs = hqd.regs;
    regs[hqd_reg::CP_HQD_ACTIVE] = 0;
    regs[hqd_reg::CP_HQD_DEQUEUE_REQUEST] = 0;
    if (hqd.mapped_by_hws) regs[hqd_reg::CP_HQD_VMID] = 0;
    const SavedWords saved = saved_buffers(hqd);
    const auto put = [&](uint64_t dword, const uint32_t* words, size_t count) {
        return memory.write(0, address + dword * 4, words, count * 4);
    };
    // The header before it is the driver's.
    constexpr unsigned kFirst = compute_dispatch_initiator;
    Fault fault = put(kFirst, &hqd.compute[kFirst], hqd.compute.size() - kFirst);
    if (fault == Fault::None) fault = put(cp_mqd_base_addr_lo, regs.data(), regs.size());
    if (fault == Fault::None) fault = put(lyra_ib_magic, saved.data(), saved.size());
    if (fault == Fault::None) fault = put(lyra_flight, hqd.save.flight.data(), hqd.save.flight.size());
    if (fault == Fault::None && hqd.gws_size != 0) fault = put(lyra_gws, hqd.gws.data(), hqd.gws.size());
    return fault == Fault::None ? Fault::None : Fault::MqdUnreadable;
}

uint64_t unwrap_rptr(uint32_t rptr, uint64_t wptr, uint64_t ring_dwords) {
    const uint64_t offset = rptr & (ring_dwords - 1);
    uint64_t position = (wptr & ~(ring_dwords - 1)) | offset;
    if (position > wptr) position = position >= ring_dwords ? position - ring_dwords : wptr;
    return position;
}

}  // namespace lyra::mqd
