// SPDX-License-Identifier: MIT
// For the tests of image instructions: descriptors in memory, loaded into s[8:15] (image) and s[16:19] (sampler).
#pragma once

#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {

/// Fields of a T#; @source Linux 6.12 gc_9_0_sh_mask.h SQ_IMG_RSRC_WORD0..7
struct TestImage {
    unsigned type = 9, data_format = 10, num_format = 4;  ///< 2D, 8_8_8_8, uint
    unsigned width = 1, height = 1, last_slice = 0, pitch = 64, base_array = 0, last_level = 0;
    unsigned dst_sel = 4 | 5 << 3 | 6 << 6 | 7 << 9;
};

/// Fields of an S#.
struct TestSampler {
    unsigned clamp = 2, filter = 0, z_filter = 0, border = 0, min_filter = 0;
    bool unnormalized = false, truncate = true;
};

class ImageMachine : public Machine {
protected:
    static constexpr uint64_t kImage = kData + 0x10000;

    void SetUp() override { sampler({}); }
    void image(const TestImage& i, uint64_t at = kImage) {
        const uint32_t words[8] = {lo32(at >> 8),
                                   hi32(at >> 8) | i.data_format << 20 | i.num_format << 26,
                                   (i.width - 1) | (i.height - 1) << 14,
                                   i.dst_sel | i.last_level << 16 | i.type << 28,
                                   i.last_slice | (i.pitch - 1) << 13,
                                   i.base_array,
                                   0,
                                   0};
        std::memcpy(&memory.at<uint32_t>(kData + 0x100), words, sizeof words);
    }
    void sampler(const TestSampler& s) {
        const uint32_t words[4] = {
            s.clamp | s.clamp << 3 | s.clamp << 6 | uint32_t{s.unnormalized} << 15 | uint32_t{s.truncate} << 27, 0xfffu << 12,
            s.filter << 20 | (s.filter | s.min_filter) << 22 | s.z_filter << 24, s.border << 30};
        std::memcpy(&memory.at<uint32_t>(kData + 0x140), words, sizeof words);
    }
    /// Lane l: v1 = l % 8, v2 = l / 8 % 4, v3 = l / 32; v[4:31] = 0x55.
    WorkgroupLaunch program(const std::string& text) {
        std::string code =
            "s_load_dwordx8 s[8:15], s[0:1], 0x100\n s_load_dwordx4 s[16:19], s[0:1], 0x140\n s_waitcnt lgkmcnt(0)\n"
            "v_and_b32 v1, 7, v0\n v_bfe_u32 v2, v0, 3, 2\n v_lshrrev_b32 v3, 5, v0\n";
        for (unsigned n = 4; n < 32; ++n) code += "v_mov_b32 v" + std::to_string(n) + ", 0x55\n";
        return simple(code + text);
    }
    void execute(const std::string& text) { run(program(text)); }
    /// The same for instructions that take floats: v4, v5, v6 from three functions of the lane, put into memory.
    void execute_sample(const std::string& text, const std::vector<std::array<float, 4>>& coordinates) {
        for (unsigned lane = 0; lane < 64; ++lane)
            std::memcpy(&memory.at<float>(kData + 0x1000 + 16 * lane), coordinates[lane % coordinates.size()].data(), 16);
        execute(
            "v_lshlrev_b32 v8, 4, v0\n v_add_u32 v8, 0x1000, v8\n global_load_dwordx4 v[4:7], v8, s[0:1]\n s_waitcnt "
            "vmcnt(0)\n" +
            text);
    }
    float f(unsigned n, unsigned lane) const { return std::bit_cast<float>(v(n, lane)); }
    /// Raises illegal instruction and counts a gap of the model.
    void expect_refused(const std::string& text) {
        const uint64_t before = env.stats.get(Fault::TodoInstruction);
        services.errors.clear();
        cu.launch(program(text));
        cu.run(1000);
        EXPECT_EQ(services.errors, std::vector<unsigned>{1}) << text;
        EXPECT_EQ(env.stats.get(Fault::TodoInstruction), before + 1) << text;
        cu.kill_vmid(8);
    }
};

}  // namespace lyra::gcn::test
