// SPDX-License-Identifier: MIT
// Kernels and copies on the device in this process.
#include "tools/bench/gpu.h"

namespace lyra::bench {

using namespace inproc;

namespace {

/// SDMA0_RLC0_*: a user queue's ring, by dword from its base. @source Linux 6.12 asic_reg/sdma0/sdma0_4_0_offset.h
constexpr uint32_t kRlc0 = (0x1260 + 0x140) * 4;
constexpr uint32_t kRbCntl = kRlc0, kRbBase = kRlc0 + 4, kRbBaseHi = kRlc0 + 8, kRbWptr = kRlc0 + 0x14,
                   kRbWptrHi = kRlc0 + 0x18;
constexpr uint64_t kSdmaRingBytes = 4096;
constexpr uint64_t kMaxCopy = uint64_t{1} << 22;  ///< COPY_LINEAR.COUNT has 22 bits
constexpr uint32_t kCopyLinear = 1, kFence = 5;
constexpr unsigned kCopyDwords = 7, kFenceDwords = 4;
constexpr unsigned kPolls = 1 << 16;

constexpr uint32_t low(uint64_t v) { return static_cast<uint32_t>(v); }
constexpr uint32_t high(uint64_t v) { return static_cast<uint32_t>(v >> 32); }

}  // namespace

Gpu::Gpu(const std::string& code_object, unsigned threads, bool jit, const std::string& chip) {
    InProcessOptions options;
    options.chip = chip;
    options.threads = threads;
    options.jit = jit;
    runner_ = std::make_unique<KernelRunner>(code_object, options);
    error_ = runner_->error();
}

void Gpu::prepare(const KernelCase& each) {
    if (!error_.empty()) return;
    const auto [place, is_new] = prepared_.try_emplace(each.name);
    now_ = &place->second;
    if (!is_new) return;
    std::vector<GpuBuffer>& buffers = now_->buffers;
    for (const auto& content : each.buffers) {
        buffers.push_back(runner_->buffer(content));
        if (!buffers.back()) error_ = "VRAM is full";
    }
    std::vector<ArgumentBytes> values;
    for (const Argument& given : each.arguments) {
        values.push_back(given.buffer >= 0 ? argument(buffers[static_cast<unsigned>(given.buffer)].va) : given.value);
    }
    LaunchShape shape;
    for (unsigned axis = 0; axis < 3; ++axis) {
        shape.grid[axis] = each.global[axis];
        shape.block[axis] = each.local[axis];
    }
    now_->packet = runner_->packet(each.name, shape, values);
    if (!runner_->error().empty()) error_ = runner_->error();
}

bool Gpu::run() { return run_batch(1); }

bool Gpu::run_batch(unsigned packets) {
    volatile AmdSignal* signal = error_.empty() && now_ ? runner_->queue().signal(now_->packet.completion_signal) : nullptr;
    if (!signal) return false;
    signal->value = packets;
    for (unsigned i = 0; i < packets; ++i) runner_->queue().submit(&now_->packet);
    return finish();
}

bool Gpu::finish() {
    if (runner_->queue().wait(now_->packet.completion_signal) == RunOutcome::Done) return true;
    error_ = "the kernel did not end";
    return false;
}

std::vector<uint8_t> Gpu::result(const KernelCase& each) const {
    return KernelRunner::content<uint8_t>(now_->buffers[each.output]);
}

bool Gpu::prepare_copy(uint64_t bytes) {
    std::vector<uint8_t> content(std::min(bytes, kMaxCopy));
    for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<uint8_t>(i * 7 + (i >> 8));
    from_ = runner_->buffer(content);
    to_ = runner_->buffer(std::vector<uint8_t>(content.size()));
    ring_ = runner_->buffer(std::vector<uint8_t>(2 * kSdmaRingBytes));  // the second half holds the fence
    if (!from_ || !to_ || !ring_) return false;
    InProcessDevice& device = runner_->device();
    device.flush_tlb();
    device.write_register(reg::kSdma0F32Cntl, 0);
    device.write_register(kRbBase, low(ring_.va >> 8));
    device.write_register(kRbBaseHi, high(ring_.va >> 8));
    device.write_register(kRbWptr, 0);
    device.write_register(kRbWptrHi, 0);
    device.write_register(kRbCntl, 1 | 10 << 1 | kUserVmid << 24);  // enabled, 2^10 dwords
    return true;
}

bool Gpu::copy() {
    // NOPs fill what the two packets leave of a ring turn's last piece: 11 dwords, 93 pieces, one dword over.
    const uint64_t at = ring_bytes_ % kSdmaRingBytes;
    const uint64_t fence_va = ring_.va + kSdmaRingBytes;
    const uint32_t packets[kCopyDwords + kFenceDwords] = {
        kCopyLinear,   low(from_.bytes - 1), 0,       low(from_.va), high(from_.va), low(to_.va), high(to_.va), kFence,
        low(fence_va), high(fence_va),       ++fence_};
    std::memcpy(ring_.host + at, packets, sizeof packets);
    ring_bytes_ += sizeof packets;
    if (kSdmaRingBytes - ring_bytes_ % kSdmaRingBytes < sizeof packets) {
        std::memset(ring_.host + ring_bytes_ % kSdmaRingBytes, 0, kSdmaRingBytes - ring_bytes_ % kSdmaRingBytes);
        ring_bytes_ += kSdmaRingBytes - ring_bytes_ % kSdmaRingBytes;
    }
    runner_->device().write_register(kRbWptr, low(ring_bytes_));
    for (unsigned i = 0; i < kPolls; ++i) {
        runner_->device().run(1000);
        uint32_t seen;
        std::memcpy(&seen, ring_.host + kSdmaRingBytes, sizeof seen);
        if (seen == fence_) return true;
    }
    error_ = "the copy did not end";
    return false;
}

bool Gpu::copy_is_right() const { return std::memcmp(from_.host, to_.host, from_.bytes) == 0; }

}  // namespace lyra::bench
