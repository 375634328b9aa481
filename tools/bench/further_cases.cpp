// SPDX-License-Identifier: MIT
// Cases of other kinds than the eleven: passes over LDS with barriers, rows of different length, long straight code, narrow
// types.
#include <cmath>
#include <numbers>

#include "tools/bench/case_data.h"
#include "tools/bench/native.h"

namespace lyra::bench {

using namespace data;

namespace {

constexpr int kFftGroups = 128, kRows = 1 << 14, kMessages = 1 << 12, kDots = 1 << 13, kSteps = 32, kSortGroups = 128;

KernelCase fft() {
    constexpr int kPoints = native::kFftPoints, kRoots = kPoints / 2;
    KernelCase c = shaped("fft", kFftGroups * kPoints / 2, 1, kPoints / 2, 1);
    const auto root = [](size_t i) {
        const size_t number = i / 2;
        const double angle = -2 * std::numbers::pi * static_cast<double>(number) / kPoints;
        return static_cast<float>(i % 2 == 0 ? std::cos(angle) : std::sin(angle));
    };
    c.buffers = {floats(2 * kFftGroups * kPoints, -1, 1, 10), made<float>(2 * kRoots, root),
                 empty<float>(2 * kFftGroups * kPoints)};
    c.output = 2;
    c.arguments = {buffer(0), buffer(1), buffer(2)};
    c.native = [](auto& b) { native::fft(as<float>(b[0]), as<float>(b[1]), as<float>(b[2]), kFftGroups); };
    return c;
}

/// Rows of 0 to 31 entries, anywhere in the row.
KernelCase spmv_csr() {
    KernelCase c = shaped("spmv_csr", kRows, 1, 256, 1);
    std::mt19937 random(11);
    int entries = 0;
    Bytes start = made<int>(kRows + 1, [&](size_t row) {
        const int at = entries;
        if (row < kRows) entries += static_cast<int>(random() >> 27);
        return at;
    });
    const auto count = static_cast<size_t>(entries);
    c.buffers = {std::move(start), made<int>(count, [&](size_t) { return static_cast<int>(random() % kRows); }),
                 floats(count, -1, 1, 12), floats(kRows, -1, 1, 13), empty<float>(kRows)};
    c.output = 4;
    c.arguments = {buffer(0), buffer(1), buffer(2), buffer(3), buffer(4), value(kRows)};
    for (const Bytes& each : c.buffers) c.streamed_bytes += each.size();
    c.native = [](auto& b) {
        native::spmv_csr(as<int>(b[0]), as<int>(b[1]), as<float>(b[2]), as<float>(b[3]), as<float>(b[4]), kRows);
    };
    return c;
}

KernelCase sha256() {
    KernelCase c = shaped("sha256", kMessages, 1, 256, 1);
    std::mt19937 random(14);
    c.buffers = {made<uint32_t>(16 * kMessages, [&](size_t) { return static_cast<uint32_t>(random()); }),
                 empty<uint32_t>(8 * kMessages)};
    c.output = 1;
    c.element = Element::U32;
    c.arguments = {buffer(0), buffer(1), value(kMessages)};
    c.native = [](auto& b) { native::sha256(as<uint32_t>(b[0]), as<uint32_t>(b[1]), kMessages); };
    return c;
}

/// Halves of either sign from 2^-14 to below 4: no denormals, which need another conversion.
Bytes halves(size_t count, unsigned seed) {
    std::mt19937 random(seed);
    return made<uint16_t>(count, [&](size_t) {
        const auto bits = static_cast<uint32_t>(random());
        return static_cast<uint16_t>((bits >> 16 & 0x8000) | (0x0400 + bits % 0x4000));
    });
}
Bytes signed_bytes(size_t count, unsigned seed) {
    std::mt19937 random(seed);
    return made<int8_t>(count, [&](size_t) { return static_cast<int8_t>(random() >> 24); });
}

KernelCase dot_f16_i8() {
    KernelCase c = shaped("dot_f16_i8", kDots, 1, 256, 1);
    constexpr size_t kWords = size_t{kDots} * kSteps;
    c.buffers = {halves(2 * kWords, 15), halves(2 * kWords, 16), signed_bytes(4 * kWords, 17), signed_bytes(4 * kWords, 18),
                 empty<uint32_t>(2 * kDots)};
    c.output = 4;
    c.element = Element::U32;
    c.arguments = {buffer(0), buffer(1), buffer(2), buffer(3), buffer(4), value(kDots), value(kSteps)};
    for (const Bytes& each : c.buffers) c.streamed_bytes += each.size();
    c.native = [](auto& b) {
        native::dot_f16_i8(as<uint16_t>(b[0]), as<uint16_t>(b[1]), as<int8_t>(b[2]), as<int8_t>(b[3]), as<uint32_t>(b[4]),
                           kDots, kSteps);
    };
    return c;
}

KernelCase sort_bitonic() {
    constexpr int kKeys = native::kSortKeys;
    KernelCase c = shaped("sort_bitonic", kSortGroups * kKeys / 2, 1, kKeys / 2, 1);
    std::mt19937 random(19);
    // 20 bits: some keys are equal.
    c.buffers = {made<uint32_t>(kSortGroups * kKeys, [&](size_t) { return static_cast<uint32_t>(random() >> 12); }),
                 empty<uint32_t>(kSortGroups * kKeys)};
    c.output = 1;
    c.element = Element::U32;
    c.arguments = {buffer(0), buffer(1)};
    c.native = [](auto& b) { native::sort(as<uint32_t>(b[0]), as<uint32_t>(b[1]), kSortGroups); };
    return c;
}

}  // namespace

std::vector<KernelCase> further_cases() { return {fft(), spmv_csr(), sha256(), dot_f16_i8(), sort_bitonic()}; }

}  // namespace lyra::bench
