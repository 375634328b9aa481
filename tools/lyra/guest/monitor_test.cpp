// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/monitor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

namespace lyra::cli {
namespace {

std::array<int, 2> socket_pair() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()), 0);
    return ends;
}

class GuestMonitorTest : public testing::Test {
protected:
    ~GuestMonitorTest() override {
        for (const int end : ends_) close(end);
    }
    /// What the monitor says to QEMU when QEMU says this.
    std::string answer(const std::string& text) {
        monitor_.feed(text.data(), text.size());
        std::array<char, 4096> buffer{};
        const ssize_t got = read(ends_[1], buffer.data(), buffer.size());
        return got > 0 ? std::string(buffer.data(), static_cast<size_t>(got)) : "";
    }

    std::array<int, 2> ends_ = socket_pair();
    GuestMonitor monitor_{ends_[0], "a \"file\".vmcore"};
};

TEST_F(GuestMonitorTest, APanicWritesTheMemoryOnceAndEndsTheGuest) {
    EXPECT_EQ(answer("{\"QMP\": {\"version\": {}}}\r\n"), R"({"execute": "qmp_capabilities"})");
    EXPECT_EQ(answer("{\"return\": {}}\r\n{\"event\": \"RESUME\"}\r\n"), "");
    EXPECT_EQ(answer("{\"event\": \"GUEST_"), "");
    const std::string dump = answer("PANICKED\", \"data\": {\"action\": \"pause\"}}\r\n{\"event\": \"GUEST_PANICKED\"}\r\n");
    EXPECT_NE(dump.find("dump-guest-memory"), std::string::npos);
    EXPECT_NE(dump.find(R"(file:a \"file\".vmcore)"), std::string::npos);
    EXPECT_EQ(dump.find("dump-guest-memory"), dump.rfind("dump-guest-memory"));
    EXPECT_FALSE(monitor_.has_vmcore());
    EXPECT_EQ(answer("{\"return\": {}, \"id\": \"dump\"}\r\n"), R"({"execute": "quit"})");
    EXPECT_TRUE(monitor_.has_vmcore());
    EXPECT_EQ(monitor_.error(), "");
}

TEST_F(GuestMonitorTest, AFullDiskIsAnErrorAndEndsTheGuest) {
    answer("{\"event\": \"GUEST_PANICKED\"}\n");
    EXPECT_EQ(answer("{\"id\": \"dump\", \"error\": {\"class\": \"GenericError\", \"desc\": \"dump: no space\"}}\n"),
              R"({"execute": "quit"})");
    EXPECT_FALSE(monitor_.has_vmcore());
    EXPECT_EQ(monitor_.error(), "dump: no space");
}

TEST_F(GuestMonitorTest, WordsThatAreNotJsonAreIgnored) {
    for (const char* line : {"\n", "[]\n", "3\n", "{\n", "{\"event\": 3}\n", "{\"id\": {}}\n", "\xff\xfe\n"})
        EXPECT_EQ(answer(line), "");
    EXPECT_FALSE(monitor_.has_vmcore());
}

}  // namespace
}  // namespace lyra::cli
