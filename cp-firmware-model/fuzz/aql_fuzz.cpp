// SPDX-License-Identifier: MIT
// libFuzzer target: an AQL queue whose ring, queue descriptor, signals, doorbells and buffers are all the input's.
#include <array>
#include <cstdint>
#include <cstring>

#include "cp-firmware-model/fuzz/input.h"
#include "cp-firmware-model/mec/aql.h"
#include "cp-firmware-model/mec/pm4.h"
#include "cp-firmware-model/testing/fake_compute_unit.h"
#include "cp-firmware-model/testing/flat_bus.h"

namespace {

using namespace lyra;
using fuzz::Input;

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
    MemoryPort& mmhub(unsigned) override { return folded; }
    FoldedMemory folded;
};

struct Rig {
    testing::FakeHost host;
    Env env{host};
    FoldedBus bus;
    testing::FakeCus fakes;
    Dispatcher dispatcher{env, bus, GpuShape{2, 2, 32}, fakes.maker()};
    Pm4Processor pm4{env, bus, dispatcher};
    AqlProcessor aql{env, bus, dispatcher, pm4};
    Hqd hqd;
    uint64_t next = 0;

    void prepare(Input& in) {
        hqd.me = 1;
        hqd.regs[hqd_reg::CP_HQD_AQL_CONTROL] = 1;
        hqd.regs[hqd_reg::CP_HQD_VMID] = 8;
        hqd.regs[hqd_reg::CP_HQD_PQ_CONTROL] = in.take<uint8_t>() % 4 == 0 ? in.take<uint8_t>() : 7;
        hqd.regs[hqd_reg::CP_HQD_PQ_RPTR_REPORT_ADDR] = 0x4080;
        hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_POLL_ADDR] = 0x4038;
        hqd.regs[hqd_reg::CP_HQD_PQ_BASE] = 0;
        hqd.compute.fill(~0u);
        hqd.compute[mqd::compute_resource_limits] = in.take<uint32_t>();
        next = hqd.compute[mqd::cp_mqd_readindex_lo] = in.take<uint8_t>();
        hqd.compute[mqd::cp_mqd_readindex_hi] = 0;
        prepare_kernels(in);
        const uint32_t offset = 0x80;
        bus.folded.write(8, 0x4088, &offset, sizeof offset);
        load();
    }
    void load() {
        hqd.state = HqdState::Active;
        hqd.regs[hqd_reg::CP_HQD_ERROR] = 0;
        aql.load(hqd);
    }
    /// A packet that is nearly right: the type and the fields which decide how far it gets come from a few bytes.
    AqlPacket packet(Input& in) {
        constexpr uint8_t kTypes[] = {2, 2, 2, 3, 5, 0, 0, 1, 4, 77};
        AqlPacket p;
        const auto put = [&](unsigned offset, auto value) { std::memcpy(p.bytes.data() + offset, &value, sizeof value); };
        const uint8_t type = kTypes[in.take<uint8_t>() % sizeof kTypes];
        put(0, static_cast<uint16_t>(type | (in.take<uint8_t>() & 1) << 8));
        if (type == 2) {
            put(2, uint16_t{3});
            for (unsigned d = 0; d < 3; ++d) put(4 + 2 * d, static_cast<uint16_t>(in.take<uint8_t>() % 20));
            for (unsigned d = 0; d < 3; ++d) put(0xc + 4 * d, static_cast<uint32_t>(1 + in.take<uint8_t>() % 64));
            put(0x18, static_cast<uint32_t>(in.take<uint8_t>() % 3 * 16));
            put(0x1c, static_cast<uint32_t>(in.take<uint8_t>() * 512));
            put(0x20, uint64_t{0x2000} + in.take<uint8_t>() % 4 * 64);
        } else {
            put(2, static_cast<uint8_t>(in.take<uint8_t>() % 3));
            for (unsigned i = 0; i < 5; ++i) put(8 + 8 * i, uint64_t{0x5000} + in.take<uint8_t>() % 8 * 64);
            if (type == 0 && p.bytes[2] == 1) {
                put(4, uint32_t{0xc0023f00});
                put(8, uint32_t{0x6000});
                put(0xc, uint32_t{0});
                put(0x10, static_cast<uint32_t>(in.take<uint8_t>()));
            }
        }
        if (in.take<uint8_t>() & 1) put(0x38, uint64_t{0x5000} + in.take<uint8_t>() % 8 * 64);
        return p;
    }
    void submit(Input& in) {
        AqlPacket p = packet(in);
        if (in.take<uint8_t>() % 8 == 0) p.bytes[in.take<uint8_t>() % p.bytes.size()] = in.take<uint8_t>();
        bus.folded.write(8, (next & 15) * kAqlPacketBytes, p.bytes.data(), p.bytes.size());
        aql.doorbell(hqd, next++);
    }
    void prepare_kernels(Input& in) {
        for (unsigned k = 0; k < 4; ++k) {
            const uint64_t at = 0x2000 + 64 * k;
            const int64_t entry = 0x100 - 64 * static_cast<int64_t>(k) + in.take<uint8_t>() % 16 * 256;
            const uint32_t rsrc[2] = {in.take<uint32_t>(), in.take<uint32_t>()};
            const uint16_t properties = in.take<uint16_t>();
            bus.folded.write(8, at + 16, &entry, sizeof entry);
            bus.folded.write(8, at + 48, rsrc, sizeof rsrc);
            bus.folded.write(8, at + 56, &properties, sizeof properties);
        }
        uint32_t tail[4] = {in.take<uint32_t>(), 0, 0, 0};
        bus.folded.write(8, 0x408c, tail, 4);
        tail[0] = in.take<uint8_t>();
        tail[1] = in.take<uint8_t>();
        bus.folded.write(8, 0x40b0, tail, 8);
        const uint64_t inactive = 0x5200;
        bus.folded.write(8, 0x40c0, &inactive, sizeof inactive);
    }
    void poke(Input& in) {
        uint8_t bytes[64] = {};
        const uint16_t at = in.take<uint16_t>();
        const size_t n = in.take_bytes(bytes, 1 + in.take<uint8_t>() % sizeof bytes);
        bus.folded.write(8, at, bytes, n);
    }
    void act(Input& in) {
        switch (in.take<uint8_t>() % 16) {
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
            case 5:
            case 6: poke(in); break;
            case 7: hqd.state = HqdState::Active; break;
            case 8: {
                const int64_t value = in.take<uint8_t>() % 2;
                bus.folded.write(8, 0x5008 + in.take<uint8_t>() % 9 * 64, &value, sizeof value);
                break;
            }
            default: submit(in); break;
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
    Input in(data, size < 8192 ? size : 8192);
    Rig rig;
    rig.fakes.plan = [](const gcn::WorkgroupLaunch& l) {
        return testing::WavePlan{.instructions = 1 + l.entry % 300, .halts = l.entry % 7 == 3, .forever = l.entry % 11 == 5};
    };
    rig.prepare(in);
    if (in.take<uint8_t>() % 8 == 0) {
        uint8_t packets[1024] = {};
        const size_t n = in.take_bytes(packets, in.take<uint16_t>() % sizeof packets);
        rig.bus.folded.write(8, 0, packets, n);
        rig.aql.doorbell(rig.hqd, n / kAqlPacketBytes);
    }
    for (unsigned i = 0; i < 64 && !in.empty(); ++i) rig.act(in);
    rig.dispatcher.reset();
    return 0;
}
