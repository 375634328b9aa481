// SPDX-License-Identifier: MIT
// libFuzzer target: the MQD of a queue, edited between its unmapping with saved waves and its mapping.
#include "cp-firmware-model/fuzz/saved_queue.h"

namespace {

using namespace lyra;
using fuzz::SavedQueue;

/// Dwords of the MQD: what belongs to the save (CP_HQD_PERSISTENT_STATE, ..), registers, COMPUTE_*, flight, GWS, all.
unsigned pick_dword(fuzz::Input& in) {
    constexpr unsigned kOfSave[] = {132, 171, 172, 173, 174, 175, 176, 177, 178, 179, 181, 28, 36, 37};
    switch (in.take<uint8_t>() % 8) {
        case 0:
        case 1: return kOfSave[in.below(std::size(kOfSave))];
        case 2: return mqd::cp_mqd_base_addr_lo + in.below(kHqdRegisters);
        case 3: return in.below(kComputeImage);
        case 4: return mqd::lyra_flight + in.below(12);
        case 5: return mqd::lyra_flight + in.below(kFlightWords);
        case 6: return in.below(2) ? mqd::lyra_gws + in.below(kHqdGwsWords) : mqd::lyra_ib_magic + in.below(32);
        default: return in.below(mqd::kDwords);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input in(data, size);
    SavedQueue bench(in);
    bench.play([&](SavedQueue& saved) {
        for (unsigned edits = 1 + in.below(8); edits != 0; --edits) {
            const unsigned dword = pick_dword(in);
            saved.put_mqd(dword, saved.value(saved.mqd(dword)));
        }
    });
    return 0;
}
