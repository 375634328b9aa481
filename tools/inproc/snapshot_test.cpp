// SPDX-License-Identifier: MIT
// lyra_save() and lyra_load() of the whole device: a run that goes on in another device is the run that was not disturbed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <set>

#include "common/snapshot.h"
#include "common/trace_text.h"
#include "tools/inproc/two_queues.h"

namespace lyra::inproc {
namespace {

using Stream = std::vector<uint8_t>;

Stream save(lyra_device* device, bool with_vram = true) {
    void* state = nullptr;
    const size_t bytes = lyra_save(device, with_vram, &state);
    Stream stream(static_cast<uint8_t*>(state), static_cast<uint8_t*>(state) + bytes);
    std::free(state);
    return stream;
}

std::string load(lyra_device* device, const Stream& stream) {
    char error[256] = "";
    const bool right = lyra_load(device, stream.data(), stream.size(), error, sizeof error);
    EXPECT_EQ(right, error[0] == 0);
    return error;
}

/// The host's part: system memory.
Stream save_system(GpuMemory& memory) {
    StateWriter writer;
    writer.begin("system");
    writer.sparse("bytes", memory.system(), memory.system_bytes());
    writer.end();
    return writer.take();
}

void load_system(GpuMemory& memory, const Stream& stream) {
    StateLoader loader(stream);
    loader.begin("system");
    loader.sparse("bytes", memory.system(), memory.system_bytes());
    loader.end();
    ASSERT_EQ(loader.error(), "");
}

struct Snapshot {
    Stream device, system;
};

Snapshot take(InProcessDevice& device) { return {save(device.handle()), save_system(device.memory())}; }

std::unique_ptr<InProcessDevice> fresh(InProcessOptions options) {
    options.prepared = false;
    std::string error;
    std::unique_ptr<InProcessDevice> made = InProcessDevice::create(options, error);
    EXPECT_NE(made, nullptr) << error;
    return made;
}

std::unique_ptr<InProcessDevice> put(const InProcessOptions& options, const Snapshot& snapshot) {
    std::unique_ptr<InProcessDevice> made = fresh(options);
    load_system(made->memory(), snapshot.system);
    EXPECT_EQ(load(made->handle(), snapshot.device), "");
    return made;
}

/// Counters that say what the device did, not how often it looked for pages that it had forgotten.
std::vector<std::pair<std::string, uint64_t>> counters(InProcessDevice& device) {
    std::vector<std::pair<std::string, uint64_t>> stats = device.stats();
    std::erase_if(stats, [](const auto& stat) { return stat.first == "tlb_walks"; });
    return stats;
}

/// Calls from one place to the next: each is a second under sanitizers, most of it for pages of VRAM that are zero.
constexpr unsigned kStep = 4;

TEST(Snapshot, ARunInVirtualTimeGoesOnInAnotherDevice) {
    const InProcessOptions options = small(true);
    TwoQueues undisturbed(options);
    ASSERT_EQ(undisturbed.runner.error(), "");
    const unsigned length = run_out(undisturbed.runner.device());
    ASSERT_GT(length, 20u);
    undisturbed.check(undisturbed.runner.device());
    const auto expected = counters(undisturbed.runner.device());
    const Stream end = save(undisturbed.runner.device().handle(), false);

    TwoQueues work(options);
    unsigned places = 0, waves_seen = 0;
    for (unsigned at = 0; at <= length; at += kStep, ++places) {
        SCOPED_TRACE(::testing::Message() << "after " << at << " of " << length << " calls");
        const Snapshot snapshot = take(work.runner.device());
        std::unique_ptr<InProcessDevice> other = put(options, snapshot);
        ASSERT_EQ(take(*other).device, snapshot.device);
        const uint64_t before = other->stat("instructions");
        run_out(*other);
        waves_seen += other->stat("instructions") != before ? 1 : 0;
        ASSERT_EQ(counters(*other), expected);
        work.check(*other);
        ASSERT_FALSE(HasFailure());
        for (unsigned n = 0; n < std::min(kStep, length + 1 - at); ++n) work.runner.device().run(100);
    }
    EXPECT_GT(waves_seen, places / 4);
    // And a run that is saved is not disturbed.
    EXPECT_EQ(counters(work.runner.device()), expected);
    EXPECT_EQ(save(work.runner.device().handle(), false), end);
}

TEST(Snapshot, ATraceThatBeginsHereNamesTheMappedQueues) {
    TwoQueues work(small(true));
    work.runner.device().run(100);
    const Snapshot snapshot = take(work.runner.device());
    InProcessOptions options = small(true);
    options.trace_path = ::testing::TempDir() + "snapshot_trace.tsv";
    {
        const std::unique_ptr<InProcessDevice> other = put(options, snapshot);
        EXPECT_EQ(other->stat("trace_hash"), work.runner.device().stat("trace_hash"));
    }
    std::ifstream trace(options.trace_path);
    size_t mapped = 0;
    std::set<uint64_t> queues, doorbells;
    read_text_trace(trace, [&](const TraceRecord& record) {
        if (record.id != EventId::queue_mapped) return;
        ++mapped;
        queues.insert(record.args[0]);
        doorbells.insert(record.args[2]);
    });
    EXPECT_GE(queues.size(), 2u);
    EXPECT_EQ(queues.size(), mapped);
    EXPECT_EQ(doorbells.size(), mapped);
    std::remove(options.trace_path.c_str());
}

TEST(Snapshot, AFreeRunningDeviceGoesOnInAnotherOne) {
    const InProcessOptions options = small(false);
    TwoQueues work(options);
    ASSERT_EQ(work.runner.error(), "");
    unsigned unfinished = 0;
    for (unsigned at = 0; at < 40; at += kStep) {
        SCOPED_TRACE(at);
        std::unique_ptr<InProcessDevice> other = put(options, take(work.runner.device()));
        unfinished += run_out(*other) > 0 ? 1 : 0;
        work.check(*other);
        ASSERT_FALSE(HasFailure());
        for (unsigned n = 0; n < kStep; ++n) work.runner.device().run(200);
    }
    EXPECT_GT(unfinished, 3u);
}

TEST(Snapshot, OtherDevicesAreRefused) {
    TwoQueues work(small(true));
    const Stream stream = save(work.runner.device().handle());
    const auto refused = [&](auto change) {
        InProcessOptions options = small(true);
        change(options);
        return load(fresh(options)->handle(), stream);
    };
    EXPECT_EQ(refused([](InProcessOptions& o) { o.compute_units = 4; }), "lyra: compute_units is 8, not 4");
    EXPECT_EQ(refused([](InProcessOptions& o) { o.virtual_time = false; }), "lyra: virtual_time is 1, not 0");
    EXPECT_EQ(refused([](InProcessOptions& o) { o.vram_bytes *= 2; }), "lyra: vram_bytes is 268435456, not 536870912");
    EXPECT_EQ(refused([](InProcessOptions& o) { o.chip = "gfx906"; }), "lyra: chip is 589825, not 590848");
    // What may be another one.
    EXPECT_EQ(refused([](InProcessOptions& o) { o.timing = "packet_ns=500"; }), "");
}

TEST(Snapshot, ARefusedStreamLeavesADeviceThatWasReset) {
    TwoQueues work(small(false));
    for (unsigned n = 0; n < 5; ++n) work.runner.device().run(100);
    Stream stream = save(work.runner.device().handle());
    std::unique_ptr<InProcessDevice> other = fresh(small(false));
    const Stream reset = save(other->handle(), false);
    for (const size_t size : {size_t{0}, size_t{8}, size_t{100}, stream.size() / 2, stream.size() - 1})
        EXPECT_NE(load(other->handle(), Stream(stream.begin(), stream.begin() + static_cast<long>(size))), "") << size;
    EXPECT_EQ(run_out(*other), 0u);
    EXPECT_EQ(other->stat("resets"), 6u);  // the counters are its own again
    EXPECT_EQ(other->stat("instructions"), 0u);
    EXPECT_EQ(load(other->handle(), stream), "");
    run_out(*other);
}

}  // namespace
}  // namespace lyra::inproc
