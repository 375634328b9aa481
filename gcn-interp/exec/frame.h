// SPDX-License-Identifier: MIT
// THE loop of vector instructions: fetch, modify, run a lane function on 64 lanes, mask, write; step 6 of the data flow.
//
// A lane function is plain C++ on plain types. Its signature says how the frame must feed it:
//   float, double, (u)int16_t, (u)int32_t, (u)int64_t   the next source operand
//   Half, HalfFloat            f16 source as bits / widened to float; a HalfFloat result is rounded to f16 once, by the frame
//   Low32                      a u32 source of a 64-bit operation, for example a count of bits
//   HalfPair                   result of two f16, rounded already
//   HalfPairSource             two f16 as bits, to both of which neg and abs apply
//   Raw16, Raw32, Raw64        bits to which neg and abs apply, but no arithmetic rule
//   LaneMask, VccMask          ~0 or 0 from the mask operand (src2, or VCC where the format has none) / always from VCC
//   Literal<T>                 the literal of v_madmk, v_madak
//   LaneIndex, const ModeView& the lane's number, the MODE register
// A source operand that the encoding lacks is the old destination (v_mac). WithCarry<T> results also write a lane mask; bool
// results write only that (compares).
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/transcendental.h"
#include "gcn-interp/exec/valu_operand.h"
#include "gcn-interp/isa/op.h"
#include "gcn-interp/wave/backend.h"
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
struct HalfPairSource {
    uint32_t bits;
};
/// A 32-bit source of a 64-bit operation, widened so that both have lanes of one size; what is above bit 31 is undefined.
struct Low32 {
    uint64_t bits;
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
/// The same with a function for each back end.
template <ExecFn kPortable, ExecFn kAvx2, ExecFn kAvx512>
struct CustomLanes {
    static constexpr ExecFn kFunctions[] = {kPortable, kAvx2, kAvx512};
};
/// An operation the model lacks: illegal instruction, counted.
struct Todo {};
/// A lane function that costs much more than the instruction around it: waves of few lanes have a loop of their own.
template <auto kFn>
inline constexpr bool kCostly = false;
/// What computes a lane function in the default MODE where the back end has it.
template <auto kFn>
inline constexpr transcendental::Routine transcendental::Routines::* kRoutine = nullptr;

// How values lie in rows ------------------------------------------------------------------------------------------------------

template <class T>
struct Value;
#define LYRA_VALUE32(T, elem, from, to)                                                        \
    template <>                                                                                \
    struct Value<T> {                                                                          \
        static constexpr Elem kElem = elem;                                                    \
        static T of(uint32_t u) { return from; }                                               \
        static T load(const uint32_t* low, const uint32_t*, unsigned l) { return of(low[l]); } \
        static uint32_t low(T v) { return to; }                                                \
    }
LYRA_VALUE32(uint32_t, (Elem{32, false, false}), u, v);
LYRA_VALUE32(int32_t, (Elem{32, false, false, true}), static_cast<int32_t>(u), static_cast<uint32_t>(v));
LYRA_VALUE32(Low32, (Elem{32, false, false}), Low32{u}, static_cast<uint32_t>(v.bits));
LYRA_VALUE32(float, (Elem{32, true, true}), std::bit_cast<float>(u), std::bit_cast<uint32_t>(v));
LYRA_VALUE32(Raw32, (Elem{32, true, false}), Raw32{u}, v.bits);
LYRA_VALUE32(uint16_t, (Elem{16, false, false}), static_cast<uint16_t>(u), v);
LYRA_VALUE32(int16_t, (Elem{16, false, false, true}), static_cast<int16_t>(u), static_cast<uint16_t>(v));
LYRA_VALUE32(Half, (Elem{16, true, true}), Half{u & 0xffff}, v.bits);
LYRA_VALUE32(Raw16, (Elem{16, true, false}), Raw16{u & 0xffff}, v.bits);
LYRA_VALUE32(HalfPair, (Elem{32, false, false, false, false, true}), HalfPair{u}, v.bits);
LYRA_VALUE32(HalfPairSource, (Elem{16, true, false, false, false, true}), HalfPairSource{u}, v.bits);
LYRA_VALUE32(HalfFloat, (Elem{16, true, true, false, true}), HalfFloat{fp::half_to_float(u)}, std::bit_cast<uint32_t>(v.value));
#undef LYRA_VALUE32
#define LYRA_VALUE64(T, elem, from, to)                                        \
    template <>                                                                \
    struct Value<T> {                                                          \
        static constexpr Elem kElem = elem;                                    \
        static T of(uint64_t u) { return from; }                               \
        static T load(const uint32_t* low, const uint32_t* high, unsigned l) { \
            return of(low[l] | (static_cast<uint64_t>(high[l]) << 32));        \
        }                                                                      \
        static uint64_t bits(T v) { return to; }                               \
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

// A block: as many lanes of 64-bit elements as a vector has dwords. Their order is not that of the lanes but the one in which
// two vectors of dwords interleave without crossing 128-bit parts of a register; the same for all operands, and undone when the
// result is taken apart.
template <unsigned kLanesOfBlock>
struct Block;
template <>
struct Block<8> {
    using Vector = Dwords;
    static constexpr unsigned kHalf = 4;  ///< elements in a vector
    [[gnu::always_inline]] static Vector first(Vector l, Vector h) {
        return __builtin_shufflevector(l, h, 0, 8, 1, 9, 4, 12, 5, 13);
    }
    [[gnu::always_inline]] static Vector second(Vector l, Vector h) {
        return __builtin_shufflevector(l, h, 2, 10, 3, 11, 6, 14, 7, 15);
    }
    [[gnu::always_inline]] static Vector low(Vector f, Vector s) {
        return __builtin_shufflevector(f, s, 0, 2, 8, 10, 4, 6, 12, 14);
    }
    [[gnu::always_inline]] static Vector high(Vector f, Vector s) {
        return __builtin_shufflevector(f, s, 1, 3, 9, 11, 5, 7, 13, 15);
    }
};
template <>
struct Block<16> {
    using Vector [[gnu::vector_size(64)]] = uint32_t;
    static constexpr unsigned kHalf = 8;
    [[gnu::always_inline]] static Vector first(Vector l, Vector h) {
        return __builtin_shufflevector(l, h, 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    }
    [[gnu::always_inline]] static Vector second(Vector l, Vector h) {
        return __builtin_shufflevector(l, h, 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
    }
    [[gnu::always_inline]] static Vector low(Vector f, Vector s) {
        return __builtin_shufflevector(f, s, 0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30);
    }
    [[gnu::always_inline]] static Vector high(Vector f, Vector s) {
        return __builtin_shufflevector(f, s, 1, 3, 17, 19, 5, 7, 21, 23, 9, 11, 25, 27, 13, 15, 29, 31);
    }
};
/// Lanes of a block; 0: the back end has no vectors for it.
constexpr unsigned block_lanes(Backend backend) { return backend == Backend::Portable ? 0 : backend == Backend::Avx2 ? 8 : 16; }

/// element = low | high << 32
template <class B>
[[gnu::always_inline]] inline void interleave_block(const uint32_t* low, const uint32_t* high, uint64_t* out) {
    const auto l = load_vector<typename B::Vector>(low), h = load_vector<typename B::Vector>(high);
    store_vector(out, B::first(l, h));
    store_vector(out + B::kHalf, B::second(l, h));
}
template <class B>
[[gnu::always_inline]] inline typename B::Vector deinterleave_low(const uint64_t* in) {
    return B::low(load_vector<typename B::Vector>(in), load_vector<typename B::Vector>(in + B::kHalf));
}
template <class B>
[[gnu::always_inline]] inline typename B::Vector deinterleave_high(const uint64_t* in) {
    return B::high(load_vector<typename B::Vector>(in), load_vector<typename B::Vector>(in + B::kHalf));
}
template <class B, bool kMasked>
[[gnu::always_inline]] inline void store_block(uint32_t* row, const uint32_t* mask, typename B::Vector value) {
    if constexpr (kMasked) {
        const auto lanes = load_vector<typename B::Vector>(mask);
        value = (value & lanes) | (load_vector<typename B::Vector>(row) & ~lanes);
    }
    store_vector(row, value);
}

template <class R, class... A>
struct Signature {
    using Result = ResultOf<R>;
    static constexpr std::size_t kParams = sizeof...(A);
    static constexpr bool kUsesMode = (std::is_same_v<A, const ModeView&> || ...);

    /// Row slot of each parameter: 0..2 sources in order, 3 the extra row.
    static constexpr std::array<std::size_t, kParams + 1> slots() {
        std::array<std::size_t, kParams + 1> out{};
        std::size_t i = 0, next = 0;
        ((out[i++] = Param<A>::kSource ? next++ : 3), ...);
        return out;
    }

    template <class T>
    static constexpr bool wide() {
        if constexpr (Param<T>::kSource) {
            return Value<T>::kElem.bits == 64;
        } else {
            return false;
        }
    }
    /// 64-bit operands or results: work on blocks of them, in which a vector is elements and not halves of some.
    static constexpr bool kWide =
        ((wide<A>() || ...) || Value<typename Result::Plain>::kElem.bits == 64) && !(std::is_same_v<A, LaneIndex> || ...);

    template <class T>
    static decltype(auto) block_argument(uint64_t bits, const ModeView& mode) {
        if constexpr (std::is_same_v<T, const ModeView&>) {
            return (mode);
        } else if constexpr (std::is_same_v<T, LaneMask> || std::is_same_v<T, VccMask>) {
            return T{static_cast<uint32_t>(bits)};
        } else if constexpr (std::is_same_v<T, Low32>) {
            return Low32{bits};
        } else if constexpr (wide<T>()) {
            return Value<T>::of(bits);
        } else {
            return Value<T>::of(static_cast<uint32_t>(bits));
        }
    }

    template <auto kFn, bool kMasked, unsigned kBlock, std::size_t... I>
    static void blocks(const Rows& rows, std::index_sequence<I...>) {
        using B = Block<kBlock>;
        constexpr auto kSlots = slots();
        using Plain = typename Result::Plain;
        const ModeView mode = kUsesMode ? *rows.mode : kDefaultMode;
        for (unsigned base = 0; base < kLanes; base += kBlock) {
            alignas(64) uint64_t in[kParams][kBlock];
            alignas(64) uint64_t out[kBlock], carried[kBlock];
            const auto take = [&](std::size_t i, bool is_wide, bool is_row) {
                if (!is_row) return;  // nobody has set its slot
                const uint32_t* low = rows.low[kSlots[i]] + base;
                interleave_block<B>(low, is_wide ? rows.high[kSlots[i]] + base : low, in[i]);
            };
            (take(I, wide<A>(), !std::is_same_v<A, const ModeView&>), ...);
            LYRA_INDEPENDENT_LANES
            for (unsigned l = 0; l < kBlock; ++l) {
                const R r = kFn(block_argument<A>(in[I][l], mode)...);
                if constexpr (std::is_same_v<R, bool>) {
                    carried[l] = uint64_t{0} - static_cast<uint64_t>(r);
                } else if constexpr (Result::kHasCarry) {
                    out[l] = Value<Plain>::bits(r.value);
                    carried[l] = r.carry;
                } else if constexpr (Value<Plain>::kElem.bits == 64) {
                    out[l] = Value<Plain>::bits(r);
                } else {
                    out[l] = Value<Plain>::low(r);
                }
            }
            if constexpr (Result::kHasCarry) store_block<B, false>(rows.carry + base, nullptr, deinterleave_low<B>(carried));
            if constexpr (Result::kHasValue) {
                const uint32_t* mask = kMasked ? rows.mask + base : nullptr;
                constexpr bool kWideResult = Value<Plain>::kElem.bits == 64;
                const auto low = deinterleave_low<B>(out);
                if constexpr (kWideResult) store_block<B, kMasked>(rows.dst_high + base, mask, deinterleave_high<B>(out));
                store_block<B, kMasked>(rows.dst_low + base, mask, low);
            }
        }
    }

    /// One pointer per parameter, not an array of them: the vectoriser follows only those.
    template <auto kFn, bool kMasked, unsigned kCount, class... P>
    static void loop(const Rows& rows, P... sources) {
        const ModeView mode = kUsesMode ? *rows.mode : kDefaultMode;
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

    template <auto kFn, bool kMasked, unsigned kBlock, std::size_t... I>
    static void spread(const Rows& rows, std::index_sequence<I...> indices) {
        constexpr auto kSlots = slots();
        if constexpr (kWide && kBlock != 0) return blocks<kFn, kMasked, kBlock>(rows, indices);
        if constexpr (kCostly<kFn>) {
            if (rows.lanes == kFewLanes) {
                loop<kFn, kMasked, kFewLanes>(rows, RowPair{rows.low[kSlots[I]], rows.high[kSlots[I]]}...);
                return;
            }
        }
        loop<kFn, kMasked, kLanes>(rows, RowPair{rows.low[kSlots[I]], rows.high[kSlots[I]]}...);
    }

    template <auto kFn, bool kMasked, Backend kBackend>
    static void compute(const Rows& rows) {
        spread<kFn, kMasked, block_lanes(kBackend)>(rows, std::index_sequence_for<A...>{});
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
        d.uses_mode = kUsesMode;
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

/// The loop of a lane function for each back end. flatten: a lane function that is not inlined is not vectorised.
template <auto kFn, bool kMasked>
struct Loop {
    using Sig = SignatureOf<std::remove_cv_t<decltype(kFn)>>;
    [[gnu::noinline, gnu::flatten, LYRA_PORTABLE]] static void portable(const Rows& rows) {
        Sig::template compute<kFn, kMasked, Backend::Portable>(rows);
    }
    [[gnu::noinline, gnu::flatten, LYRA_AVX2]] static void avx2(const Rows& rows) {
        Sig::template compute<kFn, kMasked, Backend::Avx2>(rows);
    }
    [[gnu::noinline, gnu::flatten, LYRA_AVX512]] static void avx512(const Rows& rows) {
        Sig::template compute<kFn, kMasked, Backend::Avx512>(rows);
    }
    template <Backend kBackend>
    static constexpr ComputeFn on() {
        if constexpr (kBackend == Backend::Avx512) {
            return &avx512;
        } else {
            return kBackend == Backend::Avx2 ? &avx2 : &portable;
        }
    }
};

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
    template <Backend kBackend>
    static constexpr ComputeFn saturating() {
        if constexpr (kPair) {
            return Loop<Entry::kClamped, false>::template on<kBackend>();
        } else {
            return nullptr;
        }
    }
};

/// VOP3 operations new in GFX9 keep the other half of a 16-bit destination; all others zero it.
/// @source LLVM AMDGPU GCNSubtarget::zeroesHigh16BitsOfDest
constexpr bool keeps_other_half(const InstInfo& info) { return info.format == Format::VOP3 && info.has(flag::OpSel); }

template <Op kOp, auto kLane, Backend kBackend>
constexpr OpDesc describe_op() {
    constexpr const InstInfo& kInfo = OpTraits<kOp>::kInfo;
    OpDesc d = LaneOf<kLane>::Sig::describe();
    d.reads_dst = kInfo.has(flag::ReadsDst);
    d.keeps_other_half = keeps_other_half(kInfo) && d.dst.bits == 16;
    d.compute = Loop<LaneOf<kLane>::kFn, false>::template on<kBackend>();
    d.compute_saturating = LaneOf<kLane>::template saturating<kBackend>();
    bool float_rules = d.uses_mode || d.dst.arithmetic;
    for (unsigned i = 0; i < d.sources; ++i) float_rules = float_rules || d.src[i].arithmetic;
    d.mode_mask = float_rules ? kModeMask : static_cast<uint32_t>(ModeBits::GprIdxEn::kMask);
    return d;
}

/// The lane function agrees with the row of the .def table.
template <Op kOp, auto kLane>
constexpr bool agrees_with_row() {
    constexpr const InstInfo& kInfo = OpTraits<kOp>::kInfo;
    constexpr OpDesc d = describe_op<kOp, kLane, Backend::Portable>();
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

template <Op kOp, auto kLane, Backend kBackend>
inline constexpr OpDesc kOpDesc = describe_op<kOp, kLane, kBackend>();

template <std::size_t... I>
inline void fetch_sources(const Wave& wave, const Inst& inst, const OpDesc& desc, Scratch& scratch, Rows& rows,
                          std::index_sequence<I...>) {
    (fetch_source(wave, inst, I, desc.src[I], desc.reads_dst, scratch, rows), ...);
}
template <std::size_t... I>
inline bool fetch_sources_quickly(const Wave& wave, const Inst& inst, const OpDesc& desc, Scratch& scratch, Rows& rows,
                                  std::index_sequence<I...>) {
    return (fetch_source_quickly(wave, inst, I, desc.src[I], desc.reads_dst, scratch, rows) && ...);
}

/// The modifiers of an instruction, all in one look: they are neighbours in Inst.
inline uint64_t modifier_bytes(const Inst& inst) {
    uint64_t bytes;
    std::memcpy(&bytes, reinterpret_cast<const unsigned char*>(&inst) + offsetof(Inst, imm2), sizeof bytes);
    return bytes;
}
constexpr uint64_t modifier_byte(std::size_t offset) { return uint64_t{0xff} << 8 * (offset - offsetof(Inst, imm2)); }
inline constexpr uint64_t kSignModifiers = modifier_byte(offsetof(Inst, neg)) | modifier_byte(offsetof(Inst, abs));
inline constexpr uint64_t kResultModifiers =
    modifier_byte(offsetof(Inst, omod)) | modifier_byte(offsetof(Inst, op_sel)) | modifier_byte(offsetof(Inst, clamp));
static_assert(std::endian::native == std::endian::little && offsetof(Inst, clamp) - offsetof(Inst, imm2) < 8);

/// The plain encodings in three ways, each for what the one before leaves over: quick() is straight from register rows to
/// register row and calls nothing before it is done, so that it needs no frame; plain() takes every operand and sign modifiers;
/// run_general() the rest.
template <Op kOp, auto kLane, Backend kBackend>
struct Run {
    static constexpr const OpDesc& kDesc = kOpDesc<kOp, kLane, kBackend>;
    static constexpr auto kFn = LaneOf<kLane>::kFn;
    static constexpr auto kSources = std::make_index_sequence<kDesc.sources>{};

    static constexpr bool kHasRoutine = kRoutine<kFn> != nullptr && transcendental::has_routines(kBackend);

    template <bool kMasked>
    static void finish(ExecContext& ctx, const Inst& inst) {
        if constexpr (kHasRoutine) {
            (transcendental::routines(kBackend)->*kRoutine<kFn>)(ctx.rows.dst_low, ctx.rows.low[0], ctx.wave.exec);
        } else if constexpr (kDesc.has_carry) {
            LaneOf<kLane>::Sig::template compute<kFn, kMasked, kBackend>(ctx.rows);
            write_mask<!kDesc.has_value>(ctx.wave, inst, pack_mask<kBackend>(ctx.rows.carry) & ctx.wave.exec);
        } else {
            Loop<kFn, kMasked>::template on<kBackend>()(ctx.rows);
        }
    }

    /// @return false when something asks for more than plain arithmetic in the default MODE
    static bool ordinary(const Wave& wave, const Inst& inst, uint64_t modifiers) {
        if constexpr (kDesc.dst.half_float || kDesc.keeps_other_half) return false;
        return (modifier_bytes(inst) & modifiers) == 0 && ((wave.mode ^ kModeDefault) & kDesc.mode_mask) == 0;
    }

    static bool quick_operands(ExecContext& ctx, const Inst& inst) {
        const Wave& wave = ctx.wave;
        Rows& rows = ctx.rows;
        if (!ordinary(wave, inst, kResultModifiers | kSignModifiers)) return false;
        if (!fetch_sources_quickly(wave, inst, kDesc, ctx.scratch, rows, kSources)) return false;
        if constexpr (kDesc.extra != Extra::None) {
            if (!fetch_extra_quickly(wave, inst, kDesc.extra, ctx.scratch, rows)) return false;
        }
        if constexpr (kDesc.has_value) {
            if (inst.dst + (kDesc.dst.bits == 64) >= wave.vgpr_count) return false;
            rows.dst_low = wave.vgpr[inst.dst].lane;
            if constexpr (kDesc.dst.bits == 64) rows.dst_high = wave.vgpr[inst.dst + 1u].lane;
        }
        if constexpr (kDesc.uses_mode) rows.mode = &kDefaultMode;
        if constexpr (kDesc.has_carry) rows.carry = ctx.scratch.carry.lane;
        if constexpr (kCostly<kFn>) rows.lanes = lanes_in_use(wave.exec);
        return true;
    }

    static void plain(ExecContext& ctx, const Inst& inst) {
        Wave& wave = ctx.wave;
        if (!ordinary(wave, inst, kResultModifiers)) return run_general<kBackend>(ctx, inst, kDesc);
        if (!kDesc.has_carry && wave.exec == 0) return;
        Scratch& scratch = ctx.scratch;
        Rows& rows = ctx.rows;
        rows.mode = &kDefaultMode;
        rows.lanes = lanes_in_use(wave.exec);
        fetch_sources(wave, inst, kDesc, scratch, rows, kSources);
        if (inst.neg | inst.abs) apply_signs<kBackend>(inst, kDesc, scratch, rows);
        if constexpr (kDesc.extra != Extra::None) fetch_extra(wave, inst, kDesc.extra, scratch, rows);
        if constexpr (kDesc.has_carry) rows.carry = scratch.carry.lane;
        if constexpr (kDesc.has_value) {
            rows.dst_low = vgpr_write_row(wave, inst.dst, scratch.dump);
            if constexpr (kDesc.dst.bits == 64) rows.dst_high = vgpr_write_row(wave, inst.dst + 1u, scratch.dump);
        }
        if constexpr (kHasRoutine) {
            finish<true>(ctx, inst);
        } else if (!kDesc.has_value || wave.exec == kAllLanes) {
            Loop<kFn, false>::template on<kBackend>()(rows);
        } else {
            refresh_mask<kBackend>(wave);
            rows.mask = wave.mask.lane;
            Loop<kFn, true>::template on<kBackend>()(rows);
        }
        if constexpr (kDesc.has_carry) write_mask<!kDesc.has_value>(wave, inst, pack_mask<kBackend>(rows.carry) & wave.exec);
    }
};

// Registration ----------------------------------------------------------------------------------------------------------------

/// A function for each back end.
struct Versions {
    ExecFn fn[std::size(kAllBackends)] = {};
    constexpr Versions() = default;
    /// One for all of them.
    constexpr explicit Versions(ExecFn all) : fn{all, all, all} {}
    constexpr Versions(ExecFn portable, ExecFn avx2, ExecFn avx512) : fn{portable, avx2, avx512} {}
    constexpr ExecFn operator[](Backend backend) const { return fn[static_cast<unsigned>(backend)]; }
};

#define LYRA_PLAIN_ON(name, Name, attribute)                                                                   \
    [[gnu::noinline, gnu::flatten, attribute]] static void name##_plain(ExecContext& ctx, const Inst& inst) {  \
        Run<kOp, kLane, Backend::Name>::plain(ctx, inst);                                                      \
    }                                                                                                          \
    template <bool kMasked>                                                                                    \
    [[gnu::noinline, gnu::flatten, attribute]] static void name##_finish(ExecContext& ctx, const Inst& inst) { \
        Run<kOp, kLane, Backend::Name>::template finish<kMasked>(ctx, inst);                                   \
    }                                                                                                          \
    [[gnu::flatten, attribute]] static void name(ExecContext& ctx, const Inst& inst) {                         \
        using Mine = Run<kOp, kLane, Backend::Name>;                                                           \
        Wave& wave = ctx.wave;                                                                                 \
        if (Mine::quick_operands(ctx, inst)) {                                                                 \
            if (!Mine::kDesc.has_value || wave.exec == kAllLanes) return name##_finish<false>(ctx, inst);      \
            ctx.rows.mask = wave.mask.lane;                                                                    \
            if (wave.mask_of == wave.exec) return name##_finish<true>(ctx, inst);                              \
        }                                                                                                      \
        return name##_plain(ctx, inst);                                                                        \
    }
template <Op kOp, auto kLane>
struct Plain {
    LYRA_PLAIN_ON(portable, Portable, LYRA_PORTABLE)
    LYRA_PLAIN_ON(avx2, Avx2, LYRA_AVX2)
    LYRA_PLAIN_ON(avx512, Avx512, LYRA_AVX512)
    static constexpr ExecFn widest() {
        if constexpr (kWidest == Backend::Avx512) {
            return &avx512;
        } else {
            return &avx2;
        }
    }
    static constexpr Versions versions() { return {&portable, &avx2, widest()}; }
};
#undef LYRA_PLAIN_ON
/// Any encoding, any modifier, any MODE.
template <Op kOp, auto kLane, Backend kBackend>
void run_any(ExecContext& ctx, const Inst& inst) {
    run_general<kBackend>(ctx, inst, kOpDesc<kOp, kLane, kBackend>);
}

struct Handlers {
    Versions plain, any;
};

template <Op kOp, auto kLane>
constexpr Handlers handlers_of() {
    using T = std::remove_cv_t<decltype(kLane)>;
    if constexpr (std::is_same_v<T, Todo>) {
        return {};
    } else if constexpr (requires { T::kCustom; }) {
        return {Versions(T::kCustom), Versions(T::kCustom)};
    } else if constexpr (requires { T::kFunctions; }) {
        return {{T::kFunctions[0], T::kFunctions[1], T::kFunctions[2]}, {}};
    } else {
        static_assert(agrees_with_row<kOp, kLane>(), "lane function and profile of the .def row disagree");
        return {Plain<kOp, kLane>::versions(),
                {&run_any<kOp, kLane, Backend::Portable>, &run_any<kOp, kLane, Backend::Avx2>, &run_any<kOp, kLane, kWidest>}};
    }
}

/// Enter an operation in every encoding its row allows.
void enter(ExecTable& table, Op op, const Handlers& handlers);

template <Op kOp, auto kLane>
void add(ExecTable& table) {
    enter(table, kOp, handlers_of<kOp, kLane>());
}

}  // namespace lyra::gcn
