// SPDX-License-Identifier: MIT
// libFuzzer target: contents of a user, kernel, HIQ or gfx ring, of buffers, run list and MQD, doorbells and register writes.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "cp-firmware-model/fuzz/input.h"
#include "cp-firmware-model/fuzz/packets.h"
#include "cp-firmware-model/testing/cp_bench.h"

namespace {

using namespace lyra;
using namespace lyra::testing;
using fuzz::Input;

struct Fuzz : CpBench {
    Fuzz() : CpBench(test_shape(2, 2), Waves::Fake) {}

    /// Dwords of the input, or packets that it composes. Pointers of the packets should often hit memory that is there.
    /// @return how many dwords
    uint32_t fill(uint64_t base, uint32_t dwords, Input input, bool composed) {
        Words words;
        if (composed) {
            const uint64_t places[] = {kScratch, kIb, kRunList, user.mqd, kUserBase, uint64_t{kScratchReg} * 4, 0x7f0000000000};
            words = fuzz::packets(input, dwords, [&] { return fuzz::pm4_packet(input, pm4::kFromKiq, places); });
        } else {
            for (uint32_t i = 0; i < dwords && !input.empty(); ++i) words.push_back(input.take<uint32_t>());
        }
        put_words(base, words);
        return static_cast<uint32_t>(words.size());
    }

    TestRing& pick(unsigned mode) {
        switch (mode & 3) {
            case 0: start_user(); return user;
            case 1: start_kcq(); return kcq;
            case 2: start_user(); return hiq;
            default: break;
        }
        start_mec();
        gfx = make_ring(kGfxBase, 0x458);
        set_reg(0xc104, 8);
        set_reg(0xc100, lo32(gfx.base >> 8));
        set_reg(0xc10c, lo32(gfx.rptr));
        set_reg(0xc164, 0x458 | 1u << 30);
        set_reg(0x86d8, 0);
        return gfx;
    }

    void play(Input input) {
        bus.memory.map(0, 0x10000);
        const uint32_t mode = input.take<uint32_t>();
        TestRing& ring = pick(mode);
        plan({.instructions = mode >> 8 & 0xff, .halts = bit(mode, 16), .forever = bit(mode, 17)});
        const unsigned writes = mode >> 20 & 7;
        for (unsigned n = 0; n < writes; ++n) {
            const uint32_t where = input.take<uint32_t>();
            const GrbmSelect select{uint8_t(where >> 16 & 3), uint8_t(where >> 18 & 3), uint8_t(where >> 20 & 7), 0};
            set_reg(0xc100 + (where & 0xffc) % 0x900, input.take<uint32_t>(), select);
        }
        fill(kIb, 1024, input, bit(mode, 3));
        fill(kRunList, 1024, input, bit(mode, 3));
        if (bit(mode, 4)) {
            submit(hiq, unmap(3));
            settle(20);
            fill(user.mqd, mqd::kDwords, input, false);
            // Two queues, of one process or of two, whose packets have a few words of the input: types, engines, GWS, quantum.
            TestRing second = user_ring(1);
            Words process = map_process(0x8001), other = map_process(bit(mode, 7) ? 0x8002 : 0x8001);
            other[13] = input.take<uint32_t>();
            process[1 + mode % 15] = input.take<uint32_t>();
            const uint32_t control = input.take<uint32_t>();
            run_list({process, map_queue(user, control), other, map_queue(second, control >> 8 | 1u << 4)}, mode >> 12 & 15,
                     bit(mode, 6));
            settle(20);
        }
        const uint32_t dwords = fill(ring.base, static_cast<uint32_t>(ring.dwords), input, bit(mode, 2));
        cp.doorbell(ring.doorbell, bit(mode, 5) ? input.take<uint32_t>() : dwords);
        for (unsigned n = 0; n < 64; ++n) {
            cp.run(100);
            if (n % 8 == 0) pass_ms(mode >> 24);
        }
        // The device must come up again after anything.
        cp.reset();
        start_kcq();
        submit(kcq, write_data(kScratch, {0x600d}));
        settle();
        if (word(kScratch) != 0x600d) __builtin_trap();
    }
    TestRing gfx;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Fuzz fuzz;
    fuzz.play(Input(data, size));
    return 0;
}
