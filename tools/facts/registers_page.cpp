// SPDX-License-Identifier: MIT
#include <map>
#include <set>
#include <vector>

#include "facts/registers.h"
#include "tools/facts/pages.h"

namespace lyra::facts {

namespace {

using regs::Register;
using regs::Row;

constexpr std::string_view kOwnerNames[] = {
    "",    "bus interface",         "HDP",      "interrupts", "graphics hub", "MM hub", "GRBM", "PSP",
    "SMU", "doorbell notification", "counters", "CP",         "SDMA",         "SDMA"};
static_assert(std::size(kOwnerNames) == regs::kOwners);

/// Of the registers whose table has columns for it.
std::string_view access_of(Register id) {
    static const std::map<Register, std::string_view> kAccess = [] {
        const auto cp = [](std::string_view write) { return write == "none" ? "read only" : write == "plain" ? "" : "acts"; };
        const auto sdma = [](std::string_view access) {
            return access == "ReadOnly" ? "read only" : access == "Live" ? "acts" : "";
        };
        return std::map<Register, std::string_view>{
#define CPREG(name, byte, bank, reset, read, write) {Register::name, cp(#write)},
#include "facts/registers/cp.def"
#undef CPREG
#define SDMA_REG(name, offset, reset, access) {Register::SDMA_##name, sdma(#access)},
#define SDMA_RING_REG(name, offset, reset, access) {Register::SDMA_RING_##name, sdma(#access)},
#include "facts/registers/sdma.def"
#undef SDMA_REG
#undef SDMA_RING_REG
        };
    }();
    const auto found = kAccess.find(id);
    return found == kAccess.end() ? "" : found->second;
}

/// The rows of one Register: several when more than one block has it.
using Places = std::vector<const Row*>;

std::string name_of(const Places& places) {
    std::string_view name = places.front()->name;
    for (const std::string_view before : {"SDMA0_", "GFX_"})
        if (places.size() > 1 && name.starts_with(before)) name.remove_prefix(before.size());
    return std::string(name);
}

/// Title of the table that a register is in.
std::string section_of(const Places& places) {
    const std::string_view first = places.front()->block, last = places.back()->block;
    if (first == "SDMA0") return places.size() > 2 ? "Rings of the SDMA engines" : "SDMA engines";
    return first == last ? std::string(first) : "Memory hubs: GC and MMHUB";
}

std::string line(const Places& places) {
    const Row& row = *places.front();
    std::string offsets, fields;
    for (const Row* place : places) offsets += fmt::format("{}{:#07x}", offsets.empty() ? "" : ", ", place->dw * 4);
    for (const regs::FieldRow& field : regs::fields_of(row))
        fields += fmt::format("{}`{}` {}", fields.empty() ? "" : ", ", field.name, bit_range(field.low, field.width));
    const std::string count = row.count == 1 ? "" : fmt::format("{}", row.count);
    const std::string reset = row.reset == 0 ? "" : fmt::format("{:#x}", row.reset);
    const std::string_view owner = row.owner == regs::Owner::MmHub || row.owner == regs::Owner::GfxHub
                                       ? "hub"
                                       : kOwnerNames[static_cast<size_t>(row.owner)];
    return fmt::format("| `{}` | {} | {} | {} | {} | {} | {} |\n", name_of(places), offsets, count, reset, owner,
                       access_of(row.id), fields);
}

}  // namespace

std::string registers_page() {
    std::map<Register, Places> places;
    for (const uint16_t n : regs::kInOrder) places[regs::kRows[n].id].push_back(&regs::kRows[n]);
    std::string text = fmt::format(
        "# Registers\n\n{}\n\n"
        "All registers of BAR5 that the model knows; tables in `facts/registers/`. Offsets are bytes. A register with several\n"
        "offsets is in several blocks, engines or rings. Dwords: more than one register in a row. Reset: empty is 0. Owner: "
        "the\n"
        "block of the model that acts on it; empty: it keeps what is written. Access: `acts` means that a write, or a read, "
        "does\n"
        "more than to store. A register without fields has none, or the table does not have them.\n",
        kMadeOfRows);
    std::map<std::string, std::vector<const Places*>> sections;
    std::vector<std::string> order;
    std::set<Register> done;
    for (const uint16_t n : regs::kInOrder) {
        const Register id = regs::kRows[n].id;
        if (!done.insert(id).second) continue;
        const std::string section = section_of(places[id]);
        if (sections[section].empty()) order.push_back(section);
        sections[section].push_back(&places[id]);
    }
    for (const std::string& section : order) {
        text += fmt::format(
            "\n## {}\n\n| register | offset | dwords | reset | owner | access | fields |\n|---|---|---|---|---|---|---|\n",
            section);
        for (const Places* each : sections[section]) text += line(*each);
    }
    return text;
}

}  // namespace lyra::facts
