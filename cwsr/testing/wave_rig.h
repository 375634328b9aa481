// SPDX-License-Identifier: MIT
// One compute unit with a trap handler and a save area: a test launches a kernel, saves it wherever it is, and restores it.
// The environment may name another first-level handler, such as the one that a driver installs (other_handler()).
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>

#include "common/snapshot.h"
#include "cwsr/area.h"
#include "cwsr/control_stack.h"
#include "cwsr/image.h"
#include "cwsr/layout.h"
#include "cwsr/testing/kernel_file.h"
#include "gcn-interp/cu/test_machine.h"

namespace lyra::cwsr::testing {

inline const std::filesystem::path kHandlers = LYRA_CWSR_SOURCE "/handler", kKernels = LYRA_CWSR_SOURCE "/kernels";

inline std::vector<uint8_t> first_level_handler(Chip chip) {
    const char* path = other_handler(chip);
    if (path == nullptr) return gcn::test::assemble(text_for(chip, text_of(kHandlers / "handler.s")), facts_of(chip).name);
    std::ifstream raw(path, std::ios::binary);
    std::vector<uint8_t> code((std::istreambuf_iterator<char>(raw)), {});
    EXPECT_FALSE(code.empty()) << path;
    return code;
}

/// Remembers what was saved, beside what the compute unit's tests remember.
class SaveServices : public gcn::test::TestServices {
public:
    void wave_ended(const gcn::Wave& wave) override {
        if (wave.dispatch == other_dispatch) return;
        if (wave.saved())
            ++waves_saved;
        else
            TestServices::wave_ended(wave);
    }
    void wave_save_ready(const gcn::Wave&) override { ++ready; }
    void workgroup_saved(uint64_t) override { ++groups_saved; }
    uint64_t other_dispatch = 0;  ///< not counted
    unsigned ready = 0, waves_saved = 0, groups_saved = 0;
};

class WaveRig {
public:
    static constexpr uint64_t kBase = gcn::test::TestMemory::kBase;
    // Program and handlers 64 pages apart share one place in the cache of decoded code.
    static constexpr uint64_t kCode = kBase, kHandler = kBase + 0x40000, kSecond = kBase + 0x80000, kFiller = kBase + 0x13000,
                              kData = kBase + 0x100000, kTma = kData + 0x8000, kTma2 = kData + 0x9000,
                              kScratch = kBase + 0x200000, kArea = kBase + 0x800000;
    static constexpr uint64_t kShared = uint64_t{1} << 48, kPrivate = uint64_t{2} << 48;
    static constexpr uint64_t kDispatch = 1, kFillerDispatch = 2;
    static constexpr uint32_t kPacket = 5, kDoorbell = 0x123, kRingBytes = 64 * 64;
    static constexpr size_t kResult = 0x4000;
    static constexpr uint32_t kScratchPerWave = 4096;

    explicit WaveRig(Chip of = Chip::gfx900) : chip(of) {
        memory.put(kHandler, first_level_handler(chip));
        memory.put(kSecond, gcn::test::assemble(text_for(chip, text_of(kHandlers / "second_level.s")), facts_of(chip).name));
        memory.put(kFiller, gcn::test::assemble("s_endpgm"));
        services.other_dispatch = kFillerDispatch;
    }
    void load(const KernelFile& file) {
        ASSERT_TRUE(file.ok) << file.name;
        kernel = file;
        memory.put(kCode, gcn::test::assemble(text_for(chip, kernel.text), facts_of(chip).name));
        unit.invalidate_code();
        if (kernel.trap) set_second_level(kernel.repair ? 1 : 0);
    }
    /// @param switches word 1 of its TMA
    void set_second_level(uint32_t switches) {
        memory.at<uint64_t>(kTma) = kSecond;
        memory.at<uint64_t>(kTma + 8) = kTma2;
        second_switches_ = switches;
    }
    /// A kernel that is only text.
    void load(const std::string& text) {
        KernelFile file;
        file.text = text + "\ns_endpgm";
        file.ok = true;
        load(file);
    }

    gcn::WorkgroupLaunch launch_of(uint32_t number) const {
        gcn::WorkgroupLaunch launch;
        launch.dispatch = kDispatch;
        launch.entry = kCode;
        launch.vmid = 8;
        launch.rsrc1 = kernel.rsrc1(chip) | rsrc1_more;
        launch.rsrc3 = kernel.rsrc3();
        launch.chip = chip;
        const unsigned components = kernel.group[2] > 1 ? 2 : kernel.group[1] > 1 ? 1 : 0;
        launch.rsrc2 = uint32_t{kernel.scratch} | 1u << 6 | 1u << 7 | components << 11;
        launch.tba = kHandler;
        launch.tma = kTma;
        launch.private_base = kPrivate;
        launch.shared_base = kShared;
        launch.lds_bytes = kernel.lds_bytes;
        launch.user_sgprs = {lo32(kData), hi32(kData), lo32(kScratch), hi32(kScratch)};
        launch.user_sgpr_count = 4;
        launch.group_id = {number, 2, 1};
        launch.group_size = kernel.group;
        launch.group_valid = kernel.valid;
        launch.packet_index = kPacket;
        launch.doorbell_id = kDoorbell;
        launch.scratch_slot.fill(-1);
        for (unsigned n = 0; kernel.scratch && n < kernel.waves(); ++n) {
            launch.scratch_slot[n] = static_cast<int>(number * 16 + 15 - n);
            launch.scratch_offset[n] = static_cast<uint32_t>(launch.scratch_slot[n]) * kScratchPerWave;
        }
        return launch;
    }
    void clear_memory() {
        std::fill_n(&memory.at<uint8_t>(kData), kResult, 0);
        std::fill_n(&memory.at<uint8_t>(kTma2), 0x100, 0);
        std::fill_n(&memory.at<uint8_t>(kScratch), 32 * kScratchPerWave, 0);
        memory.at<uint32_t>(kTma2 + 4) = second_switches_;
    }
    /// Memory and the compute unit as new, and the kernel on it.
    void start(unsigned groups = 1) {
        clear_memory();
        unit.reset();
        services.waves = services.waves_saved = services.groups_saved = services.ready = 0;
        services.workgroups.clear();
        services.interrupts.clear();
        for (unsigned n = 0; n < groups; ++n) unit.launch(launch_of(n));
        waves_started = unit.waves_live();
    }
    std::vector<uint8_t> results() {
        std::vector<uint8_t> bytes(&memory.at<uint8_t>(kData), &memory.at<uint8_t>(kData) + kResult);
        bytes.insert(bytes.end(), &memory.at<uint8_t>(kTma2), &memory.at<uint8_t>(kTma2) + 16);
        return bytes;
    }

    /// The unit's state leaves it and comes back.
    void through_a_stream() {
        const auto write = [&] {
            StateWriter writer;
            writer.begin("unit");
            unit.visit(writer);
            writer.end();
            return writer.take();
        };
        const std::vector<uint8_t> bytes = write();
        unit.reset();
        StateLoader loader(bytes);
        loader.begin("unit");
        unit.visit(loader);
        loader.end();
        loader.finish();
        ASSERT_EQ(loader.error(), "");
        ASSERT_EQ(write(), bytes);
    }
    unsigned live() const { return unit.waves_live(kDispatch); }
    /// @return waves are left
    bool step(unsigned instructions) {
        for (unsigned n = 0; n < instructions && live() != 0; ++n) unit.run(1);
        return live() != 0;
    }
    void run_out() {
        for (unsigned n = 0; n < 500 && live() != 0; ++n) unit.run(10'000);
        ASSERT_EQ(live(), 0u);
    }
    /// A wave of the only group.
    const gcn::Wave* wave(unsigned number) const {
        for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
            const gcn::Wave& w = unit.wave(slot);
            const bool lives = w.state != gcn::WaveState::Free && w.state != gcn::WaveState::Ended && w.dispatch == kDispatch;
            if (lives && w.wave_in_group == number) return &w;
        }
        return nullptr;
    }

    Area empty_area() const {
        const AreaSizes sizes = area_sizes(1, 1, chip);
        return {kArea, sizes.total(), sizes.control_stack, sizes.control_stack, sizes.control_stack};
    }
    /// Every wave saves itself. @return false: none was left to be saved
    bool save() {
        unit.request_save(kDispatch);
        return finish_save();
    }
    bool finish_save() {
        for (unsigned n = 0; n < 10'000 && unit.runnable() && !all_ready(); ++n) unit.run(100);
        if (live() == 0) return false;
        collect();
        std::vector<uint32_t> words;
        area = empty_area();
        EXPECT_EQ(lay_out(groups, area, words, chip), Fault::None);
        size_t granted = 0;
        for (size_t g = 0; g < groups.size(); ++g) {
            for (size_t n = 0; n < groups[g].waves.size(); ++n, ++granted) {
                unit.grant_save(slots_[g][n], kArea + groups[g].waves[n].record, n == 0);
            }
        }
        for (unsigned n = 0; n < 10'000 && live() != 0; ++n) unit.run(1000);
        EXPECT_EQ(live(), 0u) << "a wave did not end its save";
        check(words, granted);
        const size_t count = groups.size();
        EXPECT_EQ(parse(words, area, groups, chip), Fault::None);
        EXPECT_EQ(groups.size(), count);
        return true;
    }
    /// @param elsewhere registers, slots and LDS of something else lie before those of the restored waves
    void restore(bool elsewhere = false) {
        unit.reset();
        if (elsewhere) launch_filler();
        for (const SavedGroup& saved : groups) {
            gcn::WorkgroupRestore group;
            group.dispatch = kDispatch;
            group.vmid = 8;
            group.tba = kHandler;
            group.tma = kTma;
            group.private_base = kPrivate;
            group.shared_base = kShared;
            group.doorbell_id = kDoorbell;
            group.chip = chip;
            group.vgprs = saved.vgprs;
            group.acc_first = saved.acc_first;
            group.sgprs = saved.sgprs;
            group.lds_bytes = saved.lds_bytes;
            group.waves = static_cast<unsigned>(saved.waves.size());
            group.rsrc1 = rsrc1_more;
            for (unsigned n = 0; n < group.waves; ++n) {
                group.record[n] = kArea + saved.waves[n].record;
                group.scratch_slot[n] = saved.waves[n].scratch_en ? static_cast<int>(saved.waves[n].scratch_slot) : -1;
            }
            ASSERT_TRUE(gcn::can_ever_fit(group));
            ASSERT_TRUE(unit.fits(group));
            unit.restore(group);
        }
    }
    /// A register of a wave of the image, as a debugger finds it; also to be written.
    uint32_t& saved(size_t wave, ImageRegister name, unsigned number = 0) {
        const auto at = register_address(image.waves.at(wave), name, number);
        EXPECT_TRUE(at.has_value()) << wave << " " << number;
        return memory.at<uint32_t>(kArea + at.value_or(0));
    }
    /// What a debugger does to let a parked wave go on. @param skip bytes of the instruction that it does not want again
    void unpark(size_t wave, unsigned skip) {
        const uint64_t pc = image.waves.at(wave).user_pc + skip;
        saved(wave, ImageRegister::Pc) = lo32(pc);
        saved(wave, ImageRegister::Pc, 1) = hi32(pc);
        saved(wave, ImageRegister::Status) &= ~(1u << 13 | 1u << 18);
        saved(wave, ImageRegister::Ttmp, 6) &= ~(1u << 30);
    }
    /// Run until no wave can, or none is left.
    void settle() {
        for (unsigned n = 0; n < 10'000 && unit.runnable(); ++n) unit.run(100);
    }
    void command(gcn::WaveCommand what, uint32_t data) {
        unit.command(what, data, [](const gcn::Wave& wave) { return wave.dispatch == kDispatch; });
    }

    const Chip chip;
    gcn::test::TestHost host;
    Env env{host};
    gcn::test::TestMemory memory;
    SaveServices services;
    gcn::ComputeUnit unit{env, memory, services, 1, chip};
    KernelFile kernel;
    uint32_t rsrc1_more = 0;
    std::vector<uint64_t> debugger_ids;  ///< that may be in images
    unsigned waves_started = 0;
    std::vector<SavedGroup> groups;
    Area area;
    Image image;

private:
    bool all_ready() const {
        bool ready = true;
        for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
            const gcn::Wave& w = unit.wave(slot);
            if (w.state != gcn::WaveState::Free && w.dispatch == kDispatch) ready &= w.state == gcn::WaveState::Saving;
        }
        return ready;
    }
    void collect() {
        std::map<unsigned, std::vector<unsigned>> by_group;
        for (unsigned number = 0; number < gcn::kMaxWavesPerWorkgroup; ++number) {
            for (unsigned slot = 0; slot < gcn::kWaveSlots; ++slot) {
                const gcn::Wave& w = unit.wave(slot);
                if (w.state == gcn::WaveState::Saving && w.dispatch == kDispatch && w.wave_in_group == number) {
                    by_group[w.workgroup].push_back(slot);
                }
            }
        }
        groups.clear();
        slots_.clear();
        size_t waves = 0;
        for (const auto& [number, slots] : by_group) {
            SavedGroup group;
            for (const unsigned slot : slots) {
                const gcn::Wave& w = unit.wave(slot);
                group.vgprs = w.vgpr_count;
                group.acc_first = w.acc_first;
                group.sgprs = w.sgpr_count;
                group.lds_bytes = w.lds_bytes;
                group.waves.push_back({0, static_cast<uint32_t>(std::max(w.scratch_slot, 0)), w.scratch_slot >= 0});
            }
            waves += slots.size();
            groups.push_back(group);
            slots_.push_back(slots);
        }
        EXPECT_EQ(waves, live()) << "a wave did not come to its save";
    }
    void check(const std::vector<uint32_t>& words, size_t waves) {
        const ImageHeader header{area.stack_offset, area.stack_size - area.stack_offset, area.wave_end,
                                 area.wave_end - area.stack_size};
        const auto read = [&](uint64_t offset, void* data, size_t size) {
            return memory.read(8, kArea + offset, data, size) == Fault::None;
        };
        ImageQueue queue;
        queue.chip = chip;
        queue.ring_bytes = kRingBytes;
        queue.entry = kCode;
        queue.debugger_ids = debugger_ids;
        queue.read_memory = [&](uint64_t va, void* data, size_t size) { return memory.read(8, va, data, size) == Fault::None; };
        image = read_image(header, words, read, queue);
        EXPECT_EQ(image.error, "");
        EXPECT_EQ(image.waves.size(), waves);
        for (const WaveImage& wave : image.waves) EXPECT_EQ(wave.packet, kPacket);
    }
    void launch_filler() {
        gcn::WorkgroupLaunch launch = launch_of(0);
        launch.dispatch = kFillerDispatch;
        launch.entry = kFiller;
        launch.lds_bytes = std::min<uint32_t>(1536, gcn::kLdsBytes - kernel.lds_bytes);
        launch.group_size = launch.group_valid = {192, 1, 1};
        launch.rsrc1 = 2;  // 12 VGPRs, or 24 of a chip with larger units; 16 SGPRs
        launch.rsrc2 = 0;
        unit.launch(launch);
    }
    std::vector<std::vector<unsigned>> slots_;
    uint32_t second_switches_ = 0;
};

}  // namespace lyra::cwsr::testing
