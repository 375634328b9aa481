// SPDX-License-Identifier: MIT
// Buffer instructions that move between memory and LDS without a register, and thread numbers in buffer addresses.
#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {

class LdsDma : public Machine {
protected:
    /// s[12:15]: records of four bytes from the data on, with ADD_TID_ENABLE.
    static constexpr const char* kDescriptor = R"(
        s_mov_b32 s12, s0
        s_or_b32 s13, s1, 0x40000
        s_mov_b32 s14, 0x1000000
        s_mov_b32 s15, 0x00807fac
    )";
};

TEST_F(LdsDma, LoadsGoToLdsOfTheLane) {
    for (unsigned i = 0; i < 1024; ++i) memory.at<uint32_t>(kData + 4 * i) = 0x1000 + i * 0x01010101u;
    WorkgroupLaunch launch = simple(std::string(kDescriptor) + R"(
        buffer_load_dword v2, off, s[12:15], 0 offset:256
        s_mov_b32 m0, 0x100
        buffer_load_dword off, s[12:15], 0 lds
        v_lshlrev_b32 v4, 2, v0
        ds_read_b32 v3, v4 offset:256
    )");
    launch.lds_bytes = 1024;
    run(launch);
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(v(2, lane), word(64 + lane));
        EXPECT_EQ(v(3, lane), word(lane));
    }
}

TEST_F(LdsDma, StoresComeFromLdsOfTheLane) {
    WorkgroupLaunch launch = simple(std::string(kDescriptor) + R"(
        v_lshlrev_b32 v4, 2, v0
        v_add_u32 v5, 0x500, v0
        ds_write_b32 v4, v5 offset:256
        s_mov_b32 m0, 0xf0
        s_mov_b64 exec, 0xffff
        buffer_store_lds_dword s[12:15], 0 offset:16 lds
        s_mov_b64 exec, -1
        s_mov_b32 m0, 0x180
        s_mov_b32 s14, 0x2f0
        s_mov_b32 s4, 0x200
        buffer_store_lds_dword s[12:15], s4 lds
    )");
    launch.lds_bytes = 512;
    for (unsigned i = 0; i < 1024; ++i) memory.at<uint32_t>(kData + 4 * i) = 7;
    run(launch);
    for (unsigned lane = 0; lane < 64; ++lane) {
        EXPECT_EQ(word(4 + lane), lane < 16 ? 0x500 + lane : 7u) << lane;
        // Beyond the LDS, then beyond the buffer.
        EXPECT_EQ(word(128 + lane), lane < 32 ? 0x520 + lane : lane < 60 ? 0u : 7u) << lane;
    }
    EXPECT_EQ(word(3), 7u);
}

TEST_F(LdsDma, StoreWithoutPermissionIsAMemoryViolation) {
    WorkgroupLaunch launch = simple(std::string(kDescriptor) + "s_mov_b32 s12, 0x10\n buffer_store_lds_dword s[12:15], 0 lds");
    launch.lds_bytes = 512;
    cu.launch(launch);
    cu.run(100);
    EXPECT_EQ(services.errors, std::vector<unsigned>{2});
}

}  // namespace lyra::gcn::test
