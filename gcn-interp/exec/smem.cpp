// SPDX-License-Identifier: MIT
// Scalar memory access; step 6 of the data flow.
// @source AMD Vega ISA document, "Scalar memory"; LLVM 19 AMDGPU SMInstructions.td
#include <algorithm>
#include <string_view>

#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/lane_memory.h"
#include "gcn-interp/exec/scalar.h"
#include "gcn-interp/wave/buffer_desc.h"
#include "gcn-interp/wave/services.h"

namespace lyra::gcn {
namespace {

using U32 = uint32_t;
using U64 = uint64_t;

enum class Base { Address, Scratch, Buffer };

/// Where an instruction reads, and how many bytes from there belong to its buffer.
struct Place {
    U64 va;
    U64 bytes_left;
};

/// Scratch forms count a register offset in 64 bytes. The two low bits of each part are ignored, so that none is carried.
template <Base kBase>
Place place(const Wave& wave, const Inst& inst) {
    U64 offset = inst.imm_offset ? static_cast<U64>(static_cast<int64_t>(inst.imm)) & ~U64{3} : 0;
    if (inst.soffset != kNoOperand) {
        offset += (U64{scalar::source32(wave, inst, inst.soffset)} * (kBase == Base::Scratch ? 64 : 1)) & ~U64{3};
    }
    if constexpr (kBase == Base::Buffer) {
        const BufferDesc desc = BufferDesc::read(wave, inst.saddr);
        const U64 size = desc.scalar_bytes();
        return {static_cast<U64>(sign_extend((desc.base() & ~U64{3}) + offset, 48)), offset < size ? size - offset : 0};
    } else {
        return {static_cast<U64>(sign_extend((wave.read_scalar64(inst.saddr) & ~U64{3}) + offset, 64)), ~U64{0}};
    }
}

template <Base kBase, unsigned kWords>
void load(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const Place at = place<kBase>(wave, inst);
    const TlbEntry* known = ctx.pages->tlb(wave.vmid, Access::Read).find(at.va);
    if (known && known->holds_to_end(at.va, kWords * 4) && at.bytes_left >= kWords * 4 &&
        inst.dst + kWords <= std::min<unsigned>(wave.sgpr_count, kFlatScratchLo)) [[likely]] {
        std::memcpy(&wave.sgpr[inst.dst], known->host(at.va), kWords * 4);
        return;
    }
    U32 data[kWords] = {};
    const size_t size = std::min<U64>(sizeof data, at.bytes_left & ~U64{3});
    if (size) lane_memory::fail(ctx, ctx.pages->read(wave.vmid, at.va, data, size, Access::Scalar));
    if (ctx.fault != Fault::None) return;
    for (unsigned i = 0; i < kWords; ++i) wave.write_scalar(inst.dst + i, data[i]);
}

template <Base kBase, unsigned kWords>
void store(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const Place at = place<kBase>(wave, inst);
    U32 data[kWords];
    for (unsigned i = 0; i < kWords; ++i) data[i] = wave.read_scalar(inst.src[0] + i);
    const size_t size = std::min<U64>(sizeof data, at.bytes_left & ~U64{3});
    if (size == 0) return;
    lane_memory::note_scalar(ctx, at.va, static_cast<unsigned>(size), Access::Write);
    lane_memory::fail(ctx, ctx.pages->write(wave.vmid, at.va, data, size));
}

template <class T>
T scalar_value(const Wave& wave, unsigned n) {
    return sizeof(T) == 8 ? static_cast<T>(wave.read_scalar64(n)) : static_cast<T>(wave.read_scalar(n));
}

template <Base kBase, AtomicOp kOp, class T>
void atomic(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const Place at = place<kBase>(wave, inst);
    T old{};
    if (at.bytes_left >= sizeof(T)) {
        if (at.va % sizeof(T) != 0) {
            ctx.fault = Fault::ApertureViolation;
            return;
        }
        lane_memory::note_scalar(ctx, at.va, sizeof(T), Access::Atomic);
        const T data = scalar_value<T>(wave, inst.src[0]);
        const T other = kOp == AtomicOp::CmpSwap ? scalar_value<T>(wave, inst.src[0] + sizeof(T) / 4) : T{};
        if (uint8_t* host = ctx.pages->page(wave.vmid, at.va, Access::Atomic)) {
            old = atomics::shared<kOp, T>(host + at.va % kPageBytes, data, other, atomics::memory_denormals(wave));
        } else {
            lane_memory::fail(ctx, lane_memory::refuse_atomic(ctx, wave.vmid, at.va, sizeof(T)));
            if (ctx.fault != Fault::None) return;
        }
    }
    if (!inst.glc) return;
    wave.write_scalar(inst.src[0], static_cast<U32>(old));
    if constexpr (sizeof(T) == 8) wave.write_scalar(inst.src[0] + 1u, hi32(old));
}

/// Memory is coherent: there is no scalar cache to write back or to drop.
void no_effect(ExecContext&, Wave&, const Inst&) {}

void memtime(ExecContext& ctx, Wave& wave, const Inst& inst) { wave.write_scalar64(inst.dst, ctx.services->shader_clock()); }
void memrealtime(ExecContext& ctx, Wave& wave, const Inst& inst) {
    wave.write_scalar64(inst.dst, ctx.services->reference_clock());
}

constexpr Base base_of(const InstInfo& row) {
    if (row.profile->src[0] == Type::R128) return Base::Buffer;
    return std::string_view(row.name).starts_with("s_scratch_") ? Base::Scratch : Base::Address;
}

template <Op kOp>
constexpr WaveFn smem_function() {
    constexpr MemoryShape kMove = memory_shape(kOp);
    constexpr Base kBase = base_of(info(kOp));
    if constexpr (kOp == Op::s_memtime) {
        return memtime;
    } else if constexpr (kOp == Op::s_memrealtime) {
        return memrealtime;
    } else if constexpr (kMove.direction == Direction::Load) {
        return load<kBase, kMove.bytes / 4>;
    } else if constexpr (kMove.direction == Direction::Store) {
        return store<kBase, kMove.bytes / 4>;
    } else if constexpr (kMove.direction == Direction::None) {
        return no_effect;  // s_dcache_*, s_atc_probe*
    } else if constexpr (kMove.bytes == 8) {
        return atomic<kBase, kMove.op, U64>;
    } else {
        static_assert(kMove.bytes == 4);
        return atomic<kBase, kMove.op, U32>;
    }
}

}  // namespace

void register_smem(ExecTable& table) {
#define SMEM(opcode, name, profile, flags, ...) enter<smem_function<Op::name>()>(table, Op::name, Format::SMEM);
#include "gcn-interp/isa/smem.def"
#undef SMEM
}

}  // namespace lyra::gcn
