// SPDX-License-Identifier: MIT
// The registers of a wave that begins are written line by line; step 6 of the data flow.
#include "gcn-interp/wave/begin.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "gcn-interp/wave/lanes.h"

namespace lyra::gcn {
namespace {

/// What a back end stores at once: what is wider than its registers becomes stores of 16 bytes.
template <Backend kBackend>
struct LineOf {
    using Type [[gnu::vector_size(32)]] = uint32_t;
};
template <>
struct LineOf<Backend::Avx512> {
    using Type [[gnu::vector_size(64)]] = uint32_t;
};

static_assert(std::is_trivially_copyable_v<Wave> && std::is_standard_layout_v<Wave>);

template <class Line>
[[gnu::always_inline]] inline void copy_line(void* to, const void* from) {
    store_vector(to, load_vector<Line>(from));
}

template <class Line>
[[gnu::always_inline]] inline void copy_image(Wave& wave, const Wave& image) {
    constexpr unsigned kLineDwords = sizeof(Line) / sizeof(uint32_t);
    static_assert(offsetof(Wave, sgpr) % sizeof(Line) == 0 && kSgprGranule % kLineDwords == 0 && kMaxSgprs % kSgprGranule == 0);
    const unsigned before = wave.sgpr_count;
    const uint64_t mask_of = wave.mask_of;
    auto* const to = reinterpret_cast<uint8_t*>(&wave);
    const auto* const from = reinterpret_cast<const uint8_t*>(&image);
    for (size_t at = 0; at < offsetof(Wave, sgpr); at += sizeof(Line)) copy_line<Line>(to + at, from + at);
    wave.mask_of = mask_of;
    const unsigned count = std::max<unsigned>(image.sgpr_count, before);
    for (unsigned n = 0; n < count; n += kLineDwords) copy_line<Line>(&wave.sgpr[n], &image.sgpr[n]);
}

template <class Line>
[[gnu::always_inline]] inline void begin_rows(VgprRow* rows, unsigned count, const WorkItemIds& ids, const VgprRow* others) {
    constexpr unsigned kLineDwords = sizeof(Line) / sizeof(uint32_t), kRowLines = sizeof(VgprRow) / sizeof(Line);
    auto* line = reinterpret_cast<uint8_t*>(rows);
    const auto put = [&](const Line& value) {
        store_vector(line, value);
        line += sizeof(Line);
    };
    if (ids.made != nullptr) {
        const auto* const made = reinterpret_cast<const uint8_t*>(ids.made);
        for (unsigned n = 0; n < ids.rows * kRowLines; ++n) put(load_vector<Line>(made + n * sizeof(Line)));
    } else if (ids.rows != 0) {
        Line id;
        for (unsigned lane = 0; lane < kLineDwords; ++lane) id[lane] = ids.first + lane;
        for (unsigned n = 0; n < kRowLines; ++n, id += kLineDwords) put(id);
        for (unsigned n = kRowLines; n < ids.rows * kRowLines; ++n) put(Line{});
    }
    if (others == nullptr) return;
    const auto other = load_vector<Line>(others);
    for (unsigned n = ids.rows; n < count; ++n) {
        for (unsigned part = 0; part < kRowLines; ++part) put(other);
    }
}

template <class Line>
[[gnu::always_inline]] inline void some_rows(VgprRow* rows, std::span<const uint16_t> some, const VgprRow& value) {
    const auto line = load_vector<Line>(value.lane);
    for (const uint16_t n : some) {
        auto* const to = reinterpret_cast<uint8_t*>(rows + n);
        for (size_t at = 0; at < sizeof(VgprRow); at += sizeof(Line)) store_vector(to + at, line);
    }
}

#define LYRA_BEGIN(backend, attribute)                                                                                      \
    [[attribute]] void begin_##backend(Wave& wave, const Wave& image, VgprRow* rows, const WorkItemIds& ids,                \
                                       const VgprRow* others) {                                                             \
        using Line = LineOf<Backend::backend>::Type;                                                                        \
        copy_image<Line>(wave, image);                                                                                      \
        wave.vgpr = rows;                                                                                                   \
        begin_rows<Line>(rows, image.vgpr_count, ids, others);                                                              \
    }                                                                                                                       \
    [[attribute]] void begin_rows_##backend(VgprRow* rows, unsigned count, const WorkItemIds& ids, const VgprRow* others) { \
        begin_rows<LineOf<Backend::backend>::Type>(rows, count, ids, others);                                               \
    }                                                                                                                       \
    [[attribute]] void some_rows_##backend(VgprRow* rows, std::span<const uint16_t> some, const VgprRow& value) {           \
        some_rows<LineOf<Backend::backend>::Type>(rows, some, value);                                                       \
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

SomeRowsFn some_rows_function(Backend backend) {
    switch (backend) {
        case Backend::Avx2: return some_rows_Avx2;
        case Backend::Avx512: return some_rows_Avx512;
        default: return some_rows_Portable;
    }
}

}  // namespace lyra::gcn
