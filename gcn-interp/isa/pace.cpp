// SPDX-License-Identifier: MIT
// Which instructions cost alike.
#include "gcn-interp/isa/pace.h"

#include <algorithm>

#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

bool quarter_rate(Op op) {
    switch (op) {
#define RATE(name) case Op::name:
#include "gcn-interp/isa/rates.def"
#undef RATE
        return true;
        default: return false;
    }
}

bool is_f64(Type type) { return info(type).kind == Kind::Float && info(type).bits == 64; }

Pace vector_pace(const Inst& inst) {
    const Profile& profile = *info(inst.op).profile;
    const bool f64 = is_f64(profile.dst) || std::any_of(std::begin(profile.src), std::end(profile.src), is_f64);
    return f64 ? Pace::VectorF64 : quarter_rate(inst.op) ? Pace::VectorQuarter : Pace::Vector;
}

Pace program_pace(Op op) {
    switch (op) {
        case Op::s_nop: return Pace::Nop;
        case Op::s_waitcnt: return Pace::Wait;
        case Op::s_endpgm:
        case Op::s_endpgm_saved: return Pace::End;
        case Op::s_branch:
        case Op::s_cbranch_scc0:
        case Op::s_cbranch_scc1:
        case Op::s_cbranch_vccz:
        case Op::s_cbranch_vccnz:
        case Op::s_cbranch_execz:
        case Op::s_cbranch_execnz: return Pace::Branch;
        default: return Pace::Scalar;
    }
}

}  // namespace

Pace pace_of(const Inst& inst) {
    switch (inst.format) {
        case Format::SOPP: return program_pace(inst.op);
        case Format::SOP2:
        case Format::SOPK:
        case Format::SOP1:
        case Format::SOPC:
        case Format::Invalid: return Pace::Scalar;
        case Format::SMEM: return Pace::ScalarMemory;
        case Format::DS: return Pace::Lds;
        case Format::FLAT: return inst.seg == 0 ? Pace::FlatMemory : Pace::VectorMemory;
        case Format::MUBUF:
        case Format::MTBUF:
        case Format::MIMG: return Pace::VectorMemory;
        default: return vector_pace(inst);
    }
}

}  // namespace lyra::gcn
