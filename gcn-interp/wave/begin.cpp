// SPDX-License-Identifier: MIT
// The registers of a wave that begins are written line by line; step 6 of the data flow.
#include "gcn-interp/wave/begin.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "gcn-interp/wave/lanes.h"

namespace lyra::gcn {
namespace {

/// A cache line, which is one register of the widest back end.
using Line [[gnu::vector_size(64)]] = uint32_t;
constexpr unsigned kLineDwords = sizeof(Line) / sizeof(uint32_t), kRowLines = sizeof(VgprRow) / sizeof(Line);

static_assert(std::is_trivially_copyable_v<Wave> && std::is_standard_layout_v<Wave>);
static_assert(offsetof(Wave, sgpr) % sizeof(Line) == 0 && kSgprGranule == kLineDwords && kMaxSgprs % kSgprGranule == 0);

[[gnu::always_inline]] inline void copy_line(void* to, const void* from) { store_vector(to, load_vector<Line>(from)); }

[[gnu::always_inline]] inline void copy_image(Wave& wave, const Wave& image) {
    const unsigned before = wave.sgpr_count;
    const uint64_t mask_of = wave.mask_of;
    auto* const to = reinterpret_cast<uint8_t*>(&wave);
    const auto* const from = reinterpret_cast<const uint8_t*>(&image);
    for (size_t at = 0; at < offsetof(Wave, sgpr); at += sizeof(Line)) copy_line(to + at, from + at);
    wave.mask_of = mask_of;
    const unsigned count = std::max<unsigned>(image.sgpr_count, before);
    for (unsigned n = 0; n < count; n += kLineDwords) copy_line(&wave.sgpr[n], &image.sgpr[n]);
}

[[gnu::always_inline]] inline void begin_rows(VgprRow* rows, unsigned count, const WorkItemIds& ids, const VgprRow* others) {
    auto* line = reinterpret_cast<uint8_t*>(rows);
    const auto put = [&](const Line& value) {
        store_vector(line, value);
        line += sizeof(Line);
    };
    if (ids.made != nullptr) {
        const auto* const made = reinterpret_cast<const uint8_t*>(ids.made);
        for (unsigned n = 0; n < ids.rows * kRowLines; ++n) put(load_vector<Line>(made + n * sizeof(Line)));
    } else if (ids.rows != 0) {
        Line id = Line{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} + ids.first;
        for (unsigned n = 0; n < kRowLines; ++n, id += kLineDwords) put(id);
        for (unsigned n = kRowLines; n < ids.rows * kRowLines; ++n) put(Line{});
    }
    if (others == nullptr) return;
    const auto other = load_vector<Line>(others);
    for (unsigned n = ids.rows; n < count; ++n) {
        for (unsigned part = 0; part < kRowLines; ++part) put(other);
    }
}

#define LYRA_BEGIN(backend, attribute)                                                                                      \
    [[attribute]] void begin_##backend(Wave& wave, const Wave& image, VgprRow* rows, const WorkItemIds& ids,                \
                                       const VgprRow* others) {                                                             \
        copy_image(wave, image);                                                                                            \
        wave.vgpr = rows;                                                                                                   \
        begin_rows(rows, image.vgpr_count, ids, others);                                                                    \
    }                                                                                                                       \
    [[attribute]] void begin_rows_##backend(VgprRow* rows, unsigned count, const WorkItemIds& ids, const VgprRow* others) { \
        begin_rows(rows, count, ids, others);                                                                               \
    }
LYRA_FOR_EACH_BACKEND(LYRA_BEGIN)
#undef LYRA_BEGIN

}  // namespace

BeginFn begin_function(Backend backend) {
    switch (backend) {
        case Backend::Avx2: return begin_Avx2;
        case Backend::Avx512: return begin_Avx512;
        default: return begin_Portable;
    }
}

BeginRowsFn begin_rows_function(Backend backend) {
    switch (backend) {
        case Backend::Avx2: return begin_rows_Avx2;
        case Backend::Avx512: return begin_rows_Avx512;
        default: return begin_rows_Portable;
    }
}

}  // namespace lyra::gcn
