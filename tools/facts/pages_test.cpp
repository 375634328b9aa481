// SPDX-License-Identifier: MIT
#include "tools/facts/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "cp-firmware-model/packets/pm4.h"

namespace lyra::facts {
namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Pages, ARegisterWithItsFields) {
    const std::string page = registers_page();
    EXPECT_TRUE(has(page, "| `CP_HQD_VMID` | 0x0c920 |"));
    EXPECT_TRUE(has(page, "`VMID` 3:0, `IB_VMID` 11:8"));
    EXPECT_TRUE(has(page, "\n| `VM_L2_CNTL` | 0x0a100, 0x69a00 |")) << "of both hubs";
    EXPECT_TRUE(has(page, "\n| `RB_CNTL` | 0x04b80, ")) << "of all rings";
    EXPECT_TRUE(has(page, "| `GRBM_STATUS` | 0x08010 |  |  | CP | read only |"));
}

TEST(Pages, APacketWithItsFields) {
    const std::string page = packets_page();
    EXPECT_TRUE(has(page, "| `WAIT_REG_MEM` | 0x3c | 6 | any queue |  | `function` dw 2 2:0,"));
    EXPECT_TRUE(has(page, "`vmid` dw 2 11:8 (KIQ)"));
    EXPECT_TRUE(has(page, "| `FENCE` | 5 | 0 | 4 |  | `addr` dw 1..2, `data` dw 3 |"));
    EXPECT_TRUE(has(page, "| 65..80 | `compute_user_data_0` | `COMPUTE_USER_DATA` |"));
}

// The grammar is that of libFuzzer's -dict.
TEST(Dictionaries, EachLineIsAWord) {
    static const std::regex kLine(R"re((#.*)|([A-Za-z]\w*="(\\x[0-9a-f]{2})+"))re");
    for (const char* name : {"pm4", "sdma", "aql"}) {
        std::istringstream lines(dictionary(name));
        unsigned count = 0;
        for (std::string line; std::getline(lines, line); ++count) EXPECT_TRUE(std::regex_match(line, kLine)) << line;
        EXPECT_GT(count, 5u) << name;
    }
    EXPECT_EQ(dictionary("nothing"), "");
}

TEST(Dictionaries, HeadersAsTheyLieInMemory) {
    EXPECT_TRUE(has(dictionary("pm4"), "\nWAIT_REG_MEM=\"\\x00\\x3c\\x05\\xc0\"\n"));
    EXPECT_TRUE(has(dictionary("sdma"), "\nCOPY_LINEAR_BROADCAST=\"\\x01\\x00\\x00\\x08\"\n"));
    const std::string pm4 = dictionary("pm4");
    for (const pm4::PacketInfo& row : pm4::kPackets) EXPECT_TRUE(has(pm4, fmt::format("\n{}=", row.name))) << row.name;
}

}  // namespace
}  // namespace lyra::facts
