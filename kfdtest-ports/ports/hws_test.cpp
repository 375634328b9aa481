// SPDX-License-Identifier: MIT
// KFDHWSTest: more queues of more processes than the hardware has. What each means upstream: README.md.
#include "kfdtest-ports/ports/kfd_test.h"

namespace lyra::kfd {
namespace {

class KFDHWSTest : public KfdTest {
protected:
    void SetUp() override {}  // options differ

    /// Every process sends an empty grid through each of its queues and waits for all of them, again and again.
    void run(uint32_t processes, uint32_t queues, uint32_t turns) {
        open({});
        struct Member {
            Process* process;
            std::vector<UserQueue> queues;
        };
        std::vector<Member> members;
        for (uint32_t p = 0; p < processes; ++p) {
            members.push_back({p == 0 ? &process() : new_process(), std::vector<UserQueue>(queues)});
            ASSERT_TRUE(members[p].process);
            for (UserQueue& queue : members[p].queues) ASSERT_SUCCESS(queue.create(*members[p].process));
        }
        EXPECT_TRUE(driver().queues().oversubscribed());
        for (uint32_t turn = 0; turn < turns; ++turn) {
            std::vector<std::unique_ptr<Dispatch>> grids;
            for (Member& member : members) {
                for (UserQueue& queue : member.queues) {
                    grids.push_back(std::make_unique<Dispatch>(*member.process, program(*member.process, "nothing")));
                    ASSERT_TRUE(grids.back()->submit(queue));
                }
            }
            for (uint32_t i = 0; i < grids.size(); ++i) ASSERT_SUCCESS(grids[i]->sync(kTimeoutMs)) << turn << " " << i;
        }
        EXPECT_EQ(stat("waves"), uint64_t{processes} * queues * turns);
        for (Member& member : members) {
            for (UserQueue& queue : member.queues) EXPECT_SUCCESS(queue.destroy());
        }
    }
};

TEST_F(KFDHWSTest, MultiProcessOversubscribed) { run(3, 13, 40); }

/// Not upstream: more processes than VMIDs too.
TEST_F(KFDHWSTest, MoreProcessesThanVmids) { run(12, 4, 10); }

/// Not upstream: two processes take turns with one VMID and have different memory at the same address. Nobody is told to drop
/// the translations of the other one: giving the VMID has to.
class VmidReuse : public KFDHWSTest {
protected:
    static constexpr uint64_t kVa = inproc::AddressSpace::kFirstVa + (uint64_t{1} << 36);
    struct Member {
        Process* process;
        GpuBuffer secret, seen;
    };
    void SetUp() override {
        open({});
        for (uint32_t n = 0; n < 2; ++n) {
            Member& member = members[n];
            member.process = n == 0 ? &process() : new_process();
            ASSERT_TRUE(member.process);
            member.secret = member.process->allocate(kPage);
            member.seen = member.process->allocate(kPage);
            ASSERT_TRUE(member.secret && member.seen);
            fill(member.secret, 0xa0a0a0a0 + n);
            const GpuBuffer& memory = member.secret;
            ASSERT_TRUE(member.process->space().map(kVa, memory.domain, memory.offset, kPage, inproc::pte::kAll));
        }
    }
    /// VMIDs in use, by what the registers of the slots say.
    std::set<uint32_t> vmids() {
        std::set<uint32_t> used;
        for (uint32_t slot = 0; slot < 32; ++slot) {
            gpu().select(1, slot / 8, slot % 8, 0);
            const uint32_t vmid = gpu().read_register(inproc::reg::kHqdVmid) & 15;
            if ((gpu().read_register(inproc::reg::kHqdActive) & 1) && vmid != 0) used.insert(vmid);
        }
        gpu().select(0, 0, 0, 0);
        return used;
    }
    Member members[2];
};

TEST_F(VmidReuse, WavesSeeTheirOwnProcessesMemory) {
    std::set<uint32_t> used;
    for (uint32_t turn = 0; turn < 6; ++turn) {
        Member& member = members[turn % 2];
        // Its memory is mapped, and flushed, before the process has the VMID.
        Dispatch grid(*member.process, program(*member.process, "copy_dword"));
        UserQueue queue;
        ASSERT_SUCCESS(queue.create(*member.process));
        ASSERT_TRUE(grid.args(kVa, member.seen.va).submit(queue));
        ASSERT_SUCCESS(grid.sync(kTimeoutMs)) << turn;
        EXPECT_EQ(words(member.seen)[0], 0xa0a0a0a0 + turn % 2) << turn;
        used.merge(vmids());
        fill(member.seen, 0);
        ASSERT_SUCCESS(queue.destroy());
    }
    EXPECT_EQ(used.size(), 1u) << "the VMID was not the same one";
}

TEST_F(VmidReuse, CopiesSeeTheirOwnProcessesMemory) {
    for (uint32_t turn = 0; turn < 6; ++turn) {
        Member& member = members[turn % 2];
        UserQueue queue;
        ASSERT_SUCCESS(queue.create(*member.process, QueueType::Sdma));
        ASSERT_TRUE(queue.place_and_submit(sdma::copy_linear(member.seen.va, kVa, 64)));
        ASSERT_TRUE(wait_value(words(member.seen), 0xa0a0a0a0 + turn % 2)) << turn;
        fill(member.seen, 0);
        ASSERT_SUCCESS(queue.destroy());
    }
}

}  // namespace
}  // namespace lyra::kfd
