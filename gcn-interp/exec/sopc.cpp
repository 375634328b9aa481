// SPDX-License-Identifier: MIT
// Scalar compares and the two mode switches of their format; step 6 of the data flow.
// @source AMD Vega ISA document, "SOPC instructions"
#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/scalar.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;
using I32 = int32_t;

template <class Word>
Word fetch(const Wave& wave, const Inst& inst, unsigned n) {
    if constexpr (sizeof(Word) == 8) {
        return static_cast<Word>(scalar::source64(wave, inst, inst.src[n]));
    } else {
        return static_cast<Word>(scalar::source32(wave, inst, inst.src[n]));
    }
}

template <class A, class B, auto kFn>
void compare(ExecContext&, Wave& wave, const Inst& inst) {
    wave.scc = kFn(fetch<A>(wave, inst, 0), fetch<B>(wave, inst, 1));
}

namespace row {

void s_setvskip(ExecContext&, Wave& wave, const Inst& inst) {
    const bool skip = bit(fetch<U32>(wave, inst, 0), fetch<U32>(wave, inst, 1) & 31);
    wave.mode = ModeBits::Vskip::set(wave.mode, skip);
}
/// The second source field is an immediate: which operands are indexed. It stays visible in M0[15:12].
void s_set_gpr_idx_on(ExecContext&, Wave& wave, const Inst& inst) {
    wave.mode = ModeBits::GprIdxEn::set(wave.mode, 1);
    wave.user_gpr_idx = false;
    const U32 index = fetch<U32>(wave, inst, 0) & 0xff;
    wave.m0 = (wave.m0 & 0xffff0f00) | index | ((inst.imm & 0xfu) << 12);
}

#define COMPARE(name, A, B, expression) constexpr WaveFn name = compare<A, B, [](A a, B b) -> bool { return (expression); }>;

COMPARE(s_cmp_eq_i32, I32, I32, a == b)
COMPARE(s_cmp_lg_i32, I32, I32, a != b)
COMPARE(s_cmp_gt_i32, I32, I32, a > b)
COMPARE(s_cmp_ge_i32, I32, I32, a >= b)
COMPARE(s_cmp_lt_i32, I32, I32, a < b)
COMPARE(s_cmp_le_i32, I32, I32, a <= b)
COMPARE(s_cmp_eq_u32, U32, U32, a == b)
COMPARE(s_cmp_lg_u32, U32, U32, a != b)
COMPARE(s_cmp_gt_u32, U32, U32, a > b)
COMPARE(s_cmp_ge_u32, U32, U32, a >= b)
COMPARE(s_cmp_lt_u32, U32, U32, a < b)
COMPARE(s_cmp_le_u32, U32, U32, a <= b)
COMPARE(s_bitcmp0_b32, U32, U32, !bit(a, b & 31))
COMPARE(s_bitcmp1_b32, U32, U32, bit(a, b & 31))
COMPARE(s_bitcmp0_b64, U64, U32, !bit(a, b & 63))
COMPARE(s_bitcmp1_b64, U64, U32, bit(a, b & 63))
COMPARE(s_cmp_eq_u64, U64, U64, a == b)
COMPARE(s_cmp_lg_u64, U64, U64, a != b)

#undef COMPARE

}  // namespace row
}  // namespace

void register_sopc(ExecTable& table) {
#define SOPC(opcode, name, profile, flags, ...) enter<row::name>(table, Op::name, Format::SOPC);
#include "gcn-interp/isa/sopc.def"
#undef SOPC
}

}  // namespace lyra::gcn
