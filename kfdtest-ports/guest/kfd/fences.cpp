// SPDX-License-Identifier: MIT
// What a program sees that forgets a fence or a flush: fences strict|lax. "strict" is -device lyra,strict=hdp,,l2.
#include <cstdio>
#include <cstring>
#include <string>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/gpu.h"

using namespace lyra::guest;

namespace {

class Counter {
public:
    Counter(Gpu& gpu, Where where)
        : word_(gpu.allocate(4096, where)), code_(gpu.load(code_gather())), arguments_(gpu.allocate(4096)), queue_(gpu) {
        set(0);
    }
    void set(uint32_t value) { *word_.as<volatile uint32_t>() = value; }
    uint32_t get() { return *word_.as<volatile uint32_t>(); }
    /// A wave adds one, and does not end before the sum is at least so much.
    void add(uint32_t at_least, Fence acquire, Fence release) {
        *arguments_.as<uint64_t>() = word_.address();
        *arguments_.as<uint32_t>(8) = at_least;
        const unsigned signal = queue_.dispatch(code_, 1, 64, arguments_, 0, acquire, release);
        if (!wait_for(20, [&] { return queue_.done(signal); })) fail("the kernel that adds one does not end");
    }

private:
    Memory word_, code_, arguments_;
    AqlQueue queue_;
};

void expect(uint32_t found, uint32_t wanted, const char* what) {
    std::printf("%s: %u\n", what, found);
    if (found != wanted) fail(std::string(what) + ": " + std::to_string(wanted) + " was expected");
}

}  // namespace

int main(int count, char** words) {
    const std::string mode = count == 2 ? words[1] : "";
    if (mode != "strict" && mode != "lax") fail("usage: fences strict|lax");
    const bool strict = mode == "strict";
    Gpu gpu;

    Counter cached(gpu, Where::Cached);
    cached.add(1, Fence::System, Fence::Agent);
    expect(cached.get(), strict ? 0 : 1, "without a release the host sees");
    cached.add(2, Fence::Agent, Fence::System);
    expect(cached.get(), 2, "with a release");
    cached.set(100);
    cached.add(3, Fence::Agent, Fence::System);
    expect(cached.get(), strict ? 3 : 101, "without an acquire the GPU adds to what it holds");
    cached.set(200);
    cached.add(201, Fence::System, Fence::System);
    expect(cached.get(), 201, "with an acquire");

    Counter coherent(gpu, Where::System);
    coherent.add(1, Fence::None, Fence::None);
    expect(coherent.get(), 1, "memory that is coherent needs neither");

    Counter local(gpu, Where::Vram);
    gpu.flush_hdp();
    local.set(50);
    local.add(1, Fence::System, Fence::System);
    if (!strict) expect(local.get(), 51, "without a flush, what the GPU adds to VRAM");
    gpu.flush_hdp();
    expect(local.get(), strict ? 50 : 51, "a store that came after what the GPU has added");
    local.set(60);
    gpu.flush_hdp();
    local.add(61, Fence::System, Fence::System);
    expect(local.get(), 61, "with a flush");

    std::printf("fences: PASSED\n");
    return 0;
}
