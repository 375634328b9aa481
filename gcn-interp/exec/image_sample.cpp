// SPDX-License-Identifier: MIT
// Sampling of linear images of one level: coordinates to texels and weights; step 6 of the data flow.
// @source AMD Vega ISA document, "Image sampling"; Linux 6.12 vega10_enum.h SQ_TEX_*; Mesa radeonsi for Z_FILTER and
// TRUNC_COORD. The hardware's own arithmetic is not published: coordinates are rounded to 1/256 texel, as its weights have
// eight bits, and the weighted sum is formed in double and rounded once.
#include <algorithm>
#include <bit>
#include <cmath>

#include "gcn-interp/exec/image.h"

namespace lyra::gcn {
namespace {

using namespace lane_memory;

constexpr int64_t kBorder = -1;

bool has_border(TexClamp clamp) { return clamp == TexClamp::Border || clamp == TexClamp::MirrorOnceBorder; }

/// The texel that stands for number i of an axis, or kBorder.
int64_t resolve(int64_t i, int64_t size, TexClamp clamp) {
    const auto modulo = [](int64_t a, int64_t n) { return (a % n + n) % n; };
    switch (clamp) {
        case TexClamp::Wrap: return modulo(i, size);
        case TexClamp::Mirror: {
            const int64_t m = modulo(i, 2 * size);
            return m < size ? m : 2 * size - 1 - m;
        }
        case TexClamp::MirrorOnceLastTexel: return std::min(i < 0 ? -1 - i : i, size - 1);
        case TexClamp::Border: return i < 0 || i >= size ? kBorder : i;
        case TexClamp::MirrorOnceBorder: return (i < 0 ? -1 - i : i) >= size ? kBorder : (i < 0 ? -1 - i : i);
        default: return std::clamp<int64_t>(i, 0, size - 1);
    }
}

/// One or two texels along an axis.
struct AxisTexels {
    int64_t at[2];
    float weight[2];
    unsigned count;
};

struct AxisRule {
    int64_t size;
    TexClamp clamp;
    bool normalized, linear, truncate, both;  ///< both: two texels also where the second has no weight (gather4)
};

AxisTexels axis_texels(float coordinate, const AxisRule& rule) {
    double u = std::isnan(coordinate) ? 0.0 : coordinate;
    if (rule.normalized) {
        // Exact also far away, where texels are finer than the coordinate.
        if (rule.clamp == TexClamp::Wrap) u = std::isinf(u) ? 0 : u - std::floor(u);
        if (rule.clamp == TexClamp::Mirror) u = std::isinf(u) ? 0 : u - 2 * std::floor(u / 2);
        u *= static_cast<double>(rule.size);
    }
    u = std::clamp(u, -1e9, 1e9);
    if (rule.linear) u -= 0.5;
    if (rule.linear || !rule.truncate) u = std::floor(u * 256 + 0.5) / 256;
    const double low = std::floor(u);
    const auto first = static_cast<int64_t>(low);
    const auto rest = static_cast<float>(u - low);
    const bool two = rule.linear && (rest != 0 || rule.both);
    return {{resolve(first, rule.size, rule.clamp), resolve(first + 1, rule.size, rule.clamp)},
            {two ? 1 - rest : 1, rest},
            two ? 2u : 1u};
}

/// One lane's coordinates, sampler and image made into texels.
class Sampler {
public:
    Sampler(const ImageAccess& image, const SamplerDesc& desc, bool unnormalized, bool gather)
        : image_(image), desc_(desc), normalized_(!unnormalized && !desc.unnormalized()), gather_(gather) {}

    bool supported() const {
        if (desc_.filter_mode() || desc_.degamma() || desc_.mag_filter() > 1 || desc_.min_filter() > 1 || desc_.z_filter() > 2)
            return false;
        bool border = false;
        for (unsigned axis = 0; axis < image_.dimensions(); ++axis) {
            const TexClamp clamp = desc_.clamp(axis);
            if (clamp == TexClamp::HalfBorder || clamp == TexClamp::MirrorOnceHalfBorder) return false;
            border |= has_border(clamp);
        }
        const bool mixes = !gather_ && (desc_.mag_filter() | desc_.min_filter() | (desc_.z_filter() == 2));
        return !(border && desc_.border_color() == 3) && !(mixes && image_.format().integer()) &&
               !(gather_ && image_.dimensions() != 2);
    }

    /// @param coordinates  x, y, z as there are, then the layer
    LaneTexels texels(const float* coordinates, bool linear) const {
        AxisTexels axis[3];
        for (unsigned n = 0; n < 3; ++n) {
            if (n < image_.dimensions())
                axis[n] = axis_texels(coordinates[n], rule(n, linear));
            else
                axis[n] = {{0, 0}, {1, 0}, 1};
        }
        uint32_t layer = 0;
        if (image_.layered()) {
            const float wish = coordinates[image_.dimensions()];
            const float last = static_cast<float>(image_.layers() - 1);
            layer = static_cast<uint32_t>(std::isnan(wish) ? 0 : std::clamp(std::nearbyint(wish), 0.0f, last));
        }
        LaneTexels out;
        for (unsigned k = 0; k < axis[2].count; ++k)
            for (unsigned j = 0; j < axis[1].count; ++j)
                for (unsigned i = 0; i < axis[0].count; ++i) add(out, axis, i, j, k, layer);
        return out;
    }

    void border_color(uint32_t (&color)[4]) const {
        const uint32_t one = image_.format().integer() ? 1 : std::bit_cast<uint32_t>(1.0f);
        for (unsigned c = 0; c < 4; ++c)
            color[c] = desc_.border_color() == 2 || (desc_.border_color() == 1 && c == 3) ? one : 0;
    }

private:
    AxisRule rule(unsigned axis, bool linear) const {
        const bool own = axis == 2 && desc_.z_filter() != 0;
        return {int64_t{image_.size(axis)},
                desc_.clamp(axis),
                normalized_,
                gather_ || (own ? desc_.z_filter() == 2 : linear),
                desc_.trunc_coord(),
                gather_};
    }
    void add(LaneTexels& out, const AxisTexels (&axis)[3], unsigned i, unsigned j, unsigned k, uint32_t layer) const {
        const int64_t x = axis[0].at[i], y = axis[1].at[j], z = axis[2].at[k];
        const unsigned n = out.count++;
        out.weight[n] = axis[0].weight[i] * axis[1].weight[j] * axis[2].weight[k];
        if (x == kBorder || y == kBorder || z == kBorder) {
            out.border |= static_cast<uint8_t>(1u << n);
            out.va[n] = 0;
            return;
        }
        out.va[n] = image_.address(static_cast<uint32_t>(x), static_cast<uint32_t>(y),
                                   image_.dimensions() == 3 ? static_cast<uint32_t>(z) : layer);
    }

    const ImageAccess& image_;
    SamplerDesc desc_;
    bool normalized_, gather_;
};

}  // namespace

template <SampleKind kKind, bool kGather>
void image_sample(ExecContext& ctx, Wave& wave, const Inst& inst) {
    ctx.pages->begin();
    const ImageAccess image(wave, inst);
    const SamplerDesc desc = SamplerDesc::read(wave, inst.ssamp);
    const Sampler sampler(image, desc, inst.unorm, kGather);
    // With one level the level only decides between the two filters; without one given, they must be the same.
    const bool needs_level = kKind == SampleKind::Implicit || kKind == SampleKind::Derivatives;
    if (!image.supported() || !sampler.supported() || (needs_level && !kGather && desc.mag_filter() != desc.min_filter())) {
        ctx.fault = Fault::TodoInstruction;
        return;
    }
    const unsigned first = inst.vaddr + (kKind == SampleKind::Derivatives ? 2 * image.dimensions() : 0);
    LaneTexels texels[kLanes];
    for_lanes(wave.exec, [&](unsigned lane) {
        float coordinates[5] = {};
        const unsigned count = image.coordinates() + (kKind == SampleKind::Lod);
        for (unsigned n = 0; n < count; ++n) coordinates[n] = std::bit_cast<float>(vgpr_read_row(wave, first + n)[lane]);
        const bool smaller = kKind == SampleKind::Lod && coordinates[count - 1] > 0;
        texels[lane] = sampler.texels(coordinates, (smaller ? desc.min_filter() : desc.mag_filter()) == 1);
    });
    uint32_t border[4], values[kLanes][4];
    sampler.border_color(border);
    if constexpr (kGather) {
        // Texels come as (0,0) (1,0) (0,1) (1,1); the instruction gives (0,1) (1,1) (1,0) (0,0).
        constexpr unsigned kOrder[4] = {2, 3, 1, 0};
        uint32_t gathered[kLanes][4];
        const unsigned component = inst.dmask ? static_cast<unsigned>(std::countr_zero(inst.dmask)) & 3 : 0;
        read_gathered(ctx, wave, image, texels, border, component, gathered);
        for_lanes(wave.exec, [&](unsigned lane) {
            for (unsigned n = 0; n < 4; ++n) values[lane][n] = gathered[lane][kOrder[n]];
        });
    } else {
        read_texels(ctx, wave, image, texels, border, values);
    }
    if (ctx.fault == Fault::None) write_components(wave, inst, image.format(), kGather ? 0xf : inst.dmask, values);
}

template void image_sample<SampleKind::Implicit, false>(ExecContext&, Wave&, const Inst&);
template void image_sample<SampleKind::Derivatives, false>(ExecContext&, Wave&, const Inst&);
template void image_sample<SampleKind::Lod, false>(ExecContext&, Wave&, const Inst&);
template void image_sample<SampleKind::LevelZero, false>(ExecContext&, Wave&, const Inst&);
template void image_sample<SampleKind::Implicit, true>(ExecContext&, Wave&, const Inst&);
template void image_sample<SampleKind::Lod, true>(ExecContext&, Wave&, const Inst&);
template void image_sample<SampleKind::LevelZero, true>(ExecContext&, Wave&, const Inst&);

}  // namespace lyra::gcn
