// SPDX-License-Identifier: MIT
// Texels of linear images: where they are, and how they come into registers; step 6 of the data flow.
#pragma once

#include <algorithm>

#include "gcn-interp/exec/buffer_format.h"
#include "gcn-interp/exec/lane_memory.h"
#include "gcn-interp/wave/image_desc.h"

namespace lyra::gcn {

/// One image instruction. Every swizzle mode is taken as linear: what reaches an image only through image instructions is
/// consistent so, and needs no more room than the tiled layout.
class ImageAccess {
public:
    ImageAccess(const Wave& wave, const Inst& inst);

    /// False for what is graphics only: cubes, several samples or levels, compression, block formats, 16-bit addresses.
    bool supported() const;
    const ImageDesc& desc() const { return desc_; }
    const BufferFormat& format() const { return format_; }
    unsigned dimensions() const { return desc_.dimensions(); }
    /// The instruction gives the layer, after the other coordinates.
    bool layered() const { return layered_; }
    unsigned coordinates() const { return dimensions() + (layered_ ? 1 : 0); }
    /// Texels along an axis, 0 x, 1 y, 2 z.
    uint32_t size(unsigned axis) const;
    uint32_t layers() const {
        return desc_.is_array() ? desc_.last_slice() - std::min(desc_.base_array(), desc_.last_slice()) + 1 : 1;
    }
    /// @param slice  z of a volume, layer of an array, else 0
    uint64_t address(uint32_t x, uint32_t y, uint32_t slice) const;

private:
    ImageDesc desc_;
    BufferFormat format_;
    bool layered_;
    bool plain_instruction_;
};

/// What one lane reads: up to eight texels and their weights.
struct LaneTexels {
    uint8_t count = 0;
    uint8_t border = 0;    ///< bit n: texel n has the border color
    uint64_t va[8];
    float weight[8];
};

/// Reads and mixes the texels of the active lanes. @param out components after DST_SEL: floats, or integers of integer formats
void read_texels(ExecContext& ctx, Wave& wave, const ImageAccess& image, const LaneTexels* lanes, const uint32_t border[4],
                 uint32_t (*out)[4]);

/// A component of one texel each, in the order of the texels (gather4).
void read_gathered(ExecContext& ctx, Wave& wave, const ImageAccess& image, const LaneTexels* lanes, const uint32_t border[4],
                   unsigned component, uint32_t (*out)[4]);

/// Components that dmask asks for go to consecutive registers, or halves of them (D16); TFE adds a register of zero.
void write_components(Wave& wave, const Inst& inst, const BufferFormat& format, unsigned dmask, const uint32_t (*values)[4]);

/// IMAGE_SAMPLE*, IMAGE_GATHER4*. kDerivatives: they come first and choose no level, there is only one.
enum class SampleKind : uint8_t { Implicit, Derivatives, Lod, LevelZero };
template <SampleKind kKind, bool kGather>
void image_sample(ExecContext& ctx, Wave& wave, const Inst& inst);

}  // namespace lyra::gcn
