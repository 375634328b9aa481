// SPDX-License-Identifier: MIT
// What tests of the compute unit share: flat memory, a recording of the services, and code assembled by llvm-mc.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "gcn-interp/cu/compute_unit.h"
#include "gcn-interp/testing/executed.h"

namespace lyra::gcn::test {

/// Machine code of assembly text. Fails the test when llvm-mc-19 is missing or refuses the text.
inline std::vector<uint8_t> assemble(const std::string& text, const std::string& chip = "gfx900") {
    static std::map<std::string, std::vector<uint8_t>> done;
    if (const auto found = done.find(chip + text); found != done.end()) return found->second;
    std::string name = (std::filesystem::temp_directory_path() / "lyra-asm-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    const std::filesystem::path folder = name;
    std::ofstream(folder / "a.s") << text << "\n";
    const std::string base = folder.string() + "/a";
    const std::string mc = "llvm-mc-19 -triple=amdgcn -mcpu=" + chip + " -filetype=obj -o " + base + ".o " + base + ".s";
    const std::string copy = "llvm-objcopy-19 -O binary -j .text " + base + ".o " + base + ".bin";
    EXPECT_EQ(std::system(mc.c_str()), 0) << text;
    EXPECT_EQ(std::system(copy.c_str()), 0);
    std::ifstream in(folder / "a.bin", std::ios::binary);
    std::vector<uint8_t> code((std::istreambuf_iterator<char>(in)), {});
    std::filesystem::remove_all(folder);
    EXPECT_FALSE(code.empty());
    done[chip + text] = code;
    return code;
}

class TestHost : public Host {
public:
    uint64_t now_ns() override { return time += 10; }
    void raise_msi() override {}
    void log(LogLevel, std::string_view text) override { lines.emplace_back(text); }
    uint64_t time = 0;
    std::vector<std::string> lines;
};

/// Plain memory of any VMID from kBase on; the page at kReadOnly may not be written. Everything else is not present.
class TestMemory : public MemoryPort {
public:
    static constexpr uint64_t kBase = 0x100000, kSize = 16 << 20, kReadOnly = kBase + kSize - kPageBytes;
    uint8_t* page(uint32_t, uint64_t va, Access access) override {
        ++lookups;
        const bool write = access == Access::Write || access == Access::Atomic;
        if (va / kPageBytes == missing / kPageBytes) return nullptr;
        if (va < kBase || va >= kBase + kSize || (write && va >= kReadOnly)) return nullptr;
        return bytes.data() + (va - kBase);
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        return copy(vmid, va, size, Access::Read,
                    [&](uint8_t* host, size_t at, size_t n) { std::memcpy(static_cast<uint8_t*>(data) + at, host, n); });
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        return copy(vmid, va, size, Access::Write,
                    [&](uint8_t* host, size_t at, size_t n) { std::memcpy(host, static_cast<const uint8_t*>(data) + at, n); });
    }
    using MemoryPort::translations_changed;
    using MemoryPort::turn_began;
    void touch(uint8_t* host) override { touched.push_back(kBase + static_cast<uint64_t>(host - bytes.data())); }

    template <class T>
    T& at(uint64_t va) {
        return *reinterpret_cast<T*>(bytes.data() + (va - kBase));
    }
    void put(uint64_t va, const std::vector<uint8_t>& data) { std::memcpy(&at<uint8_t>(va), data.data(), data.size()); }

    std::vector<uint8_t> bytes = std::vector<uint8_t>(kSize);
    std::vector<uint64_t> touched;  ///< addresses, by touch()
    unsigned faults = 0, lookups = 0;
    uint64_t missing = ~uint64_t{0};  ///< an address in a page that the driver has yet to map

private:
    template <class Move>
    Fault copy(uint32_t vmid, uint64_t va, size_t size, Access access, Move move) {
        for (size_t at = 0; at < size;) {
            const size_t n = std::min<size_t>(size - at, kPageBytes - (va + at) % kPageBytes);
            uint8_t* host = page(vmid, va + at, access);
            if (!host) {
                ++faults;
                if ((va + at) / kPageBytes == missing / kPageBytes) return Fault::PageRetry;
                return access == Access::Read ? Fault::PageNotPresent : Fault::PagePermission;
            }
            move(host, at, n);
            at += n;
        }
        return Fault::None;
    }
};

class TestServices : public CuServices {
public:
    void wave_interrupt(const Wave&, uint32_t data) override { interrupts.push_back(data); }
    void wave_error(const Wave& wave, unsigned error) override {
        errors.push_back(error);
        error_pc = wave.pc;
    }
    void wave_ended(const Wave& wave) override {
        ++waves;
        last = wave;
        for (unsigned n = 0; n < wave.vgpr_count && n < 32; ++n) vgpr[n] = wave.vgpr[n];
    }
    void workgroup_ended(uint64_t dispatch) override { workgroups.push_back(dispatch); }
    uint64_t shader_clock() override { return clock += 7; }
    uint64_t reference_clock() override { return clock += 3; }
    GdsWindow gds(uint32_t) override { return {gds_memory.data(), static_cast<uint32_t>(gds_memory.size()), gds_ordered, {}}; }

    std::vector<uint8_t> gds_memory;
    bool gds_ordered = false;
    std::vector<uint32_t> interrupts;
    std::vector<unsigned> errors;
    std::vector<uint64_t> workgroups;
    uint64_t error_pc = 0, clock = 0;
    unsigned waves = 0;
    Wave last;  ///< the wave that ended last, as it was then
    VgprRow vgpr[32];
};

/// A compute unit with memory: code at kCode, data at kData, scratch at kScratch. s[0:1] is the address of the data.
class Machine : public ::testing::Test {
protected:
    static constexpr uint64_t kCode = TestMemory::kBase, kHandler = TestMemory::kBase + 0x8000;
    static constexpr uint64_t kData = TestMemory::kBase + 0x100000, kScratch = TestMemory::kBase + 0x200000;
    static constexpr uint64_t kShared = uint64_t{1} << 48, kPrivate = uint64_t{2} << 48;

    Machine() { env.observer = executed_observer(); }

    WorkgroupLaunch simple(const std::string& text, uint32_t items = 64) {
        return simple(assemble(text + "\ns_endpgm"), items);
    }
    /// Pieces without labels, one behind the other: each is assembled once, however many programs have it.
    WorkgroupLaunch simple(const std::vector<std::string>& pieces) {
        std::vector<uint8_t> code;
        const auto add = [&](const std::string& piece) {
            const std::vector<uint8_t> more = assemble(piece);
            code.insert(code.end(), more.begin(), more.end());
        };
        for (const std::string& piece : pieces) add(piece);
        add("s_endpgm");
        return simple(code);
    }
    WorkgroupLaunch simple(const std::vector<uint8_t>& code, uint32_t items = 64) {
        memory.put(kCode, code);
        cu.invalidate_code();
        WorkgroupLaunch launch;
        launch.dispatch = 1;
        launch.entry = kCode;
        launch.vmid = 8;
        launch.rsrc1 = 7 | (12 << 6) | (0xc0 << 12) | (1 << 21) | (1 << 23);  // 32 VGPRs, 112 SGPRs, denormals on
        launch.rsrc2 = 1 << 7;                                                // TGID_X
        launch.private_base = kPrivate;
        launch.shared_base = kShared;
        launch.user_sgprs = {lo32(kData), hi32(kData)};
        launch.user_sgpr_count = 2;
        launch.group_size = {items, 1, 1};
        launch.group_valid = launch.group_size;
        launch.scratch_slot.fill(-1);
        return launch;
    }
    void with_traps(WorkgroupLaunch& launch, const std::string& handler) {
        memory.put(kHandler, assemble(handler));
        launch.tba = kHandler;
        launch.tma = kData + 0x8000;
        launch.rsrc2 |= 1 << 6;
    }
    /// Run until no wave is left; fails after the budget.
    void finish(uint64_t budget = 1'000'000) {
        for (uint64_t done = 0; cu.waves_live() != 0;) {
            const uint64_t n = cu.run(10'000);
            done += n;
            ASSERT_TRUE(n != 0 && done < budget) << "waves left: " << cu.waves_live() << " executed: " << done;
        }
    }
    void run(const WorkgroupLaunch& launch) {
        ASSERT_TRUE(cu.fits(launch));
        cu.launch(launch);
        finish();
    }
    void run(const std::string& text) { run(simple(text)); }
    uint32_t word(uint64_t index) { return memory.at<uint32_t>(kData + 4 * index); }
    uint32_t s(unsigned n) const { return services.last.read_scalar(n); }
    uint64_t s64(unsigned n) const { return services.last.read_scalar64(n); }
    uint32_t v(unsigned n, unsigned lane) const { return services.vgpr[n].lane[lane]; }

    TestHost host;
    Env env{host};
    TestMemory memory;
    TestServices services;
    ComputeUnit cu{env, memory, services, 3};
};

/// Beside it a compute unit of a later chip, whose waves have 64 VGPRs, of which the second half are AccVGPRs.
template <Chip kChip>
class MachineOf : public Machine {
protected:
    WorkgroupLaunch launch_of(const std::string& text, uint32_t items = 64) {
        WorkgroupLaunch launch = simple("s_nop 0", items);
        memory.put(kCode, assemble(text + "\ns_endpgm", facts_of(kChip).name));
        unit.invalidate_code();
        launch.chip = kChip;
        launch.rsrc3 = 32 / 4 - 1;
        return launch;
    }
    void run_on_it(const WorkgroupLaunch& launch) {
        ASSERT_TRUE(unit.fits(launch));
        unit.launch(launch);
        for (unsigned n = 0; n < 1000 && unit.waves_live() != 0; ++n) unit.run(1000);
        ASSERT_EQ(unit.waves_live(), 0u);
        EXPECT_EQ(services.errors, std::vector<unsigned>{});
    }
    ComputeUnit unit{env, memory, services, 3, kChip};
};

}  // namespace lyra::gcn::test
