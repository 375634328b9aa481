// SPDX-License-Identifier: MIT
// DPP: which lane each lane of source 0 reads from; step 6 of the data flow.
#include <array>

#include "gcn-interp/wave/operand.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

namespace {

/// Lane that `lane` reads, or -1 for none.
using Select = int (*)(int lane, int amount);

/// A range of DPP_CTRL values. amount = ctrl - first.
struct Control {
    uint16_t first, last;
    Select select;
};

int quad_perm(int lane, int amount) { return (lane & ~3) | ((amount >> (2 * (lane & 3))) & 3); }
int row_shl(int lane, int amount) { return (lane & 15) + amount < 16 ? lane + amount : -1; }
int row_shr(int lane, int amount) { return (lane & 15) - amount >= 0 ? lane - amount : -1; }
int row_ror(int lane, int amount) { return (lane & ~15) | ((lane - amount) & 15); }
int wave_shl(int lane, int) { return lane < 63 ? lane + 1 : -1; }
int wave_rol(int lane, int) { return (lane + 1) & 63; }
int wave_shr(int lane, int) { return lane - 1; }
int wave_ror(int lane, int) { return (lane - 1) & 63; }
int row_mirror(int lane, int) { return lane ^ 15; }
int row_half_mirror(int lane, int) { return lane ^ 7; }
int row_bcast15(int lane, int) { return lane >= 16 ? (lane & ~15) - 1 : -1; }
int row_bcast31(int lane, int) { return lane >= 32 ? 31 : -1; }
int row_newbcast(int lane, int amount) { return (lane & ~15) | amount; }  // of chips that decode() lets have it

/// @source LLVM AMDGPU SIDefines.h DppCtrl; AMD Vega ISA document, "DPP_CTRL enumeration". Rows shift by 1..15.
constexpr Control kControls[] = {
    {0x000, 0x0ff, quad_perm},    {0x100, 0x10f, row_shl},         {0x110, 0x11f, row_shr},     {0x120, 0x12f, row_ror},
    {0x130, 0x130, wave_shl},     {0x134, 0x134, wave_rol},        {0x138, 0x138, wave_shr},    {0x13c, 0x13c, wave_ror},
    {0x140, 0x140, row_mirror},   {0x141, 0x141, row_half_mirror}, {0x142, 0x142, row_bcast15}, {0x143, 0x143, row_bcast31},
    {0x150, 0x15f, row_newbcast},
};

constexpr unsigned kControlValues = 512;

const std::array<DppPattern, kControlValues>& patterns() {
    static const std::array<DppPattern, kControlValues> table = [] {
        std::array<DppPattern, kControlValues> t{};
        for (const Control& c : kControls) {
            for (unsigned ctrl = c.first; ctrl <= c.last; ++ctrl) {
                for (unsigned lane = 0; lane < kLanes; ++lane) {
                    const int from = c.select(static_cast<int>(lane), static_cast<int>(ctrl - c.first));
                    t[ctrl].from[lane] = static_cast<uint8_t>(from < 0 ? 0 : from);
                    if (from >= 0) t[ctrl].has_source |= uint64_t{1} << lane;
                }
            }
        }
        return t;
    }();
    return table;
}

}  // namespace

const DppPattern& dpp_pattern(const Inst& inst) { return patterns()[inst.dpp_ctrl % kControlValues]; }

uint64_t dpp_enabled_lanes(const Inst& inst) {
    uint64_t mask = 0;
    for (unsigned group = 0; group < 16; ++group) {
        const bool row_on = (inst.row_mask >> (group / 4)) & 1, bank_on = (inst.bank_mask >> (group % 4)) & 1;
        if (row_on && bank_on) mask |= uint64_t{0xf} << (4 * group);
    }
    return mask;
}

uint64_t dpp_select(const Inst& inst, uint64_t exec, const uint32_t* in, uint32_t* out) {
    const DppPattern& pattern = dpp_pattern(inst);
    uint64_t valid = pattern.has_source;
    for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = in[pattern.from[lane]];
    if (exec != ~uint64_t{0}) {
        uint64_t active = 0;
        for (unsigned lane = 0; lane < kLanes; ++lane) active |= ((exec >> pattern.from[lane]) & 1) << lane;
        valid &= active;
    }
    if (valid != ~uint64_t{0}) {
        for (unsigned lane = 0; lane < kLanes; ++lane) out[lane] = (valid >> lane) & 1 ? out[lane] : 0;
    }
    return dpp_enabled_lanes(inst) & (inst.bound_ctrl ? ~uint64_t{0} : valid);
}

}  // namespace lyra::gcn
