// SPDX-License-Identifier: MIT
// The ports as one program: --pump=step|thread|virtual, --full, then what GoogleTest takes. And the fixture.
#include <cstdio>
#include <cstdlib>

#include "kfdtest-ports/ports/kfd_test.h"

namespace lyra::kfd {

Pump& chosen_pump() {
    static Pump pump = Pump::Step;
    return pump;
}

bool& full_counts() {
    static bool full = false;
    return full;
}

void KfdTest::open(GpuOptions options) {
    driver_.reset();
    code_.clear();
    options.pump = chosen_pump();
    const Words handler = trap_handler();
    ASSERT_FALSE(handler.empty());
    ASSERT_FALSE(programs().code().empty());
    std::string error;
    driver_ = Driver::start(options, handler, error);
    ASSERT_TRUE(driver_) << error;
    process_ = new_process();
    ASSERT_TRUE(process_);
}

Process* KfdTest::new_process() {
    Process* made = driver_->create_process();
    if (!made) return nullptr;
    code_[made] = programs().load(*made);
    return code_[made] ? made : nullptr;
}

uint64_t KfdTest::program(Process& process, const std::string& name) {
    return programs().has(name) ? code_.at(&process).va + programs().offset(name) : 0;
}

GpuBuffer KfdTest::buffer(uint64_t bytes, uint32_t fill_word, Domain domain) {
    const GpuBuffer made = process().allocate(bytes, domain);
    EXPECT_TRUE(made);
    if (made && fill_word) fill(made, fill_word);
    return made;
}

void KfdTest::fill(const GpuBuffer& buffer, uint32_t word) {
    for (uint64_t i = 0; i < buffer.bytes / 4; ++i) words(buffer)[i] = word;
}

/// @source Linux 6.12 gfx_v9_0.c gfx_v9_0_get_gpu_clock_counter()
uint64_t KfdTest::gpu_clock() {
    namespace reg = inproc::reg;
    gpu().write_register(reg::kRlcCaptureGpuClock, 1);
    const uint64_t low = gpu().read_register(reg::kRlcGpuClockLsb);
    return uint64_t{gpu().read_register(reg::kRlcGpuClockMsb)} << 32 | low;
}

void KfdTest::TearDown() {
    if (!driver_) return;
    EXPECT_FALSE(driver_->queues().hws_hang());
    EXPECT_EQ(driver_->stray_interrupts(), 0u);
    for (const auto& [name, count] : gpu().stats("fault-")) {
        // A doorbell may come before the scheduler has mapped the queue: it is dropped, and memory holds the write pointer.
        if (name == "fault-DoorbellUnmatched") continue;
        EXPECT_TRUE(expected_faults_.contains(name.substr(6))) << name << " " << count;
    }
}

}  // namespace lyra::kfd

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        if (word == "--pump=step") {
            lyra::kfd::chosen_pump() = lyra::kfd::Pump::Step;
        } else if (word == "--pump=thread") {
            lyra::kfd::chosen_pump() = lyra::kfd::Pump::Thread;
        } else if (word == "--pump=virtual") {
            lyra::kfd::chosen_pump() = lyra::kfd::Pump::Virtual;
        } else if (word == "--full") {
            lyra::kfd::full_counts() = true;
        } else {
            std::fprintf(stderr, "kfdtest_ports: unknown argument %s; --pump=step, thread or virtual, --full\n", argv[i]);
            return 2;
        }
    }
    return RUN_ALL_TESTS();
}
