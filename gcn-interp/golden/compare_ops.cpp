// SPDX-License-Identifier: MIT
// Reference model: compares and classes. The relation and the type are read from the instruction's name; v_cmp and v_cmpx
// compute alike.
// @source AMD Vega ISA document, "VOPC instructions"
#include <string_view>

#include "gcn-interp/golden/lane.h"

namespace lyra::golden {
namespace {

/// Outcomes of a comparison that make a relation true.
enum Outcome : unsigned { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };
struct Relation {
    std::string_view name;
    unsigned outcomes;
};
constexpr Relation kRelations[] = {
    {"f", 0},
    {"lt", kLess},
    {"eq", kEqual},
    {"le", kLess | kEqual},
    {"gt", kGreater},
    {"lg", kLess | kGreater},
    {"ge", kGreater | kEqual},
    {"o", kLess | kEqual | kGreater},
    {"u", kUnordered},
    {"nge", kLess | kUnordered},
    {"nlg", kEqual | kUnordered},
    {"ngt", kLess | kEqual | kUnordered},
    {"nle", kGreater | kUnordered},
    {"neq", kLess | kGreater | kUnordered},
    {"nlt", kEqual | kGreater | kUnordered},
    {"tru", kLess | kEqual | kGreater | kUnordered},
    {"ne", kLess | kGreater},
    {"t", kLess | kEqual | kGreater},
};

template <FloatFormat F>
unsigned outcome_of_floats(Lane& l) {
    if (is_signaling(F, l.source[0]) || is_signaling(F, l.source[1])) l.flags |= excp::kInvalid;
    if (l.clamp && (is_nan(F, l.source[0]) || is_nan(F, l.source[1]))) l.flags |= excp::kInvalid;  // the clamp bit: signal
    switch (compare(l.real<F>(0), l.real<F>(1))) {
        case -1: return kLess;
        case 0: return kEqual;
        case 1: return kGreater;
        default: return kUnordered;
    }
}
template <unsigned kBits, bool kSigned>
unsigned outcome_of_integers(Lane& l) {
    // Moving the sign bit's weight makes signed order that of unsigned numbers.
    const uint64_t mask = kBits == 64 ? ~uint64_t{0} : (uint64_t{1} << kBits) - 1,
                   flip = kSigned ? uint64_t{1} << (kBits - 1) : 0;
    const uint64_t a = (l.source[0] & mask) ^ flip, b = (l.source[1] & mask) ^ flip;
    return a < b ? kLess : a == b ? kEqual : kGreater;
}

template <unsigned (*kOutcome)(Lane&), unsigned kWanted>
uint64_t relation(Lane& l) {
    l.carry = (kOutcome(l) & kWanted) != 0;
    return 0;
}
template <unsigned (*kOutcome)(Lane&), unsigned... kWanted>
LaneFunction pick(unsigned wanted, std::integer_sequence<unsigned, kWanted...>) {
    LaneFunction found = nullptr;
    ((wanted == kWanted ? found = relation<kOutcome, kWanted> : found), ...);
    return found;
}
template <unsigned (*kOutcome)(Lane&)>
LaneFunction of_type(unsigned wanted) {
    return pick<kOutcome>(wanted, std::make_integer_sequence<unsigned, 16>{});
}
struct TypeName {
    std::string_view name;
    LaneFunction (*function)(unsigned);
};
constexpr TypeName kTypes[] = {
    {"f16", of_type<outcome_of_floats<kF16>>},        {"f32", of_type<outcome_of_floats<kF32>>},
    {"f64", of_type<outcome_of_floats<kF64>>},        {"i16", of_type<outcome_of_integers<16, true>>},
    {"u16", of_type<outcome_of_integers<16, false>>}, {"i32", of_type<outcome_of_integers<32, true>>},
    {"u32", of_type<outcome_of_integers<32, false>>}, {"i64", of_type<outcome_of_integers<64, true>>},
    {"u64", of_type<outcome_of_integers<64, false>>},
};

/// Bit of the class mask that a number falls under.
template <FloatFormat F>
unsigned class_of(uint64_t bits) {
    if (is_signaling(F, bits)) return 0;
    if (is_nan(F, bits)) return 1;
    const unsigned kind = is_infinite(F, bits) ? 0 : is_zero(F, bits) ? 3 : is_denormal(F, bits) ? 2 : 1;
    return is_negative(F, bits) ? 2 + kind : 9 - kind;
}
template <FloatFormat F>
uint64_t classify(Lane& l) {
    l.carry = ((l.source[1] >> class_of<F>(l.source[0])) & 1) != 0;
    return 0;
}

}  // namespace

LaneFunction compare_function(gcn::Op op) {
    std::string_view name = gcn::info(op).name;
    for (const std::string_view prefix : {"v_cmpx_", "v_cmp_"}) {
        if (!name.starts_with(prefix)) continue;
        name.remove_prefix(prefix.size());
        if (name == "class_f16") return classify<kF16>;
        if (name == "class_f32") return classify<kF32>;
        if (name == "class_f64") return classify<kF64>;
        const size_t line = name.find('_');
        for (const Relation& r : kRelations)
            for (const TypeName& t : kTypes)
                if (name.substr(0, line) == r.name && name.substr(line + 1) == t.name) return t.function(r.outcomes);
    }
    return nullptr;
}

}  // namespace lyra::golden
