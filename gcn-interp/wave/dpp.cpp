// SPDX-License-Identifier: MIT
// DPP: which lane each lane of source 0 reads from; step 6 of the data flow.
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

/// @source LLVM AMDGPU SIDefines.h DppCtrl; AMD Vega ISA document, "DPP_CTRL enumeration". Rows shift by 1..15.
constexpr Control kControls[] = {
    {0x000, 0x0ff, quad_perm}, {0x100, 0x10f, row_shl},  {0x110, 0x11f, row_shr},  {0x120, 0x12f, row_ror},
    {0x130, 0x130, wave_shl},  {0x134, 0x134, wave_rol}, {0x138, 0x138, wave_shr}, {0x13c, 0x13c, wave_ror},
    {0x140, 0x140, row_mirror}, {0x141, 0x141, row_half_mirror}, {0x142, 0x142, row_bcast15}, {0x143, 0x143, row_bcast31},
};

}  // namespace

uint64_t dpp_select(const Inst& inst, uint64_t exec, const uint32_t* in, uint32_t* out) {
    const Control* control = nullptr;
    for (const Control& c : kControls) {
        if (inst.dpp_ctrl >= c.first && inst.dpp_ctrl <= c.last) control = &c;
    }
    uint64_t writable = 0;
    for (int lane = 0; lane < static_cast<int>(kLanes); ++lane) {
        const int from = control != nullptr ? control->select(lane, inst.dpp_ctrl - control->first) : -1;
        const bool valid = from >= 0 && ((exec >> from) & 1);
        out[lane] = valid ? in[from] : 0;
        const bool row_on = (inst.row_mask >> (lane / 16)) & 1, bank_on = (inst.bank_mask >> (lane / 4 % 4)) & 1;
        if (row_on && bank_on && (valid || inst.bound_ctrl)) writable |= uint64_t{1} << lane;
    }
    return writable;
}

}  // namespace lyra::gcn
