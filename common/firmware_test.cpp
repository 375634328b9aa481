// SPDX-License-Identifier: MIT
// The table of firmware assumptions: its page, replacing choices.
#include "common/firmware.h"

#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lyra {
namespace {

TEST(Firmware, PageHasEveryRow) {
    std::ifstream file(LYRA_FIRMWARE_PAGE);
    const std::string page((std::istreambuf_iterator<char>(file)), {});
    size_t rows = 0;
    for (; const FirmwareInfo* info = firmware_info(rows); ++rows) {
        const std::string row = fmt::format("| `{}` | {} | {} | {} | {} |", info->name, name_of(info->free_running),
                                            name_of(info->virtual_time), info->text, info->driver);
        EXPECT_NE(page.find(row), std::string::npos) << "docs/design/firmware.md lacks\n" << row;
    }
    EXPECT_EQ(rows, 4u);
}

TEST(Firmware, TakesChoicesByName) {
    Firmware firmware = Firmware::defaults(false);
    EXPECT_EQ(firmware.set(""), "");
    EXPECT_EQ(firmware.set("runlist-over-live=preempt,rescue=off"), "");
    EXPECT_EQ(firmware.runlist_over_live, FirmwareChoice::Preempt);
    EXPECT_EQ(firmware.rescue, FirmwareChoice::Off);
    EXPECT_EQ(firmware.set("rescue=keep"), "firmware rescue: 'keep' is none of: on off");
    EXPECT_EQ(firmware.set("rescue"), "firmware rescue: '' is none of: on off");
    EXPECT_EQ(firmware.set("microcode=1"), "there is no firmware assumption 'microcode'");
    EXPECT_EQ(firmware.text(), "runlist-over-live=preempt,unmap-by-doorbell=keep,rescue=off,idle-round=cut");
    Firmware again;
    EXPECT_EQ(again.set(firmware.text()), "");
    EXPECT_EQ(again.text(), firmware.text());
}

/// In the device's own time nothing is kinder than what the driver asks for.
TEST(Firmware, DefaultsDependOnTheTime) {
    EXPECT_EQ(Firmware::defaults(false).rescue, FirmwareChoice::On);
    EXPECT_EQ(Firmware::defaults(true).rescue, FirmwareChoice::Off);
    EXPECT_EQ(Firmware::defaults(true).idle_round, FirmwareChoice::Packet);
}

}  // namespace
}  // namespace lyra
