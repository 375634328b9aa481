// SPDX-License-Identifier: MIT
// libFuzzer target: an AQL queue whose ring, queue descriptor, signals, doorbells and buffers are all the input's.
#include <array>
#include <cstdint>
#include <cstring>

#include "cp-firmware-model/mec/aql.h"
#include "cp-firmware-model/mec/pm4.h"
#include "cp-firmware-model/testing/fake_compute_unit.h"
#include "cp-firmware-model/testing/flat_bus.h"

namespace {

using namespace lyra;

/// Every address falls into a small arena, so that random pointers mostly hit something; some bits make it fault.
class FoldedMemory : public MemoryPort {
public:
    static constexpr size_t kPages = 16;
    uint8_t* page(uint32_t, uint64_t va, Access access) override {
        if (va >> 62 == 1) return nullptr;
        if (access != Access::Read && va >> 62 == 2) return nullptr;
        return arena_[(va / kPageBytes) % kPages].data() + va % kPageBytes;
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        return each(vmid, va, size, Access::Read, [&](uint8_t* p, size_t i) { static_cast<uint8_t*>(data)[i] = *p; });
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        return each(vmid, va, size, Access::Write, [&](uint8_t* p, size_t i) { *p = static_cast<const uint8_t*>(data)[i]; });
    }
    uint64_t generation() const override { return 1; }

private:
    template <class Byte>
    Fault each(uint32_t vmid, uint64_t va, size_t size, Access access, Byte byte) {
        for (size_t i = 0; i < size; ++i) {
            uint8_t* p = page(vmid, va + i, access);
            if (p == nullptr) return Fault::PageNotPresent;
            byte(p, i);
        }
        return Fault::None;
    }
    struct alignas(64) PageBytes : std::array<uint8_t, lyra::kPageBytes> {};
    std::array<PageBytes, kPages> arena_{};
};

class FoldedBus : public testing::FlatBus {
public:
    MemoryPort& gfxhub() override { return folded; }
    MemoryPort& mmhub() override { return folded; }
    FoldedMemory folded;
};

class Input {
public:
    Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
    bool empty() const { return size_ == 0; }
    template <class T>
    T take() {
        T value{};
        take_bytes(&value, sizeof value);
        return value;
    }
    size_t take_bytes(void* out, size_t n) {
        n = n < size_ ? n : size_;
        if (n != 0) std::memcpy(out, data_, n);
        data_ += n;
        size_ -= n;
        return n;
    }

private:
    const uint8_t* data_;
    size_t size_;
};

struct Rig {
    testing::FakeHost host;
    Env env{host};
    FoldedBus bus;
    Dispatcher dispatcher{env, bus, GpuShape{2, 2, 32}};
    Pm4Processor pm4{env, bus, dispatcher};
    AqlProcessor aql{env, bus, dispatcher, pm4};
    Hqd hqd;

    void prepare(Input& in) {
        hqd.me = 1;
        hqd.regs[kHqdAqlControl] = 1;
        hqd.regs[kHqdVmid] = 8;
        hqd.regs[kHqdPqControl] = in.take<uint8_t>() % 4 == 0 ? in.take<uint8_t>() : 7;
        hqd.regs[kHqdPqRptrReportAddr] = 0x4080;
        hqd.regs[kHqdPqWptrPollAddr] = 0x4038;
        hqd.regs[kHqdPqBase] = 0;
        hqd.compute.fill(~0u);
        hqd.compute[22] = in.take<uint32_t>();
        hqd.compute[96] = in.take<uint8_t>();
        hqd.compute[97] = 0;
        const uint32_t offset = 0x80;
        bus.folded.write(8, 0x4088, &offset, sizeof offset);
        load();
    }
    void load() {
        hqd.state = HqdState::Active;
        hqd.regs[kHqdError] = 0;
        aql.load(hqd);
    }
    void poke(Input& in) {
        uint8_t bytes[64] = {};
        const uint16_t at = in.take<uint16_t>();
        const size_t n = in.take_bytes(bytes, 1 + in.take<uint8_t>() % sizeof bytes);
        bus.folded.write(8, at, bytes, n);
    }
    void act(Input& in) {
        switch (in.take<uint8_t>() % 8) {
            case 0: aql.doorbell(hqd, in.take<uint64_t>()); break;
            case 1: aql.doorbell(hqd, in.take<uint8_t>()); break;
            case 2: hqd.state = HqdState::Draining; break;
            case 3:
                dispatcher.kill_queue(hqd.id());
                pm4.forget(hqd);
                aql.save(hqd);
                load();
                break;
            case 4: dispatcher.kill_vmid(8); break;
            default: poke(in); break;
        }
        for (unsigned i = 0; i < 3; ++i) {
            aql.step(hqd);
            dispatcher.run(200);
        }
        (void)aql.drained(hqd);
    }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    testing::fake_cus() = {};
    testing::fake_cus().plan = [](const gcn::WorkgroupLaunch& l) {
        return testing::WavePlan{.instructions = 1 + l.entry % 300, .halts = l.entry % 7 == 3, .forever = l.entry % 11 == 5};
    };
    Input in(data, size < 8192 ? size : 8192);
    Rig rig;
    rig.prepare(in);
    uint8_t packets[1024] = {};
    const size_t n = in.take_bytes(packets, in.take<uint16_t>() % sizeof packets);
    rig.bus.folded.write(8, 0, packets, n);
    rig.aql.doorbell(rig.hqd, n / kAqlPacketBytes);
    for (unsigned i = 0; i < 64 && !in.empty(); ++i) rig.act(in);
    rig.dispatcher.reset();
    testing::fake_cus().launches.clear();
    return 0;
}
