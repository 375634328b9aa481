// SPDX-License-Identifier: MIT
// Register storage, routing, first-touch log and poll watchdog.
#include "qemu-hw/soc/register_file.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace lyra {

namespace {

// A driver polls with 1 us delays and gives up after 100 ms at most; longer means that it waits for us.
constexpr uint64_t kPollReads = 5000;
constexpr uint64_t kPollNs = 50'000'000;

}  // namespace

RegisterFile::RegisterFile(Env& env, Chip chip)
    : env_(env), storage_(kRegisterCount), owner_(kRegisterCount),
      touched_(std::max(kRegisterCount, facts_of(chip).most_xccs * regs::kXccStride)), poll_reported_(kRegisterCount) {
    for (const regs::Row& row : regs::kRows) std::fill_n(owner_.begin() + row.dw, row.count, row.owner);
    const auto each_move = [chip](auto f) {
        for (const regs::Move& move : regs::kMoves)
            if ((move.chips & only(chip)) != 0) f(move);
    };
    each_move([&](const regs::Move& move) {
        if (place_.empty())
            for (uint32_t dw = 0; dw < kRegisterCount; ++dw) place_.push_back(dw);
        std::fill_n(place_.begin() + move.to, move.count, kNowhere);
    });
    each_move([&](const regs::Move& move) { std::iota(&place_[move.first], &place_[move.first] + move.count, move.to); });
}

void RegisterFile::add_xcc(RegisterFile& file) {
    xccs_.push_back(&file);
    count_ = std::max(count_, static_cast<uint32_t>(xccs_.size() + 1) * regs::kXccStride);
}

uint32_t RegisterFile::on_chip(uint32_t dw) const {
    const auto found = std::find(place_.begin(), place_.end(), dw);
    return found == place_.end() ? dw : static_cast<uint32_t>(found - place_.begin());
}

RegisterFile::Place RegisterFile::place(uint32_t dw) {
    const uint32_t xcc = dw / regs::kXccStride, local = dw % regs::kXccStride;
    // Those of this device alone are on every chip where programs of the guest look for them.
    const bool further = dw >= kRegisterCount;
    const bool own = !further && (owner_[dw] == regs::Owner::Counters || owner_[dw] == regs::Owner::Notify);
    if (xcc != 0 && xcc <= xccs_.size() && regs::in_xcc(local) && !own)
        return {xccs_[xcc - 1], place_.empty() ? local : place_[local]};
    if (further) return {this, kNowhere};
    return {this, place_.empty() ? dw : place_[dw]};
}

bool RegisterFile::past_the_end(uint32_t dw, bool write) {
    if (dw < count_) return false;
    report(env_, Fault::RegisterRange, fmt::format("{} of {:#x}", write ? "write" : "read", uint64_t{dw} * 4));
    return true;
}

uint32_t RegisterFile::read(uint32_t dw) {
    if (past_the_end(dw, false)) return ~0u;
    const Place at = place(dw);
    return at.file->read_here(at.dw);
}

void RegisterFile::write(uint32_t dw, uint32_t value) {
    if (past_the_end(dw, true)) return;
    const Place at = place(dw);
    at.file->write_here(at.dw, value);
}

uint32_t RegisterFile::read_here(uint32_t dw) {
    if (dw == kNowhere) return 0;
    RegisterBlock* block = blocks_[static_cast<unsigned>(owner_[dw])];
    return block ? block->read(dw) : storage_[dw];
}

void RegisterFile::write_here(uint32_t dw, uint32_t value) {
    if (dw == kNowhere) return;
    if (RegisterBlock* block = blocks_[static_cast<unsigned>(owner_[dw])])
        block->write(dw, value);
    else
        storage_[dw] = value;
}

uint32_t RegisterFile::guest_read(uint32_t dw) {
    env_.stats.add(Stat::mmio_reads);
    if (is_silent(dw, false)) return ~0u;
    if (past_the_end(dw, false)) return ~0u;
    const Place at = place(dw);
    at.file->note_touch(at, dw, false);
    const uint32_t value = at.file->read_here(at.dw);
    at.file->watch_poll(at.dw, value);
    return value;
}

void RegisterFile::guest_write(uint32_t dw, uint32_t value) {
    env_.stats.add(Stat::mmio_writes);
    if (is_silent(dw, true)) return;
    if (past_the_end(dw, true)) return;
    const Place at = place(dw);
    at.file->note_touch(at, dw, true);
    at.file->polled_dw_ = ~0u;
    at.file->write_here(at.dw, value);
}

bool RegisterFile::is_silent(uint32_t dw, bool write) {
    if (silent_until_ns_ == 0 || env_.now_ns() >= silent_until_ns_) return false;
    report(env_, Fault::AccessDuringReset, fmt::format("{} of {}", write ? "write" : "read", name(dw)));
    return true;
}

/// @param dw  the number on the chip; that of its place says whether it has a row
void RegisterFile::note_touch(const Place& at, uint32_t dw, bool write) {
    if (at.dw != kNowhere) dw = at.dw;
    if (touched_[dw] || (at.dw != kNowhere && regs::find(dw))) return;
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
    for (const regs::Row& row : regs::kRows) std::fill_n(storage_.begin() + row.dw, row.count, row.reset);
    polled_dw_ = ~0u;
    silent_until_ns_ = 0;
}

std::string RegisterFile::name(uint32_t dw) {
    const regs::Row* row = dw < kRegisterCount ? regs::find(dw) : nullptr;
    if (!row) return fmt::format("{:#x}", uint64_t{dw} * 4);
    if (row->count == 1) return fmt::format("{} ({:#x})", row->name, dw * 4);
    return fmt::format("{}[{}] ({:#x})", row->name, dw - row->dw, dw * 4);
}

void RegisterFile::visit(StateVisitor& v) {
    v.sparse("stored", storage_.data(), storage_.size() * sizeof(uint32_t));
    v("silent_until_ns", silent_until_ns_);
}

}  // namespace lyra
