// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/kfdtest_case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/stats.h"

namespace lyra::cli {
namespace {

constexpr const char* kGood = "[==========] 1 test ran.\n[  PASSED  ] 1 test.\n";

KfdtestCase passing(std::vector<std::string> evidence) {
    return {"KFDQMTest.EmptyDispatch", "S6", "pass", false, "", std::move(evidence), ""};
}

/// The counters as the guest prints them, all 0 but one.
std::string counters(const char* when, const std::string& name, uint32_t value) {
    std::string line = when;
    for (const char* each : kStatNames) line += each == name ? fmt::format(" {}", value) : " 0";
    return line + "\n";
}

KfdtestOutcome outcome_of(const KfdtestCase& test, const std::string& evidence, const std::string& control = "") {
    return judge_kfdtest(test, 0, kGood, missing_evidence(test, read_evidence(evidence), read_evidence(control)));
}

std::string objection_to(const std::string& table) {
    try {
        parse_kfdtest_cases(table);
    } catch (const std::runtime_error& error) {
        return error.what();
    }
    return "";
}

TEST(KfdtestEvidence, IsTheDifferenceOfCountersAndTheSumOfCalls) {
    const KfdtestEvidence seen = read_evidence(counters("before", "dispatches", 5) + counters("after", "dispatches", 7) +
                                               "ioctl 24 3\nioctl 2 1\nioctl 24 2\nioctl 0 1\nioctl 200 1\nbody_end\n");
    EXPECT_EQ(seen, (KfdtestEvidence{{"dispatches", 2}, {"map_memory_to_gpu", 5}, {"create_queue", 1}, {"body_end", 1}}));
}

TEST(KfdtestEvidence, CountersWrapAround) {
    const KfdtestEvidence seen =
        read_evidence(counters("before", "instructions", 0xfffffff0) + counters("after", "instructions", 0x10));
    EXPECT_EQ(seen, (KfdtestEvidence{{"instructions", 0x20}}));
}

TEST(KfdtestEvidence, CountersThatCannotBeReadShowNothing) {
    EXPECT_TRUE(read_evidence("before \nafter \n").empty());
    EXPECT_TRUE(read_evidence("before 1 2\nafter x\n").empty());
    EXPECT_TRUE(read_evidence("").empty());
}

TEST(KfdtestJudge, ABodyThatReturnsEarlyWithoutAWordIsVacuous) {
    EXPECT_EQ(outcome_of(passing({}), "body_end\n"), KfdtestOutcome::Passed);
    EXPECT_EQ(outcome_of(passing({}), ""), KfdtestOutcome::Vacuous);
    EXPECT_EQ(outcome_of(passing({}), "ioctl 8 1\n"), KfdtestOutcome::Vacuous);
}

TEST(KfdtestJudge, ABodyWithoutTheEvidenceOfItsRowIsVacuous) {
    const std::string dispatched = counters("before", "dispatches", 1) + counters("after", "dispatches", 2) + "body_end\n";
    EXPECT_EQ(outcome_of(passing({"dispatches"}), dispatched), KfdtestOutcome::Passed);
    EXPECT_EQ(outcome_of(passing({"dispatches", "create_event"}), dispatched), KfdtestOutcome::Vacuous);
    EXPECT_EQ(outcome_of(passing({"dispatches"}), "body_end\n"), KfdtestOutcome::Vacuous);
    EXPECT_EQ(missing_evidence(passing({"dispatches", "create_event"}), read_evidence(dispatched), {}),
              std::vector<std::string>{"create_event"});
}

TEST(KfdtestJudge, ABodyInAChildNeedsTheEvidenceButNotItsEnd) {
    EXPECT_EQ(outcome_of(passing({"in_child", "svm"}), "ioctl 32 1\n"), KfdtestOutcome::Passed);
    EXPECT_EQ(outcome_of(passing({"in_child", "svm"}), "ioctl 33 1\n"), KfdtestOutcome::Vacuous);
}

TEST(KfdtestJudge, WhatTheControlCaseDoesIsNoEvidence) {
    const std::string control = "ioctl 24 2\nbody_end\n";
    EXPECT_EQ(outcome_of(passing({"map_memory_to_gpu"}), "ioctl 24 2\nbody_end\n", control), KfdtestOutcome::Vacuous);
    EXPECT_EQ(outcome_of(passing({"map_memory_to_gpu"}), "ioctl 24 3\nbody_end\n", control), KfdtestOutcome::Passed);
    EXPECT_EQ(outcome_of(passing({}), "body_end\n", control), KfdtestOutcome::Passed) << "its own body has ended, too";
}

TEST(KfdtestJudge, SkippingIsNoPassWhateverWasSeen) {
    const KfdtestCase test = passing({});
    EXPECT_EQ(judge_kfdtest(test, 0, std::string("Skipping test: no assembler\n") + kGood, {}), KfdtestOutcome::Vacuous);
    EXPECT_EQ(judge_kfdtest(test, 0, "[  PASSED  ] 0 tests.\n[  SKIPPED ] 1 test, listed below:\n", {}),
              KfdtestOutcome::Failed);
    EXPECT_EQ(judge_kfdtest(test, 0, "[  PASSED  ] 0 tests.\n", {}), KfdtestOutcome::Failed) << "no case has this name";
}

TEST(KfdtestJudge, AFailureIsOneWithAllEvidence) {
    EXPECT_EQ(judge_kfdtest(passing({}), 1, kGood, {}), KfdtestOutcome::Failed);
    EXPECT_EQ(judge_kfdtest(passing({}), 0, "[  FAILED  ] 1 test\n", {}), KfdtestOutcome::Failed);
}

TEST(KfdtestJudge, RowsThatReturnEarlyByDesignStayVacuous) {
    const KfdtestCase test{"KFDIPCTest.CMABasicTest", "-", "vacuous", false, "", {}, "needs 2 GPUs"};
    EXPECT_EQ(outcome_of(test, "body_end\n"), KfdtestOutcome::Vacuous);
}

TEST(KfdtestTable, HasARowForEachCase) {
    const auto cases = parse_kfdtest_cases(
        "# text\n"
        "A.One\tS1\tpass\t-\t-\tdispatches,create_event\t-\n"
        "A.Two\t-\texclude\t-\t-\t-\tnot in Debian's\n"
        "A.Three\tS8\tpass\tslow\tmem=2G\tnone\ton the host\n");
    ASSERT_EQ(cases.size(), 3u);
    EXPECT_EQ(cases[0].evidence, (std::vector<std::string>{"dispatches", "create_event"}));
    EXPECT_EQ(cases[0].reason, "");
    EXPECT_EQ(cases[1].reason, "not in Debian's");
    EXPECT_TRUE(cases[2].slow);
    EXPECT_EQ(cases[2].guest, "mem=2G");
    EXPECT_TRUE(cases[2].evidence.empty());
}

TEST(KfdtestTable, APassNeedsEvidenceOrAReason) {
    EXPECT_EQ(objection_to("A.One\tS1\tpass\t-\t-\tnone\tasks the driver only\n"), "");
    EXPECT_NE(objection_to("A.One\tS1\tpass\t-\t-\tnone\t-\n"), "");
    EXPECT_NE(objection_to("A.One\tS1\tpass\t-\t-\t-\tasks the driver only\n"), "");
    EXPECT_NE(objection_to("A.One\tS1\tpass\t-\t-\tdispatch\t-\n"), "") << "no counter has this name";
    EXPECT_EQ(objection_to("A.One\tS1\tpass\t-\t-\tin_child,dispatches\t-\n"), "");
    EXPECT_NE(objection_to("A.One\tS1\tpass\t-\t-\tin_child\tin a child\n"), "");
    EXPECT_NE(objection_to("A.One\tS1\tpass\t-\t-\t-\n"), "") << "a column is missing";
    EXPECT_NE(objection_to("A.One\tS1\tvacuous\t-\t-\t-\t-\n"), "") << "without a reason";
    EXPECT_NE(objection_to("A.One\tS1\tpassed\t-\t-\tdispatches\t-\n"), "");
}

// What names promise, in every table.
constexpr struct {
    const char *filter, *evidence;
} kPromises[] = {
    {"KFDCWSRTest.*", "waves_saved"},
    {"KFDQMTest.*Dispatch:KFDQMTest.Atomics", "dispatches"},
    {"KFDQMTest.*Cp*Queue*-*Disable*:*CreateDestroy*:*CreateAql*:*Stress*", "user_pm4_packets"},
    {"KFDQMTest.*Sdma*-*CreateDestroy*", "user_sdma_packets"},
    {"KFDQMTest.*CuMasking*", "set_cu_mask"},
    {"KFDExceptionTest.*", "vm_faults"},
    {"KFDEventTest.Signal*", "wait_events"},
    {"KFDDBGTest.*", "dbg_trap"},
    {"KFDSVMRangeTest.*-*XNACKMode*:*InvalidRange*", "svm"},
};

TEST(KfdtestTable, TheTablesAskForWhatTheirNamesPromise) {
    size_t tables = 0;
    for (const auto& entry : std::filesystem::directory_iterator(LYRA_EXPECTATIONS)) {
        SCOPED_TRACE(entry.path().filename().string());
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        ASSERT_EQ(objection_to(text), "");
        bool control = false;
        for (const KfdtestCase& test : parse_kfdtest_cases(text)) {
            control = control || (test.name == kControlCase && test.has_to_pass());
            for (const auto& promise : kPromises) {
                if (!test.has_to_pass() || !matches_filter(test.name, promise.filter)) continue;
                EXPECT_EQ(std::count(test.evidence.begin(), test.evidence.end(), promise.evidence), 1)
                    << test.name << ": " << promise.evidence;
            }
        }
        EXPECT_TRUE(control);
        ++tables;
    }
    EXPECT_EQ(tables, 6u);
}

// The driver has its own work in the background: its queues, its registers, its interrupts.
TEST(KfdtestTable, NoTableTakesWorkOfTheDriverForEvidence) {
    for (const auto& entry : std::filesystem::directory_iterator(LYRA_EXPECTATIONS)) {
        std::ifstream file(entry.path());
        const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        for (const KfdtestCase& test : parse_kfdtest_cases(text)) {
            for (const char* noise : {"mmio_reads", "mmio_writes", "doorbells", "interrupts", "msis", "pm4_packets",
                                      "sdma_packets", "sdma_bytes", "tlb_walks", "tlb_invalidations", "queues_unmapped"}) {
                EXPECT_EQ(std::count(test.evidence.begin(), test.evidence.end(), noise), 0) << test.name << ": " << noise;
            }
        }
    }
}

TEST(KfdtestFilter, IsThatOfGtest) {
    EXPECT_TRUE(matches_filter("KFDQMTest.AllQueues", "*"));
    EXPECT_TRUE(matches_filter("KFDQMTest.AllQueues", "A.*:KFDQMTest.A??Queues"));
    EXPECT_FALSE(matches_filter("KFDQMTest.AllSdmaQueues", "KFDQMTest.*-*Sdma*"));
    EXPECT_TRUE(matches_filter("KFDQMTest.AllQueues", "-*Sdma*"));
}

}  // namespace
}  // namespace lyra::cli
