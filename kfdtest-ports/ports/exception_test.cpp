// SPDX-License-Identifier: MIT
// KFDExceptionTest: addresses that a program may not touch, up to its event. What each means upstream: README.md.
#include "kfdtest-ports/ports/kfd_test.h"

namespace lyra::kfd {
namespace {

class KFDExceptionTest : public KfdTest {
protected:
    /// copy_dword from and to, which must end in a memory event about the page of one of them; the process is then evicted.
    void memory_exception(uint64_t from, uint64_t to, uint32_t x = 1, uint32_t y = 1) {
        fault_and_stop(from, to, x, y);
        ASSERT_FALSE(HasFatalFailure());
        EXPECT_SUCCESS(driver().destroy_process(&process()));
        others_go_on();
    }
    void fault_and_stop(uint64_t from, uint64_t to, uint32_t x, uint32_t y) {
        UserQueue queue;
        ASSERT_SUCCESS(queue.create(process()));
        uint32_t event = 0;
        ASSERT_SUCCESS(process().events().create(EventType::Memory, true, event));
        Dispatch dispatch(process(), program("copy_dword"));
        ASSERT_TRUE(dispatch.args(from, to).dim(x, y).submit(queue));
        ASSERT_SUCCESS(process().wait_on_event(event, kTimeoutMs));
        fault = process().events().memory_exception(event);
        EXPECT_TRUE(fault.va == page_of(from) || fault.va == page_of(to)) << std::hex << fault.va;
        // Nothing of the process runs any more, whatever is still waiting.
        const uint64_t instructions = stat("instructions");
        gpu().delay_us(5000);
        EXPECT_EQ(stat("instructions"), instructions);
        EXPECT_EQ(process().wait_on_event(dispatch.event(), 1), Status::WaitTimeout);
        EXPECT_SUCCESS(queue.destroy());
        const uint8_t* target = process().space().host(to, 4);
        EXPECT_TRUE(!target || *reinterpret_cast<const uint32_t*>(target) == 0) << "written";
    }
    /// Another process notices nothing.
    void others_go_on() {
        Process* other = new_process();
        ASSERT_TRUE(other);
        const GpuBuffer from = other->allocate(kPage), to = other->allocate(kPage);
        words(from)[0] = 0x5a;
        UserQueue queue;
        ASSERT_SUCCESS(queue.create(*other));
        Dispatch dispatch(*other, program(*other, "copy_dword"));
        ASSERT_TRUE(dispatch.args(from.va, to.va).submit(queue));
        EXPECT_SUCCESS(dispatch.sync(kTimeoutMs));
        EXPECT_EQ(words(to)[0], 0x5au);
        EXPECT_EQ(other->memory_faults(), 0u);
        EXPECT_SUCCESS(queue.destroy());
    }
    static uint64_t page_of(uint64_t va) { return va & ~uint64_t{kPage - 1}; }
    MemoryException fault;
};

TEST_F(KFDExceptionTest, AddressFault) {
    expect_faults({"PageNotPresent", "MemoryViolation"});
    const GpuBuffer from = buffer(kPage, 0xaa55aa55);
    memory_exception(from.va, 0x12345678);
    EXPECT_TRUE(fault.not_present);
}

TEST_F(KFDExceptionTest, PermissionFault) {
    expect_faults({"PagePermission", "MemoryViolation"});
    const GpuBuffer from = buffer(kPage, 0xaa55aa55);
    const GpuBuffer to = process().allocate(kPage, Domain::Vram, inproc::pte::kRead);
    memory_exception(from.va, to.va);
    EXPECT_EQ(fault.va, to.va);
    EXPECT_TRUE(fault.read_only);
}

TEST_F(KFDExceptionTest, PermissionFaultUserPointer) {
    expect_faults({"PagePermission", "MemoryViolation"});
    const GpuBuffer from = buffer(kPage, 0xaa55aa55);
    const GpuBuffer to = process().allocate(kPage, Domain::System, inproc::pte::kRead);
    memory_exception(from.va, to.va);
    EXPECT_EQ(fault.va, to.va);
    EXPECT_TRUE(fault.read_only);
}

TEST_F(KFDExceptionTest, FaultStorm) {
    expect_faults({"PageNotPresent", "MemoryViolation"});
    memory_exception(0x12345678, 0x76543210, 1024, 1024);
    EXPECT_TRUE(fault.not_present);
}

TEST_F(KFDExceptionTest, SdmaQueueException) {
    expect_faults({"PageNotPresent", "SdmaVmHole"});
    GpuBuffer gone = buffer();
    EXPECT_SUCCESS(process().unmap(gone));
    UserQueue queue;
    ASSERT_SUCCESS(queue.create(process(), QueueType::Sdma));
    uint32_t event = 0;
    ASSERT_SUCCESS(process().events().create(EventType::Memory, true, event));
    queue.place_and_submit(sdma::write_linear(gone.va, {0x02020202}));
    ASSERT_SUCCESS(process().wait_on_event(event, kTimeoutMs));
    EXPECT_EQ(process().events().memory_exception(event).va, gone.va);
    EXPECT_EQ(words(gone)[0], 0u);
    EXPECT_SUCCESS(queue.destroy());
}

/// Not in kfdtest: the process of a queue that a packet has stopped learns which of its queues it is, and why.
TEST_F(KFDExceptionTest, BadPacket) {
    expect_faults({"UnknownOpcode", "PacketType"});
    UserQueue good, bad, worse;
    for (UserQueue* queue : {&good, &bad, &worse}) ASSERT_SUCCESS(queue->create(process()));
    bad.place_and_submit({0xc000ff00, 0});
    worse.place_and_submit({0x40000000});
    ASSERT_TRUE(gpu().wait([&] { return process().packet_errors().size() == 2; }, kTimeoutMs));
    std::map<uint32_t, uint32_t> errors;
    for (const auto& [doorbell, exception] : process().packet_errors()) errors[doorbell] = exception;
    constexpr uint32_t kUnsupportedPacket = 20;
    const std::map<uint32_t, uint32_t> expected{{bad.kernel_queue().doorbell_id, kUnsupportedPacket},
                                                {worse.kernel_queue().doorbell_id, kUnsupportedPacket}};
    EXPECT_EQ(errors, expected);
    const GpuBuffer to = buffer();
    good.place_and_submit(pm4::write_data(to.va, {0x5a}));
    EXPECT_TRUE(wait_value(words(to), 0x5a));
    for (UserQueue* queue : {&good, &bad, &worse}) EXPECT_SUCCESS(queue->destroy());
}

}  // namespace
}  // namespace lyra::kfd
