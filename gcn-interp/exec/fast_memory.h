// SPDX-License-Identifier: MIT
// Loads and stores of a wave whose lanes all stay in one range of plain memory, or in LDS; step 6 of the data flow.
//
// No wave and no instruction is needed: interpreter and translated code call the same functions. Each either does all that the
// instruction does, or returns false and has changed nothing: then the handler of the instruction has to run. They do not know
// of watchpoints, listeners and traffic; who has any does not call them. A wave whose EXEC is 0 moves nothing, which is true.
//
// Where lanes overlap in a store, the highest one wins.
#pragma once

#include "gcn-interp/exec/lane_shape.h"
#include "gcn-interp/exec/tlb.h"
#include "gcn-interp/wave/backend.h"

namespace lyra::gcn {

/// Global memory: lane l is at base + low[l] + (high[l] << 32).
/// @param rows  the VGPR that is loaded or stored; further ones follow it, and the wave owns all of them
/// @param high  nullptr: zeros
/// @param tlb   of the wave's VMID, for Access::Read or Access::Write
using FastLoad = bool (*)(uint32_t* rows, const uint32_t* low, const uint32_t* high, uint64_t base, uint64_t exec, Tlb& tlb);
using FastStore = bool (*)(const uint32_t* rows, const uint32_t* low, const uint32_t* high, uint64_t base, uint64_t exec,
                           Tlb& tlb);

/// A buffer without index: lane l is at base + o, with o = low[l] + plus modulo 2^32.
/// @param limit  bytes of the buffer behind base; false when some lane's element is not inside
using FastBufferLoad = bool (*)(uint32_t* rows, const uint32_t* low, uint32_t plus, uint64_t limit, uint64_t base,
                                uint64_t exec, Tlb& tlb);
using FastBufferStore = bool (*)(const uint32_t* rows, const uint32_t* low, uint32_t plus, uint64_t limit, uint64_t base,
                                 uint64_t exec, Tlb& tlb);

/// LDS: lane l is at lds + o, with o = low[l] + plus modulo 2^32; false when some lane's element is not inside of bytes.
using FastLdsLoad = bool (*)(uint32_t* rows, const uint32_t* low, uint32_t plus, uint64_t exec, uint8_t* lds, uint32_t bytes);
using FastLdsStore = bool (*)(const uint32_t* rows, const uint32_t* low, uint32_t plus, uint64_t exec, uint8_t* lds,
                              uint32_t bytes);

/// Compiled for one back end. Defined for the shapes of fast_memory.cpp, which are those that instructions have.
template <Backend kBackend>
struct FastMemory;

#define LYRA_FAST_MEMORY(backend, attribute)                                                                             \
    template <>                                                                                                          \
    struct FastMemory<Backend::backend> {                                                                                \
        template <lane_memory::Shape kShape>                                                                             \
        [[attribute]] static bool load(uint32_t*, const uint32_t*, const uint32_t*, uint64_t, uint64_t, Tlb&);           \
        template <lane_memory::Shape kShape>                                                                             \
        [[attribute]] static bool store(const uint32_t*, const uint32_t*, const uint32_t*, uint64_t, uint64_t, Tlb&);    \
        template <lane_memory::Shape kShape>                                                                             \
        [[attribute]] static bool load_buffer(uint32_t*, const uint32_t*, uint32_t, uint64_t, uint64_t, uint64_t, Tlb&); \
        template <lane_memory::Shape kShape>                                                                             \
        [[attribute]] static bool store_buffer(const uint32_t*, const uint32_t*, uint32_t, uint64_t, uint64_t, uint64_t, \
                                               Tlb&);                                                                    \
        template <lane_memory::Shape kShape>                                                                             \
        [[attribute]] static bool load_lds(uint32_t*, const uint32_t*, uint32_t, uint64_t, uint8_t*, uint32_t);          \
        template <lane_memory::Shape kShape>                                                                             \
        [[attribute]] static bool store_lds(const uint32_t*, const uint32_t*, uint32_t, uint64_t, uint8_t*, uint32_t);   \
    };
LYRA_FOR_EACH_BACKEND(LYRA_FAST_MEMORY)
#undef LYRA_FAST_MEMORY

struct FastMoves {
    FastLoad load = nullptr;
    FastBufferLoad load_buffer = nullptr;
    FastLdsLoad load_lds = nullptr;
    FastStore store = nullptr;  ///< nullptr for shapes that only loads have
    FastBufferStore store_buffer = nullptr;
    FastLdsStore store_lds = nullptr;
};
/// The functions for an element: element(memory_shape(op)). nullptr: no instruction has this shape.
FastMoves fast_moves(const lane_memory::Shape& shape, Backend backend = host_backend());

}  // namespace lyra::gcn
