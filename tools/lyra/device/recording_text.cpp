// SPDX-License-Identifier: MIT
#include "tools/lyra/device/recording_text.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "common/trace_text.h"
#include "facts/registers.h"

namespace lyra::cli {

namespace {

const regs::Row* row_at(uint64_t offset) {
    return offset % 4 == 0 && offset / 4 <= UINT32_MAX ? regs::find(static_cast<uint32_t>(offset / 4)) : nullptr;
}

/// The fields that are not 0: flags without their 1, masks and addresses in hexadecimal. The only field of a register adds
/// nothing to its value.
std::string fields_text(const RecordedCall& call, uint64_t value) {
    const regs::Row* const row = row_at(call.offset);
    if (row == nullptr || call.size != 4 || regs::fields_of(*row).size() < 2) return "";
    std::string text;
    for (const regs::FieldRow& field : regs::fields_of(*row)) {
        const uint32_t bits = field.get(static_cast<uint32_t>(value));
        if (bits == 0) continue;
        text += text.empty() ? " (" : ", ";
        text += field.name;
        if (field.width > 1) text += field.width < 16 ? fmt::format(" {}", bits) : fmt::format(" {:#x}", bits);
    }
    return text.empty() ? "" : text + ")";
}

}  // namespace

std::string register_text(uint64_t offset) {
    const regs::Row* const row = row_at(offset);
    if (row == nullptr) return fmt::format("{:#x}", offset);
    // The same in both hubs.
    std::string text = std::strcmp(row->block, "MMHUB") == 0 ? fmt::format("MMHUB.{}", row->name) : row->name;
    if (row->count > 1) text += fmt::format("[{}]", offset / 4 - row->dw);
    return text;
}

std::string call_text(const RecordedCall& call) {
    const auto bytes = [&] { return call.size == 4 ? std::string() : fmt::format(" ({} bytes)", call.size); };
    switch (call.kind) {
        case CallKind::End: return call.value != 0 ? "the recording has reached its limit" : "the end";
        case CallKind::MmioRead:
            return fmt::format("read {}{} = {:#x}{}", register_text(call.offset), bytes(), call.result,
                               fields_text(call, call.result));
        case CallKind::MmioWrite:
            return fmt::format("write {}{} = {:#x}{}", register_text(call.offset), bytes(), call.value,
                               fields_text(call, call.value));
        case CallKind::DoorbellRead: return fmt::format("read doorbell {:#x} = {:#x}", call.offset, call.result);
        case CallKind::DoorbellWrite: return fmt::format("doorbell {:#x} = {:#x}", call.offset, call.value);
        case CallKind::VramRead: return fmt::format("read VRAM {:#x}{} = {:#x}", call.offset, bytes(), call.result);
        case CallKind::VramWrite: return fmt::format("write VRAM {:#x}{} = {:#x}", call.offset, bytes(), call.value);
        case CallKind::RunUntil: return fmt::format("until {} ns", call.value);
        case CallKind::Run: return fmt::format("run {} instructions", call.value);
        case CallKind::Reset: return "reset";
        case CallKind::RamMap: {
            std::string text = "memory map:";
            for (const RecordedRange& range : call.ranges)
                text += fmt::format(" {:#x}+{:#x}{}", range.bus, range.bytes, range.readonly ? " (read only)" : "");
            return text;
        }
        case CallKind::BarAddresses:
            return fmt::format("BARs: VRAM {:#x}, doorbells {:#x}, registers {:#x}", call.bars[0], call.bars[1], call.bars[2]);
        case CallKind::BusMaster: return call.value != 0 ? "bus mastering on" : "bus mastering off";
        case CallKind::Load: return fmt::format("load a state of {} bytes", call.state.size());
    }
    return "";
}

std::vector<std::string> pages_text(const std::vector<PageChange>& pages) {
    std::vector<std::string> texts;
    const auto whole = [&](size_t n) { return pages[n].runs.size() == 1 && pages[n].runs[0].second.size() == kPageBytes; };
    for (size_t n = 0; n < pages.size();) {
        const uint64_t place = pages[n].place;
        std::string text = fmt::format("{} {:#x}:", (place & kPlaceInVram) != 0 ? "VRAM" : "bus", place & ~kPlaceInVram);
        size_t run = 0;
        while (n + run < pages.size() && whole(n + run) && pages[n + run].place == place + run * kPageBytes) ++run;
        if (run != 0) {
            text += fmt::format(" {} page{}", run, run == 1 ? "" : "s");
        } else {
            const char* comma = "";
            for (const auto& [offset, bytes] : pages[n].runs) {
                text += fmt::format("{} {} bytes at {:#x}", comma, bytes.size(), offset);
                comma = ",";
            }
        }
        texts.push_back(std::move(text));
        n += std::max<size_t>(run, 1);
    }
    return texts;
}

std::string event_text(const TraceRecord& record) {
    std::string text = kEvents[static_cast<size_t>(record.id)].name;
    size_t n = 0;
    for (const EventArgInfo& arg : kEventArgs) {
        if (arg.event != record.id) continue;
        const uint64_t value = record.args[n++];
        text += value < 4096 ? fmt::format(" {}={}", arg.name, value) : fmt::format(" {}={:#x}", arg.name, value);
    }
    return text;
}

std::optional<TraceRecord> EventList::next(uint64_t until_ns) {
    std::string line;
    if (!ahead_ && std::getline(file_, line)) {
        std::istringstream one(line);
        read_text_trace(one, [this](const TraceRecord& record) { ahead_ = record; });
    }
    if (!ahead_ || ahead_->time_ns > until_ns) return {};
    return std::exchange(ahead_, {});
}

}  // namespace lyra::cli
