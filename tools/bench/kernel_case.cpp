// SPDX-License-Identifier: MIT
// The cases: sizes that give some milliseconds of work each, data that is the same every time.
#include "tools/bench/kernel_case.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/bench/case_data.h"
#include "tools/bench/native.h"

namespace lyra::bench {

using namespace data;

namespace {

constexpr int kVector = 1 << 19, kMatrix = 192, kImage = 256, kLimit = 256, kBodies = 1024, kEach = 16, kRounds = 64,
              kGrid = 514;
constexpr float kRate = 0.02f, kSigma = 0.3f, kYears = 1.5f;

KernelCase saxpy() {
    KernelCase c = shaped("saxpy", kVector, 1, 256, 1);
    c.buffers = {floats(kVector, -1, 1, 1), floats(kVector, -1, 1, 2), empty<float>(kVector)};
    c.output = 2;
    c.arguments = {buffer(0), buffer(1), buffer(2), value(1.5f), value(kVector)};
    c.streamed_bytes = 3 * kVector * sizeof(float);
    c.native = [](auto& b) { native::saxpy(as<float>(b[0]), as<float>(b[1]), as<float>(b[2]), 1.5f, kVector); };
    return c;
}

KernelCase vector_add() {
    KernelCase c = shaped("vector_add", kVector, 1, 256, 1);
    c.buffers = {floats(kVector, -1, 1, 1), floats(kVector, -1, 1, 2), empty<float>(kVector)};
    c.output = 2;
    c.arguments = {buffer(0), buffer(1), buffer(2), value(kVector)};
    c.streamed_bytes = 3 * kVector * sizeof(float);
    c.native = [](auto& b) { native::vector_add(as<float>(b[0]), as<float>(b[1]), as<float>(b[2]), kVector); };
    return c;
}

KernelCase matmul(const char* name, uint32_t lx, uint32_t ly) {
    KernelCase c = shaped(name, kMatrix, kMatrix, lx, ly);
    constexpr size_t kSize = size_t{kMatrix} * kMatrix;
    c.buffers = {floats(kSize, -1, 1, 3), floats(kSize, -1, 1, 4), empty<float>(kSize)};
    c.output = 2;
    c.arguments = {buffer(0), buffer(1), buffer(2), value(kMatrix)};
    c.native = [](auto& b) { native::matmul(as<float>(b[0]), as<float>(b[1]), as<float>(b[2]), kMatrix); };
    return c;
}

KernelCase mandelbrot() {
    KernelCase c = shaped("mandelbrot", kImage, kImage, 64, 4);
    c.buffers = {empty<int>(size_t{kImage} * kImage)};
    c.element = Element::U32;
    c.arguments = {buffer(0), value(kImage), value(kLimit)};
    c.native = [](auto& b) { native::mandelbrot(as<int>(b[0]), kImage, kLimit); };
    return c;
}

KernelCase nbody() {
    KernelCase c = shaped("nbody", kBodies, 1, 64, 1);
    c.buffers = {floats(4 * kBodies, -1, 1, 5), empty<float>(4 * kBodies)};
    c.output = 1;
    c.tolerance = 1e-3;  // rsqrt() within 2 ulp, summed up
    c.arguments = {buffer(0), buffer(1), value(kBodies)};
    c.native = [](auto& b) { native::nbody(as<float>(b[0]), as<float>(b[1]), kBodies); };
    return c;
}

KernelCase reduction() {
    KernelCase c = shaped("reduction", kVector, 1, 256, 1);
    c.buffers = {floats(kVector, -1, 1, 6), empty<float>(kVector / 256)};
    c.output = 1;
    c.arguments = {buffer(0), buffer(1)};
    c.streamed_bytes = (kVector + kVector / 256) * sizeof(float);
    c.native = [](auto& b) { native::reduction(as<float>(b[0]), as<float>(b[1]), kVector / 256); };
    return c;
}

KernelCase histogram() {
    constexpr int kGroups = kVector / 256 / kEach;
    KernelCase c = shaped("histogram", kGroups * 256, 1, 256, 1);
    std::mt19937 random(7);
    c.buffers = {made<uint32_t>(kVector, [&](size_t) { return static_cast<uint32_t>(random()); }),
                 empty<uint32_t>(kGroups * 256)};
    c.output = 1;
    c.element = Element::U32;
    c.arguments = {buffer(0), buffer(1), value(kEach)};
    c.streamed_bytes = (kVector + kGroups * 256) * sizeof(uint32_t);
    c.native = [](auto& b) { native::histogram(as<uint32_t>(b[0]), as<uint32_t>(b[1]), kGroups, kEach); };
    return c;
}

KernelCase integer_hash() {
    constexpr int kItems = kVector / 16;
    KernelCase c = shaped("integer_hash", kItems, 1, 256, 1);
    c.buffers = {empty<uint32_t>(kItems)};
    c.element = Element::U32;
    c.arguments = {buffer(0), value(kRounds)};
    c.native = [](auto& b) { native::integer_hash(as<uint32_t>(b[0]), kItems, kRounds); };
    return c;
}

KernelCase stencil() {
    constexpr size_t kSize = size_t{kGrid} * kGrid;
    KernelCase c = shaped("stencil_f64", kGrid - 2, kGrid - 2, 64, 4);
    c.buffers = {made<double>(kSize, [](size_t i) { return std::sin(static_cast<double>(i)); }), empty<double>(kSize)};
    c.output = 1;
    c.element = Element::F64;
    c.arguments = {buffer(0), buffer(1), value(kGrid)};
    constexpr size_t kInside = kGrid - 2;
    c.streamed_bytes = (kSize - 4 + kInside * kInside) * sizeof(double);  // nobody reads the corners
    c.native = [](auto& b) { native::stencil_f64(as<double>(b[0]), as<double>(b[1]), kGrid); };
    return c;
}

KernelCase black_scholes() {
    constexpr int kItems = kVector / 4;
    KernelCase c = shaped("black_scholes", kItems, 1, 256, 1);
    c.buffers = {floats(kItems, 5, 100, 8), floats(kItems, 5, 100, 9), empty<float>(kItems)};
    c.output = 2;
    c.tolerance = 2e-5;  // exp, log, sqrt and division are OpenCL's, within some ulp
    c.arguments = {buffer(0), buffer(1), buffer(2), value(kRate), value(kSigma), value(kYears)};
    c.native = [](auto& b) {
        native::black_scholes(as<float>(b[0]), as<float>(b[1]), as<float>(b[2]), kRate, kSigma, kYears, kItems);
    };
    return c;
}

template <typename T>
std::string first_difference(const Bytes& got, const Bytes& expected, double tolerance) {
    for (size_t i = 0; i < expected.size() / sizeof(T); ++i) {
        T g, e;
        std::memcpy(&g, got.data() + i * sizeof(T), sizeof g);
        std::memcpy(&e, expected.data() + i * sizeof(T), sizeof e);
        if (std::memcmp(&g, &e, sizeof g) == 0) continue;
        const double limit = tolerance * std::max(1.0, std::fabs(static_cast<double>(e)));
        // Written so that a NaN is a difference.
        if (!(tolerance > 0 && std::fabs(static_cast<double>(g) - static_cast<double>(e)) <= limit)) {
            return fmt::format("element {} is {}, expected {}", i, g, e);
        }
    }
    return {};
}

}  // namespace

std::vector<KernelCase> kernel_cases() {
    std::vector<KernelCase> all = {saxpy(),
                                   vector_add(),
                                   matmul("matmul_naive", 64, 4),
                                   matmul("matmul_tiled", 16, 16),
                                   mandelbrot(),
                                   nbody(),
                                   reduction(),
                                   histogram(),
                                   integer_hash(),
                                   stencil(),
                                   black_scholes()};
    for (KernelCase& each : all) each.of_the_eleven = true;
    for (KernelCase& each : further_cases()) all.push_back(std::move(each));
    return all;
}

std::string difference(const KernelCase& each, const Bytes& got, const Bytes& expected) {
    if (got.size() != expected.size()) return "no result";
    switch (each.element) {
        case Element::U32: return first_difference<uint32_t>(got, expected, each.tolerance);
        case Element::F32: return first_difference<float>(got, expected, each.tolerance);
        case Element::F64: return first_difference<double>(got, expected, each.tolerance);
    }
    return "unknown element";
}

}  // namespace lyra::bench
