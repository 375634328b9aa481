// SPDX-License-Identifier: MIT
// libFuzzer: random programs in random states, executed by a compute unit whose memory is guarded: no crash, no hang, no byte
// touched that is not the wave's.
#include "gcn-interp/fuzz/random_machine.h"

using namespace lyra::gcn;
using namespace lyra::gcn::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    static Machine machines[] = {Machine(lyra::Chip::gfx900), Machine(lyra::Chip::gfx906), Machine(lyra::Chip::gfx908),
                                 Machine(lyra::Chip::gfx90a), Machine(lyra::Chip::gfx942)};
    Bytes bytes(data, size);
    Machine& machine = machines[bytes.below(std::size(machines))];
    prepare(bytes, machine);
    uint64_t done = 0;
    for (unsigned n = 0; n < kSlices && done < kBudget && machine.cu->waves_live() != 0; ++n) {
        done += run_slice(bytes, machine);
        disturb(bytes, machine);
    }
    finish(machine);
    return 0;
}
