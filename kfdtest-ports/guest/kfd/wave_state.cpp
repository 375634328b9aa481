// SPDX-License-Identifier: MIT
// AMDKFD_IOC_GET_QUEUE_WAVE_STATE of a queue whose waves run: the queue is disabled, its waves are read, and go on afterwards.
// usage: wave_state [FILE]      FILE receives the last save area, for `lyra waves`
#include <errno.h>

#include <cstdio>
#include <fstream>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/saved_count.h"

using namespace lyra::guest;

namespace {

constexpr uint32_t kGroups = 24, kSteps = 400, kRounds = 1000, kSeed = 77;
constexpr unsigned kTimes = 4;

/// @return 0 or errno
int get_wave_state(const Gpu& gpu, const AqlQueue& queue, kfd_ioctl_get_queue_wave_state_args& state) {
    state = {};
    state.ctl_stack_address = queue.memory().save_area.address();
    state.queue_id = queue.id();
    return gpu.call(AMDKFD_IOC_GET_QUEUE_WAVE_STATE, &state) == 0 ? 0 : errno;
}

/// Read the queue's waves and check each of them. @return bytes of the save area that are in use
size_t check_waves(const Gpu& gpu, const AqlQueue& queue, const Counting& grid, const Memory& code) {
    kfd_ioctl_get_queue_wave_state_args state;
    errno = get_wave_state(gpu, queue, state);
    require(errno == 0, "GET_QUEUE_WAVE_STATE");
    const QueueMemory& memory = queue.memory();
    const auto* header = memory.save_area.as<kfd_context_save_area_header>();
    if (header->wave_state.control_stack_size != state.ctl_stack_used_size ||
        header->wave_state.wave_state_size != state.save_area_used_size) {
        fail("the header of the save area differs from what the call returns");
    }
    const lyra::cwsr::ReadArea read = reader_of(memory.save_area.at, memory.saved_bytes());
    const lyra::cwsr::Image image =
        lyra::cwsr::read_save_areas(read, memory.xccs, memory.save_bytes, memory.ring_bytes, gpu.chip());
    if (!image.error.empty()) fail("image: " + image.error);
    if (image.waves.size() != grid.groups())
        fail(std::to_string(image.waves.size()) + " waves are saved, not " + std::to_string(grid.groups()));
    for (const lyra::cwsr::WaveImage& wave : image.waves) {
        const std::string wrong = check_saved_count(wave, read, grid.arguments(), code.address(), code.bytes);
        if (!wrong.empty()) fail(wrong + "\n" + lyra::cwsr::dump_image({{wave}, ""}, read, {true, false}));
    }
    std::printf("%zu waves saved, %u bytes of control stack, %u bytes of records: all right\n", image.waves.size(),
                state.ctl_stack_used_size, state.save_area_used_size);
    return memory.xccs > 1 ? memory.saved_bytes() : memory.stack_bytes + state.save_area_used_size;
}

}  // namespace

int main(int count, char** names) {
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu);
    Counting grid(gpu, kGroups, kSteps, kRounds, kSeed);
    grid.start(queue, code);
    size_t bytes = 0;
    for (unsigned n = 0; n < kTimes; ++n) {
        const uint32_t before = grid.progress();
        if (!wait_for(60, [&] { return grid.progress() > before + 3; })) fail("the kernel does not go on");
        kfd_ioctl_get_queue_wave_state_args state;
        if (get_wave_state(gpu, queue, state) != EINVAL) fail("the waves of a queue that runs can be read");
        errno = queue.update(0);
        require(errno == 0, "UPDATE_QUEUE to 0 percent");
        bytes = check_waves(gpu, queue, grid, code);
        if (grid.done(queue)) fail("the kernel ended too early");
        const uint32_t stopped = grid.progress();
        sleep_ms(20);
        if (grid.progress() != stopped) fail("the kernel goes on while its queue is disabled");
        if (n + 1 == kTimes && count > 1) {
            std::ofstream file(names[1], std::ios::binary);
            file.write(queue.memory().save_area.as<char>(), static_cast<std::streamsize>(bytes));
            if (!file.flush()) fail(std::string("cannot write ") + names[1]);
        }
        errno = queue.update(100);
        require(errno == 0, "UPDATE_QUEUE to 100 percent");
    }
    if (!wait_for(120, [&] { return grid.done(queue); })) fail("the kernel does not end");
    if (!grid.right()) fail("wrong results");
    std::printf("wave_state: PASSED\n");
    return 0;
}
