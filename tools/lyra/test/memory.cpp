// SPDX-License-Identifier: MIT
// Peak memory of `lyra exec`, as the kernel counts it (ru_maxrss), against VRAM + 300 MB.
#include "tools/lyra/test/memory.h"

#include <elf.h>

#include <cstring>
#include <fstream>

#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/process.h"
#include "tools/lyra/cli/work_dir.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMegabyte = 1'000'000, kAllowance = 300 * kMegabyte;
constexpr unsigned kKernels = 5000, kArguments = 16;

/// Kernels that do nothing, with the metadata of ordinary ones, as assembler text.
std::string many_kernels() {
    std::string text = "\t.amdgcn_target \"amdgcn-amd-amdhsa--gfx900\"\n\t.amdhsa_code_object_version 5\n";
    std::string metadata = "\t.amdgpu_metadata\n---\namdhsa.kernels:\n";
    std::string arguments;
    for (unsigned i = 0; i < kArguments; ++i) {
        arguments += fmt::format(
            "      - .address_space: global\n        .name: argument_{}\n        .offset: {}\n        .size: 8\n"
            "        .type_name: \"float*\"\n        .value_kind: global_buffer\n",
            i, 8 * i);
    }
    for (const char* hidden :
         {"block_count_x", "block_count_y", "block_count_z", "group_size_x", "group_size_y", "group_size_z", "remainder_x",
          "remainder_y", "remainder_z", "global_offset_x", "global_offset_y", "global_offset_z", "grid_dims"}) {
        arguments += fmt::format("      - .offset: 128\n        .size: 2\n        .value_kind: hidden_{}\n", hidden);
    }
    for (unsigned i = 0; i < kKernels; ++i) {
        const std::string name = fmt::format("kernel_{:05}", i);
        text += fmt::format(
            "\t.text\n\t.globl {0}\n\t.p2align 8\n\t.type {0},@function\n{0}:\n\ts_endpgm\n\t.size {0}, .-{0}\n\t.rodata\n"
            "\t.p2align 6\n\t.amdhsa_kernel {0}\n\t\t.amdhsa_next_free_vgpr 1\n\t\t.amdhsa_next_free_sgpr 1\n"
            "\t\t.amdhsa_kernarg_size 384\n\t\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n\t.end_amdhsa_kernel\n",
            name);
        metadata += fmt::format(
            "  - .name: {0}\n    .symbol: {0}.kd\n    .kernarg_segment_size: 384\n    .kernarg_segment_align: 8\n"
            "    .group_segment_fixed_size: 0\n    .private_segment_fixed_size: 0\n    .max_flat_workgroup_size: 256\n"
            "    .wavefront_size: 64\n    .sgpr_count: 8\n    .vgpr_count: 1\n    .args:\n{1}",
            name, arguments);
    }
    return text + metadata +
           "amdhsa.target: amdgcn-amd-amdhsa--gfx900\namdhsa.version:\n  - 1\n  - 2\n...\n\t.end_amdgpu_metadata\n";
}

/// A host program with a code object far behind other things, which cost no room on the disk.
void write_program(const fs::path& path, const std::string& code) {
    constexpr uint64_t kBefore = 700 << 20, kCodeAt = 4096;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_machine = EM_X86_64;
    const std::string target = "hipv4-amdgcn-amd-amdhsa--gfx900";
    const uint64_t table[] = {1, kCodeAt, code.size(), target.size()};
    std::ofstream file(path, std::ios::binary);
    const auto put = [&](uint64_t at, const void* data, size_t bytes) {
        file.seekp(static_cast<std::streamoff>(at)).write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
    };
    const std::string magic = "__CLANG_OFFLOAD_BUNDLE__";
    put(0, &header, sizeof header);
    put(kBefore, magic.data(), magic.size());
    put(kBefore + magic.size(), table, sizeof table);
    put(kBefore + magic.size() + sizeof table, target.data(), target.size());
    put(kBefore + kCodeAt, code.data(), code.size());
    if (!file.flush()) throw EnvironmentError("cannot write " + path.string());
}

void check(Report& report, const char* name, uint64_t vram_bytes, std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {own_program().string(), "exec", "--vram", std::to_string(vram_bytes)});
    const Captured result = capture(arguments, true, 180);
    if (interrupted) throw Interrupted();
    std::string why;
    if (result.status != 0)
        why = fmt::format("exit status {}\n{}", result.status, result.err);
    else if (result.peak_bytes == 0)
        why = "the peak is not known";
    else if (result.peak_bytes > vram_bytes + kAllowance) {
        why = fmt::format("{} MB with {} MB of VRAM", result.peak_bytes / kMegabyte, vram_bytes / kMegabyte);
    }
    report.add("command", name, why.empty() ? Verdict::Passed : Verdict::Failed, why);
}

}  // namespace

void test_memory(Report& report) {
    WorkDir work;
    const fs::path source = work.path() / "many.s", code = work.path() / "many.co", program = work.path() / "program";
    write_text(source, many_kernels());
    const Captured assembled =
        capture({"clang-19", "-target", "amdgcn-amd-amdhsa", "-mcpu=gfx900", source.string(), "-o", code.string()}, true);
    if (interrupted) throw Interrupted();
    if (assembled.status != 0) return report.add("command", "memory of lyra exec", Verdict::Failed, assembled.err);
    write_program(program, read_text(code));

    std::vector<std::string> small{program.string(), "--kernel", "kernel_01234", "--grid", "1", "--block", "64"}, large = small;
    for (unsigned i = 0; i < kArguments; ++i) {
        small.insert(small.end(), {"--arg", "zero:u8:64"});
        large.insert(large.end(), {"--arg", i < 2    ? "fill:u64:60000000:1"
                                            : i == 2 ? "inout:u8:" + code.string() + ":" + (work.path() / "copy").string()
                                                     : "zero:u8:64"});
    }
    check(report, "memory of exec with a large program", 256 << 20, small);
    check(report, "memory of exec with buffers that fill VRAM", 1 << 30, large);
    if (read_text(work.path() / "copy") != read_text(code))
        report.add("command", "a file is copied through VRAM", Verdict::Failed);
}

}  // namespace lyra::cli
