// SPDX-License-Identifier: MIT
// Stores of the host that wait, and flushes by register.
#include "qemu-hw/soc/hdp.h"

#include <cstring>

namespace lyra {

namespace {

/// 16 MiB; with more the oldest cannot be told, and all of it goes to memory.
constexpr size_t kMaxPages = 4096;

}  // namespace

Hdp::Hdp(Env& env, RegisterFile& registers, BusMemory& bus) : env_(env), registers_(registers), bus_(bus) {
    registers.attach(regs::Owner::Hdp, *this);
}

uint32_t Hdp::read(uint32_t dw) {
    if (dw != regs::NBIO::GPU_HDP_FLUSH_DONE) return registers_.stored(dw);
    return env_.now_ns() < done_ns_ ? 0 : ~0u;
}

void Hdp::write(uint32_t dw, uint32_t value) {
    if (dw == regs::NBIO::GPU_HDP_FLUSH_DONE) return;
    registers_.store(dw, value);
    flush();
    if (env_.clock.on()) done_ns_ = env_.clock.ns() + env_.timing.hdp_flush_ns;
}

uint64_t Hdp::read_vram(uint64_t offset, unsigned size) {
    uint64_t value = ~uint64_t{0};
    if (size > sizeof value || offset > bus_.vram_bytes() - size) return value;
    const std::lock_guard hold(lock_);
    value = 0;
    std::memcpy(&value, bus_.vram(offset, size), size);
    if (pages_.empty()) return value;
    for (unsigned i = 0; i < size; ++i) {
        const auto page = pages_.find((offset + i) / kPageBytes);
        const size_t at = (offset + i) % kPageBytes;
        if (page == pages_.end() || !page->second.waits[at]) continue;
        value = (value & ~(uint64_t{0xff} << 8 * i)) | uint64_t{page->second.data[at]} << 8 * i;
    }
    return value;
}

void Hdp::write_vram(uint64_t offset, uint64_t value, unsigned size) {
    if (size > sizeof value || offset > bus_.vram_bytes() - size) return;
    const std::lock_guard hold(lock_);
    if (!env_.strict.hdp) {
        std::memcpy(bus_.vram(offset, size), &value, size);
        return;
    }
    if (pages_.size() >= kMaxPages) flush_locked();
    if (pages_.empty()) leaves_ns_ = env_.now_ns() + kHoldNs;
    for (unsigned i = 0; i < size; ++i) {
        Page& page = pages_[(offset + i) / kPageBytes];
        page.data[(offset + i) % kPageBytes] = static_cast<uint8_t>(value >> 8 * i);
        page.waits.set((offset + i) % kPageBytes);
    }
}

void Hdp::flush() {
    env_.stats.add(Stat::hdp_flushes);
    drain();
}

void Hdp::drain() {
    const std::lock_guard hold(lock_);
    flush_locked();
}

void Hdp::age() {
    if (leaves_ns() != kNever && env_.now_ns() >= leaves_ns()) drain();
}

void Hdp::flush_locked() {
    for (const auto& [number, page] : pages_) {
        uint8_t* const memory = bus_.vram(number * kPageBytes, kPageBytes);
        for (size_t i = 0; i < kPageBytes; ++i)
            if (page.waits[i]) memory[i] = page.data[i];
    }
    pages_.clear();
    leaves_ns_ = kNever;
}

void Hdp::reset() {
    const std::lock_guard hold(lock_);
    pages_.clear();
    leaves_ns_ = kNever;
    done_ns_ = 0;
}

void Hdp::Page::visit(StateVisitor& v) {
    v("data", data);
    std::array<uint64_t, kPageBytes / 64> words{};
    for (size_t i = 0; i < kPageBytes; ++i) words[i / 64] |= uint64_t{waits[i]} << i % 64;
    v("waits", words);
    for (size_t i = 0; i < kPageBytes; ++i) waits[i] = words[i / 64] >> i % 64 & 1;
}

void Hdp::visit(StateVisitor& v) {
    const std::lock_guard hold(lock_);
    v.map("pages", pages_, kMaxPages);
    if (v.loads()) {
        const uint64_t pages = bus_.vram_bytes() / kPageBytes;
        for (const auto& entry : pages_) v.require(entry.first < pages, "stores outside VRAM");
    }
    uint64_t leaves = leaves_ns();
    v("leaves_ns", leaves);
    leaves_ns_ = leaves;
    v("done_ns", done_ns_);
    if (!v.ok()) pages_.clear();
}

}  // namespace lyra
