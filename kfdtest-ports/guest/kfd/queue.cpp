// SPDX-License-Identifier: MIT
// An AQL queue of /dev/kfd: its buffers, its doorbell, packets. @source Linux 6.12 kfd_queue.c; HSA 1.2, AQL packets
#include <errno.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>

#include "cwsr/area.h"
#include "kfdtest-ports/guest/kfd/gpu.h"

namespace lyra::guest {

namespace {

constexpr size_t kPage = 4096, kPacketBytes = 64, kSignalBytes = 64, kSignalValue = 8;
constexpr size_t kDoorbellBytes = 8192;  ///< of one process on gfx9: 1024 doorbells of 8 bytes
constexpr uint16_t kDispatch = 2 | 1 << 8;  ///< kernel dispatch, barrier; fences from bits 9 and 11 on
constexpr uint16_t kVendor = 0 | 1 << 8;    ///< vendor specific, barrier
constexpr uint8_t kBarrierValue = 2;        ///< @source ROCr amd_hsa_signal.h, hsa_amd_barrier_value_packet_t

struct DispatchPacket {
    uint16_t header, setup;
    uint16_t group_x, group_y, group_z, reserved0;
    uint32_t grid_x, grid_y, grid_z;
    uint32_t private_bytes, lds_bytes;
    uint64_t kernel, arguments, reserved1, signal;
};
static_assert(sizeof(DispatchPacket) == kPacketBytes);

struct BarrierValuePacket {
    uint16_t header;
    uint8_t format, reserved0;
    uint32_t reserved1;
    uint64_t signal;
    int64_t value, mask;
    uint32_t condition, reserved2;
    uint64_t reserved3[2], completion;
};
static_assert(sizeof(BarrierValuePacket) == kPacketBytes);

}  // namespace

AqlQueue::AqlQueue(Gpu& gpu, uint32_t packets, unsigned priority, Where end_of_pipe) : gpu_(gpu), priority_(priority) {
    memory_.xccs = gpu.xccs();
    const cwsr::AreaSizes sizes =
        cwsr::area_sizes(gpu.compute_units() / gpu.xccs(), gpu.shader_engines() / gpu.xccs(), gpu.chip());
    memory_.ring_bytes = static_cast<uint32_t>(packets * kPacketBytes);
    memory_.save_bytes = sizes.total();
    memory_.stack_bytes = sizes.control_stack;
    memory_.ring = gpu.allocate(memory_.ring_bytes);
    for (uint32_t n = 0; n < packets; ++n) *memory_.ring.as<uint16_t>(n * kPacketBytes) = 1;  // no packet yet
    for (Memory& pointer : memory_.pointers) pointer = gpu.allocate(kPage);
    memory_.end_of_pipe = gpu.allocate(kPage, end_of_pipe);
    memory_.save_area = gpu.allocate((sizes.total() + sizes.debugger) * gpu.xccs());
    memory_.signals = gpu.allocate(packets * kSignalBytes);

    create();
}

void AqlQueue::create() {
    kfd_ioctl_create_queue_args create{};
    create.ring_base_address = memory_.ring.address();
    create.read_pointer_address = memory_.pointers[0].address();
    create.write_pointer_address = memory_.pointers[1].address();
    create.ring_size = memory_.ring_bytes;
    create.gpu_id = gpu_.id();
    create.queue_type = KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
    create.queue_percentage = 100;
    create.queue_priority = priority_;
    create.eop_buffer_address = memory_.end_of_pipe.address();
    create.eop_buffer_size = kPage;
    create.ctx_save_restore_address = memory_.save_area.address();
    create.ctx_save_restore_size = memory_.save_bytes;
    create.ctl_stack_size = memory_.stack_bytes;
    require(gpu_.call(AMDKFD_IOC_CREATE_QUEUE, &create) == 0, "CREATE_QUEUE");
    id_ = create.queue_id;
    exists_ = true;

    const size_t offset = create.doorbell_offset & (kDoorbellBytes - 1);
    if (doorbells_ == nullptr) {
        doorbells_ = mmap(nullptr, kDoorbellBytes, PROT_READ | PROT_WRITE, MAP_SHARED, gpu_.kfd(),
                          static_cast<off_t>(create.doorbell_offset - offset));
        require(doorbells_ != MAP_FAILED, "mmap of the doorbells");
    }
    doorbell_ = reinterpret_cast<uint64_t*>(static_cast<char*>(doorbells_) + offset);
}

AqlQueue::~AqlQueue() {
    destroy();
    munmap(doorbells_, kDoorbellBytes);
    for (const Memory& memory :
         {memory_.ring, memory_.pointers[0], memory_.pointers[1], memory_.end_of_pipe, memory_.save_area, memory_.signals}) {
        gpu_.free(memory);
    }
}

uint64_t AqlQueue::next_packet(void*& packet) {
    const uint64_t index = next_++;
    packet = memory_.ring.as<char>(index % (memory_.ring_bytes / kPacketBytes) * kPacketBytes);
    std::memset(static_cast<char*>(packet) + 2, 0, kPacketBytes - 2);
    return index;
}

void AqlQueue::publish(uint64_t index, uint16_t header) {
    std::atomic_ref<uint64_t>(*memory_.pointers[1].as<uint64_t>()).store(index + 1);
    auto* packet = memory_.ring.as<uint16_t>(index % (memory_.ring_bytes / kPacketBytes) * kPacketBytes);
    std::atomic_ref<uint16_t>(*packet).store(header, std::memory_order_release);
    *doorbell_ = index;
}

unsigned AqlQueue::dispatch(const Memory& code, uint32_t groups, uint32_t group_size, const Memory& arguments,
                            uint32_t lds_bytes, Fence acquire, Fence release) {
    void* at;
    const uint64_t index = next_packet(at);
    const unsigned slot = static_cast<unsigned>(index % (memory_.ring_bytes / kPacketBytes));
    std::memset(memory_.signals.as<char>(slot * kSignalBytes), 0, kSignalBytes);
    *memory_.signals.as<int64_t>(slot * kSignalBytes) = 1;                 // kind: a user signal
    *memory_.signals.as<int64_t>(slot * kSignalBytes + kSignalValue) = 1;  // the GPU takes one off
    auto* packet = static_cast<DispatchPacket*>(at);
    packet->setup = 1;  // one dimension
    packet->group_x = static_cast<uint16_t>(group_size);
    packet->group_y = packet->group_z = 1;
    packet->grid_x = groups * group_size;
    packet->grid_y = packet->grid_z = 1;
    packet->lds_bytes = lds_bytes;
    packet->kernel = code.address();
    packet->arguments = arguments.address();
    packet->signal = signal_address(slot);
    publish(index,
            static_cast<uint16_t>(kDispatch | static_cast<uint16_t>(acquire) << 9 | static_cast<uint16_t>(release) << 11));
    return slot;
}

bool AqlQueue::done(unsigned signal) const {
    return std::atomic_ref<int64_t>(*memory_.signals.as<int64_t>(signal * kSignalBytes + kSignalValue)).load() == 0;
}

uint64_t AqlQueue::signal_address(unsigned signal) const { return memory_.signals.address(signal * kSignalBytes); }

void AqlQueue::wait_until(uint64_t signal, Condition condition, int64_t value) {
    void* at;
    const uint64_t index = next_packet(at);
    auto* packet = static_cast<BarrierValuePacket*>(at);
    packet->format = kBarrierValue;
    packet->signal = signal;
    packet->value = value;
    packet->mask = -1;
    packet->condition = static_cast<uint32_t>(condition);
    publish(index, kVendor);
}

int AqlQueue::update(unsigned percentage) {
    kfd_ioctl_update_queue_args update{};
    update.ring_base_address = memory_.ring.address();
    update.queue_id = id_;
    update.ring_size = memory_.ring_bytes;
    update.queue_percentage = percentage;
    update.queue_priority = priority_;
    return gpu_.call(AMDKFD_IOC_UPDATE_QUEUE, &update) == 0 ? 0 : errno;
}

int AqlQueue::destroy() {
    if (!exists_) return 0;
    exists_ = false;
    kfd_ioctl_destroy_queue_args destroy{};
    destroy.queue_id = id_;
    return gpu_.call(AMDKFD_IOC_DESTROY_QUEUE, &destroy) == 0 ? 0 : errno;
}

}  // namespace lyra::guest
