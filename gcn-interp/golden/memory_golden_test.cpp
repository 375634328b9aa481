// SPDX-License-Identifier: MIT
// Every memory operation against the reference model, on random instructions and addresses: every bit of registers, LDS, GDS
// and memory has to be equal. LYRA_GOLDEN_ROUNDS=n (default 12): more instructions for each row.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include <fmt/format.h>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/page_cache.h"
#include "gcn-interp/golden/memory_cases.h"
#include "gcn-interp/isa/base_name.h"
#include "gcn-interp/isa/op.h"
#include "gcn-interp/testing/executed.h"
#include "gcn-interp/wave/services.h"

namespace lyra::golden::test {
namespace {

using namespace gcn;
using gcn::test::note_executed;

unsigned rounds() {
    const char* text = std::getenv("LYRA_GOLDEN_ROUNDS");
    return 2 * (text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 12);
}

/// The pages of a GlobalMemory, in another order in the host's memory, so that nothing may run over the end of one; or in the
/// same order, and then those with equal rights are ranges.
class PortedMemory : public MemoryPort {
public:
    PortedMemory(const GlobalMemory& from, bool ranges) : first_(from.first), rights_(from.pages), ranges_(ranges) {
        bytes_.resize(from.bytes.size());
        for (size_t n = 0; n < rights_.size(); ++n) std::memcpy(host(n), &from.bytes[n * kPageBytes], kPageBytes);
    }
    uint8_t* page(uint32_t, uint64_t va, Access access) override {
        return refused(va, access) == Fault::None ? host((va - first_) / kPageBytes) + va % kPageBytes : nullptr;
    }
    HostRange range(uint32_t vmid, uint64_t va, Access access) override {
        HostRange found = MemoryPort::range(vmid, va, access);
        if (!ranges_ || found.size == 0) return found;
        const auto equal = [&](uint64_t page) {
            return refused(page, access) == Fault::None &&
                   rights_[(page - first_) / kPageBytes] == rights_[(va - first_) / kPageBytes];
        };
        while (equal(found.start - kPageBytes)) found.start -= kPageBytes, found.size += kPageBytes, found.host -= kPageBytes;
        while (equal(found.start + found.size)) found.size += kPageBytes;
        return found;
    }
    Fault read(uint32_t, uint64_t va, void* data, size_t size) override {
        return each_byte(va, size, Access::Read, [&](uint8_t& byte, size_t i) { static_cast<uint8_t*>(data)[i] = byte; });
    }
    Fault write(uint32_t, uint64_t va, const void* data, size_t size) override {
        return each_byte(va, size, Access::Write,
                         [&](uint8_t& byte, size_t i) { byte = static_cast<const uint8_t*>(data)[i]; });
    }
    /// @return addresses of the bytes that differ
    std::vector<uint64_t> differing(const GlobalMemory& other) {
        std::vector<uint64_t> found;
        for (size_t n = 0; n < rights_.size(); ++n) {
            if (std::equal(host(n), host(n) + kPageBytes, &other.bytes[n * kPageBytes])) continue;
            for (size_t i = 0; i < kPageBytes; ++i)
                if (host(n)[i] != other.bytes[n * kPageBytes + i]) found.push_back(first_ + n * kPageBytes + i);
        }
        return found;
    }
    uint8_t byte(uint64_t va) { return host((va - first_) / kPageBytes)[va % kPageBytes]; }

private:
    uint8_t* host(size_t n) { return &bytes_[(n * (ranges_ ? 1 : 3) % rights_.size()) * kPageBytes]; }
    Fault refused(uint64_t va, Access access) const {
        if ((va + (uint64_t{1} << 47)) >> 48 != 0) return Fault::AddressNotCanonical;
        if (va < first_ || (va - first_) / kPageBytes >= rights_.size()) return Fault::PageNotPresent;
        const PageRights rights = rights_[(va - first_) / kPageBytes];
        if (rights == PageRights::Absent) return Fault::PageNotPresent;
        return rights == PageRights::All || access == Access::Read ? Fault::None : Fault::PagePermission;
    }
    template <class Fn>
    Fault each_byte(uint64_t va, size_t size, Access access, Fn fn) {
        for (size_t i = 0; i < size; ++i)
            if (const Fault fault = refused(va + i, access); fault != Fault::None) return fault;
        for (size_t i = 0; i < size; ++i) fn(*page(0, va + i, access), i);
        return Fault::None;
    }

    uint64_t first_;
    std::vector<PageRights> rights_;
    bool ranges_;
    std::vector<uint8_t> bytes_;
};

class Services : public WaveServices {
public:
    explicit Services(std::vector<uint8_t>& gds) : gds_(gds) {}
    uint64_t shader_clock() override { return kShaderClock; }
    uint64_t reference_clock() override { return kReferenceClock; }
    GdsWindow gds(uint32_t) override { return {gds_.data(), static_cast<uint32_t>(gds_.size()), false, {}}; }
    static constexpr uint64_t kShaderClock = 0x123456789abcdef0, kReferenceClock = 0xfedcba987654321;

private:
    std::vector<uint8_t>& gds_;
};

class SilentHost : public Host {
public:
    uint64_t now_ns() override { return 0; }
    void raise_msi() override {}
    void log(LogLevel, std::string_view) override {}
};

const ExecTable& handlers(Backend backend) {
    static const std::vector<ExecTable> tables = [] {
        std::vector<ExecTable> all;
        for (const Backend each : kAllBackends) register_scalar_and_memory(all.emplace_back(each));
        return all;
    }();
    return tables[static_cast<unsigned>(backend)];
}

/// Both sides of one case.
class Comparison {
public:
    /// @param ranges  memory is more than single pages
    Comparison(Backend backend, const Inst& inst, const MemoryState& before, bool ranges)
        : inst_(inst), before_(before), real_(before), model_(before), port_(before.memory, ranges) {
        Services services(real_.gds);
        SilentHost host;
        Env env(host);
        PageCache pages(port_);
        ExecContext ctx{real_.copy.wave};
        ctx.env = &env;
        ctx.memory = &port_;
        ctx.services = &services;
        ctx.lds = real_.lds.data();
        ctx.pages = &pages;
        handlers(backend).get(inst.op, inst.format)(ctx, inst);
        fault_ = ctx.fault;
        const std::span<uint8_t> lds(model_.lds);
        MemoryMachine machine{
            model_.copy.wave, model_.memory,          lds.subspan(MemoryState::kLdsBase, before.copy.wave.lds_bytes),
            model_.gds,       Services::kShaderClock, Services::kReferenceClock};
        complaint_ = execute_memory(machine, inst);
        open_ = machine.open;
        stored_ = std::move(machine.stored);
    }

    /// Nothing of the result is open, so that all of it was compared.
    bool decided() const { return complaint_ == 0 && !open_; }

    /// @return empty, or what differs
    std::string text() {
        std::string text = fault_text();
        if (text.empty() && decided())
            text = scalars() + vectors() + bytes("lds", real_.lds, model_.lds) + bytes("gds", real_.gds, model_.gds);
        if (text.empty() && decided()) text = memory();
        if (text.empty()) return text;
        const Wave& wave = before_.copy.wave;
        return fmt::format("{} exec {:016x} mode {:08x} m0 {:08x}{}", disassemble(inst_), wave.exec, wave.mode, wave.m0, text);
    }

private:
    /// Which of two lanes is last to store several dwords at one address is open, dword by dword.
    bool contested(uint64_t address) {
        if (!info(inst_.op).has(flag::Store)) return false;
        return std::any_of(stored_.begin(), stored_.end(),
                           [&](const auto& each) { return each.address == address && each.byte == port_.byte(address); });
    }
    std::string memory() {
        for (const uint64_t at : port_.differing(model_.memory)) {
            if (inst_.format != Format::SMEM && info(info(inst_.op).profile->src[1]).dwords > 1 && contested(at)) continue;
            return fmt::format("\n    memory +{:#x} is {:02x}, model {:02x}{}", at - MemoryState::kFirst, port_.byte(at),
                               model_.memory.bytes[at - MemoryState::kFirst], descriptor());
        }
        return "";
    }
    std::string descriptor() const {
        std::string text;
        for (unsigned n = 0; n < 4 && inst_.saddr != kNoOperand; ++n)
            text += fmt::format(" {:08x}", before_.copy.wave.read_scalar(inst_.saddr + n));
        return text;
    }
    std::string fault_text() const {
        const uint32_t said = fault_ == Fault::None                ? 0
                              : fault_ == Fault::ApertureViolation ? kAperture
                              : fault_ == Fault::MemoryViolation   ? kViolation
                                                                   : ~0u;
        const bool good = complaint_ == 0 ? said == 0 : said != 0 && (said & ~complaint_) == 0;
        return good ? "" : fmt::format(" fault {}, model {:#x}", fault_info(fault_).text, complaint_);
    }
    std::string scalars() const {
        const Wave &a = real_.copy.wave, &b = model_.copy.wave;
        std::string text;
        if (a.exec != b.exec || a.m0 != b.m0 || a.scc != b.scc || a.mode != b.mode || a.status != b.status ||
            a.lds_base != b.lds_base || a.lds_bytes != b.lds_bytes || a.pc != b.pc)
            text += " exec, m0, scc, mode, status, pc or LDS";
        for (unsigned n = 0; n < a.sgpr.size(); ++n)
            if (a.sgpr[n] != b.sgpr[n])
                text +=
                    fmt::format(" s{} was {:08x}, is {:08x}, model {:08x}", n, before_.copy.wave.sgpr[n], a.sgpr[n], b.sgpr[n]);
        return text;
    }
    std::string vectors() const {
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            std::string text;
            for (unsigned n = 0; n < WaveCopy::kVgprs; ++n) {
                const uint32_t was = before_.copy.rows[n].lane[lane], a = real_.copy.rows[n].lane[lane],
                               b = model_.copy.rows[n].lane[lane];
                if (a != b) text += fmt::format(" v{} was {:08x}, is {:08x}, model {:08x}", n, was, a, b);
            }
            if (!text.empty()) return fmt::format("\n    lane {}:", lane) + text + operands(lane);
        }
        return "";
    }
    std::string operands(unsigned lane) const {
        std::string text;
        for (const auto& [name, n] : {std::pair{"addr", inst_.vaddr}, {"data", inst_.vdata}, {"data2", inst_.vdata2}}) {
            if (n + 1u >= WaveCopy::kVgprs) continue;
            text +=
                fmt::format("; {} {:08x}'{:08x}", name, before_.copy.rows[n + 1].lane[lane], before_.copy.rows[n].lane[lane]);
        }
        return text;
    }
    static std::string bytes(const char* name, const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
        const auto at = static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin()).first - a.begin());
        return at == a.size() ? "" : fmt::format("\n    {} {:#x} is {:02x}, model {:02x}", name, at, a[at], b[at]);
    }

    const Inst& inst_;
    const MemoryState& before_;
    MemoryState real_, model_;
    PortedMemory port_;
    Fault fault_ = Fault::None;
    uint32_t complaint_ = 0;
    bool open_ = false;
    std::vector<MemoryMachine::Stored> stored_;
};

/// Tests of their own: exec/gds_test.cpp, cp-firmware-model/dispatch.
const std::set<std::string> kNotModelled = {"ds_gws_init",    "ds_gws_sema_v",           "ds_gws_sema_br",  "ds_gws_sema_p",
                                            "ds_gws_barrier", "ds_gws_sema_release_all", "ds_ordered_count"};

struct Group {
    const char* name;
    Format format;
    unsigned seg;
};
constexpr Group kGroups[] = {{"Ds", Format::DS, 0},       {"Flat", Format::FLAT, 0},   {"Scratch", Format::FLAT, 1},
                             {"Global", Format::FLAT, 2}, {"Mubuf", Format::MUBUF, 0}, {"Mtbuf", Format::MTBUF, 0},
                             {"Smem", Format::SMEM, 0}};

TEST(GoldenMemory, HasEveryRow) {
    std::string wrong;
    for (const Group& group : kGroups)
        for (const MemoryRow& row : memory_rows(group.format, group.seg))
            if (models_memory(row.op) == (kNotModelled.count(info(row.op).name) != 0))
                wrong += std::string(" ") + info(row.op).name;
    EXPECT_EQ(wrong, "");
}

class GoldenMemoryFormat : public testing::TestWithParam<std::tuple<Group, Backend>> {};

TEST_P(GoldenMemoryFormat, HandlersAgree) {
    const auto& [group, backend] = GetParam();
    for (const MemoryRow& row : memory_rows(group.format, group.seg)) {
        if (!models_memory(row.op)) continue;
        const std::string name = base_name(row.op, row.seg);
        ASSERT_NE(handlers(backend).get(row.op, group.format), nullptr) << name;
        Random random(op_index(row.op) * 8 + row.seg);
        unsigned decided = 0;
        for (unsigned n = 0; n < rounds(); ++n) {
            const Inst inst = random_memory_inst(row, random);
            ASSERT_NE(inst.format, Format::Invalid) << name;
            MemoryState before;
            fill(before, inst, random);
            Comparison comparison(backend, inst, before, n % 2 == 0);
            const std::string text = comparison.text();
            EXPECT_EQ(text, "") << "round " << n;
            if (!text.empty()) break;  // one report for each row
            if (!comparison.decided()) continue;
            ++decided;
            note_executed(inst);
        }
        EXPECT_GT(decided, 0u) << name << " only ever faulted";
    }
}

std::string case_name(const testing::TestParamInfo<std::tuple<Group, Backend>>& info) {
    return fmt::format("{}_{}", std::get<0>(info.param).name, kBackendNames[static_cast<unsigned>(std::get<1>(info.param))]);
}
std::vector<Backend> host_backends() {
    std::vector<Backend> found;
    for (const Backend backend : kAllBackends)
        if (backend <= kWidest && supported(backend)) found.push_back(backend);
    return found;
}
INSTANTIATE_TEST_SUITE_P(Rows, GoldenMemoryFormat,
                         testing::Combine(testing::ValuesIn(kGroups), testing::ValuesIn(host_backends())), case_name);

}  // namespace
}  // namespace lyra::golden::test
