// SPDX-License-Identifier: MIT
#include "common/recording.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

namespace lyra {
namespace {

class Recording : public ::testing::Test {
protected:
    Recording() : path_((std::filesystem::temp_directory_path() / "recording_test.XXXXXX").string()) {
        const int descriptor = mkstemp(path_.data());
        EXPECT_GE(descriptor, 0);
        close(descriptor);
    }
    ~Recording() override { std::filesystem::remove(path_); }

    std::unique_ptr<RecordingReader> read(std::string* why = nullptr) {
        std::string error;
        std::unique_ptr<RecordingReader> reader = RecordingReader::open(path_, error);
        if (why)
            *why = error;
        else
            EXPECT_NE(reader, nullptr) << error;
        return reader;
    }
    void write(const std::vector<RecordedCall>& calls, uint64_t limit = UINT64_MAX) {
        std::string error;
        const RecordingHeader header{{"chip", "gfx900"}, {"empty", ""}};
        std::unique_ptr<RecordingWriter> writer = RecordingWriter::open(path_, limit, header, error);
        ASSERT_NE(writer, nullptr) << error;
        for (const RecordedCall& call : calls) writer->write(call);
        EXPECT_FALSE(writer->failed());
    }

    std::string path_;
};

RecordedCall access(CallKind kind, uint64_t now_ns, uint64_t offset, uint64_t value, uint64_t result) {
    return {.kind = kind, .now_ns = now_ns, .offset = offset, .value = value, .result = result, .size = 4};
}

std::vector<RecordedCall> all_kinds() {
    std::vector<RecordedCall> calls{
        access(CallKind::MmioRead, 1000, 0x8234, 0, 0xffffffff),
        access(CallKind::MmioWrite, 2000, 0x8234, 0x50000000, 0),
        access(CallKind::DoorbellRead, 2000, 0x1000, 0, 7),
        access(CallKind::DoorbellWrite, 2001, 0x1000, UINT64_MAX, 0),
        access(CallKind::VramRead, 1, 0x3fffffff, 0, 1),
        access(CallKind::VramWrite, 5000, 0, 2, 0),
        {.kind = CallKind::RunUntil, .now_ns = 6000, .value = 7000, .result = UINT64_MAX, .msis = 3},
        {.kind = CallKind::Reset, .now_ns = uint64_t{1} << 50},
        {.kind = CallKind::RamMap, .ranges = {{0, 0xa0000, false}, {0xc0000, 0x1000, true}}},
        {.kind = CallKind::BarAddresses, .bars = {UINT64_MAX, 1, 2}},
        {.kind = CallKind::BusMaster, .value = 1},
        {.kind = CallKind::Load, .result = 1, .state = {1, 2, 3}},
        {.kind = CallKind::Run, .value = kMaxRunInstructions, .result = 2},
    };
    calls[1].pages = {{0x123000, 5, {{0, {1, 2, 3}}, {4095, {9}}}}, {kPlaceInVram | 0x7000, 0xffffffff, {}}};
    calls[6].checkpoint = Checkpoint{1, 2, 3, UINT64_MAX};
    calls.push_back({.kind = CallKind::End, .checkpoint = Checkpoint{}});
    return calls;
}

void expect_equal(const RecordedCall& a, const RecordedCall& b) {
    EXPECT_EQ(a.kind, b.kind);
    EXPECT_EQ(a.now_ns, b.now_ns);
    EXPECT_EQ(a.offset, b.offset);
    EXPECT_EQ(a.value, b.value);
    EXPECT_EQ(a.result, b.result);
    EXPECT_EQ(a.size, b.size);
    EXPECT_EQ(a.msis, b.msis);
    EXPECT_EQ(a.state, b.state);
    EXPECT_EQ(a.checkpoint, b.checkpoint);
    EXPECT_TRUE(std::equal(std::begin(a.bars), std::end(a.bars), std::begin(b.bars)));
    ASSERT_EQ(a.ranges.size(), b.ranges.size());
    for (size_t n = 0; n < a.ranges.size(); ++n) {
        EXPECT_EQ(a.ranges[n].bus, b.ranges[n].bus);
        EXPECT_EQ(a.ranges[n].bytes, b.ranges[n].bytes);
        EXPECT_EQ(a.ranges[n].readonly, b.ranges[n].readonly);
    }
    ASSERT_EQ(a.pages.size(), b.pages.size());
    for (size_t n = 0; n < a.pages.size(); ++n) {
        EXPECT_EQ(a.pages[n].place, b.pages[n].place);
        EXPECT_EQ(a.pages[n].before, b.pages[n].before);
        EXPECT_EQ(a.pages[n].runs, b.pages[n].runs);
    }
}

TEST_F(Recording, WhatIsWrittenIsRead) {
    const std::vector<RecordedCall> calls = all_kinds();
    ASSERT_EQ(calls.size(), kCallKinds);
    write(calls);
    const std::unique_ptr<RecordingReader> reader = read();
    EXPECT_EQ(reader->text("chip"), "gfx900");
    EXPECT_EQ(reader->text("empty"), "");
    EXPECT_EQ(reader->header().size(), 2u);
    RecordedCall call;
    for (const RecordedCall& expected : calls) {
        SCOPED_TRACE(static_cast<int>(expected.kind));
        ASSERT_TRUE(reader->next(call)) << reader->error();
        expect_equal(call, expected);
    }
    EXPECT_FALSE(reader->next(call));
    EXPECT_EQ(reader->error(), "");
}

// As a process that was killed leaves it. What is there is read.
TEST_F(Recording, OneThatIsCutOffSaysSo) {
    std::vector<RecordedCall> calls = all_kinds();
    calls.pop_back();
    write(calls);
    const std::unique_ptr<RecordingReader> reader = read();
    RecordedCall call;
    size_t read = 0;
    while (reader->next(call)) ++read;
    EXPECT_EQ(read, calls.size());
    EXPECT_NE(reader->error(), "");
}

TEST_F(Recording, OtherFilesAreRefused) {
    std::string why;
    std::ofstream(path_) << "";
    EXPECT_EQ(read(&why), nullptr);
    EXPECT_NE(why.find("not a recording"), std::string::npos) << why;
    std::ofstream(path_) << "lyra recording\n" << '\x03';
    EXPECT_EQ(read(&why), nullptr);
    EXPECT_NE(why.find("format 3"), std::string::npos) << why;
    path_ += ".none";
    EXPECT_EQ(read(&why), nullptr);
    EXPECT_NE(why.find("cannot read"), std::string::npos) << why;
}

// A length that nothing follows takes no memory, and one that is too large is refused.
TEST_F(Recording, LengthsAreNotBelieved) {
    const auto load = [&](const std::string& length) {
        std::ofstream file(path_, std::ios::binary);
        file << "lyra recording\n" << std::string("\x01\x00", 2);
        file << static_cast<char>(CallKind::Load) << std::string(1, '\0') << length;
    };
    RecordedCall call;
    load("\xff\xff\xff\xff\x03");  // 1 GiB - 1
    std::unique_ptr<RecordingReader> reader = read();
    EXPECT_FALSE(reader->next(call));
    EXPECT_NE(reader->error().find("ends in the middle"), std::string::npos) << reader->error();
    EXPECT_LT(call.state.capacity(), 4096u);
    load("\xff\xff\xff\xff\x7f");
    reader = read();
    EXPECT_FALSE(reader->next(call));
    EXPECT_NE(reader->error().find("too large"), std::string::npos) << reader->error();
}

// Its texts come to a terminal.
TEST_F(Recording, ControlCharactersInTheHeaderAreRefused) {
    for (const char* wrong : {"\x1b[2J", "two\nlines", "\xff"}) {
        std::string error;
        RecordingWriter::open(path_, UINT64_MAX, {{"lyra", wrong}}, error);
        std::string why;
        EXPECT_EQ(read(&why), nullptr);
        EXPECT_NE(why.find("the header is no text"), std::string::npos) << why;
    }
}

// Changes that cost the file a byte or two and the reader a hundred.
TEST_F(Recording, EmptyAndManyChangesAreRefused) {
    const auto refused = [&](size_t runs, size_t bytes) {
        RecordedCall call{.kind = CallKind::Reset, .pages = {{0x1000, 0, {}}}};
        for (size_t n = 0; n < runs; ++n) call.pages[0].runs.emplace_back(0, std::vector<uint8_t>(bytes));
        write({call});
        const std::unique_ptr<RecordingReader> reader = read();
        return !reader->next(call);
    };
    EXPECT_TRUE(refused(1, 0));
    EXPECT_FALSE(refused(512, 1));
    EXPECT_TRUE(refused(513, 1));
}

TEST_F(Recording, ItsSizeIsBounded) {
    std::string error;
    std::unique_ptr<RecordingWriter> writer = RecordingWriter::open(path_, 100'000, {}, error);
    ASSERT_NE(writer, nullptr) << error;
    RecordedCall call{.kind = CallKind::MmioWrite, .size = 4};
    uint64_t state = 1;
    unsigned calls = 0;
    for (; !writer->full() && calls < 100'000; ++calls) {
        call.value = state = state * 6364136223846793005 + 1442695040888963407;  // cannot be compressed
        writer->write(call);
    }
    EXPECT_TRUE(writer->full());
    EXPECT_GT(calls, 5'000u);
    writer.reset();
    EXPECT_LT(std::filesystem::file_size(path_), 200'000u);
}

TEST(PageChange, IsApplied) {
    std::array<uint8_t, kPageBytes> page{};
    PageChange{0, 0, {{1, {2, 3}}, {4095, {4}}}}.apply(page);
    EXPECT_EQ(page[0], 0);
    EXPECT_EQ(page[1], 2);
    EXPECT_EQ(page[2], 3);
    EXPECT_EQ(page[3], 0);
    EXPECT_EQ(page[4095], 4);
}

}  // namespace
}  // namespace lyra
