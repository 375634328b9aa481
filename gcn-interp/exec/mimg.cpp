// SPDX-License-Identifier: MIT
// Image access, as much as the texture and surface functions of HIP and OpenCL need: linear images of one level; step 6 of the
// data flow. The rest of the format is graphics and stays out of the table.
// @source AMD Vega ISA document, "Vector memory image instructions"
#include "gcn-interp/exec/formats.h"
#include "gcn-interp/exec/image.h"

namespace lyra::gcn {
namespace {

using namespace lane_memory;

bool refused(ExecContext& ctx, const ImageAccess& image) {
    if (!image.supported()) ctx.fault = Fault::TodoInstruction;
    return !image.supported();
}

/// Address of the texel at whole-numbered coordinates of every lane. Lanes outside of the image, or at another level than the
/// only one, are not active.
LaneAddresses texel_addresses(const Wave& wave, const Inst& inst, const ImageAccess& image, bool has_level) {
    LaneAddresses a;
    for_lanes(wave.exec, [&](unsigned lane) {
        const auto operand = [&](unsigned n) { return vgpr_read_row(wave, inst.vaddr + n)[lane]; };
        uint32_t at[3] = {};
        bool inside = !has_level || operand(image.coordinates()) == 0;
        for (unsigned n = 0; n < image.dimensions(); ++n) {
            at[n] = operand(n);
            inside &= at[n] < image.size(n);
        }
        if (image.layered()) {
            at[2] = operand(image.dimensions());
            inside &= at[2] < image.layers();
        }
        if (!inside) return;
        a.active |= uint64_t{1} << lane;
        a.va[lane] = image.address(at[0], at[1], at[2]);
    });
    return a;
}

/// Lanes outside read zeros.
template <bool kHasLevel>
void load(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const ImageAccess image(wave, inst);
    if (refused(ctx, image)) return;
    const LaneAddresses a = texel_addresses(wave, inst, image, kHasLevel);
    LaneTexels texels[kLanes];
    for_lanes(a.active, [&](unsigned lane) {
        texels[lane].count = 1;
        texels[lane].va[0] = a.va[lane];
    });
    const uint32_t none[4] = {};
    uint32_t values[kLanes][4];
    read_texels(ctx, wave, image, texels, none, values);
    if (ctx.fault == Fault::None) write_components(wave, inst, image.format(), inst.dmask, values);
}

/// Component that DST_SEL makes of component c in memory; c itself where nothing does.
unsigned register_component(const ImageDesc& desc, unsigned c) {
    for (unsigned n = 0; n < 4; ++n) {
        if (desc.dst_sel(n) == 4 + c) return n;
    }
    return c;
}

/// Components that DMASK leaves out are zero; with none the instruction does nothing.
template <bool kHasLevel>
void store(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const ImageAccess image(wave, inst);
    if (refused(ctx, image) || inst.dmask == 0) return;
    const BufferFormat& format = image.format();
    const unsigned size = format.bytes();
    const LaneAddresses a = texel_addresses(wave, inst, image, kHasLevel);
    count(ctx, a, size);
    watch(ctx, wave, a, size, Access::Write);
    for_lanes(a.active, [&](unsigned lane) {
        if (ctx.fault != Fault::None) return;
        uint32_t given[4] = {}, element[4];
        for (unsigned c = 0, n = 0; c < 4; ++c) {
            if (!bit(inst.dmask, c)) continue;
            const uint32_t word = vgpr_read_row(wave, inst.vdata + (inst.d16 ? n / 2 : n))[lane];
            given[c] = inst.d16 ? widen_component(format, n % 2 ? word >> 16 : word & 0xffff) : word;
            ++n;
        }
        for (unsigned c = 0; c < 4; ++c) element[c] = given[register_component(image.desc(), c)];
        uint8_t data[16];
        pack_element(format, element, data);
        fail(ctx, ctx.pages->write(wave.vmid, a.va[lane], data, size));
    });
}

/// On images of one 32- or 64-bit element; DMASK tells how many registers the data takes.
template <AtomicOp kOp>
void atomic_op(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const ImageAccess image(wave, inst);
    constexpr unsigned kOperands = kOp == AtomicOp::CmpSwap ? 2 : 1;
    const unsigned registers = static_cast<unsigned>(std::popcount(inst.dmask)), size = 4 * registers / kOperands;
    if (refused(ctx, image)) return;
    if (size * kOperands != 4 * registers || (size != 4 && size != 8) || size != image.format().bytes()) {
        ctx.fault = Fault::TodoInstruction;
        return;
    }
    const LaneAddresses a = texel_addresses(wave, inst, image, false);
    if (size == 4)
        atomic<kOp, uint32_t>(ctx, wave, a, inst.vdata, inst.vdata, inst.glc);
    else
        atomic<kOp, uint64_t>(ctx, wave, a, inst.vdata, inst.vdata, inst.glc);
    if (!inst.glc || ctx.fault != Fault::None) return;
    VgprRow dump;
    for (unsigned w = 0; w < size / 4; ++w) {
        uint32_t* row = vgpr_write_row(wave, inst.vdata + w, dump);
        for_lanes(wave.exec & ~a.active, [&](unsigned lane) { row[lane] = 0; });
    }
}

/// Width, height, depth or layers, and levels; zeros of a level that does not exist.
void get_resinfo(ExecContext& ctx, Wave& wave, const Inst& inst) {
    const ImageAccess image(wave, inst);
    if (refused(ctx, image)) return;
    uint32_t info[4] = {image.size(0), image.size(1), image.desc().is_array() ? image.layers() : image.size(2), 1};
    if (image.desc().type() == ImageType::LineArray) info[1] = image.layers();
    const uint32_t* level = vgpr_read_row(wave, inst.vaddr);
    uint32_t values[kLanes][4];
    for_lanes(wave.exec, [&](unsigned lane) {
        for (unsigned c = 0; c < 4; ++c) values[lane][c] = level[lane] == 0 || c == 3 ? info[c] : 0;
    });
    write_components(wave, inst, BufferFormat{1, {32}, 4}, inst.dmask, values);
}

template <SampleKind kKind, bool kGather>
void sample(ExecContext& ctx, Wave& wave, const Inst& inst) {
    image_sample<kKind, kGather>(ctx, wave, inst);
}

template <Op kOp>
constexpr WaveFn mimg_function() {
    switch (kOp) {
        case Op::image_load: return load<false>;
        case Op::image_load_mip: return load<true>;
        case Op::image_store: return store<false>;
        case Op::image_store_mip: return store<true>;
        case Op::image_get_resinfo: return get_resinfo;
        case Op::image_sample: return sample<SampleKind::Implicit, false>;
        case Op::image_sample_d: return sample<SampleKind::Derivatives, false>;
        case Op::image_sample_l: return sample<SampleKind::Lod, false>;
        case Op::image_sample_lz: return sample<SampleKind::LevelZero, false>;
        case Op::image_gather4: return sample<SampleKind::Implicit, true>;
        case Op::image_gather4_l: return sample<SampleKind::Lod, true>;
        case Op::image_gather4_lz: return sample<SampleKind::LevelZero, true>;
        default: break;
    }
    if constexpr (memory_shape(kOp).direction == Direction::Atomic) return atomic_op<memory_shape(kOp).op>;
    return nullptr;
}

}  // namespace

void register_mimg(ExecTable& table) {
#define MIMG(opcode, name, profile, flags, ...) enter<mimg_function<Op::name>()>(table, Op::name, Format::MIMG);
#include "gcn-interp/isa/mimg.def"
#undef MIMG
}

}  // namespace lyra::gcn
