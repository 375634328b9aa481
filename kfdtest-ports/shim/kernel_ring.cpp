// SPDX-License-Identifier: MIT
// Filling and ringing a ring of the kernel. @source Linux 6.12 kfd_kernel_queue.c
#include "kfdtest-ports/shim/kernel_ring.h"

#include <algorithm>

namespace lyra::kfd {

namespace {
constexpr uint64_t kRoomMs = 1000;
constexpr uint32_t kEopBytes = 4096;
}  // namespace

KernelRing::KernelRing(Gpu& gpu, Gart& gart, uint32_t bytes, uint32_t doorbell_bytes)
    : gpu_(gpu), dwords_(bytes / 4), ring_(gart.allocate(bytes)), pointers_(gart.allocate(inproc::kPageBytes)),
      mqd_(gart.allocate(kMqdDwords * 4)) {
    const KernelBuffer eop = gart.allocate(kEopBytes);
    properties_.queue_address = ring_.address;
    properties_.queue_size = bytes;
    properties_.read_ptr = pointers_.address;
    properties_.write_ptr = pointers_.address + 8;
    properties_.doorbell_off = doorbell_bytes / 4;
    properties_.eop_address = eop.address;
    properties_.eop_size = kEopBytes;
    init_mqd_hiq(mqd_.words(), mqd_.address, properties_);
}

bool KernelRing::emit(const Words& packet) {
    const uint32_t need = static_cast<uint32_t>(packet.size());
    const uint32_t left = dwords_ - (wptr_ & (dwords_ - 1));
    const uint32_t pad = need > left ? left : 0;
    const auto room = [&] { return ((read_pointer() - 1 - wptr_) & (dwords_ - 1)) >= need + pad; };
    if (!gpu_.wait(room, kRoomMs)) return false;
    const auto put = [&](uint32_t word) { ring_.words()[wptr_++ & (dwords_ - 1)] = word; };
    for (uint32_t i = 0; i < pad; ++i) put(pm4::kOneDwordNop);
    std::for_each(packet.begin(), packet.end(), put);
    return true;
}

void KernelRing::ring() {
    pointers_.qword(8) = wptr_;
    gpu_.doorbell(properties_.doorbell_off * 4, wptr_);
}

}  // namespace lyra::kfd
