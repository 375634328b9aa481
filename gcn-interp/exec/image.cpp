// SPDX-License-Identifier: MIT
// Texels of linear images: where they are, and how they come into registers; step 6 of the data flow.
// @source AMD Vega ISA document, "Vector memory image instructions"
#include "gcn-interp/exec/image.h"

#include <algorithm>
#include <bit>

namespace lyra::gcn {

using namespace lane_memory;

ImageAccess::ImageAccess(const Wave& wave, const Inst& inst)
    : desc_(ImageDesc::read(wave, inst.saddr)),
      format_(desc_.data_format() < 16 && desc_.num_format() < 8 && desc_.num_format() != 6
                  ? buffer_format(desc_.data_format(), desc_.num_format())
                  : BufferFormat{}),
      layered_(inst.da && desc_.is_array()), plain_instruction_(!inst.r128 && !inst.lwe) {}

bool ImageAccess::supported() const {
    const ImageType type = desc_.type();
    const bool shape = type == ImageType::Line || type == ImageType::Plane || type == ImageType::Volume || desc_.is_array();
    return plain_instruction_ && shape && format_.components != 0 && desc_.base_level() == 0 && desc_.last_level() == 0 &&
           !desc_.compressed();
}

uint32_t ImageAccess::size(unsigned axis) const {
    switch (axis) {
        case 0: return desc_.width();
        case 1: return desc_.is_line() ? 1 : desc_.height();
        default: return desc_.type() == ImageType::Volume ? desc_.last_slice() + 1 : 1;
    }
}

uint64_t ImageAccess::address(uint32_t x, uint32_t y, uint32_t slice) const {
    const uint64_t layer = uint64_t{slice} + (desc_.type() == ImageType::Volume ? 0 : desc_.base_array());
    const uint64_t row = layer * size(1) + y;
    return static_cast<uint64_t>(sign_extend(desc_.base(), 48)) + (row * desc_.pitch() + x) * format_.bytes();
}

namespace {

/// Calls use(lane, n, element) for each texel of each active lane, texel by texel.
template <class Use>
void for_texels(ExecContext& ctx, Wave& wave, const ImageAccess& image, const LaneTexels* lanes, const uint32_t border[4],
                Use use) {
    const unsigned size = image.format().bytes();
    for (unsigned n = 0; n < 8; ++n) {
        LaneAddresses a;
        uint64_t in_border = 0;
        for_lanes(wave.exec, [&](unsigned lane) {
            if (n >= lanes[lane].count) return;
            a.va[lane] = lanes[lane].va[n];
            (bit(lanes[lane].border, n) ? in_border : a.active) |= uint64_t{1} << lane;
        });
        if (!(a.active | in_border)) return;
        count(ctx, a, size);
        watch(ctx, wave, a, size, Access::Read);
        for_lanes(in_border, [&](unsigned lane) { use(lane, n, border); });
        for_lanes(a.active, [&](unsigned lane) {
            if (ctx.fault != Fault::None) return;
            uint8_t data[16] = {};
            uint32_t element[4];
            fail(ctx, ctx.pages->read(wave.vmid, a.va[lane], data, size));
            unpack_element(image.format(), data, element);
            use(lane, n, element);
        });
    }
}

}  // namespace

void read_texels(ExecContext& ctx, Wave& wave, const ImageAccess& image, const LaneTexels* lanes, const uint32_t border[4],
                 uint32_t (*out)[4]) {
    double sums[kLanes][4] = {};
    for_lanes(wave.exec, [&](unsigned lane) { std::fill_n(out[lane], 4, 0u); });
    for_texels(ctx, wave, image, lanes, border, [&](unsigned lane, unsigned n, const uint32_t* element) {
        for (unsigned c = 0; c < 4; ++c) {
            const uint32_t value = selected_component(image.desc().dst_sel(c), image.format(), element);
            if (lanes[lane].count == 1) {
                out[lane][c] = value;
            } else {
                sums[lane][c] += double{lanes[lane].weight[n]} * std::bit_cast<float>(value);
                out[lane][c] = std::bit_cast<uint32_t>(static_cast<float>(sums[lane][c]));
            }
        }
    });
}

void read_gathered(ExecContext& ctx, Wave& wave, const ImageAccess& image, const LaneTexels* lanes, const uint32_t border[4],
                   unsigned component, uint32_t (*out)[4]) {
    for_lanes(wave.exec, [&](unsigned lane) { std::fill_n(out[lane], 4, 0u); });
    for_texels(ctx, wave, image, lanes, border, [&](unsigned lane, unsigned n, const uint32_t* element) {
        if (n < 4) out[lane][n] = selected_component(image.desc().dst_sel(component), image.format(), element);
    });
}

void write_components(Wave& wave, const Inst& inst, const BufferFormat& format, unsigned dmask, const uint32_t (*values)[4]) {
    unsigned count = 0;
    VgprRow dump;
    for (unsigned c = 0; c < 4; ++c) {
        if (!bit(dmask, c)) continue;
        uint32_t* row = vgpr_write_row(wave, inst.dst + (inst.d16 ? count / 2 : count), dump);
        for_lanes(wave.exec, [&](unsigned lane) {
            if (inst.d16)
                put_half(row[lane], count % 2, narrow_component(format, values[lane][c]));
            else
                row[lane] = values[lane][c];
        });
        ++count;
    }
    // Without a component there still is one register, which gets zero.
    unsigned zero_from = inst.d16 ? (count + 1) / 2 : count, zeros = inst.tfe;
    zeros += count == 0;
    for (; zeros; --zeros, ++zero_from) {
        uint32_t* row = vgpr_write_row(wave, inst.dst + zero_from, dump);
        for_lanes(wave.exec, [&](unsigned lane) { row[lane] = 0; });
    }
}

}  // namespace lyra::gcn
