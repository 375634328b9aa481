// SPDX-License-Identifier: MIT
// Checks saved waves of count.s.
#include "kfdtest-ports/guest/kfd/saved_count.h"

#include <cstring>

#include <fmt/format.h>

namespace lyra::guest {

namespace {

// Registers of count.s.
constexpr unsigned kGroup = 2, kSteps = 8, kStepsDone = 13, kRoundsLeft = 14;
constexpr unsigned kItem = 0, kGlobalItem = 1, kX = 2;

/// After how many rounds x may be what it is: between two instructions of the loop the counters do not yet, or no longer,
/// say how often.
bool fits(uint32_t x, uint32_t start, const CountArguments& a, uint32_t steps_done, uint32_t rounds_left) {
    const uint64_t rounds = uint64_t{steps_done} * a.rounds + (a.rounds - rounds_left);
    const uint32_t now = counted(start, a.seed, rounds);
    const uint32_t before = rounds >= a.rounds ? counted(start, a.seed, rounds - a.rounds) : now;
    return x == now || x == now * kFactor || x == now * kFactor + a.seed || x == before;
}

}  // namespace

cwsr::ReadArea reader_of(const void* area, size_t bytes) {
    return [=](uint64_t offset, void* data, size_t size) {
        if (offset > bytes || size > bytes - offset) return false;
        std::memcpy(data, static_cast<const char*>(area) + offset, size);
        return true;
    };
}

std::string check_saved_count(const cwsr::WaveImage& wave, const cwsr::ReadArea& read, const CountArguments& arguments,
                              uint64_t code, size_t code_bytes) {
    cwsr::WaveRegisters registers;
    if (!cwsr::read_registers(wave, read, registers)) return "registers are not readable";
    if (wave.pc < code + 256 || wave.pc >= code + code_bytes) return fmt::format("PC {:#x}, code {:#x}", wave.pc, code);
    if (wave.exec != ~uint64_t{0} && wave.exec != 1) return fmt::format("EXEC {:#x}", wave.exec);
    if (registers.sgprs[kGroup] != wave.group_id[0])
        return fmt::format("s2 {}, group {}", registers.sgprs[kGroup], wave.group_id[0]);
    const uint32_t expected[] = {arguments.steps, arguments.rounds, arguments.seed, arguments.factor};
    if (std::memcmp(&registers.sgprs[kSteps], expected, sizeof expected) != 0) return "s[8:11] do not hold the arguments";
    for (uint32_t lane = 0; lane < kCountGroup; ++lane) {
        const uint32_t item = wave.group_id[0] * kCountGroup + lane;
        if (registers.vgprs[kItem][lane] != lane) return fmt::format("v0 of lane {} is {}", lane, registers.vgprs[kItem][lane]);
        if (registers.vgprs[kGlobalItem][lane] != item)
            return fmt::format("v1 of lane {} is {}", lane, registers.vgprs[kGlobalItem][lane]);
        const uint32_t x = registers.vgprs[kX][lane], steps = registers.sgprs[kStepsDone], left = registers.sgprs[kRoundsLeft];
        if (!fits(x, arguments.seed + item, arguments, steps, left)) {
            return fmt::format("v2 of lane {} is {:#x} after {} steps with {} rounds left", lane, x, steps, left);
        }
    }
    return "";
}

}  // namespace lyra::guest
