// SPDX-License-Identifier: MIT
// THE loop of vector instructions: fetch, modify, run a lane function on 64 lanes, mask, write; step 6 of the data flow.
//
// A lane function is plain C++ on plain types. Its signature says how the frame must feed it:
//   float, double, (u)int16_t, (u)int32_t, (u)int64_t   the next source operand
//   Half, HalfFloat            f16 source as bits / widened to float; a HalfFloat result is rounded to f16 once, by the frame
//   HalfPair                   result of two f16, rounded already
//   Raw16, Raw32, Raw64        bits to which neg and abs apply, but no arithmetic rule
//   LaneMask, VccMask          ~0 or 0 from the mask operand (src2, or VCC where the format has none) / always from VCC
//   Literal<T>                 the literal of v_madmk, v_madak
//   LaneIndex, const ModeView& the lane's number, the MODE register
// A source operand that the encoding lacks is the old destination (v_mac). WithCarry<T> results also write a lane mask; bool
// results write only that (compares).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/valu_operand.h"
#include "gcn-interp/isa/op.h"
#include "gcn-interp/wave/fp.h"
#include "gcn-interp/wave/lanes.h"
#include "gcn-interp/wave/mode.h"

namespace lyra::gcn {

struct Half {
    uint32_t bits;
};
struct HalfFloat {
    float value;
};
struct Raw32 {
    uint32_t bits;
};
struct Raw64 {
    uint64_t bits;
};
struct Raw16 {
    uint32_t bits;
};
struct HalfPair {
    uint32_t bits;
};
struct LaneMask {
    uint32_t bits;
};
struct VccMask {
    uint32_t bits;
};
struct LaneIndex {
    uint32_t value;
};
template <class T>
struct Literal {
    T value;
};
template <class T>
struct WithCarry {
    T value;
    uint32_t carry;  ///< 0 or ~0
};

/// An integer operation and its form with the clamp bit set.
template <auto kWrap, auto kSaturate>
struct Saturating {
    static constexpr auto kWrapping = kWrap;
    static constexpr auto kClamped = kSaturate;
};
/// An operation that does not work lane by lane.
template <ExecFn kFn>
struct Custom {
    static constexpr ExecFn kCustom = kFn;
};
/// An operation the model lacks: illegal instruction, counted.
struct Todo {};
/// A lane function that costs much more than the instruction around it: waves of few lanes have a loop of their own.
template <auto kFn>
inline constexpr bool kCostly = false;

// How values lie in rows ------------------------------------------------------------------------------------------------------

template <class T>
struct Value;
#define LYRA_VALUE32(T, elem, from, to)                                   \
    template <>                                                           \
    struct Value<T> {                                                     \
        static constexpr Elem kElem = elem;                               \
        static T load(const uint32_t* low, const uint32_t*, unsigned l) { \
            const uint32_t u = low[l];                                    \
            return from;                                                  \
        }                                                                 \
        static uint32_t low(T v) { return to; }                           \
    }
LYRA_VALUE32(uint32_t, (Elem{32, false, false}), u, v);
LYRA_VALUE32(int32_t, (Elem{32, false, false, true}), static_cast<int32_t>(u), static_cast<uint32_t>(v));
LYRA_VALUE32(float, (Elem{32, true, true}), std::bit_cast<float>(u), std::bit_cast<uint32_t>(v));
LYRA_VALUE32(Raw32, (Elem{32, true, false}), Raw32{u}, v.bits);
LYRA_VALUE32(uint16_t, (Elem{16, false, false}), static_cast<uint16_t>(u), v);
LYRA_VALUE32(int16_t, (Elem{16, false, false, true}), static_cast<int16_t>(u), static_cast<uint16_t>(v));
LYRA_VALUE32(Half, (Elem{16, true, true}), Half{u & 0xffff}, v.bits);
LYRA_VALUE32(Raw16, (Elem{16, true, false}), Raw16{u & 0xffff}, v.bits);
LYRA_VALUE32(HalfPair, (Elem{32, false, false, false, false, true}), HalfPair{u}, v.bits);
LYRA_VALUE32(HalfFloat, (Elem{16, true, true, false, true}), HalfFloat{fp::half_to_float(u)}, std::bit_cast<uint32_t>(v.value));
#undef LYRA_VALUE32
#define LYRA_VALUE64(T, elem, from, to)                                         \
    template <>                                                                 \
    struct Value<T> {                                                           \
        static constexpr Elem kElem = elem;                                     \
        static T load(const uint32_t* low, const uint32_t* high, unsigned l) {  \
            const uint64_t u = low[l] | (static_cast<uint64_t>(high[l]) << 32); \
            return from;                                                        \
        }                                                                       \
        static uint64_t bits(T v) { return to; }                                \
    }
LYRA_VALUE64(uint64_t, (Elem{64, false, false}), u, v);
LYRA_VALUE64(int64_t, (Elem{64, false, false, true}), static_cast<int64_t>(u), static_cast<uint64_t>(v));
LYRA_VALUE64(double, (Elem{64, true, true}), std::bit_cast<double>(u), std::bit_cast<uint64_t>(v));
LYRA_VALUE64(Raw64, (Elem{64, true, false}), Raw64{u}, v.bits);
#undef LYRA_VALUE64

/// What a parameter of a lane function takes.
template <class T>
struct Param {
    static constexpr Extra kExtra = Extra::None;
    static constexpr bool kSource = true;
    using Loaded = T;
};
template <>
struct Param<LaneMask> {
    static constexpr Extra kExtra = Extra::Mask;
    static constexpr bool kSource = false;
};
template <>
struct Param<VccMask> {
    static constexpr Extra kExtra = Extra::Vcc;
    static constexpr bool kSource = false;
};
template <class T>
struct Param<Literal<T>> {
    static constexpr Extra kExtra = Extra::Literal;
    static constexpr bool kSource = false;
};
template <>
struct Param<LaneIndex> {
    static constexpr Extra kExtra = Extra::None;
    static constexpr bool kSource = false;
};
template <>
struct Param<const ModeView&> {
    static constexpr Extra kExtra = Extra::None;
    static constexpr bool kSource = false;
};

template <class R>
struct ResultOf {
    static constexpr bool kHasValue = true, kHasCarry = false;
    using Plain = R;
};
template <class T>
struct ResultOf<WithCarry<T>> {
    static constexpr bool kHasValue = true, kHasCarry = true;
    using Plain = T;
};
template <>
struct ResultOf<bool> {
    static constexpr bool kHasValue = false, kHasCarry = true;
    using Plain = uint32_t;
};

// The loop --------------------------------------------------------------------------------------------------------------------

template <class T>
inline decltype(auto) argument(const uint32_t* low, const uint32_t* high, unsigned l, const ModeView& mode) {
    if constexpr (std::is_same_v<T, const ModeView&>) {
        return (mode);
    } else if constexpr (std::is_same_v<T, LaneIndex>) {
        return LaneIndex{l};
    } else if constexpr (std::is_same_v<T, LaneMask> || std::is_same_v<T, VccMask>) {
        return T{low[l]};
    } else if constexpr (Param<T>::kExtra == Extra::Literal) {
        using V = decltype(T::value);
        return T{Value<V>::load(low, high, l)};
    } else {
        return Value<T>::load(low, high, l);
    }
}

template <bool kMasked>
inline void store32(uint32_t* row, const uint32_t* mask, unsigned l, uint32_t value) {
    if constexpr (kMasked) {
        row[l] = (value & mask[l]) | (row[l] & ~mask[l]);
    } else {
        row[l] = value;
    }
}

template <class T, bool kMasked>
inline void store_value(uint32_t* low, uint32_t* high, const uint32_t* mask, unsigned l, T value) {
    if constexpr (Value<T>::kElem.bits == 64) {
        const uint64_t u = Value<T>::bits(value);
        store32<kMasked>(low, mask, l, static_cast<uint32_t>(u));
        store32<kMasked>(high, mask, l, static_cast<uint32_t>(u >> 32));
    } else {
        store32<kMasked>(low, mask, l, Value<T>::low(value));
    }
}

struct RowPair {
    const uint32_t* low;
    const uint32_t* high;
};

template <class R, class... A>
struct Signature {
    using Result = ResultOf<R>;
    static constexpr std::size_t kParams = sizeof...(A);

    /// Row slot of each parameter: 0..2 sources in order, 3 the extra row.
    static constexpr std::array<std::size_t, kParams + 1> slots() {
        std::array<std::size_t, kParams + 1> out{};
        std::size_t i = 0, next = 0;
        ((out[i++] = Param<A>::kSource ? next++ : 3), ...);
        return out;
    }

    /// flatten: a lane function that is not inlined is not vectorised. One pointer per parameter, not an array of them: the
    /// vectoriser follows only those.
    template <auto kFn, bool kMasked, unsigned kCount, class... P>
    [[gnu::flatten]] static void loop(const Rows& rows, P... sources) {
        const ModeView mode = *rows.mode;
        uint32_t* const out_low = rows.dst_low;
        uint32_t* const out_high = rows.dst_high;
        uint32_t* const carry = rows.carry;
        const uint32_t* const mask = rows.mask;
        // A destination row is either the very row of a source or apart from it, so lanes are independent.
        LYRA_INDEPENDENT_LANES
        for (unsigned l = 0; l < kCount; ++l) {
            const R r = kFn(argument<A>(sources.low, sources.high, l, mode)...);
            if constexpr (std::is_same_v<R, bool>) {
                carry[l] = 0u - static_cast<uint32_t>(r);
            } else if constexpr (Result::kHasCarry) {
                const uint32_t carried = r.carry;
                store_value<typename Result::Plain, kMasked>(out_low, out_high, mask, l, r.value);
                carry[l] = carried;
            } else {
                store_value<R, kMasked>(out_low, out_high, mask, l, r);
            }
        }
    }

    template <auto kFn, bool kMasked, std::size_t... I>
    static void spread(const Rows& rows, std::index_sequence<I...>) {
        constexpr auto kSlots = slots();
        if constexpr (kCostly<kFn>) {
            if (rows.lanes == kFewLanes) {
                loop<kFn, kMasked, kFewLanes>(rows, RowPair{rows.low[kSlots[I]], rows.high[kSlots[I]]}...);
                return;
            }
        }
        loop<kFn, kMasked, kLanes>(rows, RowPair{rows.low[kSlots[I]], rows.high[kSlots[I]]}...);
    }

    template <auto kFn, bool kMasked>
    static void compute(const Rows& rows) {
        spread<kFn, kMasked>(rows, std::index_sequence_for<A...>{});
    }

    static constexpr OpDesc describe() {
        OpDesc d{};
        std::size_t i = 0;
        const auto note = [&](Extra extra, bool source, Elem elem) {
            if (source) d.src[i++] = elem;
            if (extra != Extra::None) d.extra = extra;
        };
        (note(Param<A>::kExtra, Param<A>::kSource, elem_of<A>()), ...);
        d.sources = static_cast<uint8_t>(i);
        d.has_value = Result::kHasValue;
        d.has_carry = Result::kHasCarry;
        if (Result::kHasValue) d.dst = Value<typename Result::Plain>::kElem;
        d.uses_mode = (std::is_same_v<A, const ModeView&> || ...);
        return d;
    }

private:
    template <class T>
    static constexpr Elem elem_of() {
        if constexpr (Param<T>::kSource) {
            return Value<T>::kElem;
        } else {
            return Elem{};
        }
    }
};

template <class T>
struct SignatureOf;
template <class R, class... A>
struct SignatureOf<R (*)(A...)> : Signature<R, A...> {};

/// A lane entry taken apart: a plain function, or a Saturating pair.
template <auto kLane>
struct LaneOf {
    using Entry = std::remove_cv_t<decltype(kLane)>;
    static constexpr bool kPair = requires { Entry::kWrapping; };
    static constexpr auto function() {
        if constexpr (kPair) {
            return Entry::kWrapping;
        } else {
            return kLane;
        }
    }
    static constexpr auto kFn = function();
    using Sig = SignatureOf<std::remove_cv_t<decltype(kFn)>>;
    static constexpr ComputeFn saturating() {
        if constexpr (kPair) {
            return &SignatureOf<std::remove_cv_t<decltype(Entry::kClamped)>>::template compute<Entry::kClamped, false>;
        } else {
            return nullptr;
        }
    }
};

/// VOP3 operations new in GFX9 keep the other half of a 16-bit destination; all others zero it.
/// @source LLVM AMDGPU GCNSubtarget::zeroesHigh16BitsOfDest
constexpr bool keeps_other_half(const InstInfo& info) { return info.format == Format::VOP3 && info.has(flag::OpSel); }

template <Op kOp, auto kLane>
constexpr OpDesc describe_op() {
    constexpr const InstInfo& kInfo = OpTraits<kOp>::kInfo;
    OpDesc d = LaneOf<kLane>::Sig::describe();
    d.writes_exec = kInfo.has(flag::WritesExec);
    d.reads_dst = kInfo.has(flag::ReadsDst);
    d.keeps_other_half = keeps_other_half(kInfo) && d.dst.bits == 16;
    d.compute = &LaneOf<kLane>::Sig::template compute<LaneOf<kLane>::kFn, false>;
    d.compute_saturating = LaneOf<kLane>::saturating();
    bool float_rules = d.uses_mode || d.dst.arithmetic;
    for (unsigned i = 0; i < d.sources; ++i) float_rules = float_rules || d.src[i].arithmetic;
    d.mode_mask = float_rules ? kModeMask : static_cast<uint32_t>(ModeBits::GprIdxEn::kMask);
    return d;
}

/// The lane function agrees with the row of the .def table.
template <Op kOp, auto kLane>
constexpr bool agrees_with_row() {
    constexpr const InstInfo& kInfo = OpTraits<kOp>::kInfo;
    constexpr OpDesc d = describe_op<kOp, kLane>();
    unsigned in_row = 0;
    for (unsigned i = 0; i < kInfo.profile->sources(); ++i) {
        if (info(kInfo.profile->src[i]).kind != Kind::Mask) ++in_row;
    }
    if (kInfo.has(flag::MadMk | flag::MadAk)) --in_row;
    if (kInfo.has(flag::ReadsDst)) ++in_row;
    if (d.sources != in_row) return false;
    for (unsigned i = 0; i < d.sources && i < kInfo.profile->sources(); ++i) {
        if (info(kInfo.profile->src[i]).kind == Kind::Mask) continue;
        if (d.src[i].dwords() != kInfo.src_dwords(i)) return false;
        if (d.src[i].is_float != kInfo.float_source(i)) return false;
    }
    if (kInfo.has(flag::ReadsVcc) != (d.extra == Extra::Vcc)) return false;
    if (kInfo.has(flag::CarryIn) != (d.extra == Extra::Mask)) return false;
    if (kInfo.format == Format::VOPC) return !d.has_value && d.has_carry;
    return d.has_value && d.dst.dwords() == kInfo.dst_dwords() && d.has_carry == kInfo.has(flag::CarryOut);
}

template <Op kOp, auto kLane>
inline constexpr OpDesc kOpDesc = describe_op<kOp, kLane>();

/// Any encoding, any modifier, any MODE.
template <Op kOp, auto kLane>
void run_any(ExecContext& ctx, const Inst& inst) {
    run_general(ctx, inst, kOpDesc<kOp, kLane>);
}

/// The plain encodings. Straight from register rows to register row when MODE and modifiers ask for nothing special.
template <Op kOp, auto kLane>
void run(ExecContext& ctx, const Inst& inst) {
    static constexpr const OpDesc& kDesc = kOpDesc<kOp, kLane>;
    using Lane = LaneOf<kLane>;
    Wave& wave = ctx.wave;
    const bool modified = inst.omod | inst.op_sel | static_cast<uint8_t>(inst.clamp);
    const bool odd_mode = ((wave.mode ^ kModeDefault) & kDesc.mode_mask) != 0;
    if (kDesc.dst.half_float || kDesc.keeps_other_half || modified || odd_mode) [[unlikely]] {
        run_general(ctx, inst, kDesc);
        return;
    }
    if (!kDesc.has_carry && wave.exec == 0) return;
    Scratch scratch;
    Rows rows;
    rows.mode = &kDefaultMode;
    rows.lanes = lanes_in_use(wave.exec);
    for (unsigned i = 0; i < kDesc.sources; ++i) fetch_source(wave, inst, i, kDesc.src[i], kDesc.reads_dst, scratch, rows);
    if (inst.neg | inst.abs) apply_signs(inst, kDesc, scratch, rows);
    if constexpr (kDesc.extra != Extra::None) fetch_extra(wave, inst, kDesc.extra, scratch, rows);
    rows.carry = scratch.carry.lane;
    if constexpr (kDesc.has_value) {
        rows.dst_low = vgpr_write_row(wave, inst.dst, scratch.dump);
        if constexpr (kDesc.dst.bits == 64) rows.dst_high = vgpr_write_row(wave, inst.dst + 1u, scratch.dump);
    }
    if (!kDesc.has_value || wave.exec == kAllLanes) {
        Lane::Sig::template compute<Lane::kFn, false>(rows);
    } else {
        rows.mask = exec_rows(wave);
        Lane::Sig::template compute<Lane::kFn, true>(rows);
    }
    if constexpr (kDesc.has_carry) write_mask(wave, inst, pack_mask(rows.carry) & wave.exec, kDesc.writes_exec);
}

// Registration ----------------------------------------------------------------------------------------------------------------

struct Handlers {
    ExecFn plain = nullptr, any = nullptr;
};

template <Op kOp, auto kLane>
constexpr Handlers handlers_of() {
    using T = std::remove_cv_t<decltype(kLane)>;
    if constexpr (std::is_same_v<T, Todo>) {
        return {};
    } else if constexpr (requires { T::kCustom; }) {
        return {T::kCustom, T::kCustom};
    } else {
        static_assert(agrees_with_row<kOp, kLane>(), "lane function and profile of the .def row disagree");
        return {&run<kOp, kLane>, &run_any<kOp, kLane>};
    }
}

/// Enter an operation in every encoding its row allows.
void enter(ExecTable& table, Op op, const Handlers& handlers);

template <Op kOp, auto kLane>
void add(ExecTable& table) {
    enter(table, kOp, handlers_of<kOp, kLane>());
}

}  // namespace lyra::gcn
