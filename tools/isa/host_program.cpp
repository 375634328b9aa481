// SPDX-License-Identifier: MIT
// Runs kernels that were compiled for the host: one stack per work-item of a work-group, switched at barriers.
#include "tools/isa/host_program.h"

#include <dlfcn.h>
#include <ucontext.h>

#include <vector>

namespace lyra::isa {
namespace {

using Kernel = void (*)(void* out, const void* in);

/// What runs at the moment; the program calls back without an argument that could name it.
struct Group {
    Kernel kernel = nullptr;
    void* out = nullptr;
    const void* in = nullptr;
    uint32_t groups = 0, group_size = 0, group = 0, item = 0;
    ucontext_t scheduler{};
    std::vector<ucontext_t> items;
    std::vector<uint8_t> ended;
} now;

constexpr size_t kStackBytes = 256 << 10;

void item_main() {
    now.kernel(now.out, now.in);
    now.ended[now.item] = 1;
    swapcontext(&now.items[now.item], &now.scheduler);
}

/// Every item up to its next barrier, round by round, until all have ended.
void run_group(std::vector<std::vector<uint8_t>>& stacks) {
    for (uint32_t i = 0; i < now.group_size; ++i) {
        getcontext(&now.items[i]);
        now.items[i].uc_stack.ss_sp = stacks[i].data();
        now.items[i].uc_stack.ss_size = stacks[i].size();
        now.items[i].uc_link = nullptr;
        makecontext(&now.items[i], item_main, 0);
        now.ended[i] = 0;
    }
    for (bool running = true; running;) {
        running = false;
        for (now.item = 0; now.item < now.group_size; ++now.item) {
            if (now.ended[now.item]) continue;
            swapcontext(&now.scheduler, &now.items[now.item]);
            running |= !now.ended[now.item];
        }
    }
}

}  // namespace

HostProgram::HostProgram(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!library_) error_ = dlerror();
}
HostProgram::~HostProgram() {
    if (library_) dlclose(library_);
}

bool HostProgram::run(const std::string& kernel, uint32_t groups, uint32_t group_size, void* out, const void* in) {
    now.kernel = library_ ? reinterpret_cast<Kernel>(dlsym(library_, kernel.c_str())) : nullptr;
    if (!now.kernel) return false;
    now.out = out;
    now.in = in;
    now.groups = groups;
    now.group_size = group_size;
    now.items.resize(group_size);
    now.ended.resize(group_size);
    std::vector<std::vector<uint8_t>> stacks(group_size, std::vector<uint8_t>(kStackBytes));
    for (now.group = 0; now.group < groups; ++now.group) run_group(stacks);
    return true;
}

}  // namespace lyra::isa

// What the programs call (portable.h). There is one dimension.
extern "C" __attribute__((visibility("default"))) size_t lyra_id(unsigned which, unsigned axis) {
    using lyra::isa::now;
    if (axis != 0) return which < 3 ? 0 : 1;
    switch (which) {
        case 0: return size_t{now.group} * now.group_size + now.item;
        case 1: return now.item;
        case 2: return now.group;
        case 3: return now.group_size;
        case 4: return size_t{now.groups} * now.group_size;
        default: return now.groups;
    }
}
extern "C" __attribute__((visibility("default"))) void lyra_barrier() {
    using lyra::isa::now;
    swapcontext(&now.items[now.item], &now.scheduler);
}
