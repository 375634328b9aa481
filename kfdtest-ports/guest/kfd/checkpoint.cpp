// SPDX-License-Identifier: MIT
// A process with running waves is checkpointed by the CRIU calls of the kernel driver, as criu's plugin for amdgpu does it. It
// goes on; and another process, which gets its memory and its queue back at the same addresses, goes on as well, from where
// the first one was.
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kfdtest-ports/guest/kfd/code.h"
#include "kfdtest-ports/guest/kfd/saved_count.h"

using namespace lyra::guest;

namespace {

constexpr uint32_t kGroups = 16, kSteps = 400, kRounds = 1000, kSeed = 31;
constexpr double kPatience = 120;
constexpr size_t kMostBos = 64, kMostPrivate = 1 << 20, kMostContent = 64 << 20;

/// What the processes hand to each other; mapped before they part.
struct Shared {
    std::atomic<bool> running, checkpointed, restored;
    std::atomic<uint32_t> progress_then;
    int kfd = -1;  ///< number of the file in the first process
    uint64_t code = 0, code_bytes = 0, progress = 0, results = 0, signal = 0;
    CountArguments arguments;
    QueueMemory queue;
    uint32_t devices = 0, bos = 0, objects = 0;
    uint64_t private_bytes = 0;
    kfd_criu_device_bucket device;
    kfd_criu_bo_bucket bo[kMostBos];
    size_t content_at[kMostBos];
    unsigned char private_data[kMostPrivate], content[kMostContent];
};

// The part of the private data that describes the only queue: this, then the MQD, then the control stack.
// @source Linux 6.12 kfd_priv.h kfd_criu_queue_priv_data; v9_structs.h
struct QueuePrivate {
    uint32_t object_type;
    uint64_t ring, ring_bytes, read_pointer, write_pointer, doorbell, end_of_pipe, save_area;
    uint32_t gpu_id, type, format, queue_id, priority, percentage, doorbell_id, gws, sdma_id, end_of_pipe_bytes, save_bytes,
        stack_bytes, mqd_bytes;
};
constexpr size_t kMqdBytes = 2048;
constexpr unsigned kStackOffset = 174, kStackSize = 175, kWaveEnd = 176;  ///< dwords of the MQD
static_assert(sizeof(QueuePrivate) == 120);

bool all_right(const Shared& shared) {
    const auto* results = reinterpret_cast<const uint32_t*>(shared.results);
    for (uint32_t n = 0; n < kGroups * kCountGroup; ++n) {
        if (results[n] != counted(kSeed + n, kSeed, uint64_t{kSteps} * kRounds)) return false;
    }
    return true;
}

uint32_t progress_of(const Shared& shared) {
    const auto* steps = reinterpret_cast<const volatile uint32_t*>(shared.progress);
    uint32_t least = ~0u;
    for (uint32_t n = 0; n < kGroups; ++n) least = std::min(least, uint32_t{steps[n]});
    return least;
}

/// The process that is checkpointed: it knows nothing of that.
int first_process(Shared& shared) {
    Gpu gpu;
    const Memory code = gpu.load(code_count());
    AqlQueue queue(gpu);
    Counting grid(gpu, kGroups, kSteps, kRounds, kSeed);
    grid.start(queue, code);
    if (!wait_for(kPatience, [&] { return grid.progress() > 5; })) fail("the kernel does not run");
    shared.kfd = gpu.kfd();
    shared.code = code.address();
    shared.code_bytes = code.bytes;
    shared.arguments = grid.arguments();
    shared.progress = shared.arguments.progress;
    shared.results = shared.arguments.results;
    shared.queue = queue.memory();
    shared.signal = queue.memory().signals.address(8);
    shared.running = true;
    if (!wait_for(kPatience, [&] { return grid.done(queue); })) fail("the checkpointed process does not go on");
    if (!grid.right()) fail("the checkpointed process has wrong results");
    std::printf("the checkpointed process went on to right results\n");
    std::fflush(stdout);
    return 0;
}

int criu(int kfd, uint32_t operation, kfd_ioctl_criu_args& arguments) {
    arguments.op = operation;
    return ioctl(kfd, AMDKFD_IOC_CRIU_OP, &arguments);
}

/// Content of all memory, by the files that the checkpoint has made of it.
void copy_content(Shared& shared) {
    size_t at = 0;
    for (uint32_t n = 0; n < shared.bos; ++n) {
        const kfd_criu_bo_bucket& bo = shared.bo[n];
        shared.content_at[n] = at;
        if (bo.dmabuf_fd == KFD_INVALID_FD) continue;
        if (bo.size > kMostContent - at) fail("too much memory to be checkpointed");
        const void* mapped = mmap(nullptr, bo.size, PROT_READ, MAP_SHARED, static_cast<int>(bo.dmabuf_fd), 0);
        require(mapped != MAP_FAILED, "mmap of checkpointed memory");
        std::memcpy(shared.content + at, mapped, bo.size);
        munmap(const_cast<void*>(mapped), bo.size);
        close(static_cast<int>(bo.dmabuf_fd));
        at += bo.size;
    }
}

const unsigned char* content_of(const Shared& shared, uint64_t address) {
    for (uint32_t n = 0; n < shared.bos; ++n) {
        const kfd_criu_bo_bucket& bo = shared.bo[n];
        if (address >= bo.addr && address < bo.addr + bo.size)
            return shared.content + shared.content_at[n] + (address - bo.addr);
    }
    fail("memory is missing in the checkpoint");
}

/// MQD, control stack and save area of the checkpoint make an image like that of a suspended queue.
void check_image(Shared& shared) {
    const size_t bytes = sizeof(QueuePrivate) + kMqdBytes + shared.queue.stack_bytes;
    if (shared.private_bytes < bytes)
        fail("the private data has " + std::to_string(shared.private_bytes) + " bytes, not " + std::to_string(bytes) +
             " or more");
    const unsigned char* at = shared.private_data + shared.private_bytes - bytes;
    QueuePrivate queue;
    std::memcpy(&queue, at, sizeof queue);
    if (queue.ring != shared.queue.ring.address() || queue.save_area != shared.queue.save_area.address() ||
        queue.mqd_bytes != kMqdBytes || queue.stack_bytes != shared.queue.stack_bytes) {
        fail("the checkpoint does not describe the queue");
    }
    uint32_t mqd[kMqdBytes / 4];
    std::memcpy(mqd, at + sizeof queue, sizeof mqd);
    lyra::cwsr::ImageHeader header;
    header.control_stack_offset = mqd[kStackOffset];
    header.control_stack_size = mqd[kStackSize] - mqd[kStackOffset];
    header.wave_state_offset = mqd[kWaveEnd];
    header.wave_state_size = mqd[kWaveEnd] - mqd[kStackSize];
    if (mqd[kStackSize] != queue.stack_bytes || mqd[kStackOffset] > mqd[kStackSize]) fail("control stack out of range");
    std::vector<uint32_t> stack(header.control_stack_size / 4);
    std::memcpy(stack.data(), at + sizeof queue + kMqdBytes + header.control_stack_offset, stack.size() * 4);
    const lyra::cwsr::ReadArea read = reader_of(content_of(shared, queue.save_area), queue.save_bytes);
    lyra::cwsr::ImageQueue known;
    known.chip = first_gpu_chip();
    known.ring_bytes = static_cast<uint32_t>(queue.ring_bytes);
    const lyra::cwsr::Image image = lyra::cwsr::read_image(header, stack, read, known);
    if (!image.error.empty()) fail("image: " + image.error);
    if (image.waves.size() != kGroups) fail(std::to_string(image.waves.size()) + " waves in the checkpoint");
    for (const lyra::cwsr::WaveImage& wave : image.waves) {
        const std::string wrong = check_saved_count(wave, read, shared.arguments, shared.code, shared.code_bytes);
        if (!wrong.empty()) fail(wrong + "\n" + lyra::cwsr::dump_image({{wave}, ""}, read, {true, false}));
    }
    std::printf("MQD, control stack and save area hold %zu waves: all right\n", image.waves.size());
}

/// As criu does it: stop the process, pause its queues, take everything, let them go on.
void checkpoint(Shared& shared, pid_t pid) {
    require(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) == 0 && ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) == 0, "ptrace");
    int status = 0;
    require(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "waitpid");
    const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    const int kfd = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, shared.kfd, 0));
    require(kfd >= 0, "pidfd_getfd");

    kfd_ioctl_criu_args info{};
    require(criu(kfd, KFD_CRIU_OP_PROCESS_INFO, info) == 0, "CRIU PROCESS_INFO");
    if (info.pid != static_cast<uint32_t>(pid) || info.num_devices != 1 || info.num_bos > kMostBos ||
        info.priv_data_size > kMostPrivate) {
        fail("CRIU PROCESS_INFO does not fit");
    }
    shared.devices = info.num_devices;
    shared.bos = info.num_bos;
    shared.objects = info.num_objects;
    shared.private_bytes = info.priv_data_size;
    info.devices = reinterpret_cast<uint64_t>(&shared.device);
    info.bos = reinterpret_cast<uint64_t>(shared.bo);
    info.priv_data = reinterpret_cast<uint64_t>(shared.private_data);
    require(criu(kfd, KFD_CRIU_OP_CHECKPOINT, info) == 0, "CRIU CHECKPOINT");
    std::printf("checkpoint: %u pieces of memory, %u other objects, %lu bytes of private data\n", shared.bos, shared.objects,
                shared.private_bytes);
    copy_content(shared);
    uint32_t least = ~0u;
    for (uint32_t n = 0; n < kGroups; ++n) {
        uint32_t steps;
        std::memcpy(&steps, content_of(shared, shared.progress) + n * 4, 4);
        least = std::min(least, steps);
    }
    shared.progress_then = least;

    kfd_ioctl_criu_args unpause{};
    require(criu(kfd, KFD_CRIU_OP_UNPAUSE, unpause) == 0, "CRIU UNPAUSE");
    require(ptrace(PTRACE_DETACH, pid, nullptr, nullptr) == 0, "PTRACE_DETACH");
    close(kfd);
    close(pidfd);
}

/// The process that takes over. It parted from its parent before the first one had any memory, so the addresses are free.
int second_process(Shared& shared) {
    wait_for(2 * kPatience, [&] { return shared.checkpointed.load(); });
    const uint32_t minor =
        static_cast<uint32_t>(property(read_file("/sys/class/kfd/kfd/topology/nodes/1/properties"), "drm_render_minor"));
    const int kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC),
              drm = open(("/dev/dri/renderD" + std::to_string(minor)).c_str(), O_RDWR | O_CLOEXEC);
    require(kfd >= 0 && drm >= 0, "/dev/kfd");
    for (uint32_t n = 0; n < shared.bos; ++n) {
        void* wanted = reinterpret_cast<void*>(shared.bo[n].addr);
        const void* got = mmap(wanted, shared.bo[n].size, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
        require(got == wanted, "the address is not free");
    }
    shared.device.drm_fd = static_cast<uint32_t>(drm);
    kfd_ioctl_criu_args restore{};
    restore.devices = reinterpret_cast<uint64_t>(&shared.device);
    restore.bos = reinterpret_cast<uint64_t>(shared.bo);
    restore.priv_data = reinterpret_cast<uint64_t>(shared.private_data);
    restore.priv_data_size = shared.private_bytes;
    restore.num_devices = shared.devices;
    restore.num_bos = shared.bos;
    restore.num_objects = shared.objects;
    require(criu(kfd, KFD_CRIU_OP_RESTORE, restore) == 0, "CRIU RESTORE");
    for (uint32_t n = 0; n < shared.bos; ++n) {
        const kfd_criu_bo_bucket& bo = shared.bo[n];
        if (bo.dmabuf_fd == KFD_INVALID_FD) continue;
        void* wanted = reinterpret_cast<void*>(bo.addr);
        const void* got =
            mmap(wanted, bo.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, drm, static_cast<off_t>(bo.restored_offset));
        require(got == wanted, "mmap of restored memory");
        std::memcpy(wanted, shared.content + shared.content_at[n], bo.size);
        close(static_cast<int>(bo.dmabuf_fd));
    }
    const uint32_t before = progress_of(shared);
    if (before != shared.progress_then) fail("the restored memory has another content");
    sleep_ms(50);
    if (progress_of(shared) != before) fail("the restored queue runs before it may");
    kfd_ioctl_criu_args resume{};
    resume.pid = static_cast<uint32_t>(getpid());
    require(criu(kfd, KFD_CRIU_OP_RESUME, resume) == 0, "CRIU RESUME");
    if (!wait_for(kPatience, [&] { return progress_of(shared) > before; })) fail("the restored queue does not go on");
    std::printf("the restored process goes on after step %u\n", before);
    const auto* signal = reinterpret_cast<volatile int64_t*>(shared.signal);
    if (!wait_for(kPatience, [&] { return *signal == 0; })) fail("the restored process does not come to its end");
    if (!all_right(shared)) fail("the restored process has wrong results");
    std::printf("the restored process went on to right results\n");
    std::fflush(stdout);
    return 0;
}

bool good(pid_t pid) {
    int status = 1;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int main() {
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory != MAP_FAILED, "mmap");
    Shared& shared = *new (memory) Shared;
    const pid_t second = fork_child();
    if (second == 0) std::_Exit(second_process(shared));
    const pid_t first = fork_child();
    if (first == 0) std::_Exit(first_process(shared));
    if (!wait_for(kPatience, [&] { return shared.running.load(); })) fail("the first process does not run");
    checkpoint(shared, first);
    check_image(shared);
    const bool first_good = good(first);
    shared.checkpointed = true;
    const bool second_good = good(second);
    if (!first_good || !second_good) fail("a process has failed");
    std::printf("checkpoint: PASSED\n");
    return 0;
}
