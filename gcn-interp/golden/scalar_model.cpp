// SPDX-License-Identifier: MIT
// Reference model of scalar operations. Numbers are computed without loss in 128 bits, bits one by one.
// @source AMD Vega ISA document, "Scalar ALU operations"; LLVM for literals of 64-bit operands
#include "gcn-interp/golden/scalar_model.h"

#include <array>
#include <string_view>

#include "gcn-interp/golden/operands.h"

namespace lyra::golden {
namespace {

using namespace gcn;
using Wide = __int128;

/// What an operation sees and leaves.
struct Scalar {
    uint64_t a = 0, b = 0;  ///< sources; b is the immediate of SOPK
    uint64_t d = 0;         ///< destination, before and after
    uint64_t exec = 0;
    bool scc = false;
    bool writes = true;  ///< d is written
};
using Function = void (*)(Scalar&);

template <unsigned kBits>
constexpr uint64_t kMask = kBits == 64 ? ~uint64_t{0} : (uint64_t{1} << (kBits % 64)) - 1;
template <unsigned kBits>
Wide number(uint64_t v, bool is_signed) {
    const Wide low = v & kMask<kBits>;
    return is_signed && ((v >> (kBits - 1)) & 1) != 0 ? low - (Wide{1} << kBits) : low;
}
/// The flag tells of a result that is not zero.
template <unsigned kBits>
void flagged(Scalar& s, uint64_t result) {
    s.d = result & kMask<kBits>;
    s.scc = s.d != 0;
}

// Sums: the flag is the carry of unsigned numbers, the overflow of signed ones
template <bool kSigned, int kSign, bool kCarry>
void sum(Scalar& s) {
    const Wide r = number<32>(s.a, kSigned) + kSign * (number<32>(s.b, kSigned) + (kCarry && s.scc ? 1 : 0));
    s.d = static_cast<uint32_t>(r);
    s.scc = number<32>(s.d, kSigned) != r;
}
template <unsigned kShift>
void shift_sum(Scalar& s) {
    const Wide r = (number<32>(s.a, false) << kShift) + number<32>(s.b, false);
    s.d = static_cast<uint32_t>(r);
    s.scc = (r >> 32) != 0;
}
void add_immediate(Scalar& s) {
    const Wide r = number<32>(s.d, true) + number<16>(s.b, true);
    s.d = static_cast<uint32_t>(r);
    s.scc = number<32>(s.d, true) != r;
}
void multiply_immediate(Scalar& s) { s.d = static_cast<uint32_t>(number<32>(s.d, true) * number<16>(s.b, true)); }
template <bool kSigned, unsigned kUp>
void multiply(Scalar& s) {
    s.d = static_cast<uint32_t>((number<32>(s.a, kSigned) * number<32>(s.b, kSigned)) >> kUp);
}
/// The difference in 32 bits, and then its magnitude.
void absolute_difference(Scalar& s) {
    const Wide r = number<32>(static_cast<uint64_t>(number<32>(s.a, true) - number<32>(s.b, true)), true);
    flagged<32>(s, static_cast<uint64_t>(r < 0 ? -r : r));
}
void absolute(Scalar& s) {
    const Wide r = number<32>(s.a, true);
    flagged<32>(s, static_cast<uint64_t>(r < 0 ? -r : r));
}
/// The flag tells that the first is taken.
template <bool kSigned, bool kLarger>
void extreme(Scalar& s) {
    const Wide a = number<32>(s.a, kSigned), b = number<32>(s.b, kSigned);
    s.scc = kLarger ? a >= b : a < b;
    s.d = s.scc ? s.a : s.b;
}

// Bitwise: a table of two inputs, its bit 2 * a + b
template <unsigned kBits>
uint64_t by_table(unsigned table, uint64_t a, uint64_t b) {
    uint64_t r = 0;
    for (unsigned n = 0; n < kBits; ++n) {
        const unsigned row = 2 * static_cast<unsigned>((a >> n) & 1) + static_cast<unsigned>((b >> n) & 1);
        r |= uint64_t{(table >> row) & 1} << n;
    }
    return r;
}
enum Table : unsigned {
    kAnd = 8,
    kOr = 14,
    kXor = 6,
    kAndNot = 4,
    kOrNot = 13,
    kNand = 7,
    kNor = 1,
    kXnor = 9,
    kNotAnd = 2,
    kNotOr = 11
};
template <unsigned kBits, unsigned kTable>
void bitwise(Scalar& s) {
    flagged<kBits>(s, by_table<kBits>(kTable, s.a, s.b));
}
template <unsigned kTable>
void save_exec(Scalar& s) {
    s.d = s.exec;
    s.exec = by_table<64>(kTable, s.a, s.exec);
    s.scc = s.exec != 0;
}
template <unsigned kTable>
void write_exec(Scalar& s) {
    s.exec = by_table<64>(kTable, s.a, s.exec);
    s.d = s.exec;
    s.scc = s.exec != 0;
}
template <unsigned kBits>
void invert(Scalar& s) {
    flagged<kBits>(s, by_table<kBits>(kXor, s.a, ~uint64_t{0}));
}

// Shifts and fields
template <unsigned kBits>
void shift_left(Scalar& s) {
    flagged<kBits>(s, static_cast<uint64_t>(static_cast<unsigned __int128>(s.a) << (s.b % kBits)));
}
template <unsigned kBits, bool kSigned>
void shift_right(Scalar& s) {
    flagged<kBits>(s, static_cast<uint64_t>(number<kBits>(s.a, kSigned) >> (s.b % kBits)));
}
template <unsigned kBits>
void field_mask(Scalar& s) {
    s.d = 0;
    for (unsigned n = 0; n < s.a % kBits; ++n)
        if (n + s.b % kBits < kBits) s.d |= uint64_t{1} << (n + s.b % kBits);
}
template <unsigned kBits, bool kSigned>
void extract(Scalar& s) {
    const unsigned offset = s.b % kBits, width = (s.b >> 16) & 127;
    uint64_t r = 0;
    for (unsigned n = 0; n < kBits && width != 0; ++n) {
        const unsigned of_field = kSigned && n >= width ? width - 1 : n;
        if (of_field >= width) continue;
        const unsigned from = offset + of_field;
        const bool sign = kSigned && ((s.a >> (kBits - 1)) & 1) != 0;
        const bool bit = from < kBits ? ((s.a >> from) & 1) != 0 : sign;
        r |= uint64_t{bit} << n;
    }
    flagged<kBits>(s, r);
}
template <unsigned kFirst, unsigned kSecond>
void pack(Scalar& s) {
    s.d = ((s.a >> kFirst) & 0xffff) | (((s.b >> kSecond) & 0xffff) << 16);
}

// One source
template <unsigned kBits>
void move(Scalar& s) {
    s.d = s.a;
}
void move_if(Scalar& s) {
    s.writes = s.scc;
    s.d = s.a;
}
void move_immediate(Scalar& s) { s.d = static_cast<uint32_t>(number<16>(s.b, true)); }
void move_immediate_if(Scalar& s) {
    s.writes = s.scc;
    move_immediate(s);
}
void select(Scalar& s) { s.d = s.scc ? s.a : s.b; }
template <unsigned kBits>
void reverse(Scalar& s) {
    s.d = 0;
    for (unsigned n = 0; n < kBits; ++n) s.d |= ((s.a >> n) & 1) << (kBits - 1 - n);
}
template <unsigned kBits, unsigned kOf>
void count(Scalar& s) {
    uint64_t r = 0;
    for (unsigned n = 0; n < kBits; ++n) r += ((s.a >> n) & 1) == kOf;
    flagged<32>(s, r);
}
template <unsigned kBits, unsigned kOf>
void find_lowest(Scalar& s) {
    s.d = 0xffffffff;
    for (unsigned n = kBits; n-- > 0;)
        if (((s.a >> n) & 1) == kOf) s.d = n;
}
template <unsigned kBits>
void find_highest(Scalar& s) {
    s.d = 0xffffffff;
    for (unsigned n = 0; n < kBits; ++n)
        if (((s.a >> n) & 1) != 0) s.d = kBits - 1 - n;
}
template <unsigned kBits>
void find_unlike_sign(Scalar& s) {
    s.d = 0xffffffff;
    for (unsigned n = 0; n < kBits; ++n)
        if (((s.a >> n) & 1) != ((s.a >> (kBits - 1)) & 1)) s.d = kBits - 1 - n;
}
template <unsigned kBits>
void extend(Scalar& s) {
    s.d = static_cast<uint32_t>(number<kBits>(s.a, true));
}
template <unsigned kBits>
void whole_quads(Scalar& s) {
    uint64_t r = 0;
    for (unsigned n = 0; n < kBits; ++n)
        if (((s.a >> (n & ~3u)) & 15) != 0) r |= uint64_t{1} << n;
    flagged<kBits>(s, r);
}
template <unsigned kBits>
void quad_mask(Scalar& s) {
    uint64_t r = 0;
    for (unsigned n = 0; n < kBits / 4; ++n)
        if (((s.a >> (4 * n)) & 15) != 0) r |= uint64_t{1} << n;
    flagged<kBits>(s, r);
}
void replicate(Scalar& s) {
    s.d = 0;
    for (unsigned n = 0; n < 64; ++n) s.d |= ((s.a >> (n / 2)) & 1) << n;
}
template <unsigned kBits, bool kSet>
void set_bit(Scalar& s) {
    const uint64_t bit = uint64_t{1} << (s.a % kBits);
    s.d = kSet ? s.d | bit : s.d & ~bit;
}

// Compares: the wanted orders, 1 less, 2 equal, 4 greater
template <unsigned kBits, bool kSigned, unsigned kWanted>
void compare(Scalar& s) {
    const Wide a = number<kBits>(s.a, kSigned), b = number<kBits>(s.b, kSigned);
    s.scc = ((a < b ? 1u : a == b ? 2u : 4u) & kWanted) != 0;
}
template <bool kSigned, unsigned kWanted>
void compare_immediate(Scalar& s) {
    const Wide a = number<32>(s.a, kSigned), b = number<16>(s.b, kSigned);
    s.scc = ((a < b ? 1u : a == b ? 2u : 4u) & kWanted) != 0;
}
template <unsigned kBits, unsigned kOf>
void test_bit(Scalar& s) {
    s.scc = ((s.a >> (s.b % kBits)) & 1) == kOf;
}

struct Entry {
    Op op;
    Function function;
};
#define BOTH(name, function, ...) \
    {Op::name##_b32, function<32, ##__VA_ARGS__>}, { Op::name##_b64, function<64, ##__VA_ARGS__> }
#define SIX(prefix, suffix, function, ...)                                                                          \
    {Op::prefix##_eq_##suffix, function<__VA_ARGS__, 2>}, {Op::prefix##_lg_##suffix, function<__VA_ARGS__, 5>},     \
        {Op::prefix##_gt_##suffix, function<__VA_ARGS__, 4>}, {Op::prefix##_ge_##suffix, function<__VA_ARGS__, 6>}, \
        {Op::prefix##_lt_##suffix, function<__VA_ARGS__, 1>}, {                                                     \
        Op::prefix##_le_##suffix, function<__VA_ARGS__, 3>                                                          \
    }
constexpr Entry kEntries[] = {
    {Op::s_add_u32, sum<false, 1, false>},
    {Op::s_sub_u32, sum<false, -1, false>},
    {Op::s_add_i32, sum<true, 1, false>},
    {Op::s_sub_i32, sum<true, -1, false>},
    {Op::s_addc_u32, sum<false, 1, true>},
    {Op::s_subb_u32, sum<false, -1, true>},
    {Op::s_lshl1_add_u32, shift_sum<1>},
    {Op::s_lshl2_add_u32, shift_sum<2>},
    {Op::s_lshl3_add_u32, shift_sum<3>},
    {Op::s_lshl4_add_u32, shift_sum<4>},
    {Op::s_mul_i32, multiply<true, 0>},
    {Op::s_mul_hi_u32, multiply<false, 32>},
    {Op::s_mul_hi_i32, multiply<true, 32>},
    {Op::s_absdiff_i32, absolute_difference},
    {Op::s_abs_i32, absolute},
    {Op::s_min_i32, extreme<true, false>},
    {Op::s_min_u32, extreme<false, false>},
    {Op::s_max_i32, extreme<true, true>},
    {Op::s_max_u32, extreme<false, true>},
    BOTH(s_and, bitwise, kAnd),
    BOTH(s_or, bitwise, kOr),
    BOTH(s_xor, bitwise, kXor),
    BOTH(s_andn2, bitwise, kAndNot),
    BOTH(s_orn2, bitwise, kOrNot),
    BOTH(s_nand, bitwise, kNand),
    BOTH(s_nor, bitwise, kNor),
    BOTH(s_xnor, bitwise, kXnor),
    BOTH(s_not, invert),
    BOTH(s_lshl, shift_left),
    BOTH(s_lshr, shift_right, false),
    {Op::s_ashr_i32, shift_right<32, true>},
    {Op::s_ashr_i64, shift_right<64, true>},
    BOTH(s_bfm, field_mask),
    {Op::s_bfe_u32, extract<32, false>},
    {Op::s_bfe_i32, extract<32, true>},
    {Op::s_bfe_u64, extract<64, false>},
    {Op::s_bfe_i64, extract<64, true>},
    {Op::s_pack_ll_b32_b16, pack<0, 0>},
    {Op::s_pack_lh_b32_b16, pack<0, 16>},
    {Op::s_pack_hh_b32_b16, pack<16, 16>},
    BOTH(s_mov, move),
    {Op::s_cmov_b32, move_if},
    {Op::s_cmov_b64, move_if},
    {Op::s_cselect_b32, select},
    {Op::s_cselect_b64, select},
    BOTH(s_brev, reverse),
    BOTH(s_bcnt0_i32, count, 0),
    BOTH(s_bcnt1_i32, count, 1),
    BOTH(s_ff0_i32, find_lowest, 0),
    BOTH(s_ff1_i32, find_lowest, 1),
    BOTH(s_flbit_i32, find_highest),
    {Op::s_flbit_i32, find_unlike_sign<32>},
    {Op::s_flbit_i32_i64, find_unlike_sign<64>},
    {Op::s_sext_i32_i8, extend<8>},
    {Op::s_sext_i32_i16, extend<16>},
    BOTH(s_wqm, whole_quads),
    BOTH(s_quadmask, quad_mask),
    {Op::s_bitreplicate_b64_b32, replicate},
    BOTH(s_bitset0, set_bit, false),
    BOTH(s_bitset1, set_bit, true),
    {Op::s_and_saveexec_b64, save_exec<kAnd>},
    {Op::s_or_saveexec_b64, save_exec<kOr>},
    {Op::s_xor_saveexec_b64, save_exec<kXor>},
    {Op::s_andn2_saveexec_b64, save_exec<kAndNot>},
    {Op::s_orn2_saveexec_b64, save_exec<kOrNot>},
    {Op::s_nand_saveexec_b64, save_exec<kNand>},
    {Op::s_nor_saveexec_b64, save_exec<kNor>},
    {Op::s_xnor_saveexec_b64, save_exec<kXnor>},
    {Op::s_andn1_saveexec_b64, save_exec<kNotAnd>},
    {Op::s_orn1_saveexec_b64, save_exec<kNotOr>},
    {Op::s_andn1_wrexec_b64, write_exec<kNotAnd>},
    {Op::s_andn2_wrexec_b64, write_exec<kAndNot>},
    {Op::s_movk_i32, move_immediate},
    {Op::s_cmovk_i32, move_immediate_if},
    {Op::s_addk_i32, add_immediate},
    {Op::s_mulk_i32, multiply_immediate},
    SIX(s_cmpk, i32, compare_immediate, true),
    SIX(s_cmpk, u32, compare_immediate, false),
    SIX(s_cmp, i32, compare, 32, true),
    SIX(s_cmp, u32, compare, 32, false),
    {Op::s_cmp_eq_u64, compare<64, false, 2>},
    {Op::s_cmp_lg_u64, compare<64, false, 5>},
    BOTH(s_bitcmp0, test_bit, 0),
    BOTH(s_bitcmp1, test_bit, 1),
};
#undef BOTH
#undef SIX

Function function_of(Op op) {
    static const auto table = [] {
        std::array<Function, kOpCount> t{};
        for (const Entry& e : kEntries) t[op_index(e.op)] = e.function;
        return t;
    }();
    return table[op_index(op)];
}

}  // namespace

bool models_scalar(Op op) { return function_of(op) != nullptr; }

void execute_scalar(Wave& wave, const Inst& inst) {
    const InstInfo& row = info(inst.op);
    Scalar s;
    s.exec = wave.exec;
    s.scc = wave.scc;
    const auto source = [&](unsigned n) {
        return inst.src[n] == kNoOperand ? 0 : read_operand(wave, inst, inst.src[n], row.profile->src[n], 0).low;
    };
    s.a = source(0);
    s.b = row.format == Format::SOPK ? static_cast<uint16_t>(inst.imm) : source(1);
    const bool wide = row.dst_dwords() == 2;
    if (inst.dst != kNoOperand) s.d = wide ? wave.read_scalar64(inst.dst) : wave.read_scalar(inst.dst);
    function_of(inst.op)(s);
    // A destination that is EXEC itself yields to what the operation makes of EXEC.
    if (inst.dst != kNoOperand && s.writes) {
        if (wide)
            wave.write_scalar64(inst.dst, s.d);
        else
            wave.write_scalar(inst.dst, static_cast<uint32_t>(s.d));
    }
    if (s.exec != wave.exec && row.format == Format::SOP1 && std::string_view(row.name).find("exec") != std::string_view::npos)
        wave.exec = s.exec;
    wave.scc = s.scc;
}

}  // namespace lyra::golden
