// SPDX-License-Identifier: MIT
// A recording of a device's work, made again by a device that has nothing but the recording.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>

#include "tools/inproc/replayer.h"
#include "tools/inproc/two_queues.h"

namespace lyra::inproc {
namespace {

class Recorded : public ::testing::Test {
protected:
    Recorded() : path_((std::filesystem::temp_directory_path() / "recorded_test.XXXXXX").string()) {
        const int descriptor = mkstemp(path_.data());
        EXPECT_GE(descriptor, 0);
        close(descriptor);
    }
    ~Recorded() override { std::filesystem::remove(path_); }

    InProcessOptions options() {
        InProcessOptions options = small(true);
        options.record_path = path_;
        return options;
    }
    /// Without virtual time. @param time  moves by 1 us whenever it is asked for; empty: it is the host's
    InProcessOptions in_host_time(uint64_t* time) {
        InProcessOptions options = small(false);
        options.repeatable = true;
        if (time) options.now_ns = [time] { return *time += 1000; };
        options.record_path = path_;
        return options;
    }
    /// Of a device without a driver.
    lyra_config bare() const {
        lyra_config config;
        lyra_config_init(&config);
        config.vram_bytes = uint64_t{256} << 20;
        config.virtual_time = true;
        config.record_path = path_.c_str();
        return config;
    }
    std::unique_ptr<RecordingReader> read() {
        std::string error;
        std::unique_ptr<RecordingReader> reader = RecordingReader::open(path_, error);
        EXPECT_NE(reader, nullptr) << error;
        return reader;
    }
    std::vector<RecordedCall> calls() {
        std::vector<RecordedCall> found;
        const std::unique_ptr<RecordingReader> reader = read();
        for (RecordedCall call; reader->next(call);) found.push_back(call);
        EXPECT_EQ(reader->error(), "");
        return found;
    }
    std::unique_ptr<Replayer> replayer(const ReplayOptions& options = {}) {
        std::string error;
        std::unique_ptr<Replayer> made = Replayer::create(*read(), options, error);
        EXPECT_NE(made, nullptr) << error;
        return made;
    }
    /// @return the first difference
    std::string replay(const std::vector<RecordedCall>& calls) {
        const std::unique_ptr<Replayer> device = replayer();
        for (size_t n = 0; n < calls.size(); ++n) {
            if (const std::string different = device->perform(calls[n]); !different.empty())
                return fmt::format("call {}: {}", n, different);
        }
        end_ = device->checkpoint();
        return "";
    }

    std::string path_;
    Checkpoint end_;
};

TEST_F(Recorded, WorkIsDoneAgain) {
    TwoQueues undisturbed(small(true));
    ASSERT_EQ(undisturbed.runner.error(), "");
    run_out(undisturbed.runner.device());
    const uint64_t hash = undisturbed.runner.device().stat("trace_hash");
    {
        TwoQueues work(options());
        run_out(work.runner.device());
        work.check(work.runner.device());
        // What the device does is the same.
        EXPECT_EQ(work.runner.device().stat("trace_hash"), hash);
    }
    const std::vector<RecordedCall> recorded = calls();
    ASSERT_GT(recorded.size(), 100u);
    EXPECT_EQ(recorded.back().kind, CallKind::End);
    EXPECT_EQ(recorded.back().value, 0u);
    ASSERT_TRUE(recorded.back().checkpoint.has_value());
    EXPECT_EQ(replay(recorded), "");
    EXPECT_EQ(end_, recorded.back().checkpoint.value_or(Checkpoint{}));
    EXPECT_GT(end_.instructions, 1000u);
}

// A device with the host's time does the same whether it is recorded or not, with generated code and without.
TEST_F(Recorded, WorkInTheHostsTimeIsDoneAgain) {
    std::vector<uint64_t> hashes;
    for (const bool recorded : {false, true, true}) {
        uint64_t time = 0;
        InProcessOptions options = in_host_time(&time);
        if (!recorded) options.record_path.clear();
        options.jit = hashes.size() != 1;
        options.threads = 2;
        TwoQueues work(options);
        EXPECT_FALSE(lyra_start(work.runner.device().handle()));
        EXPECT_GT(run_out(work.runner.device()), 100u);
        work.check(work.runner.device());
        hashes.push_back(work.runner.device().stat("trace_hash"));
        EXPECT_EQ(work.runner.device().stat("virtual_ns") / 1000, time / 1000);
    }
    EXPECT_EQ(hashes[0], hashes[1]);
    EXPECT_EQ(hashes[0], hashes[2]);
    const std::vector<RecordedCall> recorded = calls();
    EXPECT_EQ(std::count_if(recorded.begin(), recorded.end(), [](const auto& c) { return c.kind == CallKind::RunUntil; }), 0);
    EXPECT_GT(std::count_if(recorded.begin(), recorded.end(), [](const auto& c) { return c.kind == CallKind::Run; }), 100);
    EXPECT_EQ(replay(recorded), "");
    EXPECT_EQ(end_, recorded.back().checkpoint.value_or(Checkpoint{}));
    EXPECT_GT(end_.instructions, 1000u);
    // Times and budgets are part of it.
    for (const auto change : {+[](RecordedCall& c) { c.value = c.value * 2 + 1; }, +[](RecordedCall& c) { c.now_ns += 1; }}) {
        std::vector<RecordedCall> changed = recorded;
        for (RecordedCall& call : changed) {
            if (call.kind == CallKind::Run) change(call);
        }
        EXPECT_NE(replay(changed), "");
    }
}

// The clock of the host, whatever it is.
TEST_F(Recorded, TheHostsClockIsRecorded) {
    {
        TwoQueues work(in_host_time(nullptr));
        run_out(work.runner.device());
        work.check(work.runner.device());
    }
    const std::vector<RecordedCall> recorded = calls();
    EXPECT_LT(recorded.front().now_ns, recorded.back().now_ns);
    EXPECT_LT(recorded.back().now_ns, uint64_t{3600} * 1'000'000'000) << "since the device was made";
    EXPECT_EQ(replay(recorded), "");
}

// Waves look at memory that the host changes between two calls.
class ChangesOfTheHost : public Recorded, public ::testing::WithParamInterface<bool> {};

TEST_P(ChangesOfTheHost, AreSeen) {
    {
        KernelRunner runner(LYRA_TEST_KERNELS, GetParam() ? options() : in_host_time(nullptr));
        ASSERT_EQ(runner.error(), "");
        for (const Domain domain : {Domain::Vram, Domain::System}) {
            const GpuBuffer flag = runner.buffer(std::vector<int>(16, 0), domain);
            const AqlDispatch spin = runner.packet("spin", shape(2, 64), {argument(flag.va)});
            runner.queue().submit(&spin);
            for (unsigned n = 0; n < 50; ++n) runner.device().run(100);
            EXPECT_EQ(runner.queue().signal(spin.completion_signal)->value, 1);
            flag.host[1] = 1;
            run_out(runner.device());
            EXPECT_EQ(runner.queue().signal(spin.completion_signal)->value, 0);
        }
    }
    std::vector<RecordedCall> recorded = calls();
    EXPECT_EQ(replay(recorded), "");
    // Without the change the waves would wait for ever.
    const auto is_flag = [](const PageChange& page) {
        return page.runs.size() == 1 && page.runs[0].first % 4096 != 0 && page.runs[0].second == std::vector<uint8_t>{1};
    };
    size_t removed = 0;
    for (RecordedCall& call : recorded) removed += std::erase_if(call.pages, is_flag);
    EXPECT_GE(removed, 1u);
    EXPECT_NE(replay(recorded), "");
}

INSTANTIATE_TEST_SUITE_P(Recording, ChangesOfTheHost, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "VirtualTime" : "HostTime"; });

TEST_F(Recorded, DifferencesAreFound) {
    {
        TwoQueues work(options());
        run_out(work.runner.device());
    }
    const std::vector<RecordedCall> recorded = calls();
    const auto change = [&](CallKind kind, auto f) {
        std::vector<RecordedCall> changed = recorded;
        const auto found = std::find_if(changed.begin(), changed.end(), [&](const RecordedCall& c) { return c.kind == kind; });
        EXPECT_NE(found, changed.end());
        f(*found);
        return replay(changed);
    };
    EXPECT_NE(change(CallKind::MmioRead, [](RecordedCall& c) { c.result ^= 1; }).find("the call gave"), std::string::npos);
    EXPECT_NE(change(CallKind::DoorbellWrite, [](RecordedCall& c) { c.offset += 8; }), "");
    EXPECT_NE(change(CallKind::End, [](RecordedCall& c) { c.checkpoint->hash ^= 1; }).find("trace hash"), std::string::npos);
    EXPECT_NE(change(CallKind::BusMaster, [](RecordedCall& c) { ++c.msis; }).find("interrupts"), std::string::npos);
    // A page of which the device has left something else.
    std::vector<RecordedCall> changed = recorded;
    for (RecordedCall& call : changed) {
        for (PageChange& page : call.pages) {
            if (page.runs.size() != 1 || page.runs[0].second.size() != kPageBytes) page.before ^= 1;
        }
    }
    EXPECT_NE(replay(changed).find("left something else"), std::string::npos);
}

// What the host has loaded is part of the recording, memory included.
TEST_F(Recorded, ALoadedStateIsRecorded) {
    std::vector<uint8_t> system;
    void* state = nullptr;
    size_t bytes = 0;
    {
        TwoQueues work(small(true));
        for (unsigned n = 0; n < 20; ++n) work.runner.device().run(100);
        bytes = lyra_save(work.runner.device().handle(), true, &state);
        const GpuMemory& memory = work.runner.device().memory();
        system.assign(work.runner.device().memory().system(), work.runner.device().memory().system() + memory.system_bytes());
        run_out(work.runner.device());
        InProcessOptions other = options();
        other.prepared = false;
        std::string error;
        const std::unique_ptr<InProcessDevice> device = InProcessDevice::create(other, error);
        ASSERT_NE(device, nullptr) << error;
        std::copy(system.begin(), system.end(), device->memory().system());
        ASSERT_TRUE(lyra_load(device->handle(), state, bytes, nullptr, 0));
        run_out(*device);
        work.check(*device);
        EXPECT_EQ(device->stat("trace_hash"), work.runner.device().stat("trace_hash"));
    }
    std::free(state);
    EXPECT_EQ(replay(calls()), "");
}

// A page that the state brings, and that the host changes back to what the device had left there before.
TEST_F(Recorded, ALoadedStateReplacesMemory) {
    lyra_config config = bare();
    HostMapping vram(config.vram_bytes);
    lyra_device* const device = lyra_create(&config, nullptr, nullptr, vram.data(), nullptr, 0);
    ASSERT_NE(device, nullptr);
    constexpr uint32_t kPlace = 1 << 20;
    constexpr uint64_t kMmIndex = 0, kMmData = 4;
    const auto seen = [&](uint8_t value) {
        vram.data()[kPlace] = value;
        lyra_mmio_write(device, kMmIndex, kPlace | 1u << 31, 4);
        return lyra_mmio_read(device, kMmData, 4);
    };
    EXPECT_EQ(seen(1), 1u);
    vram.data()[kPlace] = 2;
    void* state = nullptr;
    const size_t bytes = lyra_save(device, true, &state);
    EXPECT_EQ(seen(1), 1u);
    EXPECT_TRUE(lyra_load(device, state, bytes, nullptr, 0));
    EXPECT_EQ(vram.data()[kPlace], 2);
    EXPECT_EQ(seen(1), 1u);
    lyra_destroy(device);
    std::free(state);
    EXPECT_EQ(replay(calls()), "");
}

// Memory of a replay is zeros until somebody has told of it.
TEST_F(Recorded, PagesOfZerosAreLeftOut) {
    lyra_config config = bare();
    HostMapping vram(config.vram_bytes);
    lyra_device* const device = lyra_create(&config, nullptr, nullptr, vram.data(), nullptr, 0);
    ASSERT_NE(device, nullptr);
    constexpr uint32_t kPlace = 1 << 20;
    const uint32_t table = static_cast<uint32_t>(config.vram_bytes) - (64 << 10);
    const auto see = [&](uint32_t place) {
        lyra_mmio_write(device, 0, place | 1u << 31, 4);  // MM_INDEX
        return lyra_mmio_read(device, 4, 4);              // MM_DATA
    };
    EXPECT_EQ(see(kPlace), 0u);
    // What a new device has written there itself.
    EXPECT_NE(vram.data()[table], 0);
    std::fill_n(vram.data() + table, kPageBytes, uint8_t{0});
    EXPECT_EQ(see(table), 0u);
    // A state that brings the page, which the host then clears.
    vram.data()[2 * kPlace] = 2;
    void* state = nullptr;
    const size_t bytes = lyra_save(device, true, &state);
    EXPECT_TRUE(lyra_load(device, state, bytes, nullptr, 0));
    vram.data()[2 * kPlace] = 0;
    EXPECT_EQ(see(2 * kPlace), 0u);
    lyra_destroy(device);
    std::free(state);
    const std::vector<RecordedCall> recorded = calls();
    std::vector<uint64_t> told;
    for (const RecordedCall& call : recorded)
        for (const PageChange& page : call.pages) told.push_back(page.place & ~kPlaceInVram);
    EXPECT_EQ(std::count(told.begin(), told.end(), kPlace), 0);
    EXPECT_EQ(std::count(told.begin(), told.end(), table), 1);
    EXPECT_EQ(std::count(told.begin(), told.end(), 2 * kPlace), 1);
    EXPECT_EQ(replay(recorded), "");
}

TEST_F(Recorded, AtItsLimitItEndsAndTheDeviceGoesOn) {
    lyra_config config = bare();
    config.record_limit_bytes = 4096;
    unsigned warned = 0;
    lyra_host_ops ops{};
    ops.log = [](void* to, lyra_log_level level, const char*) {
        *static_cast<unsigned*>(to) += level == LYRA_LOG_WARN ? 1 : 0;
    };
    HostMapping vram(config.vram_bytes);
    lyra_device* const device = lyra_create(&config, &ops, &warned, vram.data(), nullptr, 0);
    ASSERT_NE(device, nullptr);
    uint64_t state = 1;
    for (unsigned n = 0; n < 200'000; ++n) {
        state = state * 6364136223846793005 + 1442695040888963407;
        lyra_mmio_write(device, 0x30100, state >> 32, 4);  // SCRATCH_REG0
    }
    EXPECT_EQ(lyra_mmio_read(device, 0x30100, 4), state >> 32);
    lyra_destroy(device);
    EXPECT_EQ(warned, 1u);
    const std::vector<RecordedCall> recorded = calls();
    EXPECT_LT(recorded.size(), 200'000u);
    EXPECT_EQ(recorded.back().kind, CallKind::End);
    EXPECT_EQ(recorded.back().value, 1u);
    EXPECT_EQ(replay(recorded), "");
}

// With strict=hdp the host stores through the device.
TEST_F(Recorded, StoresInVramAreCalls) {
    lyra_config config = bare();
    config.strict = "hdp,tlb";
    HostMapping vram(config.vram_bytes);
    lyra_device* const device = lyra_create(&config, nullptr, nullptr, vram.data(), nullptr, 0);
    ASSERT_NE(device, nullptr);
    lyra_vram_write(device, 0x1000, 0x12345678, 4);
    EXPECT_EQ(lyra_vram_read(device, 0x1000, 4), 0x12345678u);
    lyra_run_until(device, 1'000'000);
    lyra_destroy(device);
    const std::vector<RecordedCall> recorded = calls();
    EXPECT_EQ(std::count_if(recorded.begin(), recorded.end(), [](const auto& c) { return c.kind == CallKind::VramWrite; }), 1);
    EXPECT_EQ(replay(recorded), "");
}

TEST_F(Recorded, OnlyWhatCanBeRepeated) {
    InProcessOptions free = options();
    free.virtual_time = false;
    std::string error;
    EXPECT_EQ(InProcessDevice::create(free, error), nullptr);
    EXPECT_EQ(error, "a recording needs virtual time or a repeatable device");
    InProcessOptions nowhere = options();
    nowhere.record_path = "/nowhere/recording";
    EXPECT_EQ(InProcessDevice::create(nowhere, error), nullptr);
    EXPECT_NE(error.find("cannot write"), std::string::npos);
}

TEST_F(Recorded, WhatNoHostMayDoIsRefused) {
    {
        TwoQueues work(options());
        run_out(work.runner.device());
    }
    const std::unique_ptr<Replayer> device = replayer();
    const auto refused = [&](const RecordedCall& call) {
        EXPECT_THROW(device->perform(call), std::runtime_error) << static_cast<int>(call.kind);
    };
    refused({.kind = CallKind::MmioRead, .size = 5});
    refused({.kind = CallKind::DoorbellWrite, .size = 2});
    refused({.kind = CallKind::RunUntil, .value = uint64_t{1} << 60});
    refused({.kind = CallKind::Run, .value = 1});
    refused({.kind = CallKind::RamMap, .ranges = {{uint64_t{1} << 50, 4096, false}}});
    refused({.kind = CallKind::RamMap, .ranges = {{0, UINT64_MAX, false}}});
    refused({.kind = CallKind::Reset, .pages = {{kPlaceInVram | uint64_t{1} << 40, 0, {}}}});
    refused({.kind = CallKind::Reset, .pages = {{0x1000, 0, {}}}});  // before there is a map
    EXPECT_EQ(device->perform({.kind = CallKind::Reset}), "");
}

/// Recordings of guests with Linux 6.12: amdgpu, then one case of kfdtest. When a change of the model makes one differ, say why
/// and make it again: `lyra kfdtest --deterministic --record FILE --filter CASE`.
class Kept : public ::testing::TestWithParam<const char*> {};

TEST_P(Kept, IsDoneAgain) {
    std::string error;
    const std::unique_ptr<RecordingReader> reader =
        RecordingReader::open(fmt::format("{}/{}.rec", LYRA_TEST_RECORDINGS, GetParam()), error);
    ASSERT_NE(reader, nullptr) << error;
    const std::unique_ptr<Replayer> device = Replayer::create(*reader, {}, error);
    ASSERT_NE(device, nullptr) << error;
    RecordedCall call, next;
    for (uint64_t calls = 1; reader->next(next); ++calls) {
        call = next;
        ASSERT_EQ(device->perform(call), "") << "call " << calls;
    }
    EXPECT_EQ(reader->error(), "");
    ASSERT_EQ(call.kind, CallKind::End);
    ASSERT_TRUE(call.checkpoint.has_value());
    const Checkpoint end = call.checkpoint.value_or(Checkpoint{});
    EXPECT_GT(end.events, 1000u);
    EXPECT_EQ(device->checkpoint(), end);
}

INSTANTIATE_TEST_SUITE_P(Recording, Kept,
                         ::testing::Values("address_fault",  // KFDExceptionTest.AddressFault
                                           "oversubscribed",  // KFDQMTest.OverSubscribeCpQueues
                                           "sdma_packet"),  // KFDQMTest.SubmitPacketSdmaQueue
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace lyra::inproc
