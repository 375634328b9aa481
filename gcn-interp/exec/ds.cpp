// SPDX-License-Identifier: MIT
// LDS access, and the lane exchanges that use its crossbar; step 6 of the data flow.
// @source AMD Vega ISA document, "LDS and GDS instructions"
#include <algorithm>
#include <utility>

#include "gcn-interp/exec/d16.h"
#include "gcn-interp/exec/fast_memory.h"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/lane_memory.h"
#include "gcn-interp/wave/services.h"

namespace lyra::gcn {
namespace {

using namespace lane_memory;
using U32 = uint32_t;

/// The offset of instructions with one address, bytes. Those with two have imm and imm2, in elements.
U32 offset16(const Inst& inst) { return static_cast<U32>(inst.imm) & 0xffff; }

/// vaddr + offset; the sum wraps at 32 bits.
LdsAddresses addresses(const Wave& wave, const Inst& inst, U32 offset) {
    LdsAddresses a;
    const uint32_t* row = vgpr_read_row(wave, inst.vaddr);
    a.active = wave.exec;
    for (unsigned lane = 0; lane < kLanes; ++lane) a.at[lane] = row[lane] + offset;
    return a;
}

template <Shape kShape>
void read_one(ExecContext& ctx, Wave& wave, const Inst& inst) {
    load_lds<kShape>(ctx, wave, addresses(wave, inst, offset16(inst)), inst.dst, false);
}

template <Shape kShape>
void write_one(ExecContext& ctx, Wave& wave, const Inst& inst) {
    store_lds<kShape>(ctx, wave, addresses(wave, inst, offset16(inst)), inst.vdata, false);
}

/// Two elements; offsets count elements, or 64 of them.
template <unsigned kBytes, unsigned kScale>
void read_two(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const LdsAddresses a = addresses(wave, inst, (static_cast<U32>(inst.imm) & 0xff) * kBytes * kScale);
    const LdsAddresses b = addresses(wave, inst, U32{inst.imm2} * kBytes * kScale);
    load_lds<Shape{kBytes}>(ctx, wave, a, inst.dst, false);
    load_lds<Shape{kBytes}>(ctx, wave, b, inst.dst + kBytes / 4, false);
}

template <unsigned kBytes, unsigned kScale>
void write_two(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const LdsAddresses a = addresses(wave, inst, (static_cast<U32>(inst.imm) & 0xff) * kBytes * kScale);
    const LdsAddresses b = addresses(wave, inst, U32{inst.imm2} * kBytes * kScale);
    store_lds<Shape{kBytes}>(ctx, wave, a, inst.vdata, false);
    store_lds<Shape{kBytes}>(ctx, wave, b, inst.vdata2, false);
}

template <class T, unsigned kScale>
void exchange_two(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const LdsAddresses a = addresses(wave, inst, (static_cast<U32>(inst.imm) & 0xff) * sizeof(T) * kScale);
    const LdsAddresses b = addresses(wave, inst, U32{inst.imm2} * sizeof(T) * kScale);
    const Source<kWord<T>> first(wave, inst.vdata), second(wave, inst.vdata2);
    T old[2][kLanes];
    const auto exchange = [&](const LdsAddresses& at, const Source<kWord<T>>& from, T* was) {
        for_lanes(wave.exec, [&](unsigned lane) {
            was[lane] = 0;
            uint8_t* host = lds_bytes(ctx, wave, at.at[lane] & ~U32{sizeof(T) - 1}, sizeof(T));
            if (!host) return;
            std::memcpy(&was[lane], host, sizeof(T));
            from.get(lane, host);
        });
    };
    exchange(a, first, old[0]);
    exchange(b, second, old[1]);
    // Only now: the destination may be the second data operand.
    Destination<kWord<T>> low(wave, inst.dst), high(wave, inst.dst + sizeof(T) / 4);
    for_lanes(wave.exec, [&](unsigned lane) {
        low.put(lane, &old[0][lane]);
        high.put(lane, &old[1][lane]);
    });
}

template <AtomicOp kOp, class T, bool kReturns>
void modify(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const LdsAddresses a = addresses(wave, inst, offset16(inst));
    // Compare forms carry the compare value first, masked forms the mask: only the former need swapping for next().
    constexpr bool kCompare = kOp == AtomicOp::CmpSwap || kOp == AtomicOp::FCmpSwap;
    constexpr bool kTwoOperands = kCompare || kOp == AtomicOp::MaskOr || kOp == AtomicOp::Wrap;
    const unsigned second = kTwoOperands ? inst.vdata2 : inst.vdata;
    atomic_lds<kOp, T>(ctx, wave, a, kCompare ? second : inst.vdata, kCompare ? inst.vdata : second, inst.dst, kReturns, false);
}

/// MEM[A] = MEM[A] op MEM[B]; B lies at a signed dword distance from A that the offset fields give.
template <AtomicOp kOp, class T>
void modify_src2(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const bool from_address = bit(offset16(inst), 15);
    const int64_t fixed = sign_extend(offset16(inst) & 0x7fff, 15);
    const atomics::Denormals denormals = atomics::f32_denormals(wave);
    const uint32_t* row = vgpr_read_row(wave, inst.vaddr);
    for_lanes(wave.exec, [&](unsigned lane) {
        const U32 a = (from_address ? row[lane] & 0x1ffff : row[lane]) & ~U32{sizeof(T) - 1};  // as all atomics of LDS
        const int64_t distance = from_address ? sign_extend(row[lane] >> 17, 15) : fixed;
        uint8_t* to = lds_bytes(ctx, wave, a, sizeof(T));
        const uint8_t* from = lds_bytes(ctx, wave, a + static_cast<U32>(distance * 4), sizeof(T));
        if (!to) return;
        T old, data{};
        std::memcpy(&old, to, sizeof(T));
        if (from) std::memcpy(&data, from, sizeof(T));
        const T value = atomics::next<kOp, T>(old, data, data, denormals);
        std::memcpy(to, &value, sizeof(T));
    });
}

/// Lane that ds_swizzle reads for a lane. @source LLVM AMDGPU SIDefines.h Swizzle; AMD Vega ISA document, DS_SWIZZLE_B32
unsigned swizzle_source(unsigned lane, U32 offset) {
    const unsigned half = lane & 32, l = lane & 31, mask = offset & 31;
    if (offset >= 0xe000) {  // FFT: reverse the lanes' bits above those that the mask keeps
        unsigned reversed = 0;
        for (unsigned b = 0; b < 5; ++b) reversed |= (l >> b & 1) << (4 - b);
        return half | (reversed >> std::popcount(mask)) | (l & mask);
    }
    if (offset >= 0xc000) {  // rotate
        const unsigned by = offset >> 5 & 31;
        const unsigned moved = (offset & 0x400 ? l - by : l + by) & 31;
        return half | (l & mask) | (moved & ~mask);
    }
    if (offset & 0x8000) return (lane & ~3u) | (offset >> (2 * (lane & 3)) & 3);
    return half | (((l & mask) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
}

/// dst[lane] = data[from(lane)], 0 from a lane that is off.
template <class From>
void gather(Wave& wave, unsigned dst, const uint32_t* data, From from) {
    VgprRow old;
    std::memcpy(&old, data, sizeof old);
    VgprRow dump;
    uint32_t* out = vgpr_write_row(wave, dst, dump);
    for_lanes(wave.exec, [&](unsigned lane) {
        const unsigned source = from(lane);
        out[lane] = bit(wave.exec, source) ? old.lane[source] : 0;
    });
}

/// LDS base of append, consume and the addtid forms is M0[15:0].
U32 m0_base(const Wave& wave, const Inst& inst) { return (wave.m0 & 0xffff) + offset16(inst); }

template <bool kAppend>
void count_lanes(ExecContext& ctx, Wave& wave, const Inst& inst) {
    if (wave.exec == 0) return;
    U32 old = 0;
    if (uint8_t* host = lds_bytes(ctx, wave, m0_base(wave, inst) & ~3u, 4)) {
        std::memcpy(&old, host, 4);
        const U32 lanes = static_cast<U32>(std::popcount(wave.exec));
        const U32 value = kAppend ? old + lanes : old - lanes;
        std::memcpy(host, &value, 4);
    }
    VgprRow dump;
    uint32_t* out = vgpr_write_row(wave, inst.dst, dump);
    for_lanes(wave.exec, [&](unsigned lane) { out[lane] = old; });
}

LdsAddresses thread_addresses(const Wave& wave, const Inst& inst) {
    LdsAddresses a;
    for (unsigned lane = 0; lane < kLanes; ++lane) a.at[lane] = m0_base(wave, inst) + lane * 4;
    a.active = wave.exec;
    return a;
}

/// The resource is M0[21:16] + offset, of the 64; the value is that of the first active lane. A wave that has to wait comes
/// back to the instruction when it is saved meanwhile. @source LLVM SIISelDAGToDAG.cpp SelectDS_GWS(), hasGWSAutoReplay()
template <GwsOp kOp, bool kHasValue>
void global_sync(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const U32 resource = (bits(wave.m0, 16, 6) + offset16(inst)) % 64;
    const unsigned lane = wave.exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(wave.exec));
    const U32 value = kHasValue ? vgpr_read_row(wave, inst.vdata)[lane] : 0;
    switch (ctx.services->gws(wave, kOp, resource, value)) {
        case GwsAnswer::Done: return;
        case GwsAnswer::Refused: ctx.fault = Fault::GwsRange; return;
        case GwsAnswer::Wait: break;
    }
    wave.pc -= inst.size_bytes;
    wave.state = WaveState::AtGws;
    ctx.yield = true;
}

/// With the GDS bit: the same in what M0 and the VMID leave of the GDS. M0 has the base in 31:16 and the size in 15:0, but
/// append and consume have their address there. @source AMD Vega ISA document, "GDS"; LLVM SIISelDAGToDAG.cpp
/// glueCopyToM0LDSInit()
template <WaveFn kFn, bool kAddressInM0>
[[gnu::noinline]] void in_gds(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const GdsWindow window = ctx.services->gds(wave.vmid);
    const U32 base = kAddressInM0 ? 0 : std::min(wave.m0 >> 16, window.bytes);
    const U32 size = std::min(kAddressInM0 ? window.bytes : wave.m0 & 0xffff, window.bytes - base);
    uint8_t* const lds = std::exchange(ctx.lds, window.host);
    const U32 lds_base = std::exchange(wave.lds_base, base), lds_size = std::exchange(wave.lds_bytes, size);
    kFn(ctx, wave, inst);
    ctx.lds = lds;
    wave.lds_base = lds_base;
    wave.lds_bytes = lds_size;
}

template <WaveFn kFn, bool kAddressInM0>
void lds_or_gds(ExecContext& ctx, Wave& wave, const Inst& inst) {
    if (inst.gds) return in_gds<kFn, kAddressInM0>(ctx, wave, inst);
    kFn(ctx, wave, inst);
}

void nop(ExecContext&, Wave&, const Inst&) {}

void swizzle(ExecContext&, Wave& wave, const Inst& inst) {
    const U32 offset = offset16(inst);
    gather(wave, inst.dst, vgpr_read_row(wave, inst.vaddr), [&](unsigned lane) { return swizzle_source(lane, offset); });
}
void bpermute(ExecContext&, Wave& wave, const Inst& inst) {
    const uint32_t* address = vgpr_read_row(wave, inst.vaddr);
    const U32 offset = offset16(inst);
    gather(wave, inst.dst, vgpr_read_row(wave, inst.vdata),
           [&](unsigned lane) { return (address[lane] + offset) / 4 % kLanes; });
}
void permute(ExecContext&, Wave& wave, const Inst& inst) {
    const uint32_t* address = vgpr_read_row(wave, inst.vaddr);
    const uint32_t* data = vgpr_read_row(wave, inst.vdata);
    VgprRow sent{};
    for_lanes(wave.exec, [&](unsigned lane) { sent.lane[(address[lane] + offset16(inst)) / 4 % kLanes] = data[lane]; });
    VgprRow dump;
    uint32_t* out = vgpr_write_row(wave, inst.dst, dump);
    for_lanes(wave.exec, [&](unsigned lane) { out[lane] = sent.lane[lane]; });
}

void read_addtid(ExecContext& ctx, Wave& wave, const Inst& inst) {
    load_lds<Shape{4}>(ctx, wave, thread_addresses(wave, inst), inst.dst, false);
}
void write_addtid(ExecContext& ctx, Wave& wave, const Inst& inst) {
    store_lds<Shape{4}>(ctx, wave, thread_addresses(wave, inst), inst.vdata, false);
}

/// Adds to a dword of the GDS at M0[15:0], or exchanges it. Waves come in the order in which they execute it. offset1 5:4:
/// which.
void ordered_count(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const GdsWindow window = ctx.services->gds(wave.vmid);
    if (!window.ordered) {
        ctx.fault = Fault::GwsRange;
        return;
    }
    const bool exchange = bit(offset16(inst), 12);
    const unsigned first = wave.exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(wave.exec));
    const U32 value = vgpr_read_row(wave, inst.vaddr)[first];
    const U32 address = wave.m0 & 0xfffc;
    U32 old = 0;
    if (uint64_t{address} + 4 <= window.bytes) {
        std::memcpy(&old, window.host + address, 4);
        const U32 next = exchange ? value : old + value;
        std::memcpy(window.host + address, &next, 4);
    }
    VgprRow dump;
    uint32_t* out = vgpr_write_row(wave, inst.dst, dump);
    for_lanes(wave.exec, [&](unsigned lane) { out[lane] = old; });
}

/// What is not told by the row.
constexpr WaveFn special(Op op) {
    switch (op) {
        case Op::ds_nop: return nop;
        case Op::ds_swizzle_b32: return swizzle;
        case Op::ds_permute_b32: return permute;
        case Op::ds_bpermute_b32: return bpermute;
        case Op::ds_append: return count_lanes<true>;
        case Op::ds_consume: return count_lanes<false>;
        case Op::ds_read_addtid_b32: return read_addtid;
        case Op::ds_write_addtid_b32: return write_addtid;
        case Op::ds_gws_sema_release_all: return global_sync<GwsOp::SemaReleaseAll, false>;
        case Op::ds_gws_init: return global_sync<GwsOp::Init, true>;
        case Op::ds_gws_sema_v: return global_sync<GwsOp::SemaV, false>;
        case Op::ds_gws_sema_br: return global_sync<GwsOp::SemaBr, true>;
        case Op::ds_gws_sema_p: return global_sync<GwsOp::SemaP, false>;
        case Op::ds_gws_barrier: return global_sync<GwsOp::Barrier, true>;
        case Op::ds_ordered_count: return ordered_count;
        default: return nullptr;
    }
}

/// LDS loads and stores of one or two addresses.
template <Op kOp, WaveFn kFn>
struct QuickLds {
    template <Backend kBackend>
    static void run(ExecContext& ctx, const Inst& inst) {
        if (inst.gds || !moves<kBackend>(ctx, inst)) on_wave<kFn>(ctx, inst);
        if constexpr (kShape.d16 && kMove.direction == Direction::Load) clear_other_half<kShape.hi>(ctx, inst);
    }

private:
    static constexpr MemoryShape kMove = memory_shape(kOp);
    static constexpr Shape kShape = element(kMove);
    static constexpr unsigned kWords = kShape.words();

    template <Backend kBackend>
    static bool move(ExecContext& ctx, unsigned vgpr, const uint32_t* low, U32 plus) {
        using Fast = FastMemory<kBackend>;
        Wave& wave = ctx.wave;
        uint32_t* rows = wave.vgpr[vgpr].lane;
        if constexpr (kMove.direction == Direction::Load)
            return Fast::template load_lds<kShape>(rows, low, plus, wave.exec, ctx.lds + wave.lds_base, wave.lds_bytes);
        else
            return Fast::template store_lds<kShape>(rows, low, plus, wave.exec, ctx.lds + wave.lds_base, wave.lds_bytes);
    }
    template <Backend kBackend>
    static bool moves(ExecContext& ctx, const Inst& inst) {
        constexpr bool kLoads = kMove.direction == Direction::Load;
        const Wave& wave = ctx.wave;
        const unsigned vgpr = kLoads ? inst.dst : inst.vdata;
        const uint32_t* low = vgpr_read_row(wave, inst.vaddr);
        if (!ctx.lds || vgpr + kWords > wave.vgpr_count) return false;
        if constexpr (kMove.count == 1) {
            return move<kBackend>(ctx, vgpr, low, offset16(inst));
        } else {
            // When the second one cannot be fast the handler does both, the first one again.
            constexpr U32 kUnit = kShape.bytes * (info(kOp).has(flag::TwoSt64) ? 64 : 1);
            const unsigned second = kLoads ? vgpr + kWords : inst.vdata2;
            if (second + kWords > wave.vgpr_count) return false;
            for (unsigned w = 0; kLoads && w < kWords; ++w)
                if (wave.vgpr[vgpr + w].lane == low) return false;  // the first one replaces the addresses
            return move<kBackend>(ctx, vgpr, low, (static_cast<U32>(inst.imm) & 0xff) * kUnit) &&
                   move<kBackend>(ctx, second, low, U32{inst.imm2} * kUnit);
        }
    }
};

template <Op kOp, class T>
constexpr WaveFn atomic_function() {
    constexpr MemoryShape kMove = memory_shape(kOp);
    constexpr const InstInfo& kRow = info(kOp);
    if constexpr (kMove.count == 2) {
        return exchange_two < T, kRow.has(flag::TwoSt64) ? 64 : 1 > ;
    } else if constexpr (kRow.has(flag::Src2)) {
        return modify_src2<kMove.op, T>;
    } else {
        return modify<kMove.op, T, kMove.returns>;
    }
}

template <Op kOp>
constexpr WaveFn ds_function() {
    constexpr MemoryShape kMove = memory_shape(kOp);
    constexpr unsigned kScale = info(kOp).has(flag::TwoSt64) ? 64 : 1;
    if constexpr (special(kOp) != nullptr) {
        return special(kOp);
    } else if constexpr (kMove.direction == Direction::Load) {
        return kMove.count == 2 ? read_two<kMove.bytes, kScale> : read_one<element(kMove)>;
    } else if constexpr (kMove.direction == Direction::Store) {
        return kMove.count == 2 ? write_two<kMove.bytes, kScale> : write_one<element(kMove)>;
    } else if constexpr (kMove.bytes == 8) {
        return atomic_function<kOp, uint64_t>();
    } else {
        static_assert(kMove.direction == Direction::Atomic && kMove.bytes == 4);
        return atomic_function<kOp, uint32_t>();
    }
}

template <Op kOp>
void enter_ds(ExecTable& table) {
    constexpr WaveFn kFn = ds_function<kOp>();
    constexpr bool kAddressInM0 = kOp == Op::ds_append || kOp == Op::ds_consume;
    constexpr MemoryShape kMove = memory_shape(kOp);
    if constexpr (OpTraits<kOp>::kInfo.has(flag::Gws))
        enter<kFn>(table, kOp, Format::DS);
    else if constexpr (special(kOp) == nullptr && (kMove.direction == Direction::Load || kMove.direction == Direction::Store))
        enter_quick<QuickLds<kOp, lds_or_gds<kFn, kAddressInM0>>>(table, kOp, Format::DS);
    else
        enter_lanes<lds_or_gds<kFn, kAddressInM0>>(table, kOp, Format::DS);
}

}  // namespace

void register_ds(ExecTable& table) {
#define DS(opcode, name, profile, flags, ...) enter_ds<Op::name>(table);
#include "gcn-interp/isa/ds.def"
#undef DS
}

}  // namespace lyra::gcn
