// SPDX-License-Identifier: MIT
// Reading code objects and bundles, whole and damaged.
#include <gtest/gtest.h>

#include <cstring>

#include "tools/inproc/kernel_runner.h"

namespace lyra::inproc {
namespace {

void append(Bytes& to, const void* data, size_t bytes) {
    to.insert(to.end(), static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + bytes);
}

// A bundle of targets whose code is the target's name.
Bytes bundle(const std::vector<std::string>& targets) {
    Bytes made;
    append(made, "__CLANG_OFFLOAD_BUNDLE__", 24);
    uint64_t offset = 4096;
    const uint64_t count = targets.size();
    append(made, &count, 8);
    for (const std::string& target : targets) {
        const uint64_t row[3] = {offset, target.size(), target.size()};
        append(made, row, sizeof row);
        append(made, target.data(), target.size());
        offset += target.size();
    }
    made.resize(4096);
    for (const std::string& target : targets) append(made, target.data(), target.size());
    return made;
}

TEST(Bundle, PicksTheChip) {
    const Bytes file =
        bundle({"host-x86_64-unknown-linux", "hipv4-amdgcn-amd-amdhsa--gfx906", "hipv4-amdgcn-amd-amdhsa--gfx900:xnack-"});
    std::string error;
    const Bytes code = extract_code_object(file, "gfx900", error);
    EXPECT_EQ(std::string(code.begin(), code.end()), "hipv4-amdgcn-amd-amdhsa--gfx900:xnack-");
}

TEST(Bundle, SaysWhatItHas) {
    std::string error;
    EXPECT_TRUE(extract_code_object(bundle({"hip-amdgcn-amd-amdhsa--gfx90a"}), "gfx90", error).empty());
    EXPECT_NE(error.find("gfx90a"), std::string::npos);
}

TEST(Bundle, CutAnywhereIsAnError) {
    const Bytes whole = bundle({"hip-amdgcn-amd-amdhsa--gfx900"});
    for (size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 61) {
        std::string error;
        EXPECT_TRUE(extract_code_object(Bytes(whole.begin(), whole.begin() + static_cast<long>(size)), "gfx900", error).empty())
            << size;
        EXPECT_NE(error, "") << size;
    }
}

TEST(CodeObject, NamesKernelsAndArguments) {
    std::string error;
    CodeObject code;
    ASSERT_TRUE(code.parse(read_bytes(LYRA_TEST_KERNELS), "gfx900", error)) << error;
    const KernelInfo* add = code.find("add", error);
    ASSERT_NE(add, nullptr);
    ASSERT_GE(add->arguments.size(), 4u);
    EXPECT_EQ(add->arguments[3].value_kind, "by_value");
    EXPECT_EQ(add->arguments[3].size, 4u);
    EXPECT_FALSE(add->arguments[3].hidden());
    EXPECT_EQ(code.find("no_such_kernel", error), nullptr);
    EXPECT_NE(error.find("add"), std::string::npos);
}

TEST(CodeObject, OfAnotherChipIsRefused) {
    std::string error;
    CodeObject code;
    EXPECT_FALSE(code.parse(read_bytes(LYRA_TEST_KERNELS), "gfx906", error));
    EXPECT_NE(error.find("gfx900"), std::string::npos);
}

// A damaged file is refused or loaded, but never harms the host.
TEST(CodeObject, DamagedFilesDoNoHarm) {
    const Bytes whole = read_bytes(LYRA_TEST_KERNELS);
    std::string error;
    InProcessOptions options;
    options.vram_bytes = uint64_t{1} << 30;
    auto device = InProcessDevice::create(options, error);
    ASSERT_NE(device, nullptr) << error;
    uint64_t state = 1;
    for (int round = 0; round < 400; ++round) {
        Bytes damaged = whole;
        for (int i = 0; i < 4; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            // Mostly the headers: that is where sizes and offsets are.
            const size_t at = (state >> 33) % (round % 2 ? damaged.size() : 1024);
            damaged[at] = static_cast<uint8_t>(state >> 25);
        }
        if (round % 8 == 0) damaged.resize(static_cast<size_t>(state >> 33) % damaged.size());
        CodeObject code;
        error.clear();
        if (code.parse(std::move(damaged), "gfx900", error) && code.load(*device, error)) code.code();
    }
}

TEST(Kernarg, HiddenArgumentsFollowTheShape) {
    std::string error;
    CodeObject code;
    ASSERT_TRUE(code.parse(read_bytes(LYRA_TEST_KERNELS), "gfx900", error)) << error;
    const KernelInfo* add = code.find("add", error);
    ASSERT_NE(add, nullptr);
    LaunchShape shape;
    shape.grid[0] = 1000;
    shape.block[0] = 256;
    std::vector<std::string> unfilled;
    const std::vector<ArgumentBytes> values = {argument(uint64_t{1}), argument(uint64_t{2}), argument(uint64_t{3}),
                                               argument(1000)};
    const std::vector<uint8_t> segment = build_kernarg(*add, shape, values, 0, unfilled, error);
    ASSERT_FALSE(segment.empty()) << error;
    const std::pair<const char*, uint64_t> expected[] = {
        {"hidden_block_count_x", 3}, {"hidden_group_size_x", 256}, {"hidden_remainder_x", 232}, {"hidden_block_count_y", 1}};
    for (const auto& [kind, value] : expected) {
        bool found = false;
        for (const KernelArgument& each : add->arguments) {
            if (each.value_kind != kind) continue;
            uint64_t got = 0;
            std::memcpy(&got, &segment[each.offset], each.size);
            EXPECT_EQ(got, value) << kind;
            found = true;
        }
        EXPECT_TRUE(found) << kind;
    }
    EXPECT_TRUE(build_kernarg(*add, shape, {values[0]}, 0, unfilled, error).empty());
    EXPECT_NE(error, "");
}

}  // namespace
}  // namespace lyra::inproc
