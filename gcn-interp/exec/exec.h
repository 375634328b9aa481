// SPDX-License-Identifier: MIT
// What an instruction handler gets, and where the handlers are looked up at decode time; step 6 of the data flow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/env.h"
#include "common/fault.h"
#include "common/memory_port.h"
#include "gcn-interp/exec/flow.h"
#include "gcn-interp/exec/rows.h"
#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/backend.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

class PageCache;
class TrafficCounter;
class WaveServices;
struct Watchpoints;

/// The wave that executes, and what its instructions can reach. Vector ALU handlers use `wave` and `fault` only; the
/// pointers may then be null.
struct ExecContext {
    /// Not an aggregate: GCC zeroes all of one, 3 KB of scratch rows, when a member is left out.
    explicit ExecContext(Wave& of, Env* in = nullptr, MemoryPort* port = nullptr, WaveServices* served = nullptr,
                         uint8_t* lds_start = nullptr)
        : wave(of), env(in), memory(port), services(served), lds(lds_start) {}

    Wave& wave;
    Env* env;
    MemoryPort* memory;
    WaveServices* services;
    uint8_t* lds;  ///< start of the CU's LDS, kLdsBytes long; the wave may use [lds_base, lds_base + lds_bytes)
    Fault fault = Fault::None;  ///< set by a handler: the instruction had no (further) effect and the wave takes an exception
    bool yield = false;  ///< set by a handler: the wave gives up the rest of its turn (s_sleep, s_barrier, s_endpgm)
    const Watchpoints* watch = nullptr;  ///< nullptr while no address is watched
    PageCache* pages = nullptr;  ///< translated pages of the CU; every data access goes through it
    bool rows_written = false;  ///< VGPRs may hold something else than before
    Request request = Request::None;  ///< what the step loop has to do after this instruction
    uint32_t request_arg = 0;
    TrafficCounter* traffic = nullptr;  ///< virtual time only: counts what memory is touched
    Rows rows;  ///< of the vector instruction that executes; here, so that its handler needs no stack of its own
    Scratch scratch;

    void ask(Request kind, uint32_t arg = 0) {
        request = kind;
        request_arg = arg;
        yield = true;
    }
};

/// Execute one instruction of ctx.wave. wave.pc is already past the instruction; branches overwrite it.
using ExecFn = void (*)(ExecContext& ctx, const Inst& inst);

/// Handlers by operation and format.
class ExecTable {
public:
    explicit ExecTable(Backend backend) : backend_(backend) {}
    /// Whose functions are entered.
    Backend backend() const { return backend_; }
    void set(Op op, Format format, ExecFn fn) {
        const size_t at = index(op, format);
        if (at >= table_.size()) table_.resize(at + kFormats, nullptr);
        table_[at] = fn;
    }
    ExecFn get(Op op, Format format) const {
        const size_t at = index(op, format);
        return at < table_.size() ? table_[at] : nullptr;
    }

private:
    static constexpr size_t kFormats = static_cast<size_t>(Format::Invalid) + 1;
    static constexpr size_t index(Op op, Format format) {
        return static_cast<size_t>(op) * kFormats + static_cast<size_t>(format);
    }
    Backend backend_;
    std::vector<ExecFn> table_;
};

/// Enter all vector ALU handlers (VOP1, VOP2, VOP3, VOP3P, VOPC with their SDWA, DPP and e64 forms).
void register_vector_alu(ExecTable& table);
/// Enter all scalar, branch, message and memory handlers (SOP*, SMEM, DS, FLAT, MUBUF, MTBUF, MIMG).
void register_scalar_and_memory(ExecTable& table);

/// The handler of an operation in a format; nullptr when the model lacks it.
ExecFn exec_handler(Op op, Format format, Backend backend = host_backend());
/// The same for decoded code. @param observed  by ctx.env->observer
ExecFn exec_function(Op op, Format format, bool observed = false);
/// That of an instruction, whose data may be in AccVGPRs.
ExecFn exec_function(const Inst& inst, bool observed = false);

}  // namespace lyra::gcn
