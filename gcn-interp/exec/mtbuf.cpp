// SPDX-License-Identifier: MIT
// Typed buffer access, the format is in the instruction; step 6 of the data flow.
// @source AMD Vega ISA document, "Vector memory buffer instructions"
#include "gcn-interp/exec/buffer_typed.h"
#include "gcn-interp/exec/formats.h"

namespace lyra::gcn {
namespace {

template <unsigned kComponents, bool kD16>
void load(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    load_typed(ctx, wave, inst, buffer, buffer_format(inst.dfmt, inst.nfmt), {kComponents, kD16, false});
}

template <unsigned kComponents, bool kD16>
void store(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    store_typed(ctx, wave, inst, buffer, buffer_format(inst.dfmt, inst.nfmt), {kComponents, kD16, false});
}

/// Opcodes: load xyzw 0..3, store 4..7, then the same with 16-bit registers.
template <unsigned kOpcode>
constexpr WaveFn mtbuf_function() {
    constexpr unsigned kComponents = kOpcode % 4 + 1;
    constexpr bool kD16 = kOpcode >= 8;
    if constexpr (kOpcode / 4 % 2 == 0) {
        return load<kComponents, kD16>;
    } else {
        return store<kComponents, kD16>;
    }
}

}  // namespace

void register_mtbuf(ExecTable& table) {
#define MTBUF(opcode, name, profile, flags, ...) enter<mtbuf_function<opcode>()>(table, Op::name, Format::MTBUF);
#include "gcn-interp/isa/mtbuf.def"
#undef MTBUF
}

}  // namespace lyra::gcn
