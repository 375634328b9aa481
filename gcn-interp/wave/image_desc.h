// SPDX-License-Identifier: MIT
// The image resource descriptor (T#) that eight SGPRs hold, and the sampler descriptor (S#) in four.
#pragma once

#include <array>
#include <cstdint>

#include "common/bits.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

template <std::size_t kWords>
std::array<uint32_t, kWords> read_sgprs(const Wave& wave, unsigned sgpr) {
    std::array<uint32_t, kWords> words{};
    for (unsigned n = 0; n < kWords; ++n) words[n] = wave.read_scalar(sgpr + n);
    return words;
}

/// @source Linux 6.12 vega10_enum.h SQ_RSRC_IMG_TYPE
enum class ImageType : uint8_t { Line = 8, Plane = 9, Volume = 10, Cube = 11, LineArray = 12, PlaneArray = 13 };

/// @source Linux 6.12 gc_9_0_sh_mask.h SQ_IMG_RSRC_WORD0..7
struct ImageDesc {
    std::array<uint32_t, 8> word;

    static ImageDesc read(const Wave& wave, unsigned sgpr) { return {read_sgprs<8>(wave, sgpr)}; }

    uint64_t base() const { return make64(word[0], word[1] & 0xff) << 8; }
    uint32_t data_format() const { return bits(word[1], 20, 6); }
    uint32_t num_format() const { return bits(word[1], 26, 4); }
    uint32_t width() const { return bits(word[2], 0, 14) + 1; }
    uint32_t height() const { return bits(word[2], 14, 14) + 1; }
    uint32_t dst_sel(unsigned component) const { return bits(word[3], 3 * component, 3); }
    uint32_t base_level() const { return bits(word[3], 12, 4); }
    uint32_t last_level() const { return bits(word[3], 16, 4); }
    ImageType type() const { return static_cast<ImageType>(bits(word[3], 28, 4)); }
    uint32_t last_slice() const { return bits(word[4], 0, 13); }  ///< DEPTH: of a volume, or number of an array's last layer
    uint32_t pitch() const { return bits(word[4], 13, 16) + 1; }  ///< elements from row to row
    uint32_t base_array() const { return bits(word[5], 0, 13); }
    bool compressed() const { return bit(word[6], 21); }

    unsigned dimensions() const { return type() == ImageType::Volume ? 3 : is_line() ? 1 : 2; }
    bool is_line() const { return type() == ImageType::Line || type() == ImageType::LineArray; }
    bool is_array() const { return type() == ImageType::LineArray || type() == ImageType::PlaneArray; }
};

/// @source Linux 6.12 vega10_enum.h SQ_TEX_CLAMP
enum class TexClamp : uint8_t {
    Wrap,
    Mirror,
    LastTexel,
    MirrorOnceLastTexel,
    HalfBorder,
    MirrorOnceHalfBorder,
    Border,
    MirrorOnceBorder
};

/// @source Linux 6.12 gc_9_0_sh_mask.h SQ_IMG_SAMP_WORD0..3, vega10_enum.h SQ_TEX_XY_FILTER, SQ_TEX_BORDER_COLOR
struct SamplerDesc {
    std::array<uint32_t, 4> word;

    static SamplerDesc read(const Wave& wave, unsigned sgpr) { return {read_sgprs<4>(wave, sgpr)}; }

    TexClamp clamp(unsigned axis) const { return static_cast<TexClamp>(bits(word[0], 3 * axis, 3)); }
    bool unnormalized() const { return bit(word[0], 15); }
    bool degamma() const { return bit(word[0], 20); }
    bool trunc_coord() const { return bit(word[0], 27); }
    uint32_t filter_mode() const { return bits(word[0], 29, 2); }  ///< 0: weighted mean, else minimum or maximum
    uint32_t mag_filter() const { return bits(word[2], 20, 2); }   ///< 0 point, 1 bilinear
    uint32_t min_filter() const { return bits(word[2], 22, 2); }
    uint32_t z_filter() const { return bits(word[2], 24, 2); }      ///< 0 as the others, 1 point, 2 linear
    uint32_t border_color() const { return bits(word[3], 30, 2); }  ///< 0 transparent black, 1 black, 2 white, 3 from a table
};

}  // namespace lyra::gcn
