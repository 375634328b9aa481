// SPDX-License-Identifier: MIT
// Lane functions of VOPC, one per row of vopc.def; step 6 of the data flow. v_cmpx rows have the handlers of their v_cmp row,
// which write EXEC too when the instruction is theirs.
// @source AMD Vega ISA document, chapter "VOPC instructions"
#include "gcn-interp/exec/frame.h"
#include "gcn-interp/exec/valu_special.h"

namespace lyra::gcn {

namespace lane {

template <class T>
inline auto plain(T v) {
    if constexpr (std::is_same_v<T, HalfFloat>) {
        return v.value;
    } else {
        return v;
    }
}

template <class T>
bool never(T, T) {
    return false;
}
template <class T>
bool always(T, T) {
    return true;
}
template <class T>
bool less(T a, T b) {
    return plain(a) < plain(b);
}
template <class T>
bool equal(T a, T b) {
    return plain(a) == plain(b);
}
template <class T>
bool less_equal(T a, T b) {
    return plain(a) <= plain(b);
}
template <class T>
bool greater(T a, T b) {
    return plain(a) > plain(b);
}
template <class T>
bool greater_equal(T a, T b) {
    return plain(a) >= plain(b);
}
template <class T>
bool differs(T a, T b) {
    return plain(a) != plain(b);
}  // true when unordered
template <class T>
bool less_greater(T a, T b) {
    return (plain(a) < plain(b)) | (plain(a) > plain(b));
}
template <class T>
bool ordered(T a, T b) {
    return !(fp::is_nan(plain(a)) | fp::is_nan(plain(b)));
}
template <class T>
bool unordered(T a, T b) {
    return fp::is_nan(plain(a)) | fp::is_nan(plain(b));
}
template <class T>
bool not_greater_equal(T a, T b) {
    return !(plain(a) >= plain(b));
}
template <class T>
bool not_less_greater(T a, T b) {
    return !less_greater(a, b);
}
template <class T>
bool not_greater(T a, T b) {
    return !(plain(a) > plain(b));
}
template <class T>
bool not_less_equal(T a, T b) {
    return !(plain(a) <= plain(b));
}
template <class T>
bool not_less(T a, T b) {
    return !(plain(a) < plain(b));
}

#define LYRA_COMPARE(op, type, T, fn)            \
    constexpr auto v_cmp_##op##_##type = &fn<T>; \
    constexpr auto v_cmpx_##op##_##type = &fn<T>;
#define LYRA_COMPARE_FLOAT(type, T)               \
    LYRA_COMPARE(f, type, T, never)               \
    LYRA_COMPARE(lt, type, T, less)               \
    LYRA_COMPARE(eq, type, T, equal)              \
    LYRA_COMPARE(le, type, T, less_equal)         \
    LYRA_COMPARE(gt, type, T, greater)            \
    LYRA_COMPARE(lg, type, T, less_greater)       \
    LYRA_COMPARE(ge, type, T, greater_equal)      \
    LYRA_COMPARE(o, type, T, ordered)             \
    LYRA_COMPARE(u, type, T, unordered)           \
    LYRA_COMPARE(nge, type, T, not_greater_equal) \
    LYRA_COMPARE(nlg, type, T, not_less_greater)  \
    LYRA_COMPARE(ngt, type, T, not_greater)       \
    LYRA_COMPARE(nle, type, T, not_less_equal)    \
    LYRA_COMPARE(neq, type, T, differs)           \
    LYRA_COMPARE(nlt, type, T, not_less)          \
    LYRA_COMPARE(tru, type, T, always)
#define LYRA_COMPARE_INT(type, T)            \
    LYRA_COMPARE(f, type, T, never)          \
    LYRA_COMPARE(lt, type, T, less)          \
    LYRA_COMPARE(eq, type, T, equal)         \
    LYRA_COMPARE(le, type, T, less_equal)    \
    LYRA_COMPARE(gt, type, T, greater)       \
    LYRA_COMPARE(ne, type, T, differs)       \
    LYRA_COMPARE(ge, type, T, greater_equal) \
    LYRA_COMPARE(t, type, T, always)

LYRA_COMPARE_FLOAT(f16, HalfFloat)
LYRA_COMPARE_FLOAT(f32, float)
LYRA_COMPARE_FLOAT(f64, double)
LYRA_COMPARE_INT(i16, int16_t)
LYRA_COMPARE_INT(u16, uint16_t)
LYRA_COMPARE_INT(i32, int32_t)
LYRA_COMPARE_INT(u32, uint32_t)
LYRA_COMPARE_INT(i64, int64_t)
LYRA_COMPARE_INT(u64, uint64_t)
#undef LYRA_COMPARE_INT
#undef LYRA_COMPARE_FLOAT
#undef LYRA_COMPARE

bool v_cmp_class_f32(Raw32 s0, uint32_t s1) { return (fp::class_bit<23>(s0.bits) & s1) != 0; }
bool v_cmp_class_f64(Raw64 s0, uint32_t s1) { return (fp::class_bit<52>(s0.bits) & s1) != 0; }
bool v_cmp_class_f16(Raw16 s0, uint32_t s1) { return (fp::class_bit<10>(static_cast<uint16_t>(s0.bits)) & s1) != 0; }
constexpr auto v_cmpx_class_f32 = &v_cmp_class_f32;
constexpr auto v_cmpx_class_f64 = &v_cmp_class_f64;
constexpr auto v_cmpx_class_f16 = &v_cmp_class_f16;

}  // namespace lane

namespace {

/// The v_cmp row of a v_cmpx row is one of the 16 before it.
constexpr Op v_cmp_of(Op op) {
    const std::string_view name = info(op).name;
    if (!name.starts_with("v_cmpx")) return op;
    for (unsigned before = 1; before <= 16; ++before) {
        const Op other = static_cast<Op>(static_cast<unsigned>(op) - before);
        const std::string_view compare = info(other).name;
        if (compare.starts_with("v_cmp_") && compare.substr(5) == name.substr(6)) return other;
    }
    return Op::Invalid;
}

template <Op kOp, auto kLane>
void add_compare(ExecTable& table) {
    static_assert(agrees_with_row<kOp, kLane>());
    enter(table, kOp, handlers_of<v_cmp_of(kOp), kLane>());
}

}  // namespace

void register_vopc(ExecTable& table) {
#define VOPC(opcode, name, profile, flags, ...) add_compare<Op::name, lane::name>(table);
#include "gcn-interp/isa/vopc.def"
#undef VOPC
}

}  // namespace lyra::gcn
