// SPDX-License-Identifier: MIT
// /dev/kfd: opening it, memory, events. @source Linux 6.12 include/uapi/linux/kfd_ioctl.h, kfd_chardev.c
#include "kfdtest-ports/guest/kfd/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace lyra::guest {

namespace {

constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes/";
constexpr size_t kPage = 4096;

/// Folder of the first node that is a GPU.
std::string gpu_node() {
    for (unsigned n = 0; n < 16; ++n) {
        const std::string node = kNodes + std::to_string(n) + "/";
        if (std::strtoul(read_file(node + "gpu_id").c_str(), nullptr, 10) != 0) return node;
    }
    fail("no GPU in the topology of the kernel driver");
}

/// Drivers before 6.5 have no such line.
uint32_t xccs_of(const std::string& properties) {
    return static_cast<uint32_t>(std::max<uint64_t>(1, property(properties, "num_xcc")));
}

}  // namespace

uint32_t first_gpu_xccs() { return xccs_of(read_file(gpu_node() + "properties")); }

void fail(const std::string& what) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}

void require(bool ok, const std::string& what) {
    if (!ok) fail(what + ": " + std::strerror(errno));
}

int fork_child() {
    std::fflush(stdout);
    const pid_t child = fork();
    require(child >= 0, "fork");
    if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    return child;
}

void* shared_bytes(size_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    require(at != MAP_FAILED, "mmap");
    return at;
}

void sleep_ms(unsigned milliseconds) {
    const timespec time{milliseconds / 1000, static_cast<long>(milliseconds % 1000) * 1'000'000};
    nanosleep(&time, nullptr);
}

double now_s() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

bool wait_for(double seconds, const std::function<bool()>& done) {
    for (const double end = now_s() + seconds; !done(); sleep_ms(5)) {
        if (now_s() > end) return false;
    }
    return true;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

uint64_t property(const std::string& text, const std::string& name) {
    std::istringstream words(text);
    for (std::string word, value; words >> word >> value;) {
        if (word == name) return std::strtoull(value.c_str(), nullptr, 10);
    }
    return 0;
}

uint32_t first_gpu_id() { return static_cast<uint32_t>(std::strtoul(read_file(gpu_node() + "gpu_id").c_str(), nullptr, 10)); }

/// @source Linux 6.12 kfd_device.c kgd2kfd_probe(): gfx_target_version has two decimal digits each for minor and stepping
Chip first_gpu_chip() {
    const auto version = static_cast<unsigned>(property(read_file(gpu_node() + "properties"), "gfx_target_version"));
    char name[32];
    std::snprintf(name, sizeof name, "gfx%u%x%x", version / 10000, version / 100 % 100, version % 100);
    const ChipFacts* const chip = find_chip(name);
    if (chip == nullptr) fail(std::string("unknown GPU ") + name);
    return chip->chip;
}

Gpu::Gpu() {
    const std::string node = gpu_node(), text = read_file(node + "properties");
    id_ = static_cast<uint32_t>(std::strtoul(read_file(node + "gpu_id").c_str(), nullptr, 10));
    compute_units_ = static_cast<uint32_t>(property(text, "simd_count") / property(text, "simd_per_cu"));
    shader_engines_ = static_cast<uint32_t>(property(text, "array_count") / property(text, "simd_arrays_per_engine"));
    xccs_ = xccs_of(text);
    kfd_ = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    require(kfd_ >= 0, "/dev/kfd");
    const std::string render = "/dev/dri/renderD" + std::to_string(property(text, "drm_render_minor"));
    drm_ = open(render.c_str(), O_RDWR | O_CLOEXEC);
    require(drm_ >= 0, render);
    // Linux 7.2 does not wait in ACQUIRE_VM until SDMA has cleared the page tables: docs/design/findings.md. To close a file of
    // the node waits until SDMA has been asked to.
    close(dup(drm_));
    sleep_ms(20);
    kfd_ioctl_acquire_vm_args acquire{};
    acquire.drm_fd = static_cast<uint32_t>(drm_);
    acquire.gpu_id = id_;
    require(call(AMDKFD_IOC_ACQUIRE_VM, &acquire) == 0, "ACQUIRE_VM");
}

Gpu::~Gpu() {
    close(drm_);
    close(kfd_);
}

int Gpu::call(unsigned long request, void* arguments) const {
    int result;
    do {
        result = ioctl(kfd_, request, arguments);
    } while (result == -1 && (errno == EINTR || errno == EAGAIN));
    return result;
}

Memory Gpu::allocate(size_t bytes, Where where) {
    Memory memory;
    memory.bytes = (bytes + kPage - 1) / kPage * kPage;
    // An address that nothing else in this process has; the GPU gets the same one.
    memory.at = mmap(nullptr, memory.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(memory.at != MAP_FAILED, "mmap");
    kfd_ioctl_alloc_memory_of_gpu_args allocate{};
    allocate.va_addr = memory.address();
    allocate.size = memory.bytes;
    allocate.gpu_id = id_;
    allocate.flags =
        (where == Where::Vram ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC : KFD_IOC_ALLOC_MEM_FLAGS_GTT) |
        (where == Where::System ? KFD_IOC_ALLOC_MEM_FLAGS_COHERENT : 0) | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
        KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE | KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE;
    require(call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &allocate) == 0, "ALLOC_MEMORY_OF_GPU");
    memory.handle = allocate.handle;
    memory.offset = allocate.mmap_offset;
    void* mapped =
        mmap(memory.at, memory.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, drm_, static_cast<off_t>(memory.offset));
    require(mapped == memory.at, "mmap of the render node");
    kfd_ioctl_map_memory_to_gpu_args map{};
    map.handle = memory.handle;
    map.device_ids_array_ptr = reinterpret_cast<uint64_t>(&id_);
    map.n_devices = 1;
    require(call(AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map) == 0, "MAP_MEMORY_TO_GPU");
    return memory;
}

void Gpu::free(const Memory& memory) {
    kfd_ioctl_unmap_memory_from_gpu_args unmap{};
    unmap.handle = memory.handle;
    unmap.device_ids_array_ptr = reinterpret_cast<uint64_t>(&id_);
    unmap.n_devices = 1;
    require(call(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &unmap) == 0, "UNMAP_MEMORY_FROM_GPU");
    munmap(memory.at, memory.bytes);
    kfd_ioctl_free_memory_of_gpu_args free{};
    free.handle = memory.handle;
    require(call(AMDKFD_IOC_FREE_MEMORY_OF_GPU, &free) == 0, "FREE_MEMORY_OF_GPU");
}

/// @source Linux 6.12 kfd_ioctl.h KFD_MMIO_REMAP_HDP_MEM_FLUSH_CNTL, which is 0
void Gpu::flush_hdp() {
    if (flush_ == nullptr) {
        kfd_ioctl_alloc_memory_of_gpu_args allocate{};
        allocate.size = kPage;
        allocate.gpu_id = id_;
        allocate.flags = KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
                         KFD_IOC_ALLOC_MEM_FLAGS_COHERENT | KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED;
        void* const reserved = mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        allocate.va_addr = reinterpret_cast<uint64_t>(reserved);
        require(call(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &allocate) == 0, "ALLOC_MEMORY_OF_GPU of the remapped registers");
        void* const mapped = mmap(reserved, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, kfd_,
                                  static_cast<off_t>(allocate.mmap_offset));
        require(mapped != MAP_FAILED, "mmap of the remapped registers");
        flush_ = static_cast<volatile uint32_t*>(mapped);
    }
    *flush_ = 1;
    static_cast<void>(*flush_);  // the store is there when the answer is
}

Memory Gpu::load(std::span<const unsigned char> code) {
    // The instruction fetch may look ahead of the last instruction.
    constexpr size_t kAhead = 256;
    const Memory memory = allocate(code.size() + kAhead);
    std::memcpy(memory.at, code.data(), code.size());
    return memory;
}

Event::Event(Gpu& gpu, uint32_t type) : gpu_(gpu) {
    kfd_ioctl_create_event_args create{};
    create.event_type = type;
    create.auto_reset = 1;
    require(gpu_.call(AMDKFD_IOC_CREATE_EVENT, &create) == 0, "CREATE_EVENT");
    id_ = create.event_id;
}

bool Event::wait(double seconds, kfd_event_data& data) {
    data = {};
    data.event_id = id_;
    kfd_ioctl_wait_events_args wait{};
    wait.events_ptr = reinterpret_cast<uint64_t>(&data);
    wait.num_events = 1;
    wait.wait_for_all = 1;
    wait.timeout = static_cast<uint32_t>(seconds * 1000);
    require(gpu_.call(AMDKFD_IOC_WAIT_EVENTS, &wait) == 0, "WAIT_EVENTS");
    return wait.wait_result == KFD_IOC_WAIT_RESULT_COMPLETE;
}

}  // namespace lyra::guest
