// SPDX-License-Identifier: MIT
// Kernarg segments for code object versions 3 to 5: the metadata names every hidden argument, so one table serves all.
#include "tools/inproc/kernarg.h"

#include <algorithm>
#include <cstring>

namespace lyra::inproc {

namespace {

struct Launch {
    const LaunchShape& shape;
    uint64_t queue_va;
};

/// A hidden argument and its value. @source LLVM AMDGPU usage, "Kernel Argument Metadata"; device library hidden-argument names
struct HiddenRow {
    const char* kind;
    uint64_t (*value)(const Launch&);
};

uint64_t blocks(const Launch& launch, unsigned axis) { return launch.shape.grid[axis] / launch.shape.block[axis]; }
uint64_t remainder(const Launch& launch, unsigned axis) { return launch.shape.grid[axis] % launch.shape.block[axis]; }

constexpr HiddenRow kHidden[] = {
    {"hidden_none", [](const Launch&) { return uint64_t{0}; }},
    {"hidden_global_offset_x", [](const Launch&) { return uint64_t{0}; }},
    {"hidden_global_offset_y", [](const Launch&) { return uint64_t{0}; }},
    {"hidden_global_offset_z", [](const Launch&) { return uint64_t{0}; }},
    {"hidden_block_count_x", [](const Launch& l) { return blocks(l, 0); }},
    {"hidden_block_count_y", [](const Launch& l) { return blocks(l, 1); }},
    {"hidden_block_count_z", [](const Launch& l) { return blocks(l, 2); }},
    {"hidden_group_size_x", [](const Launch& l) { return uint64_t{l.shape.block[0]}; }},
    {"hidden_group_size_y", [](const Launch& l) { return uint64_t{l.shape.block[1]}; }},
    {"hidden_group_size_z", [](const Launch& l) { return uint64_t{l.shape.block[2]}; }},
    {"hidden_remainder_x", [](const Launch& l) { return remainder(l, 0); }},
    {"hidden_remainder_y", [](const Launch& l) { return remainder(l, 1); }},
    {"hidden_remainder_z", [](const Launch& l) { return remainder(l, 2); }},
    {"hidden_grid_dims", [](const Launch& l) { return uint64_t{l.shape.dimensions}; }},
    {"hidden_private_base", [](const Launch&) { return kPrivateBase >> 32; }},
    {"hidden_shared_base", [](const Launch&) { return kSharedBase >> 32; }},
    {"hidden_queue_ptr", [](const Launch& l) { return l.queue_va; }},
    {"hidden_dynamic_lds_size", [](const Launch& l) { return uint64_t{l.shape.dynamic_group_bytes}; }},
};

bool place(std::vector<uint8_t>& segment, const KernelArgument& argument, const void* data, size_t bytes, std::string& error) {
    if (argument.offset > segment.size() || bytes > segment.size() - argument.offset) {
        error = "the metadata puts argument " + argument.name + " outside the kernarg segment";
        return false;
    }
    std::memcpy(segment.data() + argument.offset, data, bytes);
    return true;
}

}  // namespace

std::vector<uint8_t> build_kernarg(const KernelInfo& kernel, const LaunchShape& shape, const std::vector<ArgumentBytes>& values,
                                   uint64_t queue_va, std::vector<std::string>& unfilled, std::string& error) {
    constexpr uint32_t kMaxKernarg = 1u << 20;  // a segment larger than this is damaged metadata
    if (kernel.kernarg_bytes > kMaxKernarg) {
        error = "the metadata asks for a kernarg segment of " + std::to_string(kernel.kernarg_bytes) + " bytes";
        return {};
    }
    // One byte at least, so that an empty result always means an error.
    std::vector<uint8_t> segment(std::max(kernel.kernarg_bytes, 1u), 0);
    const Launch launch{shape, queue_va};
    size_t next = 0;
    for (const KernelArgument& argument : kernel.arguments) {
        if (!argument.hidden()) {
            if (next == values.size() || values[next].size() != argument.size) {
                error = "argument " + std::to_string(next) + " is missing or has another size";
                return {};
            }
            if (!place(segment, argument, values[next].data(), argument.size, error)) return {};
            ++next;
            continue;
        }
        const auto row = std::find_if(std::begin(kHidden), std::end(kHidden),
                                      [&](const HiddenRow& each) { return argument.value_kind == each.kind; });
        if (row == std::end(kHidden)) {
            unfilled.push_back(argument.value_kind);
            continue;
        }
        const uint64_t value = row->value(launch);
        if (!place(segment, argument, &value, std::min<size_t>(argument.size, sizeof value), error)) return {};
    }
    if (next != values.size()) {
        error = "the kernel takes " + std::to_string(next) + " arguments, not " + std::to_string(values.size());
        return {};
    }
    return segment;
}

}  // namespace lyra::inproc
