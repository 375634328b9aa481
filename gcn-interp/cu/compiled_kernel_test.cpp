// SPDX-License-Identifier: MIT
// A kernel from the compiler, at every optimisation level, on one compute unit: calls, stack, LDS, barrier, atomics.
#include <elf.h>

#include "gcn-interp/cu/test_machine.h"

namespace lyra::gcn::test {
namespace {

constexpr const char* kSource = R"(
typedef unsigned int uint;
static uint id(void) { return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); }
__attribute__((noinline)) uint weigh(uint* p, int n) { uint s = 0; for (int i = 0; i < n; i++) s += p[i] * (i + 1); return s; }
kernel void mix(global uint* out, global uint* in, uint n, global uint* count) {
    uint a[16];
    local uint l[256];
    uint i = id();
    for (int j = 0; j < 16; j++) a[(j * 7) & 15] = in[(i + j) % n];
    ((char*)a)[5] += i;
    l[i & 255] = weigh(a, 16);
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    uint seen = l[(i & 255) ^ 133];
    if (seen & 1) seen = seen / 3 + weigh(&l[i & 128], 4);
    out[i] = seen + weigh(in, 4);
    __opencl_atomic_fetch_add((volatile global atomic_uint*)count, seen, __ATOMIC_RELAXED, __OPENCL_MEMORY_SCOPE_DEVICE);
}
)";

constexpr unsigned kGroups = 3, kItems = 256, kInputs = 100;

uint32_t weigh(const uint32_t* p, int n) {
    uint32_t s = 0;
    for (int i = 0; i < n; ++i) s += p[i] * static_cast<uint32_t>(i + 1);
    return s;
}

/// What the kernel above computes. @return the sum of the last column
uint32_t reference(const std::vector<uint32_t>& in, std::vector<uint32_t>& out) {
    uint32_t count = 0;
    for (unsigned group = 0; group < kGroups; ++group) {
        uint32_t l[kItems];
        for (unsigned t = 0; t < kItems; ++t) {
            const uint32_t i = group * kItems + t;
            uint32_t a[16];
            for (unsigned j = 0; j < 16; ++j) a[(j * 7) & 15] = in[(i + j) % kInputs];
            reinterpret_cast<uint8_t*>(a)[5] += static_cast<uint8_t>(i);
            l[t] = weigh(a, 16);
        }
        for (unsigned t = 0; t < kItems; ++t) {
            uint32_t seen = l[t ^ 133];
            if (seen & 1) seen = seen / 3 + weigh(&l[t & 128], 4);
            out[group * kItems + t] = seen + weigh(in.data(), 4);
            count += seen;
        }
    }
    return count;
}

std::vector<uint8_t> compile(const std::string& options) {
    std::string name = (std::filesystem::temp_directory_path() / "lyra-cl-XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    std::ofstream(name + "/k.cl") << kSource;
    const std::string command = "clang-19 -x cl -cl-std=CL2.0 -target amdgcn-amd-amdhsa -mcpu=gfx900 -nogpulib " + options +
                                " " + name + "/k.cl -o " + name + "/k.co";
    EXPECT_EQ(std::system(command.c_str()), 0);
    std::ifstream in(name + "/k.co", std::ios::binary);
    std::vector<uint8_t> file((std::istreambuf_iterator<char>(in)), {});
    std::filesystem::remove_all(name);
    return file;
}

}  // namespace

class CompiledKernel : public Machine {
protected:
    /// Copy the segments to kCode. @return address of the kernel descriptor
    uint64_t load(const std::vector<uint8_t>& file) {
        if (file.size() < sizeof(Elf64_Ehdr)) return 0;
        const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
        const auto* segments = reinterpret_cast<const Elf64_Phdr*>(file.data() + header->e_phoff);
        for (unsigned i = 0; i < header->e_phnum; ++i) {
            if (segments[i].p_type != PT_LOAD) continue;
            std::memcpy(&memory.at<uint8_t>(kCode + segments[i].p_vaddr), file.data() + segments[i].p_offset,
                        segments[i].p_filesz);
        }
        const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
        for (unsigned i = 0; i < header->e_shnum; ++i) {
            if (sections[i].sh_type != SHT_SYMTAB) continue;
            const char* names = reinterpret_cast<const char*>(file.data() + sections[sections[i].sh_link].sh_offset);
            const auto* symbols = reinterpret_cast<const Elf64_Sym*>(file.data() + sections[i].sh_offset);
            for (size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s) {
                if (std::string(names + symbols[s].st_name) == "mix.kd") return kCode + symbols[s].st_value;
            }
        }
        return 0;
    }

    /// User SGPRs in the order of the descriptor's properties. @source LLVM AMDGPUUsage "Initial Kernel Execution State"
    void set_user_sgprs(WorkgroupLaunch& launch, uint16_t properties, uint64_t kernarg, uint32_t private_bytes) {
        std::vector<uint32_t> sgprs;
        const auto put64 = [&](bool on, uint64_t value) {
            if (on) sgprs.insert(sgprs.end(), {lo32(value), hi32(value)});
        };
        if (properties & 1) {
            sgprs = {lo32(kScratch), hi32(kScratch) | 0x80000000, 0x100000, 0x00e00000 | 4 << 15 | 7 << 12};
        }
        put64(properties & 2, kData + 0x7000);
        put64(properties & 4, kData + 0x7100);
        put64(properties & 8, kernarg);
        put64(properties & 16, 0);
        put64(properties & 32, kScratch);
        if (properties & 64) sgprs.push_back(private_bytes);
        ASSERT_LE(sgprs.size(), 16u);
        std::copy(sgprs.begin(), sgprs.end(), launch.user_sgprs.begin());
        launch.user_sgpr_count = static_cast<unsigned>(sgprs.size());
    }

    void check(const std::string& options) {
        const uint64_t descriptor = load(compile(options));
        ASSERT_NE(descriptor, 0u);
        const uint64_t out_at = kData + 0x10000, in_at = kData + 0x20000, kernarg = kData + 0x8000;
        const uint64_t arguments[] = {out_at, in_at, kInputs, kData + 0x30000};
        std::memcpy(&memory.at<uint8_t>(kernarg), arguments, sizeof arguments);
        std::vector<uint32_t> in(kInputs), expect(kGroups * kItems);
        for (unsigned i = 0; i < kInputs; ++i) memory.at<uint32_t>(in_at + 4 * i) = in[i] = i * 2654435761u;
        memory.at<uint32_t>(kData + 0x30000) = 0;
        const uint32_t count = reference(in, expect);

        WorkgroupLaunch launch;
        launch.entry = descriptor + memory.at<uint64_t>(descriptor + 16);
        launch.vmid = 9;
        launch.rsrc1 = memory.at<uint32_t>(descriptor + 48);
        launch.rsrc2 = memory.at<uint32_t>(descriptor + 52);
        launch.private_base = kPrivate;
        launch.shared_base = kShared;
        launch.lds_bytes = (memory.at<uint32_t>(descriptor) + 511) & ~511u;
        const uint32_t private_bytes = std::max(memory.at<uint32_t>(descriptor + 4), 16384u);
        launch.group_size = launch.group_valid = {kItems, 1, 1};
        set_user_sgprs(launch, memory.at<uint16_t>(descriptor + 56), kernarg, private_bytes);
        for (unsigned group = 0; group < kGroups; ++group) {
            launch.group_id[0] = group;
            for (unsigned wave = 0; wave < 4; ++wave) {
                launch.scratch_slot[wave] = static_cast<int32_t>(group * 4 + wave);
                launch.scratch_offset[wave] = (group * 4 + wave) * 64 * 1024;
            }
            ASSERT_TRUE(cu.fits(launch));
            cu.launch(launch);
        }
        finish(20'000'000);
        for (size_t i = 0; i < expect.size(); ++i) ASSERT_EQ(memory.at<uint32_t>(out_at + 4 * i), expect[i]) << i;
        EXPECT_EQ(memory.at<uint32_t>(kData + 0x30000), count);
        EXPECT_TRUE(services.errors.empty());
    }
};

TEST_F(CompiledKernel, WithoutOptimisation) { check("-O0"); }
TEST_F(CompiledKernel, OptimisedForSize) { check("-Os"); }
TEST_F(CompiledKernel, Optimised) { check("-O3"); }
TEST_F(CompiledKernel, WithFlatScratchInstructions) { check("-O1 -Xclang -target-feature -Xclang +enable-flat-scratch"); }

}  // namespace lyra::gcn::test
