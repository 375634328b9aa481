// SPDX-License-Identifier: MIT
// Loads, stores and atomics of 64 lanes, shared by FLAT, MUBUF and DS; step 6 of the data flow.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "gcn-interp/exec/atomics.h"
#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/lane_shape.h"
#include "gcn-interp/exec/page_cache.h"
#include "gcn-interp/exec/traffic.h"
#include "gcn-interp/exec/watch.h"
#include "gcn-interp/wave/lanes.h"

namespace lyra::gcn::lane_memory {

/// Addresses of the lanes in active; the others are not looked at.
struct LaneAddresses {
    alignas(64) uint64_t va[kLanes];
    uint64_t active = 0;
};

/// Lane addresses whose dwords lie dword_stride bytes apart: scratch through FLAT, and swizzled buffers.
/// Byte o of a lane is at base[lane] + o / 4 * dword_stride + o % 4.
struct SwizzledAddresses {
    uint64_t base[kLanes] = {};
    uint32_t offset[kLanes] = {};
    uint64_t dword_stride = 0;
    uint64_t active = 0;
    uint64_t byte(unsigned lane, uint32_t plus) const {
        const uint32_t o = offset[lane] + plus;
        return base[lane] + uint64_t{o / 4} * dword_stride + o % 4;
    }
};

template <class Fn>
inline void for_lanes(uint64_t mask, Fn fn) {
    for (; mask; mask &= mask - 1) fn(static_cast<unsigned>(std::countr_zero(mask)));
}

/// The wave's view of a refused access. Faults that only drop an access (register pages, holes of the bus) are not seen.
inline void fail(ExecContext& ctx, Fault fault) {
    if (!is_vm_fault(fault)) return;
    if (fault == Fault::PageRetry)
        ctx.fault = fault;
    else
        ctx.fault = fault == Fault::AddressNotCanonical ? Fault::ApertureViolation : Fault::MemoryViolation;
}

inline void count(ExecContext& ctx, const LaneAddresses& a, unsigned bytes) {
    if (ctx.traffic) ctx.traffic->add(a.active, bytes, [&](unsigned lane) { return a.va[lane]; });
}

/// Notes accesses to watched addresses in TRAPSTS; the accesses themselves go on.
void note_watched(ExecContext& ctx, Wave& wave, const LaneAddresses& a, unsigned bytes, Access access);
inline void watch(ExecContext& ctx, Wave& wave, const LaneAddresses& a, unsigned bytes, Access access) {
    if (ctx.watch != nullptr) [[unlikely]]
        note_watched(ctx, wave, a, bytes, access);
}

/// The same for scalar stores and atomics, which no watchpoint sees.
void tell_listener(uint64_t va, unsigned bytes, Access access);
inline void note_scalar(ExecContext& ctx, uint64_t va, unsigned bytes, Access access) {
    if (ctx.watch != nullptr) [[unlikely]]
        tell_listener(va, bytes, access);
}

/// Destination registers of a load.
template <Shape kShape>
class Destination {
public:
    Destination(Wave& wave, unsigned vgpr) {
        for (unsigned w = 0; w < kShape.words(); ++w) rows_[w] = vgpr_write_row(wave, vgpr + w, dump_);
    }
    /// @param row  of the first register; the wave has all of them
    explicit Destination(uint32_t* row) {
        for (unsigned w = 0; w < kShape.words(); ++w) rows_[w] = row + w * kLanes;
    }
    uint32_t* const* rows() const { return rows_; }

    void put(unsigned lane, const void* bytes) {
        if constexpr (kShape.bytes >= 4) {
            for (unsigned w = 0; w < kShape.words(); ++w) {
                std::memcpy(&rows_[w][lane], static_cast<const uint8_t*>(bytes) + 4 * w, 4);
            }
        } else {
            uint32_t value = 0;
            std::memcpy(&value, bytes, kShape.bytes);
            if constexpr (kShape.sign) value = static_cast<uint32_t>(sign_extend(value, kShape.bytes * 8));
            uint32_t& out = rows_[0][lane];
            if constexpr (!kShape.d16) {
                out = value;
            } else if constexpr (kShape.hi) {
                out = (out & 0xffff) | (value << 16);
            } else {
                out = (out & 0xffff0000) | (value & 0xffff);
            }
        }
    }

private:
    uint32_t* rows_[4];
    VgprRow dump_;
};

/// Source registers of a store.
template <Shape kShape>
class Source {
public:
    Source(const Wave& wave, unsigned vgpr) {
        for (unsigned w = 0; w < kShape.words(); ++w) rows_[w] = vgpr_read_row(wave, vgpr + w);
    }
    explicit Source(const uint32_t* row) {
        for (unsigned w = 0; w < kShape.words(); ++w) rows_[w] = row + w * kLanes;
    }
    const uint32_t* const* rows() const { return rows_; }

    void get(unsigned lane, void* bytes) const {
        if constexpr (kShape.bytes >= 4) {
            for (unsigned w = 0; w < kShape.words(); ++w) {
                std::memcpy(static_cast<uint8_t*>(bytes) + 4 * w, &rows_[w][lane], 4);
            }
        } else {
            const uint32_t value = rows_[0][lane] >> (kShape.hi ? 16 : 0);
            std::memcpy(bytes, &value, kShape.bytes);
        }
    }

private:
    const uint32_t* rows_[4];
};

/// All 64 lanes side by side, step bytes apart (0: all at one address).
inline bool evenly_spaced(const LaneAddresses& a, uint64_t step) {
    if (a.active != kAllLanes || a.va[1] != a.va[0] + step) return false;
    uint64_t different = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) different |= a.va[lane] ^ (a.va[0] + lane * step);
    return different == 0;
}

/// A dword of guest memory, wherever it lies.
using MemoryDword [[gnu::may_alias, gnu::aligned(1)]] = uint32_t;

/// 64 elements of whole dwords side by side in memory, to and from register rows.
template <unsigned kWords>
void deinterleave(const uint8_t* host, uint32_t* const* rows) {
    const MemoryDword* from = reinterpret_cast<const MemoryDword*>(host);  // auto would forget the alignment
    for (unsigned w = 0; w < kWords; ++w) {
        uint32_t* row = rows[w];
        LYRA_INDEPENDENT_LANES
        for (unsigned lane = 0; lane < kLanes; ++lane) row[lane] = from[lane * kWords + w];
    }
}
template <unsigned kWords>
void interleave(const uint32_t* const* rows, uint8_t* host) {
    MemoryDword* to = reinterpret_cast<MemoryDword*>(host);
    for (unsigned w = 0; w < kWords; ++w) {
        const uint32_t* row = rows[w];
        LYRA_INDEPENDENT_LANES
        for (unsigned lane = 0; lane < kLanes; ++lane) to[lane * kWords + w] = row[lane];
    }
}

template <Shape kShape>
void load_block(const uint8_t* host, Destination<kShape>& to) {
    if constexpr (kShape.bytes >= 4) {
        deinterleave<kShape.words()>(host, to.rows());
    } else {
        for (unsigned lane = 0; lane < kLanes; ++lane) to.put(lane, host + lane * kShape.bytes);
    }
}

/// One element to all lanes.
template <Shape kShape>
void load_one(const uint8_t* host, Destination<kShape>& to) {
    uint8_t once[kShape.bytes];
    std::memcpy(once, host, kShape.bytes);
    if constexpr (kShape.bytes >= 4) {
        for (unsigned w = 0; w < kShape.words(); ++w) {
            uint32_t value;
            std::memcpy(&value, once + 4 * w, 4);
            fill_row(to.rows()[w], value);
        }
    } else {
        for (unsigned lane = 0; lane < kLanes; ++lane) to.put(lane, once);
    }
}

template <Shape kShape>
void store_block(const Source<kShape>& from, uint8_t* host) {
    if constexpr (kShape.bytes >= 4) {
        interleave<kShape.words()>(from.rows(), host);
    } else {
        for (unsigned lane = 0; lane < kLanes; ++lane) from.get(lane, host + lane * kShape.bytes);
    }
}

/// Lanes whose addresses are compared together: a row of a two-dimensional work-group often has so many.
inline constexpr unsigned kPartLanes = 16;
inline constexpr uint64_t kPartMask = 0xffff;

using Quad [[gnu::vector_size(16)]] = uint32_t;

/// Four elements of whole dwords, wherever they lie, to four lanes of rows.
template <unsigned kWords>
[[gnu::always_inline]] inline void gather_quad(const uint8_t* base, const uint32_t* at, uint32_t* const* rows, unsigned lane) {
    const auto dword = [&](unsigned l, unsigned w) { return reinterpret_cast<const MemoryDword*>(base + at[l])[w]; };
    if constexpr (kWords % 2 == 1) {
        constexpr unsigned w = kWords - 1;
        store_vector(rows[w] + lane, Quad{dword(0, w), dword(1, w), dword(2, w), dword(3, w)});
    }
    if constexpr (kWords == 2 || kWords == 3) {
        uint64_t q[4];
        for (unsigned l = 0; l < 4; ++l) std::memcpy(&q[l], base + at[l], 8);
        const auto a = load_vector<Quad>(q), b = load_vector<Quad>(q + 2);
        store_vector(rows[0] + lane, __builtin_shufflevector(a, b, 0, 2, 4, 6));
        store_vector(rows[1] + lane, __builtin_shufflevector(a, b, 1, 3, 5, 7));
    }
    if constexpr (kWords == 4) {
        const auto a = load_vector<Quad>(base + at[0]), b = load_vector<Quad>(base + at[1]),
                   c = load_vector<Quad>(base + at[2]), d = load_vector<Quad>(base + at[3]);
        const Quad ab = __builtin_shufflevector(a, b, 0, 4, 1, 5), cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
        const Quad ab2 = __builtin_shufflevector(a, b, 2, 6, 3, 7), cd2 = __builtin_shufflevector(c, d, 2, 6, 3, 7);
        store_vector(rows[0] + lane, __builtin_shufflevector(ab, cd, 0, 1, 4, 5));
        store_vector(rows[1] + lane, __builtin_shufflevector(ab, cd, 2, 3, 6, 7));
        store_vector(rows[2] + lane, __builtin_shufflevector(ab2, cd2, 0, 1, 4, 5));
        store_vector(rows[3] + lane, __builtin_shufflevector(ab2, cd2, 2, 3, 6, 7));
    }
}

/// A part of a wave, all of it on: elements at base + at[lane]. Often they lie side by side, or all lanes read one.
template <Shape kShape>
void load_part(const uint8_t* base, const uint32_t* at, unsigned first, Destination<kShape>& to) {
    if constexpr (kShape.bytes >= 4) {
        constexpr uint32_t kStep = kShape.bytes;
        constexpr Dwords kLow{0, kStep, 2 * kStep, 3 * kStep, 4 * kStep, 5 * kStep, 6 * kStep, 7 * kStep};
        const auto low = load_vector<Dwords>(at) - at[0], high = load_vector<Dwords>(at + kDwords) - at[0];
        if (any_bits(low | high) == 0) {
            for (unsigned w = 0; w < kShape.words(); ++w) {
                const Dwords all = Dwords{} + reinterpret_cast<const MemoryDword*>(base + at[0])[w];
                store_vector(to.rows()[w] + first, all);
                store_vector(to.rows()[w] + first + kDwords, all);
            }
            return;
        }
        if constexpr (kShape.words() == 1) {
            if (any_bits((low ^ kLow) | (high ^ (kLow + kDwords * kStep))) == 0) {
                std::memcpy(to.rows()[0] + first, base + at[0], kPartLanes * kStep);
                return;
            }
        }
    }
    if constexpr (kShape.bytes >= 4)
        for (unsigned l = 0; l < kPartLanes; l += 4) gather_quad<kShape.words()>(base, at + l, to.rows(), first + l);
    else
        for (unsigned l = 0; l < kPartLanes; ++l) to.put(first + l, base + at[l]);
}

template <Shape kShape>
bool load_fast(PageCursor& cursor, const LaneAddresses& a, Destination<kShape>& to) {
    if (evenly_spaced(a, kShape.bytes)) {
        const uint8_t* host = cursor.at(a.va[0], kLanes * kShape.bytes);
        if (host) load_block<kShape>(host, to);
        return host != nullptr;
    }
    if (!evenly_spaced(a, 0)) return false;
    const uint8_t* host = cursor.at(a.va[0], kShape.bytes);
    if (host) load_one<kShape>(host, to);
    return host != nullptr;
}

/// Host address of the page on which all lanes of a part have their elements, nullptr when some are off or they are on several.
/// @param at  distances from it
inline uint8_t* one_page(PageCursor& cursor, const LaneAddresses& a, unsigned first, unsigned bytes, uint32_t* at) {
    if ((a.active >> first & kPartMask) != kPartMask) return nullptr;
    const uint64_t* va = a.va + first;
    Qwords different{};
    for (unsigned l = 0; l < kPartLanes; l += kQwords) different |= load_vector<Qwords>(va + l) ^ va[0];
    if (any_bits(different) >= kPageBytes) return nullptr;
    uint32_t last = 0;
    for (unsigned l = 0; l < kPartLanes; ++l) {
        at[l] = static_cast<uint32_t>(va[l] % kPageBytes);
        last = at[l] > last ? at[l] : last;
    }
    if (last + bytes > kPageBytes) return nullptr;
    return cursor.at(va[0] & ~(kPageBytes - 1), 1);
}

/// Load into VGPRs. The first lane that faults ends the instruction.
template <Shape kShape>
void load(ExecContext& ctx, Wave& wave, const LaneAddresses& a, unsigned vgpr) {
    count(ctx, a, kShape.bytes);
    watch(ctx, wave, a, kShape.bytes, Access::Read);
    Destination<kShape> to(wave, vgpr);
    PageCursor cursor(*ctx.pages, wave.vmid, Access::Read);
    if (load_fast<kShape>(cursor, a, to)) return;
    uint64_t rest = a.active;
    for (unsigned first = 0; first < kLanes; first += kPartLanes) {
        uint32_t at[kPartLanes];
        const uint8_t* page = one_page(cursor, a, first, kShape.bytes, at);
        if (!page) continue;
        load_part<kShape>(page, at, first, to);
        rest &= ~(kPartMask << first);
    }
    for (uint64_t mask = rest; mask; mask &= mask - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
        if (const uint8_t* host = cursor.at(a.va[lane], kShape.bytes)) {
            to.put(lane, host);
            continue;
        }
        uint8_t bytes[kShape.bytes] = {};
        fail(ctx, ctx.pages->read(wave.vmid, a.va[lane], bytes, kShape.bytes));
        if (ctx.fault != Fault::None) return;
        to.put(lane, bytes);
    }
}

template <Shape kShape>
void store(ExecContext& ctx, Wave& wave, const LaneAddresses& a, unsigned vgpr) {
    count(ctx, a, kShape.bytes);
    watch(ctx, wave, a, kShape.bytes, Access::Write);
    const Source<kShape> from(wave, vgpr);
    PageCursor cursor(*ctx.pages, wave.vmid, Access::Write);
    if (evenly_spaced(a, kShape.bytes)) {
        if (uint8_t* host = cursor.at(a.va[0], kLanes * kShape.bytes)) {
            return store_block<kShape>(from, host);
        }
    }
    for (uint64_t mask = a.active; mask; mask &= mask - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
        if (uint8_t* host = cursor.at(a.va[lane], kShape.bytes)) {
            from.get(lane, host);
            continue;
        }
        uint8_t bytes[kShape.bytes];
        from.get(lane, bytes);
        fail(ctx, ctx.pages->write(wave.vmid, a.va[lane], bytes, kShape.bytes));
        if (ctx.fault != Fault::None) return;
    }
}

/// An atomic where page() gave nothing: find out why, with the fault that hardware would raise.
/// Register pages carry no atomics: the access is dropped.
Fault refuse_atomic(ExecContext& ctx, uint32_t vmid, uint64_t va, unsigned bytes);

/// Before any lane of an atomic: the instruction is executed again when a page is missing, but each lane's atomic happens once.
/// @return true when a page has to be asked for again, which ctx.fault then says
bool page_missing(ExecContext& ctx, const Wave& wave, const LaneAddresses& a, unsigned bytes);

template <class T>
T register_value(const Wave& wave, unsigned vgpr, unsigned lane) {
    if constexpr (sizeof(T) == 8) {
        return make64(vgpr_read_row(wave, vgpr)[lane], vgpr_read_row(wave, vgpr + 1)[lane]);
    } else {
        return vgpr_read_row(wave, vgpr)[lane];
    }
}

template <class T>
constexpr Shape kWord = Shape{sizeof(T)};

/// Atomics in lane order. data registers: operand, then the compare value of CmpSwap.
/// @param returns  GLC: the old value goes to vdst
template <AtomicOp kOp, class T>
void atomic(ExecContext& ctx, Wave& wave, const LaneAddresses& a, unsigned vdata, unsigned vdst, bool returns) {
    count(ctx, a, sizeof(T));
    watch(ctx, wave, a, sizeof(T), Access::Atomic);
    if (wave.retry && page_missing(ctx, wave, a, sizeof(T))) return;
    Destination<kWord<T>> to(wave, vdst);
    PageCursor cursor(*ctx.pages, wave.vmid, Access::Atomic);
    const auto denormals = atomics::memory_denormals(wave);
    for (uint64_t mask = a.active; mask; mask &= mask - 1) {
        const unsigned lane = static_cast<unsigned>(std::countr_zero(mask));
        if (a.va[lane] % sizeof(T) != 0) {
            ctx.fault = Fault::ApertureViolation;
            return;
        }
        const T data = register_value<T>(wave, vdata, lane);
        const T other = kOp == AtomicOp::CmpSwap ? register_value<T>(wave, vdata + sizeof(T) / 4, lane) : T{};
        T old{};
        if (uint8_t* host = cursor.at(a.va[lane], sizeof(T))) {
            old = atomics::shared<kOp, T>(host, data, other, denormals);
        } else {
            fail(ctx, refuse_atomic(ctx, wave.vmid, a.va[lane], sizeof(T)));
            if (ctx.fault != Fault::None) return;
        }
        if (returns) to.put(lane, &old);
    }
}

/// Every active lane's access stays inside one dword, or is made of whole dwords.
template <unsigned kBytes>
bool dwords_whole(const SwizzledAddresses& a) {
    const auto bad = [&](unsigned lane) -> uint32_t {
        return kBytes >= 4 ? a.offset[lane] % 4 : (a.offset[lane] % 4 + kBytes > 4);
    };
    uint32_t any = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) any |= bad(lane);
    if (any == 0) return true;
    any = 0;
    for_lanes(a.active, [&](unsigned lane) { any |= bad(lane); });
    return any == 0;
}

inline void to_linear(const SwizzledAddresses& a, unsigned word, LaneAddresses& out) {
    out.active = a.active;
    for (unsigned lane = 0; lane < kLanes; ++lane) out.va[lane] = a.byte(lane, word * 4);
}

/// By the line of their first byte: accesses that are not whole dwords.
void note_watched_swizzled(ExecContext& ctx, Wave& wave, const SwizzledAddresses& a, unsigned bytes, Access access);
inline void watch_swizzled(ExecContext& ctx, Wave& wave, const SwizzledAddresses& a, unsigned bytes, Access access) {
    if (ctx.watch != nullptr) [[unlikely]]
        note_watched_swizzled(ctx, wave, a, bytes, access);
}

template <Shape kShape>
[[gnu::noinline]] void load_swizzled(ExecContext& ctx, Wave& wave, const SwizzledAddresses& a, unsigned vgpr) {
    LaneAddresses linear;
    if (dwords_whole<kShape.bytes>(a)) {
        constexpr Shape kPart = kShape.bytes > 4 ? Shape{4} : kShape;
        for (unsigned w = 0; w < kShape.words() && ctx.fault == Fault::None; ++w) {
            to_linear(a, w, linear);
            load<kPart>(ctx, wave, linear, vgpr + w);
        }
        return;
    }
    watch_swizzled(ctx, wave, a, kShape.bytes, Access::Read);
    Destination<kShape> to(wave, vgpr);
    for_lanes(a.active, [&](unsigned lane) {
        uint8_t bytes[kShape.bytes] = {};
        for (unsigned i = 0; i < kShape.bytes && ctx.fault == Fault::None; ++i) {
            fail(ctx, ctx.pages->read(wave.vmid, a.byte(lane, i), bytes + i, 1));
        }
        if (ctx.fault == Fault::None) to.put(lane, bytes);
    });
}

template <Shape kShape>
[[gnu::noinline]] void store_swizzled(ExecContext& ctx, Wave& wave, const SwizzledAddresses& a, unsigned vgpr) {
    LaneAddresses linear;
    if (dwords_whole<kShape.bytes>(a)) {
        constexpr Shape kPart = kShape.bytes > 4 ? Shape{4} : kShape;
        for (unsigned w = 0; w < kShape.words() && ctx.fault == Fault::None; ++w) {
            to_linear(a, w, linear);
            store<kPart>(ctx, wave, linear, vgpr + w);
        }
        return;
    }
    watch_swizzled(ctx, wave, a, kShape.bytes, Access::Write);
    const Source<kShape> from(wave, vgpr);
    for_lanes(a.active, [&](unsigned lane) {
        uint8_t bytes[kShape.bytes];
        from.get(lane, bytes);
        for (unsigned i = 0; i < kShape.bytes && ctx.fault == Fault::None; ++i) {
            fail(ctx, ctx.pages->write(wave.vmid, a.byte(lane, i), bytes + i, 1));
        }
    });
}

/// Atomics on swizzled memory, whose dwords lie apart: misaligned ones are refused as elsewhere. Only its owner may use a
/// 64-bit value there: private memory has no other user.
template <AtomicOp kOp, class T>
void atomic_swizzled(ExecContext& ctx, Wave& wave, const SwizzledAddresses& a, unsigned vdata, unsigned vdst, bool returns) {
    const bool aligned = [&] {
        uint64_t bad = 0;
        for_lanes(a.active, [&](unsigned lane) { bad |= a.offset[lane] % sizeof(T) | a.byte(lane, 0) % 4; });
        return bad == 0;
    }();
    if (!aligned) {
        ctx.fault = Fault::ApertureViolation;
        return;
    }
    if constexpr (sizeof(T) == 4) {
        LaneAddresses linear;
        to_linear(a, 0, linear);
        atomic<kOp, T>(ctx, wave, linear, vdata, vdst, returns);
    } else {
        watch_swizzled(ctx, wave, a, sizeof(T), Access::Atomic);
        LaneAddresses linear;
        for (unsigned w = 0; w < 2 && wave.retry; ++w) {
            to_linear(a, w, linear);
            if (page_missing(ctx, wave, linear, 4)) return;
        }
        Destination<kWord<T>> to(wave, vdst);
        for_lanes(a.active, [&](unsigned lane) {
            uint32_t half[2] = {};
            for (unsigned w = 0; w < 2 && ctx.fault == Fault::None; ++w) {
                fail(ctx, ctx.pages->read(wave.vmid, a.byte(lane, 4 * w), &half[w], 4));
            }
            if (ctx.fault != Fault::None) return;
            const T old = make64(half[0], half[1]);
            const T other = kOp == AtomicOp::CmpSwap ? register_value<T>(wave, vdata + 2, lane) : T{};
            const T value = atomics::next<kOp, T>(old, register_value<T>(wave, vdata, lane), other, {});
            const uint32_t out[2] = {lo32(value), hi32(value)};
            for (unsigned w = 0; w < 2 && ctx.fault == Fault::None; ++w) {
                fail(ctx, ctx.pages->write(wave.vmid, a.byte(lane, 4 * w), &out[w], 4));
            }
            if (returns && ctx.fault == Fault::None) to.put(lane, &old);
        });
    }
}

/// LDS addresses of the lanes in active, bytes from the start of the work-group's allocation.
struct LdsAddresses {
    uint32_t at[kLanes];  ///< not zeroed: that would be a good part of the time
    uint64_t active = 0;
    LdsAddresses() {}  // NOLINT
};

/// Host address of size bytes of the work-group's LDS, nullptr when they are not all inside.
inline uint8_t* lds_bytes(ExecContext& ctx, const Wave& wave, uint32_t address, unsigned size) {
    if (!ctx.lds || uint64_t{address} + size > wave.lds_bytes) return nullptr;
    return ctx.lds + wave.lds_base + address;
}

/// LDS = 1 of a load: a lane's dword goes to LDS at M0[15:0] + offset + lane * 4 instead of a VGPR.
inline void put_in_lds(ExecContext& ctx, const Wave& wave, const Inst& inst, unsigned lane, uint32_t value) {
    const uint32_t to = (wave.m0 & 0xffff) + static_cast<uint32_t>(inst.imm) + lane * 4;
    if (uint8_t* host = lds_bytes(ctx, wave, to, 4)) std::memcpy(host, &value, 4);
}

/// Loads with LDS = 1 of all lanes that are on; those that are not inside of their buffer load zero.
/// @param byte  address of a lane's byte n, consecutive ones unless swizzled
template <Shape kShape, class Byte>
void load_to_lds(ExecContext& ctx, Wave& wave, const Inst& inst, uint64_t inside, bool swizzled, Byte byte) {
    static_assert(kShape.bytes <= 4);
    if (ctx.traffic) ctx.traffic->add(inside, kShape.bytes, [&](unsigned lane) { return byte(lane, 0); });
    for_lanes(wave.exec, [&](unsigned lane) {
        uint8_t data[4] = {};
        const unsigned step = swizzled ? 1 : kShape.bytes;
        for (unsigned i = 0; i < kShape.bytes && bit(inside, lane) && ctx.fault == Fault::None; i += step) {
            fail(ctx, ctx.pages->read(wave.vmid, byte(lane, i), data + i, step));
        }
        if (ctx.fault != Fault::None) return;
        uint32_t value;
        std::memcpy(&value, data, 4);
        if constexpr (kShape.sign) value = static_cast<uint32_t>(sign_extend(value, kShape.bytes * 8));
        put_in_lds(ctx, wave, inst, lane, value);
    });
}

/// Start of the work-group's LDS when all lanes that are on are inside of it, so that none needs a look.
inline uint8_t* lds_all_inside(ExecContext& ctx, Wave& wave, const LdsAddresses& a, unsigned size) {
    if (!ctx.lds || a.active == 0 || a.active != wave.exec) return nullptr;
    uint32_t highest = 0;
    if (a.active == kAllLanes) {
        for (unsigned lane = 0; lane < kLanes; ++lane) highest = a.at[lane] > highest ? a.at[lane] : highest;
    } else {
        const uint32_t* on = exec_rows(wave);
        for (unsigned lane = 0; lane < kLanes; ++lane)
            highest = (a.at[lane] & on[lane]) > highest ? a.at[lane] & on[lane] : highest;
    }
    return uint64_t{highest} + size <= wave.lds_bytes ? ctx.lds + wave.lds_base : nullptr;
}

inline bool evenly_spaced(const LdsAddresses& a, uint32_t step) {
    uint32_t different = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) different |= a.at[lane] ^ (a.at[0] + lane * step);
    return different == 0;
}

/// @param strict  an address outside faults (FLAT); otherwise loads give 0 and stores are dropped (DS)
template <Shape kShape>
void load_lds(ExecContext& ctx, Wave& wave, const LdsAddresses& a, unsigned vgpr, bool strict) {
    Destination<kShape> to(wave, vgpr);
    if (const uint8_t* host = lds_all_inside(ctx, wave, a, kShape.bytes)) {
        for (unsigned first = 0; first < kLanes; first += kPartLanes) {
            const uint64_t on = a.active >> first & kPartMask;
            if (on == kPartMask)
                load_part<kShape>(host, a.at + first, first, to);
            else
                for_lanes(on << first, [&](unsigned lane) { to.put(lane, host + a.at[lane]); });
        }
        return;
    }
    for_lanes(a.active, [&](unsigned lane) {
        static constexpr uint8_t kZero[16] = {};
        const uint8_t* host = lds_bytes(ctx, wave, a.at[lane], kShape.bytes);
        if (!host && strict) ctx.fault = Fault::ApertureViolation;
        to.put(lane, host ? host : kZero);
    });
}

template <Shape kShape>
void store_lds(ExecContext& ctx, Wave& wave, const LdsAddresses& a, unsigned vgpr, bool strict) {
    const Source<kShape> from(wave, vgpr);
    if (uint8_t* host = lds_all_inside(ctx, wave, a, kShape.bytes)) {
        if (a.active != kAllLanes) return for_lanes(a.active, [&](unsigned lane) { from.get(lane, host + a.at[lane]); });
        if (evenly_spaced(a, kShape.bytes)) return store_block<kShape>(from, host + a.at[0]);
        for (unsigned lane = 0; lane < kLanes; ++lane) from.get(lane, host + a.at[lane]);
        return;
    }
    for_lanes(a.active, [&](unsigned lane) {
        if (uint8_t* host = lds_bytes(ctx, wave, a.at[lane], kShape.bytes)) {
            from.get(lane, host);
        } else if (strict) {
            ctx.fault = Fault::ApertureViolation;
        }
    });
}

/// @param vother  registers of the second operand
template <AtomicOp kOp, class T>
void atomic_lds(ExecContext& ctx, Wave& wave, const LdsAddresses& a, unsigned vdata, unsigned vother, unsigned vdst,
                bool returns, bool strict) {
    Destination<kWord<T>> to(wave, vdst);
    const atomics::Denormals denormals = atomics::f32_denormals(wave);
    if (uint8_t* base = lds_all_inside(ctx, wave, a, sizeof(T))) {
        const Source<kWord<T>> data(wave, vdata), other(wave, vother);
        const auto next = [&](T old, unsigned lane) {
            T operand, second;
            data.get(lane, &operand);
            other.get(lane, &second);
            return atomics::next<kOp, T>(old, operand, second, denormals);
        };
        const auto one_lane = [&](unsigned lane) {
            uint8_t* host = base + (a.at[lane] & ~uint32_t{sizeof(T) - 1});
            T old;
            std::memcpy(&old, host, sizeof(T));
            const T value = next(old, lane);
            std::memcpy(host, &value, sizeof(T));
            if (returns) to.put(lane, &old);
        };
        if (a.active != kAllLanes) return for_lanes(a.active, one_lane);
        const uint32_t start = a.at[0] & ~uint32_t{sizeof(T) - 1};
        if (!returns && evenly_spaced(a, 0)) {  // in a register: lanes need not wait for memory
            T value;
            std::memcpy(&value, base + start, sizeof(T));
            for (unsigned lane = 0; lane < kLanes; ++lane) value = next(value, lane);
            std::memcpy(base + start, &value, sizeof(T));
            return;
        }
        if constexpr (sizeof(T) == 4) {
            if (!returns && a.at[0] == start && evenly_spaced(a, sizeof(T))) {
                MemoryDword* line = reinterpret_cast<MemoryDword*>(base + start);
                const uint32_t *operand = data.rows()[0], *second = other.rows()[0];
                LYRA_INDEPENDENT_LANES
                for (unsigned lane = 0; lane < kLanes; ++lane)
                    line[lane] = atomics::next<kOp, T>(line[lane], operand[lane], second[lane], denormals);
                return;
            }
        }
        for (unsigned lane = 0; lane < kLanes; ++lane) one_lane(lane);
        return;
    }
    for_lanes(a.active, [&](unsigned lane) {
        T old{};
        const uint32_t address = a.at[lane] & ~uint32_t{sizeof(T) - 1};
        if (uint8_t* host = lds_bytes(ctx, wave, address, sizeof(T))) {
            std::memcpy(&old, host, sizeof(T));
            const T value = atomics::next<kOp, T>(old, register_value<T>(wave, vdata, lane),
                                                  register_value<T>(wave, vother, lane), denormals);
            std::memcpy(host, &value, sizeof(T));
        } else if (strict) {
            ctx.fault = Fault::ApertureViolation;
        }
        if (returns) to.put(lane, &old);
    });
}

}  // namespace lyra::gcn::lane_memory
