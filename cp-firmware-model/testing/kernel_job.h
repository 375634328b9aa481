// SPDX-License-Identifier: MIT
// A queue that runs kernels of cwsr/kernels, for tests that take it away and give it back: what it submits, whether every
// work-item has done its work once, and whether what is saved of it is sound.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cp-firmware-model/testing/cp_bench.h"
#include "cwsr/area.h"
#include "cwsr/image.h"
#include "cwsr/testing/kernel_file.h"

namespace lyra::testing {

/// A kernel with its code, and what it adds to the words of its work-items.
struct Kernel {
    cwsr::testing::KernelFile file;
    std::vector<uint8_t> code;
    std::vector<uint32_t> values;  ///< by work-item of a group, from an undisturbed run
};

/// Sizes of an XCC's save area.
inline cwsr::AreaSizes save_area_of(const GpuShape& shape) {
    return cwsr::area_sizes(shape.shader_engines * shape.cus_per_engine, shape.shader_engines, shape.chip);
}

/// One user queue, PM4 or AQL. It runs batches of grids, one batch after the other; each part of a batch has its own kernel.
class KernelJob {
public:
    struct Part {
        const Kernel* kernel = nullptr;
        unsigned grids = 1, groups = 1;
    };

    KernelJob(CpBench& bench, unsigned number, bool aql, uint32_t vmid);

    /// PM4 dispatches have no partial groups here.
    bool can_run(const Kernel& kernel) const { return aql_ || kernel.file.valid == kernel.file.group; }
    /// Only when idle().
    void submit(std::vector<Part> parts);
    bool idle() const { return parts_.empty(); }
    /// The words of the first group of the first part.
    std::vector<uint32_t> values();
    /// Looks whether the batch has ended, and then at its results. @return what is wrong, empty when nothing is
    std::string check_batch();
    /// What is saved of it, while it has no slot.
    cwsr::Image image();
    std::string check_image(size_t& waves);
    std::string describe() const;

    bool aql() const { return aql_; }
    uint32_t vmid() const { return vmid_; }
    TestRing& ring() { return ring_; }
    uint64_t save_area() const { return save_area_; }
    /// Of one XCC: the same bytes elsewhere. From now on its MQD, with the control stack, and its save area are there.
    void move(uint64_t mqd, uint64_t save_area);
    /// All of its memory but ring and MQD is in kSpan bytes from here.
    uint64_t base() const { return base_; }
    uint64_t code() const { return code_of(0) + kEntry; }
    uint64_t data() const { return data_of(0); }
    uint64_t fence() const { return base_ + kFence; }  ///< of a PM4 queue
    static constexpr uint64_t kSpan = 0x1000000;
    /// From now on the queue belongs to another process.
    void set_process(uint32_t vmid) { vmid_ = vmid; }
    const cwsr::AreaSizes& area_sizes() const { return sizes_; }
    cwsr::ReadArea reader(unsigned xcc = 0);

private:
    // Its memory, bytes from its base.
    static constexpr uint64_t kFirstBase = 0x4000000;
    static constexpr uint64_t kCode = 0, kData = 0x100000, kScratch = 0x200000, kScratchBytes = 0x80000, kSave = 0x400000,
                              kAmdQueue = 0xe00000, kSignal = kAmdQueue + 0x1000, kFence = kAmdQueue + 0x2000;
    static constexpr unsigned kMaxParts = 4;
    static constexpr uint64_t kCodeBytes = 0x4000, kDataBytes = 0x10000;  ///< of one part
    static constexpr uint64_t kEntry = 0x100;                             ///< behind the kernel descriptor
    static constexpr uint32_t kScratchKib = 4, kTmpring = 64 | kScratchKib << 12;
    static constexpr uint32_t kRingPackets = 32;
    static constexpr uint32_t kMqdStride = 0x4000;

    uint64_t code_of(size_t part) const { return base_ + kCode + part * kCodeBytes; }
    uint64_t data_of(size_t part) const { return base_ + kData + part * kDataBytes; }
    Chip chip() const { return shape_.chip; }
    uint64_t mqd_of(unsigned xcc) const { return ring_.mqd + xcc * kMqdStride; }
    uint32_t mqd(unsigned dword, unsigned xcc = 0) { return bench_.word(mqd_of(xcc) + 4 * dword); }
    void put_mqd(unsigned dword, uint32_t value) { bench_.bus.memory.put<uint32_t>(ring_.mqd + 4 * dword, value); }
    void copy_mqd(unsigned number);
    cwsr::Image image_of(unsigned xcc);
    void prepare_aql_queue();
    void submit_pm4();
    void submit_aql();
    void put_packet(size_t part);
    bool ended();
    std::string check_part(size_t part);

    static Words sh(uint32_t reg, const Words& values) {
        Words body{reg};
        body.insert(body.end(), values.begin(), values.end());
        return packet(pm4::Opcode::SET_SH_REG, body);
    }
    /// 4 user SGPRs, work-group id x, work-item ids, and the trap handler.
    static uint32_t rsrc2(const cwsr::testing::KernelFile& file) {
        const uint32_t components = file.group[2] > 1 ? 2 : file.group[1] > 1 ? 1 : 0;
        return uint32_t{file.scratch} | 4 << 1 | 1 << 6 | 1 << 7 | components << 11 | file.lds_bytes / 512 << 15;
    }

    CpBench& bench_;
    const GpuShape shape_;
    const cwsr::AreaSizes sizes_;
    bool aql_;
    uint32_t vmid_;
    uint64_t base_, save_area_;
    TestRing ring_;
    std::vector<Part> parts_;
    uint32_t batch_ = 0;
    uint64_t packets_ = 0;
};

inline KernelJob::KernelJob(CpBench& bench, unsigned number, bool aql, uint32_t vmid)
    : bench_(bench), shape_(bench.cp.dispatcher().shape()), sizes_(save_area_of(shape_)), aql_(aql), vmid_(vmid),
      base_(kFirstBase + number * kSpan), save_area_(base_ + kSave), ring_(bench.user_ring(number)) {
    auto& memory = bench_.bus.memory;
    memory.map(base_ + kCode, kMaxParts * kCodeBytes);
    memory.map(base_ + kData, kMaxParts * kDataBytes);
    memory.map(base_ + kScratch, kScratchBytes);
    memory.map(save_area_, shape_.xccs * sizes_.total());
    memory.map(base_ + kAmdQueue, 0x3000);
    put_mqd(20, 1 << 6);
    put_mqd(132, 1u << 30 | 0x53 << 8 | 1);
    put_mqd(171, lo32(save_area_));
    put_mqd(172, hi32(save_area_));
    for (const unsigned dword : {174, 175, 176}) put_mqd(dword, sizes_.control_stack);
    put_mqd(177, sizes_.total());
    if (aql_) prepare_aql_queue();
    if (shape_.xccs > 1) copy_mqd(number);
}

/// One for each XCC, as the driver makes them. @source Linux 6.12 kfd_mqd_manager_v9.c init_mqd_v9_4_3()
inline void KernelJob::copy_mqd(unsigned number) {
    auto& memory = bench_.bus.memory;
    memory.map(ring_.mqd, shape_.xccs * kMqdStride);
    Words words(512);
    memory.read(0, ring_.mqd, words.data(), words.size() * 4);
    words[226] = kMqdStride;
    words[225] = aql_ ? 0 : number % shape_.xccs;  // the XCC of all its groups
    words[41] = aql_;                              // they are dealt, one at a time
    for (unsigned xcc = 0; xcc < shape_.xccs; ++xcc) {
        const uint64_t area = save_area_ + xcc * sizes_.total();
        words[39] = aql_ ? (number + xcc) % shape_.xccs : 0;
        words[171] = lo32(area);
        words[172] = hi32(area);
        bench_.put_words(mqd_of(xcc), words);
    }
}

inline void KernelJob::prepare_aql_queue() {
    auto& memory = bench_.bus.memory;
    const uint64_t queue = base_ + kAmdQueue;
    put_mqd(181, 1);
    put_mqd(139, lo32(queue + 0x80));
    memory.put<uint32_t>(queue + 0x88, 0x80);
    memory.put<uint32_t>(queue + 0x8c, kTmpring);
    memory.put<uint64_t>(queue + 0xa0, base_ + kScratch);
    memory.put<uint32_t>(queue + 0xb0, kScratchKib * 1024 / 64);
    ring_.wptr_address = queue + 0x38;
    for (unsigned n = 0; n < kRingPackets; ++n) memory.put<uint16_t>(ring_.base + 64 * n, 1);
}

inline void KernelJob::submit(std::vector<Part> parts) {
    parts_ = std::move(parts);
    parts_.resize(std::min<size_t>(parts_.size(), kMaxParts));
    ++batch_;
    auto& memory = bench_.bus.memory;
    const std::vector<uint8_t> zero(kDataBytes);
    for (size_t n = 0; n < parts_.size(); ++n) {
        const Kernel& kernel = *parts_[n].kernel;
        if (kernel.file.valid != kernel.file.group) parts_[n].groups = 1;
        memory.write(0, code_of(n) + kEntry, kernel.code.data(), kernel.code.size());
        memory.write(0, data_of(n), zero.data(), zero.size());
    }
    if (aql_)
        submit_aql();
    else
        submit_pm4();
}

inline void KernelJob::submit_pm4() {
    bench_.emit(ring_, packet(pm4::Opcode::ACQUIRE_MEM, {1u << 29, ~0u, 0xff, 0, 0, 10}));
    for (size_t n = 0; n < parts_.size(); ++n) {
        const auto& file = parts_[n].kernel->file;
        const uint64_t entry = code_of(n) + kEntry, data = data_of(n), scratch = base_ + kScratch;
        bench_.emit(ring_, sh(0x207, {file.group[0], file.group[1], file.group[2]}));
        bench_.emit(ring_, sh(0x20c, {lo32(entry >> 8), hi32(entry >> 8)}));
        bench_.emit(ring_, sh(0x212, {file.rsrc1(chip()), rsrc2(file)}));
        if (facts_of(chip()).acc_vgprs) bench_.emit(ring_, sh(0x22d, {file.rsrc3()}));
        bench_.emit(ring_, sh(0x218, {kTmpring}));
        bench_.emit(ring_, sh(0x240, {lo32(data), hi32(data), lo32(scratch), hi32(scratch)}));
        for (unsigned g = 0; g < parts_[n].grids; ++g) {
            bench_.emit(ring_, packet(pm4::Opcode::DISPATCH_DIRECT, {parts_[n].groups, 1, 1, 1}));
        }
    }
    bench_.submit(ring_, CpBench::release_mem(base_ + kFence, batch_, 1, 0, 0));
}

inline void KernelJob::submit_aql() {
    auto& memory = bench_.bus.memory;
    int64_t grids = 0;
    for (const Part& part : parts_) grids += part.grids;
    memory.put<int64_t>(base_ + kSignal + 8, grids);
    for (size_t n = 0; n < parts_.size(); ++n) {
        const auto& file = parts_[n].kernel->file;
        memory.put<int64_t>(code_of(n) + 16, kEntry);
        memory.put<uint32_t>(code_of(n) + 44, facts_of(chip()).acc_vgprs ? file.rsrc3() : 0);
        memory.put<uint32_t>(code_of(n) + 48, file.rsrc1(chip()));
        memory.put<uint32_t>(code_of(n) + 52, rsrc2(file));
        memory.put<uint16_t>(code_of(n) + 56, 1 << 3 | 1 << 5);  // s[0:1] kernel arguments, s[2:3] scratch
        for (unsigned g = 0; g < parts_[n].grids; ++g) put_packet(n);
    }
    memory.put<uint64_t>(ring_.wptr_address, packets_);
    bench_.cp.doorbell(ring_.doorbell, packets_ - 1);
}

inline void KernelJob::put_packet(size_t part) {
    auto& memory = bench_.bus.memory;
    const auto& file = parts_[part].kernel->file;
    const unsigned groups = parts_[part].groups;
    const uint64_t at = ring_.base + 64 * (packets_++ % kRingPackets);
    memory.put<uint16_t>(at + 2, 3);
    for (unsigned d = 0; d < 3; ++d) {
        memory.put<uint16_t>(at + 4 + 2 * d, static_cast<uint16_t>(file.group[d]));
        memory.put<uint32_t>(at + 0xc + 4 * d, d == 0 && groups > 1 ? file.group[0] * groups : file.valid[d]);
    }
    memory.put<uint32_t>(at + 0x18, file.scratch ? kScratchKib * 1024 / 64 : 0);
    memory.put<uint32_t>(at + 0x1c, file.lds_bytes);
    memory.put<uint64_t>(at + 0x20, code_of(part));
    memory.put<uint64_t>(at + 0x28, data_of(part));
    memory.put<uint64_t>(at + 0x38, base_ + kSignal);
    memory.put<uint16_t>(at, 2);
}

inline bool KernelJob::ended() {
    if (aql_) return bench_.bus.memory.get<int64_t>(base_ + kSignal + 8) == 0;
    return bench_.word(base_ + kFence) == batch_;
}

inline std::string KernelJob::check_part(size_t part) {
    const Part& p = parts_[part];
    std::vector<uint32_t> words(kDataBytes / 4);
    bench_.bus.memory.read(0, data_of(part), words.data(), kDataBytes);
    const unsigned items = p.kernel->file.items();
    for (unsigned n = 0; n < words.size(); ++n) {
        const uint32_t expected = n < items * p.groups ? p.kernel->values[n % items] * p.grids : 0;
        if (words[n] == expected) continue;
        return fmt::format("{}: {}, work-item {} of group {} has {:#x}, expected {:#x} ({} grids)", describe(),
                           p.kernel->file.name, n % items, n / items, words[n], expected, p.grids);
    }
    return {};
}

inline std::string KernelJob::check_batch() {
    if (idle() || !ended()) return {};
    for (size_t part = 0; part < parts_.size(); ++part) {
        if (std::string wrong = check_part(part); !wrong.empty()) return wrong;
    }
    parts_.clear();
    return {};
}

inline std::vector<uint32_t> KernelJob::values() {
    std::vector<uint32_t> words(parts_.at(0).kernel->file.items());
    bench_.bus.memory.read(0, data_of(0), words.data(), words.size() * 4);
    return words;
}

inline cwsr::ReadArea KernelJob::reader(unsigned xcc) {
    return [this, area = save_area_ + xcc * sizes_.total()](uint64_t offset, void* data, size_t size) {
        return bench_.bus.memory.read(vmid_, area + offset, data, size) == Fault::None;
    };
}

inline cwsr::Image KernelJob::image() {
    cwsr::Image all;
    for (unsigned xcc = 0; xcc < shape_.xccs && all.error.empty(); ++xcc) {
        const cwsr::Image image = image_of(xcc);
        all.waves.insert(all.waves.end(), image.waves.begin(), image.waves.end());
        if (!image.error.empty()) all.error = fmt::format("XCC {}: {}", xcc, image.error);
    }
    return all;
}

inline cwsr::Image KernelJob::image_of(unsigned xcc) {
    auto& memory = bench_.bus.memory;
    const cwsr::ImageHeader header{mqd(174, xcc), mqd(175, xcc) - mqd(174, xcc), mqd(176, xcc), mqd(176, xcc) - mqd(175, xcc)};
    if (header.control_stack_size > sizes_.control_stack)
        return {{}, fmt::format("control stack offset {:#x}", header.control_stack_offset)};
    Words stack(header.control_stack_size / 4);
    memory.read(0, mqd_of(xcc) + 0x1000 + header.control_stack_offset, stack.data(), stack.size() * 4);
    cwsr::ImageQueue queue;
    queue.chip = chip();
    queue.shader_engines = shape_.shader_engines;
    queue.tmpring_size = kTmpring;
    queue.scratch_base = base_ + kScratch;
    queue.read_memory = [&](uint64_t va, void* data, size_t size) { return memory.read(vmid_, va, data, size) == Fault::None; };
    if (aql_) {
        queue.ring_bytes = kRingPackets * 64;
        queue.read_id = bench_.qword(base_ + kAmdQueue + 0x80);
        queue.write_id = packets_;
    }
    return read_image(header, stack, reader(xcc), queue);
}

inline std::string KernelJob::check_image(size_t& waves) {
    const cwsr::Image saved = image();
    waves = saved.waves.size();
    return saved.error.empty() ? std::string() : fmt::format("{}: {}", describe(), saved.error);
}

inline void KernelJob::move(uint64_t mqd, uint64_t save_area) {
    auto& memory = bench_.bus.memory;
    const auto copy = [&](uint64_t from, uint64_t to, size_t size) {
        std::vector<uint8_t> bytes(size);
        memory.map(to, size);
        memory.read(0, from, bytes.data(), size);
        memory.write(0, to, bytes.data(), size);
        std::fill(bytes.begin(), bytes.end(), 0xa5);
        memory.write(0, from, bytes.data(), size);
    };
    copy(ring_.mqd, mqd, 0x800);
    copy(ring_.mqd + 0x1000, mqd + 0x1000, sizes_.control_stack);
    copy(save_area_, save_area, sizes_.total());
    ring_.mqd = mqd;
    save_area_ = save_area;
    put_mqd(171, lo32(save_area_));
    put_mqd(172, hi32(save_area_));
}

inline std::string KernelJob::describe() const {
    return fmt::format("{} queue {:#x}, {}", aql_ ? "AQL" : "PM4", ring_.doorbell,
                       parts_.empty() ? "idle" : parts_[0].kernel->file.name);
}

}  // namespace lyra::testing
