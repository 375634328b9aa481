// SPDX-License-Identifier: MIT
// Typed buffer access, the format is in the instruction; step 6 of the data flow.
// @source AMD Vega ISA document, "Vector memory buffer instructions"
#include "gcn-interp/exec/buffer_typed.h"
#include "gcn-interp/exec/formats.h"

namespace lyra::gcn {
namespace {

template <TypedShape kShape>
void load(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    load_typed(ctx, wave, inst, buffer, buffer_format(inst.dfmt, inst.nfmt), kShape);
}

template <TypedShape kShape>
void store(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const BufferAccess buffer(wave, inst);
    store_typed(ctx, wave, inst, buffer, buffer_format(inst.dfmt, inst.nfmt), kShape);
}

template <Op kOp>
constexpr WaveFn mtbuf_function() {
    constexpr MemoryShape kMove = memory_shape(kOp);
    return kMove.direction == Direction::Load ? load<typed(kMove)> : store<typed(kMove)>;
}

}  // namespace

void register_mtbuf(ExecTable& table) {
#define MTBUF(opcode, name, profile, flags, ...) enter<mtbuf_function<Op::name>()>(table, Op::name, Format::MTBUF);
#include "gcn-interp/isa/mtbuf.def"
#undef MTBUF
}

}  // namespace lyra::gcn
