// SPDX-License-Identifier: MIT
// libFuzzer target: register writes, ring contents, MQD and doorbells of an SDMA engine from the input.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cp-firmware-model/fuzz/packets.h"
#include "cp-firmware-model/sdma/sdma_rig.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lyra;
    using namespace lyra::sdma_test;
    if (size < 16) return 0;
    const uint8_t mode = data[0];
    const unsigned writes = data[1] % 16;
    data += 2;
    size -= 2;

    Rig rig;
    if (mode & 1) {
        rig.map_user();
        if (mode & 2) {  // the MQD too
            const size_t n = std::min<size_t>(size, 128);
            rig.engine.unmap_queue(0);
            rig.bus.memory.write(0, kMqdVa, data, n);
            rig.engine.map_queue(kMqdVa, mode & 4 ? kWptrVa : 0, kUserDoorbell, kUserVmid, kPasid);
        }
    }
    for (unsigned i = 0; i < writes && size >= 6; ++i) {
        uint16_t offset = 0;
        uint32_t value = 0;
        std::memcpy(&offset, data, 2);
        std::memcpy(&value, data + 2, 4);
        rig.engine.write_register(offset % 0x210, value);
        data += 6;
        size -= 6;
    }
    constexpr uint64_t kRegisterPage = 0xa00000;
    Dwords words(std::min<size_t>(size, rig.ring_bytes()) / 4);
    if (mode & 8) {
        constexpr uint64_t kPlaces[] = {kDataVa, kDataVa + kPageBytes - 8, kIbVa, kRptrVa, kRegisterPage, kUnmappedVa};
        fuzz::Input in(data, size);
        words = fuzz::packets(in, rig.ring_bytes() / 4, [&] { return fuzz::sdma_packet(in, kPlaces); });
    } else if (!words.empty()) {
        std::memcpy(words.data(), data, words.size() * 4);
    }
    const size_t bytes = words.size() * 4;
    rig.bus.memory.write(rig.vmid, kRingVa, words.data(), bytes);
    rig.bus.memory.write(rig.vmid, kIbVa, words.data(), bytes);
    rig.bus.memory.map_register_page(rig.vmid, kRegisterPage);
    rig.engine.doorbell(rig.vmid ? kUserDoorbell : kDoorbell, bytes);
    for (int i = 0; i < 24 && rig.engine.run() != RunState::Idle; ++i) rig.host.now += 100'000;
    if (mode & 1) {
        if (!rig.engine.unmap_queue(0)) rig.engine.run();
        rig.engine.unmap_queue(0);
    }
    rig.engine.reset();
    return 0;
}
