// SPDX-License-Identifier: MIT
// The fast memory functions: classify the lanes' addresses, then move all of them.
#include "gcn-interp/exec/fast_memory.h"

#include <bit>

#include "gcn-interp/exec/fast_lanes.h"

namespace lyra::gcn {
namespace fast {
namespace {

/// How active lanes lie: guessed by the first two, then looked at for all.
enum class Order { No, Same, Line, HalfLine };

template <Backend kBackend>
[[gnu::always_inline]] inline Order order_of(const uint32_t* low, uint64_t exec, uint32_t bytes) {
    const unsigned first = static_cast<unsigned>(std::countr_zero(exec));
    const uint64_t others = exec & (exec - 1);
    const unsigned second = others ? static_cast<unsigned>(std::countr_zero(others)) : first;
    const uint32_t distance = low[second] - low[first], lanes = second - first;
    if (distance == 0) return Lanes<kBackend>::on_line(low, low[first], 0, exec) ? Order::Same : Order::No;
    for (const Order order : {Order::Line, Order::HalfLine}) {
        const uint32_t step = order == Order::Line ? bytes : bytes / 2;
        if (distance == lanes * step)
            return Lanes<kBackend>::on_line(low, low[first] - first * step, step, exec) ? order : Order::No;
    }
    return Order::No;
}

/// The last of active lanes that lie on a line is in the window, as the first one is.
inline bool line_inside(const uint32_t* low, const Window& w, uint64_t exec, uint32_t step) {
    const auto first = static_cast<unsigned>(std::countr_zero(exec)), last = 63 - static_cast<unsigned>(std::countl_zero(exec));
    return uint64_t{low[first] - w.first} + (last - first) * step <= w.last;
}

/// Where lane 0 of a line would be: with the lane off, this may be no memory.
inline uint8_t* line_start(const uint32_t* low, const Window& w, uint64_t exec, uint32_t step) {
    const auto first = static_cast<unsigned>(std::countr_zero(exec));
    const uintptr_t start = reinterpret_cast<uintptr_t>(w.host) + (low[first] - w.first) - uintptr_t{first} * step;
    return reinterpret_cast<uint8_t*>(start);  // NOLINT(performance-no-int-to-ptr)
}

/// @param w  its last is for an element of kShape, and holds the first active lane
template <Backend kBackend, Shape kShape>
[[gnu::always_inline]] inline bool load(uint32_t* rows, const uint32_t* low, const Window& w, uint64_t exec) {
    using To = Lanes<kBackend>;
    // Neighbours share half of what they load: compilers make this of a[i] and a[i + 1].
    constexpr bool kHalves = kShape.words() == 2 || kShape.words() == 4;
    Destination<kShape> to(rows);
    switch (order_of<kBackend>(low, exec, kShape.bytes)) {
        case Order::Same: To::template load_same<kShape>(to, line_start(low, w, exec, 0), exec); return true;
        case Order::Line:
            if (!line_inside(low, w, exec, kShape.bytes)) return false;
            To::template load_line<kShape>(to, line_start(low, w, exec, kShape.bytes), exec);
            return true;
        case Order::HalfLine:
            if constexpr (kHalves) {
                if (exec != kAllLanes) break;
                if (!line_inside(low, w, exec, kShape.bytes / 2)) return false;
                constexpr unsigned kWords = kShape.words() / 2;
                const uint8_t* line = line_start(low, w, exec, 0);
                lane_memory::deinterleave<kWords>(line, to.rows());
                lane_memory::deinterleave<kWords>(line + kWords * 4, to.rows() + kWords);
                return true;
            }
            break;
        case Order::No: break;
    }
    if (!To::inside(low, w, exec)) return false;
    To::template load_lanes<kShape>(to, low, w, exec);
    return true;
}

template <Backend kBackend, Shape kShape>
[[gnu::always_inline]] inline bool store(const uint32_t* rows, const uint32_t* low, const Window& w, uint64_t exec) {
    using From = Lanes<kBackend>;
    const Source<kShape> from(rows);
    switch (order_of<kBackend>(low, exec, kShape.bytes)) {
        case Order::Same:
            from.get(63 - static_cast<unsigned>(std::countl_zero(exec)), line_start(low, w, exec, 0));
            return true;
        case Order::Line:
            if (!line_inside(low, w, exec, kShape.bytes)) return false;
            From::template store_line<kShape>(from, line_start(low, w, exec, kShape.bytes), exec);
            return true;
        default: break;
    }
    if (!From::inside(low, w, exec)) return false;
    From::template store_lanes<kShape>(from, low, w, exec);
    return true;
}

/// Of the range that holds the first active lane.
/// @param base   lane l is at base + o, o = low[l] + plus modulo 2^32
/// @param limit  o and the element's bytes have to be inside of it
[[gnu::always_inline]] inline bool find_window(const uint32_t* low, uint32_t plus, uint64_t limit, uint64_t base, uint64_t exec,
                                               Tlb& tlb, uint32_t bytes, Window& w) {
    const uint32_t o = low[std::countr_zero(exec)] + plus;
    const uint64_t va = base + o;
    const TlbEntry* entry = tlb.find(va);
    if (entry == nullptr) return false;
    // Of the range, as values of o; a range is shorter than 2^31.
    const auto start = static_cast<int64_t>(o) - static_cast<int64_t>(va - entry->start);
    const int64_t end = start + static_cast<int64_t>(entry->size) - bytes;
    const int64_t from = std::max<int64_t>(start, 0);
    const int64_t to = std::min<int64_t>(end, static_cast<int64_t>(std::min<uint64_t>(limit, uint64_t{1} << 33)) - bytes);
    const int64_t last = std::min<int64_t>(to, ~uint32_t{0});
    if (o > last) return false;
    const auto first = static_cast<uint32_t>(from);
    w = {entry->host(base + first), first - plus, static_cast<uint32_t>(last - from)};
    return true;
}
inline constexpr uint64_t kNoLimit = uint64_t{1} << 33;

/// The high halves of addresses are one.
template <Backend kBackend>
[[gnu::always_inline]] inline bool one_high(const uint32_t* high, uint64_t exec, uint64_t& base) {
    if (high == nullptr) return true;
    const uint32_t value = high[std::countr_zero(exec)];
    base += uint64_t{value} << 32;
    return Lanes<kBackend>::on_line(high, value, 0, exec);
}

inline bool lds_window(const uint32_t* low, uint32_t plus, uint64_t exec, uint8_t* lds, uint32_t bytes, uint32_t element,
                       Window& w) {
    if (lds == nullptr || bytes < element) return false;
    w = {lds, 0u - plus, bytes - element};
    return low[std::countr_zero(exec)] + plus <= w.last;
}

}  // namespace
}  // namespace fast

using lane_memory::Shape;

#define LYRA_FAST_MEMORY(backend, attribute)                                                                                \
    template <Shape kShape>                                                                                                 \
    [[gnu::flatten, attribute]] bool FastMemory<Backend::backend>::load(                                                    \
        uint32_t* rows, const uint32_t* low, const uint32_t* high, uint64_t base, uint64_t exec, Tlb& tlb) {                \
        fast::Window w;                                                                                                     \
        if (exec == 0) return true;                                                                                         \
        return fast::one_high<Backend::backend>(high, exec, base) &&                                                        \
               fast::find_window(low, 0, fast::kNoLimit, base, exec, tlb, kShape.bytes, w) &&                               \
               fast::load<Backend::backend, kShape>(rows, low, w, exec);                                                    \
    }                                                                                                                       \
    template <Shape kShape>                                                                                                 \
    [[gnu::flatten, attribute]] bool FastMemory<Backend::backend>::store(                                                   \
        const uint32_t* rows, const uint32_t* low, const uint32_t* high, uint64_t base, uint64_t exec, Tlb& tlb) {          \
        fast::Window w;                                                                                                     \
        if (exec == 0) return true;                                                                                         \
        return fast::one_high<Backend::backend>(high, exec, base) &&                                                        \
               fast::find_window(low, 0, fast::kNoLimit, base, exec, tlb, kShape.bytes, w) &&                               \
               fast::store<Backend::backend, kShape>(rows, low, w, exec);                                                   \
    }                                                                                                                       \
    template <Shape kShape>                                                                                                 \
    [[gnu::flatten, attribute]] bool FastMemory<Backend::backend>::load_buffer(                                             \
        uint32_t* rows, const uint32_t* low, uint32_t plus, uint64_t limit, uint64_t base, uint64_t exec, Tlb& tlb) {       \
        fast::Window w;                                                                                                     \
        if (exec == 0) return true;                                                                                         \
        return fast::find_window(low, plus, limit, base, exec, tlb, kShape.bytes, w) &&                                     \
               fast::load<Backend::backend, kShape>(rows, low, w, exec);                                                    \
    }                                                                                                                       \
    template <Shape kShape>                                                                                                 \
    [[gnu::flatten, attribute]] bool FastMemory<Backend::backend>::store_buffer(                                            \
        const uint32_t* rows, const uint32_t* low, uint32_t plus, uint64_t limit, uint64_t base, uint64_t exec, Tlb& tlb) { \
        fast::Window w;                                                                                                     \
        if (exec == 0) return true;                                                                                         \
        return fast::find_window(low, plus, limit, base, exec, tlb, kShape.bytes, w) &&                                     \
               fast::store<Backend::backend, kShape>(rows, low, w, exec);                                                   \
    }                                                                                                                       \
    template <Shape kShape>                                                                                                 \
    [[gnu::flatten, attribute]] bool FastMemory<Backend::backend>::load_lds(                                                \
        uint32_t* rows, const uint32_t* low, uint32_t plus, uint64_t exec, uint8_t* lds, uint32_t bytes) {                  \
        fast::Window w;                                                                                                     \
        if (exec == 0) return true;                                                                                         \
        return fast::lds_window(low, plus, exec, lds, bytes, kShape.bytes, w) &&                                            \
               fast::load<Backend::backend, kShape>(rows, low, w, exec);                                                    \
    }                                                                                                                       \
    template <Shape kShape>                                                                                                 \
    [[gnu::flatten, attribute]] bool FastMemory<Backend::backend>::store_lds(                                               \
        const uint32_t* rows, const uint32_t* low, uint32_t plus, uint64_t exec, uint8_t* lds, uint32_t bytes) {            \
        fast::Window w;                                                                                                     \
        if (exec == 0) return true;                                                                                         \
        return fast::lds_window(low, plus, exec, lds, bytes, kShape.bytes, w) &&                                            \
               fast::store<Backend::backend, kShape>(rows, low, w, exec);                                                   \
    }
LYRA_FOR_EACH_BACKEND(LYRA_FAST_MEMORY)
#undef LYRA_FAST_MEMORY

namespace {

template <Backend kBackend, Shape kShape, bool kStores>
bool take(const Shape& shape, FastMoves& moves) {
    if (shape != kShape) return false;
    using F = FastMemory<kBackend>;
    moves.load = F::template load<kShape>;
    moves.load_buffer = F::template load_buffer<kShape>;
    moves.load_lds = F::template load_lds<kShape>;
    if constexpr (kStores) {
        moves.store = F::template store<kShape>;
        moves.store_buffer = F::template store_buffer<kShape>;
        moves.store_lds = F::template store_lds<kShape>;
    }
    return true;
}

template <Backend kBackend>
FastMoves moves_of(const Shape& shape) {
    FastMoves m;
    constexpr bool kSign = true, kD16 = true, kHi = true;
    static_cast<void>(
        take<kBackend, Shape{4}, true>(shape, m) || take<kBackend, Shape{8}, true>(shape, m) ||
        take<kBackend, Shape{12}, true>(shape, m) || take<kBackend, Shape{16}, true>(shape, m) ||
        take<kBackend, Shape{1}, true>(shape, m) || take<kBackend, Shape{2}, true>(shape, m) ||
        take<kBackend, Shape{1, false, false, kHi}, true>(shape, m) ||
        take<kBackend, Shape{2, false, false, kHi}, true>(shape, m) || take<kBackend, Shape{1, kSign}, false>(shape, m) ||
        take<kBackend, Shape{2, kSign}, false>(shape, m) || take<kBackend, Shape{1, false, kD16}, false>(shape, m) ||
        take<kBackend, Shape{1, false, kD16, kHi}, false>(shape, m) || take<kBackend, Shape{1, kSign, kD16}, false>(shape, m) ||
        take<kBackend, Shape{1, kSign, kD16, kHi}, false>(shape, m) || take<kBackend, Shape{2, false, kD16}, false>(shape, m) ||
        take<kBackend, Shape{2, false, kD16, kHi}, false>(shape, m));
    return m;
}

}  // namespace

FastMoves fast_moves(const Shape& shape, Backend backend) {
    switch (backend) {
        case Backend::Portable: return moves_of<Backend::Portable>(shape);
        case Backend::Avx2: return moves_of<Backend::Avx2>(shape);
        case Backend::Avx512: return moves_of<Backend::Avx512>(shape);
    }
    return {};
}

}  // namespace lyra::gcn
