// SPDX-License-Identifier: MIT
// A small queue manager in the place of KFD parks, evicts, checkpoints and destroys queues whose waves execute the trap
// handler. Without a mistake everything holds; with one of driver_faults.def what is named beside it notices.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>

#include "cp-firmware-model/testing/save_bench.h"

namespace lyra {
namespace {

using testing::Kernel;
using testing::KernelJob;
using testing::SaveBench;
using testing::TestRing;
using testing::Words;

enum class Mistake : uint8_t {
    None,
#define DRIVER_FAULT(id, ...) id,
#include "cp-firmware-model/hws/driver_faults.def"
#undef DRIVER_FAULT
};

enum class Notices : uint8_t {
    Nothing,
    Answers,  ///< the scheduler answers an unmapping in bounded time, and then nothing runs
    Slots,    ///< who is on the hardware is who shall be, each once
    Images,   ///< what is saved of a queue is sound
    Once,     ///< what work-items do is done once
    Ends,     ///< work ends
    Memory,   ///< no access without a translation
};

struct Row {
    Mistake mistake;
    const char* name;
    Notices notices;
};
constexpr Row kRows[] = {
#define DRIVER_FAULT(id, name, notices, what) {Mistake::id, name, Notices::notices},
#include "cp-firmware-model/hws/driver_faults.def"
#undef DRIVER_FAULT
};

/// Translations between the chip and memory: of a page that has moved, the chip sees what is now where it was until they are
/// flushed.
class Translations : public MemoryPort {
public:
    explicit Translations(testing::FlatMemory& memory) : memory_(memory) {}
    void evict(uint64_t va, uint64_t bytes) {
        for (uint64_t at = va; at < va + bytes; at += kPageBytes) {
            gone_.insert(at);
            auto& page = stale_[at];
            if (!page) page = std::make_unique<Page>();
            page->fill(0xa5);  // somebody else's
        }
        translations_changed();
    }
    void restore(uint64_t va, uint64_t bytes) {
        for (uint64_t at = va; at < va + bytes; at += kPageBytes) gone_.erase(at);
        translations_changed();
    }
    void flush() {
        stale_.clear();
        translations_changed();
    }
    unsigned missed() const { return missed_; }

    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override {
        const uint64_t page = align_down(va, kPageBytes);
        if (const auto it = stale_.find(page); it != stale_.end()) return it->second->data() + va % kPageBytes;
        if (gone_.count(page) == 0) return memory_.page(vmid, va, access);
        ++missed_;
        return nullptr;
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        return copy(vmid, va, static_cast<uint8_t*>(data), size, Access::Read);
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        return copy(vmid, va, static_cast<uint8_t*>(const_cast<void*>(data)), size, Access::Write);
    }

private:
    using Page = std::array<uint8_t, kPageBytes>;
    Fault copy(uint32_t vmid, uint64_t va, uint8_t* data, size_t size, Access access) {
        while (size > 0) {
            const size_t piece = std::min<size_t>(size, kPageBytes - va % kPageBytes);
            uint8_t* p = page(vmid, va, access);
            if (p == nullptr) return Fault::PageNotPresent;
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
    testing::FlatMemory& memory_;
    std::set<uint64_t> gone_;
    std::map<uint64_t, std::unique_ptr<Page>> stale_;
    unsigned missed_ = 0;
};

class Manager : public SaveBench {
public:
    Manager(Mistake mistake, uint64_t seed) : SaveBench(LYRA_CWSR_SOURCE), mistake_(mistake), random_(seed) {
        for (unsigned n = 0; n < kQueues; ++n) make_queue(n);
        for (const char* name : {"barrier_lds", "divergence", "state", "sleep", "flow"})
            kernels_.push_back(kernel(name, *queues_[0].job));
        endless_kernel_ = kernel_of("kernel:\n  s_sleep 8\n  s_branch kernel\n");
        bus.hub.set(translations_);
        begin();
    }
    /// @return who has noticed something, and in which round
    std::pair<Notices, unsigned> run(unsigned rounds) {
        for (round_ = 1; round_ <= rounds && noticed_ == Notices::Nothing; ++round_) one_round();
        if (noticed_ == Notices::Nothing) finish();
        return {noticed_, round_ - 1};
    }
    uint64_t saved() const { return env.stats.get(Stat::waves_saved); }
    const std::string& text() const { return text_; }
    unsigned destroyed = 0, evicted = 0, checkpoints = 0, resets = 0;

private:
    static constexpr unsigned kQueues = 4, kMostSteps = 4000;
    static constexpr unsigned kRogueVmid = kFirstVmid + kQueues / 2;
    struct Queue {
        std::unique_ptr<KernelJob> job;
        bool parked = false, evicted = false;
        unsigned places = 0;  ///< where its descriptor and save area have been
    };

    bool is(Mistake mistake) const { return mistake_ == mistake; }
    bool one_in(unsigned n) { return random_() % n == 0; }
    void notice(Notices what, const std::string& text) {
        if (noticed_ != Notices::Nothing) return;
        noticed_ = what;
        text_ = text;
    }
    void make_queue(unsigned n) {
        Queue& q = queues_[n];
        q = {};
        q.job = std::make_unique<KernelJob>(*this, n, n % 2 != 0, kFirstVmid + n / 2);
        bus.memory.put<uint32_t>(q.job->fence(), 0);
        if (!q.job->aql()) return;
        bus.memory.put<uint64_t>(q.job->ring().wptr_address, 0);
        bus.memory.put<uint64_t>(q.job->ring().wptr_address - 0x38 + 0x80, 0);
    }

    /// After the start and after a reset.
    void begin() {
        // SCH_WAVE 15:8, QUE_SLEEP 7:0 of CP_IQ_WAIT_TIME2
        set_reg(0xc2c0, is(Mistake::GraceZero) ? 0x0001 : 0x0101);
        endless_ = std::make_unique<KernelJob>(*this, kQueues, false, kFirstVmid);
        endless_->submit({{&endless_kernel_, 1, 1}});
        rogue_ = std::make_unique<KernelJob>(*this, kQueues + 1, false, kRogueVmid);
        rogue_->submit({{&endless_kernel_, 1, 1}});
    }
    /// What was on the hardware is lost; who was not goes on.
    void reset_gpu() {
        ++resets;
        cp.reset();
        start_hiq();
        for (unsigned n = 0; n < kQueues; ++n) {
            if (!away(queues_[n]) && !is(Mistake::ResetForgotten)) destroy(n);
        }
        begin();
    }

    // --- what the queue manager does with a queue that is not on the hardware ---
    void evict(Queue& q) {
        q.evicted = true;
        ++evicted;
        translations_.evict(q.job->data(), kDataBytes);
        translations_.evict(q.job->save_area(), align_up(q.job->area_sizes().total(), kPageBytes));
        flush(q);
    }
    void restore(Queue& q) {
        q.evicted = false;
        translations_.restore(q.job->data(), kDataBytes);
        translations_.restore(q.job->save_area(), align_up(q.job->area_sizes().total(), kPageBytes));
        flush(q);
    }
    void flush(const Queue& q) {
        if (is(Mistake::TlbNotFlushed)) return;
        const uint32_t pasid = kFirstPasid + q.job->vmid() - kFirstVmid;
        submit(kiq, testing::packet(pm4::Opcode::INVALIDATE_TLBS, {1 | pasid << 5}));
        for (unsigned n = 0; n < 100 && bus.invalidated.empty(); ++n) cp.run(64);
        if (bus.invalidated.empty()) return notice(Notices::Answers, "the KIQ does not answer");
        translations_.flush();
        bus.invalidated.clear();
    }
    void checkpoint(Queue& q) {
        ++checkpoints;
        const bool away = ++q.places % 2 != 0;
        const uint64_t base = q.job->base();
        q.job->move(away ? base + 0xf00000 : first_mqd(q), away ? base + 0xa00000 : base + 0x400000);
    }
    uint64_t first_mqd(const Queue& q) const {
        return kUserBase + static_cast<uint64_t>(&q - queues_.data()) * 0x10000 + 0x8000;
    }
    void destroy(unsigned n) {
        ++destroyed;
        if (is(Mistake::DestroyedReturned) && queues_[n].parked) zombie_ = queues_[n].job->ring();
        if (queues_[n].evicted) restore(queues_[n]);
        make_queue(n);
    }

    // --- run lists ---
    bool away(const Queue& q) const { return q.parked || (q.evicted && !is(Mistake::EvictedReturned)); }
    void send_run_list() {
        std::vector<Words> packets;
        for (unsigned vmid = kFirstVmid; vmid < kFirstVmid + kQueues / 2; ++vmid) {
            Words words = process(vmid);
            words[13] = 64;
            packets.push_back(words);
            for (Queue& q : queues_) {
                const bool gws = &q == &queues_[0] || (&q == &queues_[kQueues - 1] && is(Mistake::GwsTwice));
                if (q.job->vmid() == vmid && !away(q))
                    packets.push_back(map_queue(q.job->ring(), 1u << 29 | 1u << 4 | uint32_t{gws} << 12));
            }
            if (vmid != kFirstVmid) continue;
            packets.push_back(map_queue(endless_->ring()));
            if (zombie_) packets.push_back(map_queue(*zombie_));
        }
        if (hangs_) {
            Words words = process(kRogueVmid);
            words[6] = 0;
            packets.push_back(words);
            packets.push_back(map_queue(rogue_->ring()));
        }
        run_list(packets);
        for (unsigned n = 0; n < 200 && on_hardware() != expected(); ++n) cp.run(64);
        if (on_hardware() != expected())
            notice(Notices::Slots,
                   fmt::format("{} queues on the hardware, {} shall be", on_hardware().size(), expected().size()));
    }
    void begin_unmap() {
        bus.memory.put<uint64_t>(kDone, 0);
        submit(hiq, CpBench::unmap(3));
        submit(hiq, query_status(kDone, 100));
    }
    void end_unmap() {
        const uint64_t steps = hangs_ ? random_() % 40 : kMostSteps;
        for (unsigned n = 0; n < steps && qword(kDone) != 100; ++n) cp.run(500);
        if (qword(kDone) != 100 && !hangs_) return notice(Notices::Answers, "the scheduler does not answer");
        if (qword(kDone) != 100 && !is(Mistake::AnswerIgnored)) return reset_gpu();
        if (cp.dispatcher().waves_live_total() != 0) notice(Notices::Answers, "waves run after the scheduler's answer");
    }

    // --- what must hold ---
    std::multiset<uint64_t> on_hardware() {
        std::multiset<uint64_t> descriptors;
        for (uint8_t pipe = 0; pipe < 4; ++pipe) {
            for (uint8_t queue = 0; queue < 8; ++queue) {
                const GrbmSelect slot{1, pipe, queue, 0};
                if ((reg(0xc91c, slot) & 1) != 0) descriptors.insert(reg(0xc914, slot) | uint64_t{reg(0xc918, slot)} << 32);
            }
        }
        return descriptors;
    }
    std::multiset<uint64_t> expected() {
        std::multiset<uint64_t> descriptors{endless_->ring().mqd};
        if (hangs_) descriptors.insert(rogue_->ring().mqd);
        for (const Queue& q : queues_) {
            if (!q.parked && !q.evicted) descriptors.insert(q.job->ring().mqd);
        }
        return descriptors;
    }
    void check(Queue& q) {
        size_t waves = 0;
        if (const std::string wrong = q.job->check_image(waves); !wrong.empty()) notice(Notices::Images, wrong);
        if (const std::string wrong = q.job->check_batch(); !wrong.empty()) notice(Notices::Once, wrong);
    }
    void check_counters() {
        if (translations_.missed() != 0 || bus.memory.faults != 0) notice(Notices::Memory, "an access without a translation");
        for (const Fault fault : {Fault::SavedImage, Fault::SaveAreaFull}) {
            if (env.stats.get(fault) != 0) notice(Notices::Images, fault_info(fault).text);
        }
    }

    void one_round() {
        for (unsigned n = 0; n < kQueues; ++n) {
            Queue& q = queues_[n];
            if (one_in(16)) destroy(n);
            if (!q.evicted && one_in(6))
                evict(q);
            else if (q.evicted && one_in(2))
                restore(q);
            q.parked = one_in(3);
            if (!q.evicted && one_in(8)) checkpoint(q);
            if (!q.job->idle()) continue;
            q.job->submit({{&kernels_[random_() % kernels_.size()], 1 + static_cast<unsigned>(random_() % 3),
                            1 + static_cast<unsigned>(random_() % 4)}});
        }
        hangs_ = one_in(16);
        send_run_list();
        for (unsigned n = random_() % 12; n != 0; --n) cp.run(1 + random_() % 3000);
        if (is(Mistake::DestroyMapped) && one_in(8)) {
            destroy(static_cast<unsigned>(random_() % kQueues));
            send_run_list();
        }
        begin_unmap();
        if (is(Mistake::CheckpointEarly)) {
            cp.run(1 + random_() % 200);
            for (Queue& q : queues_) {
                if (!away(q) && one_in(4)) checkpoint(q);
            }
        }
        end_unmap();
        if (!on_hardware().empty()) notice(Notices::Slots, "queues are on the hardware after they were unmapped");
        for (Queue& q : queues_) check(q);
        check_counters();
    }
    void finish() {
        hangs_ = false;
        for (Queue& q : queues_) {
            if (q.evicted) restore(q);
            q.parked = false;
        }
        send_run_list();
        const auto all_idle = [&] {
            return std::all_of(queues_.begin(), queues_.end(), [](const Queue& q) { return q.job->idle(); });
        };
        for (unsigned n = 0; n < 20'000 && !all_idle(); ++n) {
            cp.run(2000);
            for (Queue& q : queues_) {
                if (const std::string wrong = q.job->check_batch(); !wrong.empty()) return notice(Notices::Once, wrong);
            }
        }
        if (!all_idle()) notice(Notices::Ends, "work does not end");
        check_counters();
    }

    static constexpr uint64_t kDataBytes = 0x40000;  ///< of a KernelJob: all parts of a batch
    Mistake mistake_;
    std::mt19937_64 random_;
    std::array<Queue, kQueues> queues_;
    std::vector<Kernel> kernels_;
    std::unique_ptr<KernelJob> endless_, rogue_;
    Kernel endless_kernel_;
    std::optional<TestRing> zombie_;
    bool hangs_ = false;  ///< in this round: the rogue is there, whose process has no trap handler and whose waves do not end
    Translations translations_{bus.memory};
    Notices noticed_ = Notices::Nothing;
    std::string text_;
    unsigned round_ = 0;
};

constexpr uint64_t kSeeds = 8;
constexpr uint64_t kMostSeeds = 32;  ///< a mistake is noticed with each, but not always first by what the row says
constexpr unsigned kRounds = 300;

TEST(DriverFaults, WithoutAMistakeEverythingHolds) {
    for (uint64_t seed = 1; seed <= kSeeds / 2; ++seed) {
        Manager manager(Mistake::None, seed);
        const auto [notices, round] = manager.run(kRounds);
        EXPECT_EQ(notices, Notices::Nothing) << "seed " << seed << ", round " << round << ": " << manager.text();
        EXPECT_GT(manager.saved(), 200u);
        EXPECT_GT(manager.destroyed, 10u);
        EXPECT_GT(manager.evicted, 10u);
        EXPECT_GT(manager.checkpoints, 10u);
        EXPECT_GT(manager.resets, 3u);
    }
}

class DriverFault : public ::testing::TestWithParam<Row> {};

TEST_P(DriverFault, IsNoticed) {
    const Row& row = GetParam();
    const bool repeats = std::getenv("LYRA_TEST_THREADS") == nullptr;  // with several threads what is first noticed may differ
    std::string others;
    for (uint64_t seed = 1; seed <= kMostSeeds; ++seed) {
        Manager manager(row.mistake, seed);
        const auto found = manager.run(kRounds);
        if (repeats ? found.first != row.notices : found.first == Notices::Nothing) {
            others += fmt::format("seed {}, round {}: {}\n", seed, found.second, manager.text());
            continue;
        }
        fmt::print("{}: seed {}, round {}: {}\n", row.name, seed, found.second, manager.text());
        // The seed is the trace: with one thread for the waves it replays what was found.
        if (!repeats) return;
        Manager again(row.mistake, seed);
        EXPECT_EQ(again.run(kRounds), found);
        EXPECT_EQ(again.text(), manager.text());
        return;
    }
    FAIL() << "not noticed as expected\n" << others;
}

INSTANTIATE_TEST_SUITE_P(All, DriverFault, ::testing::ValuesIn(kRows), [](const auto& row) {
    std::string name = row.param.name;
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
});

}  // namespace
}  // namespace lyra
