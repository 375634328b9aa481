// SPDX-License-Identifier: MIT
// What the kernels of `lyra bench` are compared with: the native loops against the definition of what they compute.
#include "tools/bench/kernel_case.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <numeric>
#include <set>
#include <span>

#include "tools/bench/native.h"

namespace lyra::bench {
namespace {

const KernelCase& case_of(const std::string& name) {
    static const std::vector<KernelCase> all = kernel_cases();
    const auto at = std::find_if(all.begin(), all.end(), [&](const KernelCase& each) { return each.name == name; });
    EXPECT_NE(at, all.end()) << name;
    return *at;
}

std::vector<std::vector<uint8_t>> computed(const KernelCase& each) {
    std::vector<std::vector<uint8_t>> buffers = each.buffers;
    each.native(buffers);
    return buffers;
}

template <typename T>
std::span<const T> as(const std::vector<uint8_t>& bytes) {
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
}

TEST(BenchCases, TheElevenAreWhatTheyWere) {
    std::set<std::string> eleven, others;
    for (const KernelCase& each : kernel_cases()) (each.of_the_eleven ? eleven : others).insert(each.name);
    EXPECT_EQ(eleven, (std::set<std::string>{"saxpy", "vector_add", "matmul_naive", "matmul_tiled", "mandelbrot", "nbody",
                                             "reduction", "histogram", "integer_hash", "stencil_f64", "black_scholes"}));
    EXPECT_EQ(others, (std::set<std::string>{"fft", "spmv_csr", "sha256", "dot_f16_i8", "sort_bitonic"}));
}

TEST(BenchCases, StreamedBytesAreThoseOfTheBuffers) {
    const std::set<std::string> streaming{"saxpy",       "vector_add", "reduction", "histogram",
                                          "stencil_f64", "spmv_csr",   "dot_f16_i8"};
    for (const KernelCase& each : kernel_cases()) {
        SCOPED_TRACE(each.name);
        uint64_t bytes = 0;
        for (const auto& buffer : each.buffers) bytes += buffer.size();
        if (!streaming.contains(each.name)) bytes = 0;
        // The corners of the grid are not read, its border is not written.
        if (each.name == "stencil_f64") bytes -= (4 + 4 * 514 - 4) * sizeof(double);
        EXPECT_EQ(each.streamed_bytes, bytes);
    }
}

TEST(BenchCases, FftIsTheSumOfItsDefinition) {
    const KernelCase& each = case_of("fft");
    const auto buffers = computed(each);
    const auto in = as<std::complex<float>>(buffers[0]), out = as<std::complex<float>>(buffers[2]);
    constexpr size_t kPoints = native::kFftPoints;
    ASSERT_EQ(in.size() % kPoints, 0u);
    for (const size_t group : {size_t{0}, in.size() / kPoints - 1}) {
        for (size_t k = 0; k < kPoints; ++k) {
            std::complex<double> sum = 0;
            for (size_t i = 0; i < kPoints; ++i) {
                sum += std::complex<double>(in[group * kPoints + i]) *
                       std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(i * k % kPoints) / kPoints);
            }
            ASSERT_LT(std::abs(sum - std::complex<double>(out[group * kPoints + k])), 1e-4) << group << " " << k;
        }
    }
}

TEST(BenchCases, SparseRowsAreProductsWithTheVector) {
    const KernelCase& each = case_of("spmv_csr");
    const auto buffers = computed(each);
    const auto start = as<int>(buffers[0]), column = as<int>(buffers[1]);
    const auto value = as<float>(buffers[2]), x = as<float>(buffers[3]), y = as<float>(buffers[4]);
    ASSERT_EQ(start.size(), y.size() + 1);
    EXPECT_EQ(static_cast<size_t>(start.back()), value.size());
    size_t empty = 0, longest = 0;
    for (size_t row = 0; row < y.size(); ++row) {
        const auto first = static_cast<size_t>(start[row]), last = static_cast<size_t>(start[row + 1]);
        ASSERT_LE(first, last);
        empty += first == last ? 1 : 0;
        longest = std::max(longest, last - first);
        double sum = 0;
        for (size_t i = first; i < last; ++i) sum += static_cast<double>(value[i]) * x[static_cast<size_t>(column[i])];
        ASSERT_NEAR(y[row], sum, 1e-5) << row;
    }
    EXPECT_GT(empty, 0u);
    EXPECT_EQ(longest, 31u);
}

// The digest of the bytes 0 to 63. @source Python's hashlib
TEST(BenchCases, Sha256IsThatOfTheStandard) {
    constexpr int kMessages = 3;
    uint32_t message[16 * kMessages] = {}, digest[8 * kMessages] = {};
    for (uint32_t t = 0; t < 16; ++t) message[t * kMessages + 1] = 0x00010203u + t * 0x04040404u;
    native::sha256(message, digest, kMessages);
    const uint32_t expected[8] = {0xfdeab9ac, 0xf3710362, 0xbd2658cd, 0xc9a29e8f,
                                  0x9c757fcf, 0x9811603a, 0x8c447cd1, 0xd9151108};
    for (size_t t = 0; t < 8; ++t) EXPECT_EQ(digest[t * kMessages + 1], expected[t]) << t;
}

float half_value(uint16_t bits) {
    const double fraction = 1 + (bits & 0x3ff) / 1024.0;
    return static_cast<float>((bits & 0x8000 ? -1 : 1) * std::ldexp(fraction, (bits >> 10 & 31) - 15));
}

TEST(BenchCases, DotProductsAreSums) {
    const KernelCase& each = case_of("dot_f16_i8");
    const auto buffers = computed(each);
    const auto a = as<uint16_t>(buffers[0]), b = as<uint16_t>(buffers[1]);
    const auto c = as<int8_t>(buffers[2]), d = as<int8_t>(buffers[3]);
    const auto sums = as<float>(buffers[4]);
    const auto counts = as<int32_t>(buffers[4]);
    const size_t items = sums.size() / 2, steps = a.size() / 2 / items;
    ASSERT_EQ(c.size(), 4 * items * steps);
    for (const uint16_t half : a) ASSERT_TRUE((half >> 10 & 31) != 0 && (half >> 10 & 31) != 31) << half;
    for (size_t i = 0; i < items; ++i) {
        double sum = 0;
        int count = 0;
        for (size_t k = 0; k < steps; ++k) {
            const size_t at = k * items + i;
            for (size_t j = 0; j < 2; ++j) sum += static_cast<double>(half_value(a[2 * at + j])) * half_value(b[2 * at + j]);
            for (size_t j = 0; j < 4; ++j) count += c[4 * at + j] * d[4 * at + j];
        }
        ASSERT_NEAR(sums[i], sum, 1e-3) << i;
        ASSERT_EQ(counts[items + i], count) << i;
    }
}

TEST(BenchCases, EachGroupOfKeysIsSorted) {
    const KernelCase& each = case_of("sort_bitonic");
    const auto buffers = computed(each);
    const auto in = as<uint32_t>(buffers[0]), out = as<uint32_t>(buffers[1]);
    constexpr size_t kKeys = native::kSortKeys;
    for (size_t at = 0; at < in.size(); at += kKeys) {
        ASSERT_TRUE(std::is_sorted(out.begin() + static_cast<ptrdiff_t>(at), out.begin() + static_cast<ptrdiff_t>(at + kKeys)));
        ASSERT_TRUE(std::is_permutation(out.begin() + static_cast<ptrdiff_t>(at),
                                        out.begin() + static_cast<ptrdiff_t>(at + kKeys),
                                        in.begin() + static_cast<ptrdiff_t>(at)));
    }
}

TEST(BenchCases, ADifferenceNamesTheElement) {
    const KernelCase& each = case_of("sort_bitonic");
    std::vector<uint8_t> right = computed(each)[each.output], wrong = right;
    EXPECT_EQ(difference(each, right, right), "");
    wrong[4 * 7] ^= 1;
    EXPECT_EQ(difference(each, wrong, right).find("element 7 is "), 0u) << difference(each, wrong, right);
}

}  // namespace
}  // namespace lyra::bench
