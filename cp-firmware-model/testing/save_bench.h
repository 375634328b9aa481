// SPDX-License-Identifier: MIT
// Bench with trap handlers: processes whose queues are mapped, unmapped with their waves saved, and mapped again.
// The environment may name another first-level handler than the one of cwsr/handler (other_handler()).
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "cp-firmware-model/testing/assembler.h"
#include "cp-firmware-model/testing/kernel_job.h"

namespace lyra::testing {

class SaveBench : public CpBench {
public:
    static constexpr uint64_t kHandler = 0x2000000, kSecond = 0x2004000, kTma = 0x2008000, kTma2 = 0x2009000;
    static constexpr uint64_t kDone = CpBench::kScratch + 0x100;
    static constexpr unsigned kFirstVmid = 8, kFirstPasid = 0x8001;
    static constexpr unsigned kMostRounds = 200'000;  ///< of the command processor for one unmapping

    /// @param folder cwsr
    explicit SaveBench(const std::filesystem::path& folder, Chip chip = Chip::gfx900)
        : CpBench(shape_of(chip)), chip_(chip), folder_(folder) {
        Partition partition;
        partition.xccs = facts_of(chip).xccs;
        cp.set_partition(partition);
        bus.memory.map(kHandler, 0x10000);
        put_code(kHandler, first_level());
        put_code(kSecond, code_of(cwsr::testing::text_of(folder_ / "handler/second_level.s")));
        bus.memory.put<uint64_t>(kTma, kSecond);
        bus.memory.put<uint64_t>(kTma + 8, kTma2);
        start_hiq();
    }
    /// Machine code of text for the bench's chip; throws when it cannot be assembled. The same text is assembled once.
    const std::vector<uint8_t>& code_of(const std::string& text) const {
        static std::map<std::pair<Chip, std::string>, std::vector<uint8_t>> known;
        const std::pair key(chip_, text);
        if (const auto it = known.find(key); it != known.end()) return it->second;
        auto code = assemble(cwsr::testing::text_for(chip_, text), facts_of(chip_).name);
        if (!code) throw std::runtime_error("cannot be assembled (llvm-mc-19 is needed): " + text.substr(0, 200));
        return known.emplace(key, *code).first->second;
    }
    void put_code(uint64_t address, const std::vector<uint8_t>& code) {
        bus.memory.write(0, address, code.data(), code.size());
    }

    /// A kernel of cwsr/kernels with what it computes, from a run on the job that nothing disturbs.
    Kernel kernel(const std::string& name, KernelJob& job) {
        Kernel kernel;
        kernel.file = cwsr::testing::read_kernel(folder_ / "kernels", name);
        if (!kernel.file.ok) throw std::runtime_error("no kernel " + name);
        kernel.code = code_of(kernel.file.text);
        learn(kernel, job);
        return kernel;
    }
    /// A kernel that is only text, which begins as those of cwsr/kernels.
    Kernel kernel_of(const std::string& text, KernelJob* job = nullptr) {
        Kernel kernel;
        kernel.file.name = "text";
        kernel.file.text = cwsr::testing::text_of(folder_ / "kernels/common.inc") + text;
        kernel.code = code_of(kernel.file.text);
        kernel.values.assign(kernel.file.items(), 0);
        if (job != nullptr) learn(kernel, *job);
        return kernel;
    }
    void learn(Kernel& kernel, KernelJob& job) {
        kernel.values.assign(kernel.file.items(), 0);
        map({&job});
        job.submit({{&kernel, 1, 1}});
        for (unsigned n = 0; n < 2000; ++n) cp.run(1000);
        kernel.values = job.values();
        const std::string wrong = job.check_batch();
        if (!wrong.empty() || !job.idle()) throw std::runtime_error(kernel.file.name + " does not end: " + wrong);
        unmap();
    }

    /// A run list of all jobs, each in the process of its VMID.
    void map(const std::vector<KernelJob*>& jobs) {
        std::vector<Words> packets;
        for (unsigned vmid = kFirstVmid; vmid < 16; ++vmid) {
            bool any = false;
            for (KernelJob* job : jobs) {
                if (job->vmid() != vmid) continue;
                if (!any) packets.push_back(process(vmid));
                any = true;
                packets.push_back(map_queue(job->ring()));
            }
        }
        run_list(packets);
        for (unsigned n = 0; n < 5; ++n) cp.run(64);
    }
    /// Everything of the queues is out when this returns true.
    bool unmap() {
        bus.memory.put<uint64_t>(kDone, 0);
        submit(hiq, CpBench::unmap(3));
        submit(hiq, query_status(kDone, 100));
        for (unsigned n = 0; n < kMostRounds && qword(kDone) != 100; ++n) cp.run(500);
        return qword(kDone) == 100 && cp.dispatcher().waves_live_total() == 0;
    }
    static Words process(unsigned vmid) {
        Words words = map_process(static_cast<uint16_t>(kFirstPasid + vmid - kFirstVmid));
        words[6] = lo32(kHandler >> 8);
        words[7] = 0;
        words[8] = lo32(kTma >> 8);
        words[9] = 0;
        return words;
    }

private:
    std::vector<uint8_t> first_level() const {
        const char* path = cwsr::testing::other_handler(chip_);
        if (path == nullptr) return code_of(cwsr::testing::text_of(folder_ / "handler/handler.s"));
        std::ifstream raw(path, std::ios::binary);
        std::vector<uint8_t> code((std::istreambuf_iterator<char>(raw)), {});
        if (code.empty()) throw std::runtime_error(std::string("cannot read ") + path);
        return code;
    }
    /// With all XCCs of the chip in one partition.
    static GpuShape shape_of(Chip chip) {
        GpuShape shape = test_shape(2, 2);
        shape.chip = chip;
        shape.xccs = facts_of(chip).xccs;
        return shape;
    }
    const Chip chip_;
    std::filesystem::path folder_;
};

}  // namespace lyra::testing
