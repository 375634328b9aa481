// SPDX-License-Identifier: MIT
// Register storage, routing, first-touch log and poll watchdog.
#include "qemu-hw/soc/register_file.h"

#include <fmt/format.h>

namespace lyra {

namespace {

struct RegisterRow {
    const char* block;
    uint32_t offset_bytes;
    uint32_t count;
    const char* name;
};

constexpr RegisterRow kRows[] = {
#define REG(block, offset, name) {#block, offset, 1, #name},
#define REG_ARRAY(block, offset, count, name) {#block, offset, count, #name},
#include "qemu-hw/soc/registers.def"
#undef REG
#undef REG_ARRAY
};

// A driver polls with 1 us delays and gives up after 100 ms at most; longer means that it waits for us.
constexpr uint64_t kPollReads = 5000;
constexpr uint64_t kPollNs = 50'000'000;

}  // namespace

RegisterFile::RegisterFile(Env& env)
    : env_(env), storage_(kRegisterCount), owner_(kRegisterCount), blocks_{nullptr}, known_(kRegisterCount),
      touched_(kRegisterCount), poll_reported_(kRegisterCount) {
    for (const RegisterRow& row : kRows)
        for (uint32_t i = 0; i < row.count; ++i) known_[row.offset_bytes / 4 + i] = true;
}

void RegisterFile::claim(uint32_t dw, uint32_t count, RegisterBlock& block) {
    blocks_.push_back(&block);
    for (uint32_t i = 0; i < count && dw + i < kRegisterCount; ++i) {
        owner_[dw + i] = static_cast<uint8_t>(blocks_.size() - 1);
        known_[dw + i] = true;
    }
}

uint32_t RegisterFile::read(uint32_t dw) {
    if (dw >= kRegisterCount) {
        report(env_, Fault::RegisterRange, fmt::format("read of {:#x}", uint64_t{dw} * 4));
        return ~0u;
    }
    RegisterBlock* block = blocks_[owner_[dw]];
    return block ? block->read(dw) : storage_[dw];
}

void RegisterFile::write(uint32_t dw, uint32_t value) {
    if (dw >= kRegisterCount) {
        report(env_, Fault::RegisterRange, fmt::format("write of {:#x}", uint64_t{dw} * 4));
        return;
    }
    if (RegisterBlock* block = blocks_[owner_[dw]])
        block->write(dw, value);
    else
        storage_[dw] = value;
}

uint32_t RegisterFile::guest_read(uint32_t dw) {
    env_.stats.add(Stat::mmio_reads);
    note_touch(dw, false);
    const uint32_t value = read(dw);
    watch_poll(dw, value);
    return value;
}

void RegisterFile::guest_write(uint32_t dw, uint32_t value) {
    env_.stats.add(Stat::mmio_writes);
    note_touch(dw, true);
    polled_dw_ = ~0u;
    write(dw, value);
}

void RegisterFile::note_touch(uint32_t dw, bool write) {
    if (dw >= kRegisterCount || known_[dw] || touched_[dw]) return;
    touched_[dw] = true;
    emit<event::register_unmodelled>(env_.tracer, env_.now_ns(), dw * 4, write);
    report(env_, Fault::TodoRegister, fmt::format("{} of {}", write ? "write" : "read", name(dw)));
}

void RegisterFile::watch_poll(uint32_t dw, uint32_t value) {
    if (dw >= kRegisterCount) return;
    if (dw != polled_dw_ || value != polled_value_) {
        polled_dw_ = dw;
        polled_value_ = value;
        poll_count_ = 0;
        poll_since_ns_ = env_.now_ns();
        return;
    }
    if (++poll_count_ < kPollReads || poll_reported_[dw] || env_.now_ns() - poll_since_ns_ < kPollNs) return;
    poll_reported_[dw] = true;
    report(env_, Fault::RegisterPolled, fmt::format("{} stays {:#x}", name(dw), value));
}

void RegisterFile::reset() {
    storage_.assign(kRegisterCount, 0);
    polled_dw_ = ~0u;
}

std::string RegisterFile::name(uint32_t dw) {
    const uint32_t offset = dw * 4;
    for (const RegisterRow& row : kRows) {
        if (offset < row.offset_bytes || offset >= row.offset_bytes + row.count * 4) continue;
        if (row.count == 1) return fmt::format("{} ({:#x})", row.name, offset);
        return fmt::format("{}[{}] ({:#x})", row.name, (offset - row.offset_bytes) / 4, offset);
    }
    return fmt::format("{:#x}", offset);
}

}  // namespace lyra
