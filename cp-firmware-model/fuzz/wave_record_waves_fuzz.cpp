// SPDX-License-Identifier: MIT
// libFuzzer target: the records of waves in a save area, edited between save and restore: every register, and LDS.
#include "cp-firmware-model/fuzz/saved_queue.h"

namespace {

using namespace lyra;
using cwsr::ImageRegister;
using fuzz::SavedQueue;

void edit(SavedQueue& saved) {
    constexpr ImageRegister kRegisters[] = {
        ImageRegister::Status, ImageRegister::Mode, ImageRegister::Trapsts,     ImageRegister::Pc,
        ImageRegister::M0,     ImageRegister::Exec, ImageRegister::XnackMask,   ImageRegister::Ttmp,
        ImageRegister::Ttmp,   ImageRegister::Vgpr, ImageRegister::Sgpr,        ImageRegister::Sgpr,
        ImageRegister::Vcc,    ImageRegister::Lds,  ImageRegister::FlatScratch, ImageRegister::Pc};
    fuzz::Input& in = saved.in();
    // All records are found, whatever else is wrong with them.
    const cwsr::Image image = saved.victim.image();
    if (image.waves.empty()) return;
    for (unsigned edits = 1 + in.below(8); edits != 0; --edits) {
        const cwsr::WaveImage& wave = image.waves[in.below(static_cast<uint32_t>(image.waves.size()))];
        const ImageRegister name = kRegisters[in.below(std::size(kRegisters))];
        const auto at = cwsr::register_address(wave, name, in.below(name == ImageRegister::Lds ? 512 : 16));
        if (!at) continue;
        const uint64_t address = saved.victim.save_area() + *at + (name == ImageRegister::Vgpr ? in.below(64) * 4 : 0);
        saved.bus.memory.put<uint32_t>(address, saved.value(saved.word(address)));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    fuzz::Input in(data, size);
    SavedQueue bench(in);
    bench.play(edit);
    return 0;
}
