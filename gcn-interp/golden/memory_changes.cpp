// SPDX-License-Identifier: MIT
// Reference model of atomics: what each one makes of the value in memory. Integers are computed without loss in 128 bits,
// floats by the exact numbers of soft_float.h.
// @source AMD Vega ISA document, "LDS and GDS instructions", "Vector memory buffer instructions"
#include <string>

#include "gcn-interp/golden/lane.h"
#include "gcn-interp/golden/memory_parts.h"

namespace lyra::golden {

using Wide = __int128;

Change change_of(const Name& name) {
    static constexpr struct {
        std::string_view verb;
        Change::What what;
    } kVerbs[] = {
        {"swap", Change::Swap},         {"wrxchg", Change::Swap}, {"wrxchg2", Change::Swap},
        {"wrxchg2st64", Change::Swap},  {"write", Change::Swap},  {"cmpswap", Change::CompareSwap},
        {"cmpst", Change::CompareSwap}, {"add", Change::Add},     {"sub", Change::Sub},
        {"rsub", Change::ReverseSub},   {"min", Change::Min},     {"smin", Change::Min},
        {"umin", Change::Min},          {"max", Change::Max},     {"smax", Change::Max},
        {"umax", Change::Max},          {"and", Change::And},     {"or", Change::Or},
        {"xor", Change::Xor},           {"inc", Change::Inc},     {"dec", Change::Dec},
        {"mskor", Change::MaskOr},      {"wrap", Change::Wrap},   {"condxchg32", Change::HalfSwap},
    };
    Change change;
    for (const auto& each : kVerbs) {
        if (name.has(each.verb)) change.what = each.what;
    }
    if (name.part(0) == "ds") {
        const std::string_view type = name.last();
        change.type = type.front();
        change.bytes = type.substr(1) == "64" ? 8 : 4;
        if (name.has("pk")) change.what = type == "bf16" ? Change::AddBrains : Change::AddHalves;
    } else if (const std::string_view type = name.last(); type.front() == 'f' || type == "bf16") {
        change.type = 'f';
        change.bytes = type == "f64" ? 8 : 4;
        change.in_memory = true;
        if (name.has("pk")) change.what = type == "bf16" ? Change::AddBrains : Change::AddHalves;
    } else {
        change.type = name.has("smin") || name.has("smax") ? 'i' : 'u';
        change.bytes = name.has("x2") ? 8 : 4;
    }
    return change;
}

namespace {

Wide number(uint64_t bits, unsigned bytes, bool is_signed) {
    const unsigned width = 8 * bytes;
    const Wide value = bits & (bytes == 8 ? ~uint64_t{0} : 0xffffffff);
    return is_signed && ((bits >> (width - 1)) & 1) != 0 ? value - (Wide{1} << width) : value;
}

/// -1, 0, 1, or 2 when they have no order.
int order(const Change& change, uint64_t a, uint64_t b) {
    if (change.type == 'f') {
        const FloatFormat format = change.bytes == 8 ? kF64 : kF32;
        return compare(real_of(format, a), real_of(format, b));
    }
    const Wide x = number(a, change.bytes, change.type == 'i'), y = number(b, change.bytes, change.type == 'i');
    return x < y ? -1 : x > y ? 1 : 0;
}

/// To nearest. f32 in LDS with the denormals that MODE lets be, if any, in memory with none, or on gfx942 with all; others with
/// all.
uint64_t float_sum(MemoryMachine& m, const FloatFormat& format, bool in_memory, uint64_t a, uint64_t b) {
    const MathMode mode{m.wave.mode};
    const bool all = format != kF32 || (in_memory && m.wave.chip == Chip::gfx942);
    if (!all && (in_memory || !mode.input_denormals(kF32))) a = flushed(kF32, a), b = flushed(kF32, b);
    m.open |= is_nan(format, a) && is_nan(format, b);
    uint32_t flags = 0;
    const Target target{format, Rounding::NearestEven, all || (!in_memory && mode.output_denormals(kF32)), false};
    return round_to(target, sum(real_of(format, a), real_of(format, b), Rounding::NearestEven, flags), flags);
}

/// Each half is replaced when bit 31 of the wish for it is set, by the other 31 bits.
uint64_t half_swap(uint64_t old, uint64_t wish) {
    uint64_t result = 0;
    for (const unsigned shift : {0u, 32u}) {
        const uint64_t half = wish >> shift & 0xffffffff;
        result |= ((half & 0x80000000) != 0 ? half - 0x80000000 : old >> shift & 0xffffffff) << shift;
    }
    return result;
}

}  // namespace

/// data is the first operand, or the new value of a comparison; other the value that is compared, OR'ed or added.
uint64_t apply(MemoryMachine& m, const Change& change, uint64_t old, uint64_t data, uint64_t other) {
    const Wide a = number(old, change.bytes, false), b = number(data, change.bytes, false),
               c = number(other, change.bytes, false);
    Wide result = 0;
    switch (change.what) {
        case Change::Swap: result = b; break;
        case Change::CompareSwap: result = order(change, old, other) == 0 ? b : a; break;
        case Change::Add:
            result =
                change.type == 'f' ? Wide{float_sum(m, change.bytes == 8 ? kF64 : kF32, change.in_memory, old, data)} : a + b;
            break;
        case Change::Sub: result = a - b; break;
        case Change::ReverseSub: result = b - a; break;
        case Change::Min: result = order(change, data, old) == -1 ? b : a; break;
        case Change::Max: result = order(change, data, old) == 1 ? b : a; break;
        case Change::And: result = a & b; break;
        case Change::Or: result = a | b; break;
        case Change::Xor: result = a ^ b; break;
        case Change::Inc: result = a >= b ? 0 : a + 1; break;
        case Change::Dec: result = a == 0 || a > b ? b : a - 1; break;
        case Change::MaskOr: result = (a & ~b) | c; break;
        case Change::Wrap: result = a >= b ? a - b : a + c; break;
        case Change::AddHalves:
        case Change::AddBrains:
            for (const unsigned shift : {0u, 16u}) {
                const FloatFormat& format = change.what == Change::AddBrains ? kBf16 : kF16;
                result |= Wide{float_sum(m, format, false, old >> shift & 0xffff, data >> shift & 0xffff)} << shift;
            }
            break;
        case Change::HalfSwap: result = half_swap(old, data); break;
    }
    const uint64_t bits = static_cast<uint64_t>(result);
    return change.bytes == 8 ? bits : bits & 0xffffffff;
}

}  // namespace lyra::golden
