// SPDX-License-Identifier: MIT
// Test double of the rest of the chip: flat guest memory with holes, recorded interrupts, plain per-VMID state.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/bits.h"
#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"

namespace lyra::testing {

class FakeHost : public Host {
public:
    uint64_t now_ns() override { return time_ns += 10; }
    void raise_msi() override {}
    void log(LogLevel level, std::string_view text) override {
        const std::lock_guard hold(lock_);
        if (level != LogLevel::Debug) lines.emplace_back(text);
    }
    std::atomic<uint64_t> time_ns{1000};
    std::vector<std::string> lines;

private:
    std::mutex lock_;
};

/// A chip whose waves run on as many threads as the environment says: tests of waves are run with one, and again with several.
inline GpuShape test_shape(unsigned shader_engines, unsigned cus_per_engine) {
    GpuShape shape{shader_engines, cus_per_engine, 32};
    const char* threads = std::getenv("LYRA_TEST_THREADS");
    if (threads != nullptr) shape.threads = std::max(1u, static_cast<unsigned>(std::atoi(threads)));
    return shape;
}

/// One address space for every VMID; pages that were not mapped fault.
class FlatMemory : public MemoryPort {
public:
    void map(uint64_t va, uint64_t bytes, bool writable = true) {
        for (uint64_t p = align_down(va, kPageBytes); p < va + bytes; p += kPageBytes) {
            Page& page = pages_[p];
            if (!page.data) page.data = std::make_unique<Bytes>();
            page.writable = writable;
        }
    }
    void unmap(uint64_t va) { pages_.erase(align_down(va, kPageBytes)); }

    uint8_t* page(uint32_t, uint64_t va, Access access) override {
        const auto it = pages_.find(align_down(va, kPageBytes));
        if (it == pages_.end()) return nullptr;
        if ((access == Access::Write || access == Access::Atomic) && !it->second.writable) return nullptr;
        return it->second.data->bytes + va % kPageBytes;
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        if (size == 0) return Fault::None;
        std::memset(data, 0, size);
        return copy(vmid, va, static_cast<uint8_t*>(data), size, Access::Read);
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        return copy(vmid, va, static_cast<uint8_t*>(const_cast<void*>(data)), size, Access::Write);
    }

    template <class T>
    T get(uint64_t va) {
        T value{};
        read(0, va, &value, sizeof value);
        return value;
    }
    template <class T>
    void put(uint64_t va, T value) {
        write(0, va, &value, sizeof value);
    }
    unsigned faults = 0;

private:
    struct Bytes {
        alignas(64) uint8_t bytes[kPageBytes] = {};
    };
    struct Page {
        std::unique_ptr<Bytes> data;
        bool writable = true;
    };
    Fault copy(uint32_t vmid, uint64_t va, uint8_t* data, size_t size, Access access) {
        if (va + size < va) {
            ++faults;
            return Fault::AddressNotCanonical;
        }
        for (uint64_t p = align_down(va, kPageBytes); p < va + size; p += kPageBytes) {
            if (page(vmid, p, access) != nullptr) continue;
            ++faults;
            return pages_.count(p) ? Fault::PagePermission : Fault::PageNotPresent;
        }
        while (size > 0) {
            const size_t piece = std::min<size_t>(size, kPageBytes - va % kPageBytes);
            uint8_t* p = page(vmid, va, access);
            if (access == Access::Read)
                std::memcpy(data, p, piece);
            else
                std::memcpy(p, data, piece);
            va += piece;
            data += piece;
            size -= piece;
        }
        return Fault::None;
    }
    std::map<uint64_t, Page> pages_;
};

/// Passes everything on. Who has taken a port once keeps it, so what stands behind it changes here.
class PortRelay : public MemoryPort {
public:
    explicit PortRelay(MemoryPort* to) : to_(to) { share_generation(*to, *this); }
    void set(MemoryPort& to) {
        to_ = &to;
        share_generation(to, *this);
        translations_changed();
    }
    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override { return to_->page(vmid, va, access); }
    HostRange range(uint32_t vmid, uint64_t va, Access access) override { return to_->range(vmid, va, access); }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override { return to_->read(vmid, va, data, size); }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override { return to_->write(vmid, va, data, size); }
    Fault check(uint32_t vmid, uint64_t va, Access access) override { return to_->check(vmid, va, access); }

private:
    MemoryPort* to_;
};

class FlatBus : public CpBus {
public:
    MemoryPort& gfxhub() override { return hub; }
    MemoryPort& mmhub(unsigned) override { return hub; }
    uint32_t read_register(uint32_t dw) override { return registers[dw]; }
    void write_register(uint32_t dw, uint32_t value) override { registers[dw] = value; }
    void interrupt(const Interrupt& interrupt) override {
        if (on_interrupt) on_interrupt(interrupt);
        if (interrupts.size() < kMaxRecorded) interrupts.push_back(interrupt);
    }
    void bind_process(uint32_t vmid, const ProcessBinding& b) override {
        vm[vmid % kVmids] = {b.pasid, b.sh_mem_bases, b.sh_mem_config, b.tba, b.tma};
    }
    void release_vmid(uint32_t) override {}
    VmidState vmid_state(uint32_t vmid) override { return vm[vmid % kVmids]; }
    void invalidate_tlb(uint32_t, bool) override {}
    void invalidate_tlb_pasid(uint16_t, bool) override {}
    void write_back_l2() override {
        if (on_write_back) on_write_back();
        ++l2_write_backs;
    }
    void invalidate_l2() override { ++l2_invalidations; }
    void doorbell(uint64_t byte_offset, uint64_t value) override { doorbells[byte_offset] = value; }

    FlatMemory memory;
    PortRelay hub{&memory};  ///< what the chip sees; a test may put a port of its own between
    std::map<uint32_t, uint32_t> registers;
    std::vector<Interrupt> interrupts;
    std::function<void(const Interrupt&)> on_interrupt;
    std::array<VmidState, kVmids> vm{};
    std::map<uint64_t, uint64_t> doorbells;
    unsigned l2_write_backs = 0, l2_invalidations = 0;
    std::function<void()> on_write_back;

private:
    static constexpr size_t kMaxRecorded = 4096;
};

}  // namespace lyra::testing
