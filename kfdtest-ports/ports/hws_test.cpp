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

}  // namespace
}  // namespace lyra::kfd
