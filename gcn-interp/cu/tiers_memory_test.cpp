// SPDX-License-Identifier: MIT
// Loads, stores and atomic operations of generated code do what the interpreter does, also where they fault.
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "gcn-interp/cu/tiers_machine.h"

namespace lyra::gcn::test {
namespace {

INSTANTIATE_TEST_SUITE_P(OnThisHost, Tiers, ::testing::ValuesIn(generated_backends()), backend_name);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Tiers);

/// Loads and stores of every order of lanes, with all of them on and some: what the interpreter does to memory and LDS.
TEST_P(Tiers, LanesInEveryOrderMoveWhatTheInterpreterMoves) {
    constexpr uint64_t kWords = 0x340;
    ComputeUnit interpreted{env, memory, services, 4};
    // v4: offset of the lane, bytes; v0 is the lane
    const char* const orders[] = {"v_lshlrev_b32 v4, 2, v0", "v_lshlrev_b32 v4, 3, v0", "v_mov_b32 v4, 24",
                                  "v_mul_u32_u24 v4, 40, v0\n v_and_b32 v4, 0x1f8, v4",
                                  "v_sub_u32 v4, 63, v0\n v_lshlrev_b32 v4, 3, v4",
                                  // side by side or equal in each 16 lanes
                                  "v_lshlrev_b32 v4, 4, v0", "v_and_b32 v4, 15, v0\n v_lshlrev_b32 v4, 2, v4",
                                  "v_and_b32 v4, 15, v0\n v_lshlrev_b32 v4, 3, v4", "v_and_b32 v4, 0x30, v0",
                                  "v_and_b32 v4, 15, v0\n v_lshlrev_b32 v4, 4, v4",
                                  // some and one of them beyond the end of LDS
                                  "v_lshlrev_b32 v4, 5, v0",
                                  "v_lshlrev_b32 v4, 2, v0\n v_mov_b32 v5, 0x2000\n v_cmp_eq_u32 vcc, 9, v0\n"
                                  "v_cndmask_b32 v4, v4, v5, vcc"};
    const char* const lanes[] = {"s_mov_b64 exec, -1", "s_mov_b32 exec_lo, 0xffff0ff0\n s_mov_b32 exec_hi, 0x80000001",
                                 "s_mov_b64 exec, 0x400"};
    const char* const moves[] = {"global_load_dword v10, v[2:3], off offset:4", "global_load_dwordx2 v[10:11], v[2:3], off",
                                 "global_load_dwordx4 v[10:13], v[2:3], off", "global_load_dword v10, v4, s[0:1]",
                                 "global_load_dwordx4 v[10:13], v4, s[0:1] offset:16", "global_store_dword v[2:3], v0, off",
                                 "global_store_dwordx2 v[2:3], v[0:1], off", "global_store_dwordx4 v[2:3], v[4:7], off",
                                 "ds_read_b32 v10, v4 offset:4", "ds_read_b64 v[10:11], v4",
                                 "ds_read2_b32 v[10:11], v4 offset0:1 offset1:3", "ds_read2st64_b32 v[10:11], v4 offset1:1",
                                 // The first element of a lane takes the place of its address.
                                 "ds_read2_b32 v[4:5], v4 offset1:3\n s_waitcnt 0\n v_mov_b32 v10, v4\n v_mov_b32 v11, v5",
                                 "ds_read2_b64 v[4:7], v4 offset1:3\n s_waitcnt 0\n v_mov_b32 v10, v6\n v_mov_b32 v11, v7",
                                 "ds_write_b32 v4, v0", "ds_write2_b32 v4, v0, v1 offset0:2 offset1:5"};
    const std::string begin =
        "s_add_u32 s6, s0, 0x800\n s_addc_u32 s7, s1, 0\n v_mov_b32 v1, 0x77\n v_mov_b32 v10, 5\n v_mov_b32 v11, 6\n"
        "v_lshlrev_b32 v5, 3, v0\n v_mul_u32_u24 v6, 77, v0\n ds_write_b64 v5, v[5:6]\n s_waitcnt lgkmcnt(0)\n";
    const std::string end =
        "\n s_waitcnt 0\n s_mov_b64 exec, -1\n v_lshlrev_b32 v5, 4, v0\n v_lshlrev_b32 v6, 3, v0\n ds_read_b64 v[12:13], v6\n"
        "s_waitcnt lgkmcnt(0)\n global_store_dwordx4 v5, v[10:13], s[6:7]\n"
        "v_lshlrev_b32 v5, 2, v0\n global_store_dword v5, v14, s[6:7] offset:1024";
    const std::string addresses = "v_mov_b32 v3, s1\n v_add_co_u32 v2, vcc, s0, v4\n v_addc_co_u32 v3, vcc, 0, v3, vcc";
    // A lane mask outlives the move.
    const std::string before = "\n v_mov_b32 v14, 3\n v_cmp_gt_u32 vcc, 20, v0\n", after = "\n v_cndmask_b32 v14, v0, v1, vcc";
    for (const char* order : orders) {
        for (const char* on : lanes) {
            for (const char* move : moves) {
                WorkgroupLaunch launch =
                    simple(std::vector<std::string>{begin, order, addresses, on, before, move, after, end});
                launch.rsrc1 |= 0xf0u << 12;
                launch.lds_bytes = 1024;
                const auto outcome = [&](ComputeUnit& on_unit) {
                    for (uint64_t n = 0; n < kWords; ++n)
                        memory.at<uint32_t>(kData + 4 * n) = static_cast<uint32_t>(n * 2654435761u);
                    on_unit.invalidate_code();
                    on_unit.launch(launch);
                    for (unsigned n = 0; n < 100 && on_unit.waves_live() != 0; ++n) on_unit.run(1000);
                    EXPECT_EQ(on_unit.waves_live(), 0u);
                    return std::vector<uint32_t>(&memory.at<uint32_t>(kData), &memory.at<uint32_t>(kData) + kWords);
                };
                const std::vector<uint32_t> expected = outcome(interpreted);
                outcome(cu);  // its TLB holds the memory from now on
                const uint64_t before = generated();
                ASSERT_EQ(outcome(cu), expected) << order << "\n" << on << "\n" << move;
                ASSERT_GT(generated(), before);
            }
        }
    }
}

/// One range of memory on both sides of 4 GiB, too.
class MemoryAt4GiB : public TestMemory {
public:
    static constexpr uint64_t kLimit = uint64_t{1} << 32, kPages = 0x10000, kAt = 8 << 20;
    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override {
        if (va - (kLimit - kPages) < 2 * kPages) return bytes.data() + kAt + (va - (kLimit - kPages));
        return TestMemory::page(vmid, va, access);
    }
    HostRange range(uint32_t vmid, uint64_t va, Access access) override {
        if (va - (kLimit - kPages) < 2 * kPages) return {kLimit - kPages, 2 * kPages, bytes.data() + kAt};
        return TestMemory::range(vmid, va, access);
    }
};

/// Addresses that are side by side or equal but for one lane, that reach into another page, and whose low halves overflow.
std::vector<std::array<uint64_t, kLanes>> nearly_alike(uint64_t data) {
    std::vector<std::array<uint64_t, kLanes>> tables;
    const auto add = [&](uint64_t base, uint64_t step, bool within_low) -> std::array<uint64_t, kLanes>& {
        auto& table = tables.emplace_back();
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            const uint64_t va = base + lane * step;
            table[lane] = within_low ? (base & ~uint64_t{0xffffffff}) | (va & 0xffffffff) : va;
        }
        return table;
    };
    for (const uint64_t step : {uint64_t{4}, uint64_t{8}, uint64_t{16}, uint64_t{0}}) {
        add(data, step, false);
        for (const unsigned lane : {0u, 1u, 15u, 16u, 31u, 40u, 63u}) {
            add(data, step, false)[lane] += 0x400;
            add(data, step, false)[lane] += uint64_t{1} << 32;
            add(data, step, false)[lane] = TestMemory::kBase + TestMemory::kSize + 4096;  // where nothing is
        }
        add(TestMemory::kReadOnly - 0x800, step, false);  // the TLB holds the page in front of the one that is read-only
        add(TestMemory::kReadOnly - 128, step, false);
        add(MemoryAt4GiB::kLimit - 0x1000, step, false);
        add(MemoryAt4GiB::kLimit - 128, step, false);
        add(MemoryAt4GiB::kLimit - 128, step, true);
        add(MemoryAt4GiB::kLimit - 24 * step, step, false);
        // Low halves overflow within the second 16 lanes only.
        auto& second = add(MemoryAt4GiB::kLimit - 0x1000, step, false);
        for (unsigned lane = 16; lane < 32; ++lane)
            second[lane] = (MemoryAt4GiB::kLimit - 8 * step + (lane - 16) * step) & 0xffffffff;
    }
    return tables;
}

// Addresses, data and results are in different 64 KiB each: generated code reads one TLB entry for so much.
TEST_P(Tiers, WavesMoveWhatTheInterpreterMoves) {
    constexpr uint64_t kAddresses = kData + 0x30000, kLimitAt = TestMemory::kBase + MemoryAt4GiB::kAt + MemoryAt4GiB::kPages;
    constexpr std::pair<uint64_t, size_t> kParts[] = {
        {kData, 0x1000}, {kData + 0x20000, 0x1000}, {kLimitAt - 0x1000, 0x2000}, {TestMemory::kReadOnly - 0x1000, 0x2000}};
    MemoryAt4GiB mapped;
    ComputeUnit interpreted{env, mapped, services, 4}, generating{env, mapped, services, 5};
    generating.set_translator(&translator);
    constexpr const char *kAll = "\n s_nop 0\n", *kSome = "\n s_mov_b32 exec_lo, 0xffff7ff3\n s_mov_b32 exec_hi, 0x80018101\n";
    const std::pair<const char*, const char*> kinds[] = {
        {"global_load_dword v10, v[2:3], off", kAll},        {"global_load_dwordx2 v[10:11], v[2:3], off", kAll},
        {"global_load_dwordx4 v[10:13], v[2:3], off", kAll}, {"global_store_dword v[2:3], v0, off", kAll},
        {"global_store_dwordx2 v[2:3], v[0:1], off", kAll},  {"global_store_dwordx4 v[2:3], v[0:3], off", kAll},
        {"global_load_dword v10, v[2:3], off", kSome},       {"global_load_dwordx2 v[10:11], v[2:3], off", kSome},
        {"global_store_dword v[2:3], v0, off", kSome}};
    for (const auto& [move, lanes] : kinds) {
        WorkgroupLaunch launch = simple(
            std::string("s_add_u32 s6, s0, 0x30000\n s_addc_u32 s7, s1, 0\n v_lshlrev_b32 v4, 3, v0\n v_mov_b32 v1, 0x77\n"
                        "v_mov_b32 v10, 5\n v_mov_b32 v11, 6\n v_lshlrev_b32 v5, 4, v0\n global_load_dwordx2 v[2:3], v4, "
                        "s[6:7]\n s_waitcnt 0\n") +
            lanes + move +
            "\n s_waitcnt 0\n s_mov_b64 exec, -1\n s_add_u32 s6, s0, 0x20000\n s_addc_u32 s7, s1, 0\n"
            "global_store_dwordx4 v5, v[10:13], s[6:7]");
        launch.rsrc1 |= 0xf0u << 12;
        const std::vector<uint8_t> code(&memory.at<uint8_t>(kCode), &memory.at<uint8_t>(kCode + 0x100));
        const auto outcome = [&](ComputeUnit& on, const std::array<uint64_t, kLanes>& table) {
            mapped.put(kCode, code);
            for (const auto& [at, bytes] : kParts) {
                for (uint64_t n = 0; n < bytes; n += 4) mapped.at<uint32_t>(at + n) = static_cast<uint32_t>(n * 2654435761u);
            }
            std::memcpy(&mapped.at<uint64_t>(kAddresses), table.data(), sizeof table);
            on.invalidate_code();
            on.launch(launch);
            for (unsigned n = 0; n < 10 && on.waves_live() != 0; ++n) on.run(1000);
            const uint64_t left = on.waves_live();
            on.kill_dispatch(launch.dispatch);
            for (uint64_t n = 0; n < 0x1000; n += 4) {
                const auto filled = static_cast<uint32_t>((0x1000 + n) * 2654435761u);
                EXPECT_EQ(mapped.at<uint32_t>(TestMemory::kReadOnly + n), filled) << move << n;
            }
            std::vector<uint8_t> found;
            for (const auto& [at, bytes] : kParts) {
                const uint8_t* const part = &mapped.at<uint8_t>(at);
                found.insert(found.end(), part, part + bytes);
            }
            return std::pair(left, found);
        };
        const auto tables = nearly_alike(kData);
        for (size_t n = 0; n < tables.size(); ++n) {
            const auto expected = outcome(interpreted, tables[n]);
            outcome(generating, tables[n]);  // its TLB holds the memory from now on
            const uint64_t before = generated();
            ASSERT_TRUE(outcome(generating, tables[n]) == expected) << move << ", table " << n;
            ASSERT_GT(generated(), before);
        }
    }
}

/// Addresses that generated code computes once for the 16 lanes of a strip: where that does not hold for all of them, because
/// the index changes its sign, a half passes 2^32 or bits meet, the wave goes on as the interpreter would.
TEST_P(Tiers, AddressesOfStripsAreThoseOfTheirLanes) {
    constexpr uint64_t kLimit = MemoryAt4GiB::kLimit, kResults = kData + 0x20000;
    constexpr std::pair<uint64_t, size_t> kParts[] = {
        {kData, 0x2000},
        {kResults, 0x2000},
        {TestMemory::kBase + MemoryAt4GiB::kAt + MemoryAt4GiB::kPages - 0x1000, 0x2000},
        {TestMemory::kReadOnly - 0x1000, 0x2000}};
    MemoryAt4GiB mapped;
    ComputeUnit interpreted{env, mapped, services, 4}, generating{env, mapped, services, 5};
    generating.set_translator(&translator);
    // s[2:3]: address of index 0; s4: index of lane 0. Each leaves an address in v[2:3] and the last carry in VCC.
    struct Form {
        const char* text;
        unsigned bytes;
        const char* move;
    };
    const char* const pair =
        "v_add_u32 v2, s4, v0\n v_ashrrev_i32 v3, 31, v2\n v_lshlrev_b64 v[2:3], 2, v[2:3]\n v_mov_b32 v4, s3\n"
        "v_add_co_u32 v2, vcc, s2, v2\n v_addc_co_u32 v3, vcc, v4, v3, vcc\n";
    const Form forms[] = {
        {pair, 4, "global_load_dword v10, v[2:3], off"},
        {pair, 4, "global_store_dword v[2:3], v0, off offset:8"},
        {"v_add_u32 v2, s4, v0\n v_mov_b32 v3, 0\n v_lshlrev_b64 v[2:3], 3, v[2:3]\n v_mov_b32 v4, s3\n"
         "v_add_co_u32 v2, vcc, v2, s2\n v_addc_co_u32 v3, vcc, v3, v4, vcc\n",
         8, "global_load_dwordx2 v[10:11], v[2:3], off"},
        {"v_add_u32 v2, s4, v0\n v_ashrrev_i32 v3, 31, v2\n v_lshlrev_b64 v[2:3], 4, v[2:3]\n v_mov_b32 v4, s3\n"
         "v_add_co_u32 v2, vcc, s2, v2\n v_addc_co_u32 v3, vcc, v3, v4, vcc\n",
         16, "global_store_dwordx4 v[2:3], v[4:7], off"},
        // s4 is a multiple of 4 there, and its bits may meet the lane's
        {"v_or_b32 v2, s4, v0\n v_lshlrev_b32 v2, 2, v2\n v_mov_b32 v4, s3\n v_add_co_u32 v2, vcc, s2, v2\n"
         "v_addc_co_u32 v3, vcc, 0, v4, vcc\n",
         4, "global_load_dword v10, v[2:3], off"},
        {"v_lshrrev_b32 v4, 4, v0\n s_lshr_b32 s7, s4, 1\n v_lshl_or_b32 v2, s7, 1, v0\n v_lshlrev_b32 v2, 2, v2\n"
         "v_mov_b32 v3, s3\n v_sub_co_u32 v2, vcc, v2, 0\n v_add_co_u32 v2, vcc, s2, v2\n v_addc_co_u32 v3, vcc, 0, v3, vcc\n",
         4, "global_load_dword v10, v[2:3], off"},
        // down from the end, by a borrow
        {"v_add_u32 v2, s4, v0\n v_lshlrev_b32 v2, 2, v2\n v_mov_b32 v4, s3\n v_add_co_u32 v2, vcc, s2, v2\n"
         "v_addc_co_u32 v3, vcc, 0, v4, vcc\n s_movk_i32 s7, 0x100\n v_add_co_u32 v2, vcc, s7, v2\n"
         "v_addc_co_u32 v3, vcc, 0, v3, vcc\n v_subrev_co_u32 v2, vcc, s7, v2\n v_subbrev_co_u32 v3, vcc, 0, v3, vcc\n",
         4, "global_load_dword v10, v[2:3], off"},
        // 32 bits that are added to a base in SGPRs
        {"v_add_u32 v2, s4, v0\n v_lshlrev_b32 v2, 2, v2\n v_mov_b32 v3, 0\n", 4, "global_load_dword v10, v2, s[2:3]"},
        // bytes
        {"v_add_u32 v2, s4, v0\n v_ashrrev_i32 v3, 31, v2\n v_mov_b32 v4, s3\n v_add_co_u32 v2, vcc, s2, v2\n"
         "v_addc_co_u32 v3, vcc, v4, v3, vcc\n",
         1, "global_load_dword v10, v[2:3], off"},
        // the same in all lanes of a strip
        {"v_lshrrev_b32 v2, 4, v0\n v_and_b32 v2, 3, v2\n v_mul_lo_u32 v2, v2, s8\n v_add_u32 v2, s4, v2\n"
         "v_ashrrev_i32 v3, 31, v2\n v_lshlrev_b64 v[2:3], 2, v[2:3]\n v_mov_b32 v4, s3\n v_add_co_u32 v2, vcc, s2, v2\n"
         "v_addc_co_u32 v3, vcc, v4, v3, vcc\n",
         4, "global_load_dword v10, v[2:3], off"},
        // a loop whose addresses go from one iteration to the next
        {"v_add_u32 v2, s4, v0\n v_ashrrev_i32 v3, 31, v2\n v_lshlrev_b64 v[2:3], 2, v[2:3]\n v_mov_b32 v4, s3\n"
         "v_add_co_u32 v2, vcc, s2, v2\n v_addc_co_u32 v3, vcc, v4, v3, vcc\n s_mov_b32 s7, 0\n v_mov_b32 v12, 0\n"
         "again: global_load_dword v13, v[2:3], off\n s_waitcnt 0\n v_add_u32 v12, v12, v13\n v_add_co_u32 v2, vcc, 4, v2\n"
         "v_addc_co_u32 v3, vcc, 0, v3, vcc\n s_add_i32 s7, s7, 1\n s_cmp_lt_u32 s7, 6\n s_cbranch_scc1 again\n",
         4, "global_load_dword v10, v[2:3], off"},
    };
    for (const Form& form : forms) {
        WorkgroupLaunch launch =
            simple(std::string("s_add_u32 s6, s0, 0x20000\n s_addc_u32 s7, s1, 0\n s_mov_b64 s[8:9], s[6:7]\n"
                               "v_mov_b32 v10, 5\n v_mov_b32 v11, 6\n v_mov_b32 v12, 7\n") +
                   form.text + form.move +
                   "\n v_cndmask_b32 v11, v11, v0, vcc\n s_waitcnt 0\n v_lshlrev_b32 v5, 4, v0\n"
                   "v_xor_b32 v13, v2, v3\n global_store_dwordx4 v5, v[10:13], s[8:9]");
        launch.rsrc1 |= 0xf0u << 12;
        launch.user_sgpr_count = 5;
        const std::vector<uint8_t> code(&memory.at<uint8_t>(kCode), &memory.at<uint8_t>(kCode + 0x200));
        const auto outcome = [&](ComputeUnit& on) {
            mapped.put(kCode, code);
            for (const auto& [at, bytes] : kParts) {
                for (uint64_t n = 0; n < bytes; n += 4) mapped.at<uint32_t>(at + n) = static_cast<uint32_t>(n * 2654435761u);
            }
            on.invalidate_code();
            on.launch(launch);
            for (unsigned n = 0; n < 10 && on.waves_live() != 0; ++n) on.run(1000);
            std::vector<uint8_t> found{static_cast<uint8_t>(on.waves_live())};
            if (on.waves_live() != 0) {  // it has faulted
                const Wave& wave = on.wave(0);
                const auto* const rows = reinterpret_cast<const uint8_t*>(wave.vgpr);
                found.insert(found.end(), rows, rows + wave.vgpr_count * sizeof(VgprRow));
                const auto* const scalars = reinterpret_cast<const uint8_t*>(wave.sgpr.data());
                found.insert(found.end(), scalars, scalars + wave.sgpr_count * sizeof(uint32_t));
            }
            on.kill_dispatch(launch.dispatch);
            for (const auto& [at, bytes] : kParts) {
                const uint8_t* const part = &mapped.at<uint8_t>(at);
                found.insert(found.end(), part, part + bytes);
            }
            return found;
        };
        for (const uint64_t target :
             {kData, kLimit - 0x400, kLimit - 128, kLimit - 20, kLimit - 64 * 4, kLimit,
              uint64_t{TestMemory::kReadOnly} - 0x800, uint64_t{TestMemory::kReadOnly} - 128,
              TestMemory::kBase + TestMemory::kSize - 59 * 4, TestMemory::kBase + TestMemory::kSize - 20}) {
            for (const uint32_t index : {0u, 16u, 24u, 0u - 64u, 0u - 20u, 0u - 16u, 0x3ffffff0u, 0x3ffffff6u, 0x40000000u,
                                         0x7fffffe4u, 0x1fffffeau, 0x0ffffff7u}) {
                const uint64_t base =
                    target - static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(index))) * form.bytes;
                launch.user_sgprs = {lo32(kData), hi32(kData), lo32(base), hi32(base), index};
                const auto expected = outcome(interpreted);
                outcome(generating);  // its TLB holds the memory from now on
                const uint64_t before = generated();
                ASSERT_TRUE(outcome(generating) == expected) << form.text << form.move << "\n"
                                                             << std::hex << target << ", index " << index;
                ASSERT_GT(generated(), before);
            }
        }
    }
}

/// Whoever looks at a wave that has faulted finds every register as the interpreter leaves it, also a carry that the next
/// instructions replace, and VGPRs that generated code had in registers.
TEST_P(Tiers, AFaultLeavesTheStateOfTheInterpreter) {
    const char* const accesses[] = {
        "global_load_dword v6, v[8:9], off", "global_store_dwordx4 v[8:9], v[0:3], off",
        "v_lshlrev_b32 v10, 2, v0\n v_mov_b32 v11, s1\n v_mul_f32 v12, s1, v11\n s_mov_b64 s[4:5], 0\n"
        "s_load_dword s8, s[4:5], 0x0\n global_store_dword v10, v12, s[0:1]",
        "v_lshlrev_b32 v20, 2, v0\n v_mov_b32 v11, s1\n v_mul_f32 v12, s1, v11\n"
        "global_atomic_add v[8:9], v12, off\n global_store_dword v20, v12, s[0:1]",
        // A calculation with more VGPRs than stay in registers. Of those with which addresses are computed it reads v20 and
        // v24, writes v22 and leaves v10, v12, v13 and v21 alone.
        R"(v_lshlrev_b32 v10, 2, v0
           v_mov_b32 v11, s1
           v_add_co_u32 v12, vcc, s0, v10
           v_addc_co_u32 v13, vcc, 0, v11, vcc
           v_lshlrev_b32 v20, 3, v0
           v_add_u32 v21, 4, v10
           v_lshlrev_b32 v22, 4, v0
           global_store_dword v[12:13], v0, off offset:3072
           global_store_dwordx2 v20, v[0:1], s[0:1]
           global_store_dword v21, v0, s[0:1] offset:512
           global_store_dwordx4 v22, v[0:3], s[0:1] offset:1024
           v_lshlrev_b32 v24, 2, v0
           global_store_dword v24, v0, s[0:1] offset:2560
           v_cvt_f32_u32 v14, v0
           v_add_f32 v15, 1.0, v14
           v_mul_f32 v16, v15, v14
           v_add_f32 v17, v16, v15
           v_mul_f32 v18, v17, v16
           v_add_f32 v19, v18, v17
           v_exp_f32 v16, v24
           v_add_f32 v14, v19, v16
           v_mul_f32 v15, v14, v19
           v_log_f32 v17, v14
           v_add_f32 v16, v15, v14
           v_sub_f32 v18, v16, v17
           v_add_f32 v19, v18, v20
           v_mul_f32 v22, v19, v18
           v_add_f32 v23, v19, v18
           global_store_dword v[12:13], v23, off offset:2048
           global_store_dword v21, v22, s[0:1] offset:2304
           v_add_co_u32 v2, vcc, v1, v0
           global_load_dword v6, v[8:9], off)"};
    for (const char* access : accesses) {
        WorkgroupLaunch launch = simple(std::string("v_mov_b32 v1, -9\n v_add_co_u32 v2, vcc, v1, v0\n v_mov_b32 v8, 0\n"
                                                    "v_mov_b32 v9, 0x77\n v_cvt_f64_i32 v[4:5], v0\n") +
                                        access + "\n v_add_co_u32 v2, vcc, 1, v0\n v_mov_b32 v4, 0\n v_mov_b32 v5, 0");
        launch.rsrc1 |= 0xf0u << 12;
        ComputeUnit interpreted{env, memory, services, 4};
        constexpr uint64_t kBytes = 0x1000;
        std::vector<Wave> waves;
        std::vector<std::vector<VgprRow>> rows;
        std::vector<std::vector<uint8_t>> stored;
        for (ComputeUnit* unit : {&interpreted, &cu}) {
            for (uint64_t n = 0; n < kBytes; n += 4) memory.at<uint32_t>(kData + n) = 0;
            unit->invalidate_code();
            for (unsigned again = 0; again < 2; ++again) {  // the TLB holds the memory the second time
                unit->kill_dispatch(launch.dispatch);
                unit->launch(launch);
                for (unsigned n = 0; n < 4; ++n) unit->run(1000);
            }
            stored.emplace_back(&memory.at<uint8_t>(kData), &memory.at<uint8_t>(kData) + kBytes);
            ASSERT_EQ(unit->waves_live(), 1u);
            const Wave& wave = unit->wave(0);
            EXPECT_EQ(wave.state, WaveState::Halted);
            waves.push_back(wave);
            rows.emplace_back(wave.vgpr, wave.vgpr + wave.vgpr_count);
            unit->kill_dispatch(launch.dispatch);
        }
        EXPECT_EQ(waves[0].sgpr, waves[1].sgpr) << access;
        EXPECT_NE(waves[0].sgpr[CodeConfig::of(waves[0]).physical(kVccLo)], 0u);
        EXPECT_EQ(waves[0].pc, waves[1].pc);
        EXPECT_EQ(waves[0].instructions, waves[1].instructions);
        EXPECT_EQ(std::memcmp(rows[0].data(), rows[1].data(), rows[0].size() * sizeof(VgprRow)), 0) << access;
        EXPECT_TRUE(stored[0] == stored[1]) << access;
    }
    EXPECT_GT(generated(), 0u);
}

/// Masks of which the code knows that they are the same for all lanes, or for those of each strip, before the load.
TEST_P(Tiers, AScalarLoadReplacesMasks) {
    constexpr uint64_t kMask = 0x8000'00f0'ffff'1235, kCarry = 0x1111'0000'1111'00ff;
    memory.at<uint64_t>(kData + 0x800) = kMask;
    memory.at<uint64_t>(kData + 0x808) = kCarry;
    for (uint32_t n = 0; n < 8; ++n) memory.at<uint32_t>(kData + 0x900 + 4 * n) = 100 + n;
    WorkgroupLaunch launch = simple(
        "v_mov_b32 v1, s2\n v_cmp_lt_u32 s[8:9], v1, 7\n v_mov_b32 v4, s2\n v_add_co_u32 v4, s[10:11], 3, v4\n"
        "s_load_dwordx4 s[8:11], s[0:1], 0x800\n s_waitcnt 0\n"
        "v_cndmask_b32 v2, 40, 50, s[8:9]\n v_addc_co_u32 v4, s[12:13], 0, v4, s[10:11]\n v_lshlrev_b32 v4, 2, v4\n"
        "global_load_dword v5, v4, s[0:1] offset:0x900\n s_waitcnt 0\n v_add_u32 v2, v2, v5\n v_lshlrev_b32 v3, 2, v0\n"
        "global_store_dword v3, v2, s[0:1]");
    launch.rsrc1 |= 0xf0u << 12;
    for (unsigned n = 0; n < 2; ++n) {
        run(launch);  // its TLB holds the memory the second time
        for (unsigned lane = 0; lane < kLanes; ++lane)
            ASSERT_EQ(word(lane), ((kMask >> lane & 1) != 0 ? 50 : 40) + 103 + (kCarry >> lane & 1)) << lane;
        EXPECT_GT(generated(), 10u);
    }
}

/// What an atomic operation takes is in registers of generated code before, what it does not take is there behind it, and what
/// it returns is what addresses are computed from.
TEST_P(Tiers, AtomicOperationsFindTheirOperands) {
    const std::string begin = R"(
        v_lshlrev_b32 v1, 3, v0
        v_lshlrev_b32 v17, 2, v0
        v_lshlrev_b32 v24, 2, v0
        v_lshlrev_b32 v2, 2, v0
        v_mov_b32 v3, s1
        v_add_co_u32 v4, vcc, s0, v1
        v_addc_co_u32 v5, vcc, 0, v3, vcc
        global_atomic_add v[4:5], v2, off offset:1024
        ds_write_b32 v2, v1
        ds_add_u32 v2, v1
        v_add_u32 v2, 4, v2
        global_atomic_add v[4:5], v2, off offset:1024
        s_waitcnt 0
        v_add_u32 v2, -4, v2
        global_store_dword v17, v17, s[0:1] offset:2048
        v_xor_b32 v18, 5, v3
        global_store_dword v17, v18, s[0:1] offset:2304
    )";
    const std::string end = "\n s_waitcnt 0\n global_store_dword v17, v25, s[0:1] offset:3072";
    struct {
        const char* text;
        uint32_t (*loaded)(unsigned lane);
    } const returning[] = {{"global_atomic_add v24, v[4:5], v2, off offset:1024 glc\n s_waitcnt 0\n global_load_dword v25, "
                            "v24, s[0:1] offset:1020",
                            [](unsigned lane) { return 12 * lane + 4; }},
                           {"ds_add_rtn_u32 v24, v2, v1\n s_waitcnt 0\n global_load_dword v25, v24, s[0:1] offset:1024",
                            [](unsigned lane) { return lane < 32 ? 16 * lane + 4 : 0; }},
                           // Its name does not say that it returns something.
                           {"s_mov_b32 m0, 0\n ds_append v24\n s_waitcnt 0\n global_load_dword v25, v24, s[0:1] offset:1024",
                            [](unsigned) { return 4u; }}};
    for (const auto& each : returning) {
        WorkgroupLaunch launch = simple(begin + each.text + end);
        launch.rsrc1 |= 0xf0u << 12;
        launch.lds_bytes = 512;
        for (unsigned n = 0; n < 2; ++n) {
            for (unsigned at = 0; at < 4 * kLanes; ++at) memory.at<uint32_t>(kData + 1024 + 4 * at) = 0;
            run(launch);
            for (unsigned lane = 0; lane < kLanes; ++lane) {
                ASSERT_EQ(word(512 + lane), 4 * lane);
                ASSERT_EQ(word(576 + lane), 5 ^ hi32(kData));
                ASSERT_EQ(word(768 + lane), each.loaded(lane)) << each.text;
            }
            EXPECT_GT(generated(), 20u);
        }
    }
}

}  // namespace
}  // namespace lyra::gcn::test
