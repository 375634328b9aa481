// SPDX-License-Identifier: MIT
// Division and square root as clang expands them, on the device in this process, against IEEE's (the host's), bit for bit:
// lyra_isa_division PAIRS SEED. PAIRS random pairs for each function and chip; exit status 1 when a result differs.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "tools/inproc/kernel_runner.h"

namespace lyra::isa {
namespace {

using inproc::argument;
using inproc::GpuBuffer;
using inproc::KernelRunner;
using inproc::RunOutcome;

/// splitmix64: the same numbers on every machine.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t bits() {
        uint64_t v = state_ += 0x9e3779b97f4a7c15;
        v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
        v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
        return v ^ (v >> 31);
    }
    int between(int low, int high) { return low + static_cast<int>(bits() % static_cast<uint64_t>(high - low + 1)); }

private:
    uint64_t state_;
};

/// Half precision as its bits; arithmetic of one operation is done in float, which rounds the same.
struct Half {
    uint16_t bits = 0;
};

// Floating-point formats
// ---------------------------------------------------------------------------------------------------------

template <typename T>
struct Format;
template <>
struct Format<Half> {
    using Bits = uint16_t;
    static constexpr int kFraction = 10, kBias = 15;
};
template <>
struct Format<float> {
    using Bits = uint32_t;
    static constexpr int kFraction = 23, kBias = 127;
};
template <>
struct Format<double> {
    using Bits = uint64_t;
    static constexpr int kFraction = 52, kBias = 1023;
};

template <typename T>
typename Format<T>::Bits bits_of(T v) {
    return std::bit_cast<typename Format<T>::Bits>(v);
}
template <typename T>
constexpr int kMaxField = 2 * Format<T>::kBias + 1;  ///< of infinity and NaN

template <typename T>
T make(bool negative, int field, uint64_t fraction) {
    using Bits = typename Format<T>::Bits;
    constexpr int kFraction = Format<T>::kFraction;
    field = std::clamp(field, 0, kMaxField<T>);
    const uint64_t all = uint64_t{negative} << (8 * sizeof(Bits) - 1) | static_cast<uint64_t>(field) << kFraction |
                         (fraction & ((uint64_t{1} << kFraction) - 1));
    return std::bit_cast<T>(static_cast<Bits>(all));
}

/// Fractions of every kind: uniform, few bits set, few bits clear.
template <typename T>
uint64_t fraction(Random& random) {
    const unsigned shift = static_cast<unsigned>(random.between(0, Format<T>::kFraction));
    switch (random.bits() % 8) {
        case 0: return uint64_t{1} << shift;
        case 1: return ~(uint64_t{1} << shift);
        case 2: return ~uint64_t{0} << shift;
        case 3: return ~(~uint64_t{0} << shift);
        case 4: return static_cast<uint64_t>(random.between(-3, 3));
        default: return random.bits();
    }
}

template <typename T>
T special(Random& random) {
    static const int kFields[] = {0, 0, 1, 2, Format<T>::kBias, kMaxField<T> - 1, kMaxField<T>, kMaxField<T>};
    const int field = kFields[random.bits() % std::size(kFields)];
    return make<T>(random.bits() & 1, field, random.bits() % 4 == 0 ? 0 : fraction<T>(random));
}

/// A pair of one of many kinds; `kind` counts up so that each is there equally often.
template <typename T>
void pair(Random& random, uint64_t kind, T& x, T& y) {
    constexpr int kBias = Format<T>::kBias, kFraction = Format<T>::kFraction, kMax = kMaxField<T>;
    const bool sx = random.bits() & 1, sy = random.bits() & 1;
    const auto any = [&] { return random.between(0, kMax - 1); };
    const auto quotient = [&](int low, int high) {  // the exponent of x / y is in low..high
        const int ey = any();
        x = make<T>(sx, ey + random.between(low, high), fraction<T>(random));
        y = make<T>(sy, ey, fraction<T>(random));
    };
    switch (kind % 12) {
        case 0:
        case 1:
            x = make<T>(sx, any() + random.between(0, 1), random.bits()),
            y = make<T>(sy, any() + random.between(0, 1), random.bits());
            break;
        case 2:
        case 3:
            x = make<T>(sx, kBias + random.between(-6, 6), random.bits()),
            y = make<T>(sy, kBias + random.between(-6, 6), random.bits());
            break;
        case 4:
            x = make<T>(sx, 0, random.bits() >> random.between(64 - kFraction, 63)),
            y = make<T>(sy, any(), fraction<T>(random));
            break;
        case 5:
            x = make<T>(sx, any(), fraction<T>(random)),
            y = make<T>(sy, 0, random.bits() >> random.between(64 - kFraction, 63));
            break;
        case 6:
            x = make<T>(sx, 0, random.bits() >> random.between(64 - kFraction, 63)),
            y = make<T>(sy, 0, random.bits() >> random.between(64 - kFraction, 63));
            break;
        case 7: quotient(kBias - 3, kBias + 3); break;                // at the edge of overflow
        case 8: quotient(-kBias - kFraction - 2, -kBias + 4); break;  // denormal, and at the edge of zero
        case 9: quotient(-2, 2); break;
        case 10: x = special<T>(random), y = random.bits() & 1 ? special<T>(random) : make<T>(sy, any(), random.bits()); break;
        default:
            x = make<T>(sx, random.between(0, 3), fraction<T>(random)),
            y = make<T>(sy, kMax - random.between(1, 4), fraction<T>(random));
            break;
    }
}

// Squares and the numbers between two roots, whose roots are hardest to round, and one number near each.
template <typename T>
void near_square(Random& random, uint64_t kind, T& x) {
    if (kind % 4 == 0) return;
    using Bits = typename Format<T>::Bits;
    const int exponent =
        Format<T>::kBias + random.between(-Format<T>::kBias / 2 - Format<T>::kFraction / 2, Format<T>::kBias / 2);
    const T root =
        make<T>(false, exponent, kind % 4 == 1 ? random.bits() & ~uint64_t{0} << (Format<T>::kFraction / 2) : random.bits());
    T square = root * root;
    if (kind % 4 == 3) square = std::fma(root, root, root * (std::nextafter(root, std::numeric_limits<T>::infinity()) - root));
    const Bits near = static_cast<Bits>(bits_of(square) + static_cast<Bits>(random.between(-2, 2)));
    x = std::bit_cast<T>(near);
}

float widen(Half v) {
    const int e = v.bits >> 10 & 31, m = v.bits & 0x3ff;
    const float a = e == 31  ? (m ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity())
                    : e == 0 ? std::ldexp(static_cast<float>(m), -24)
                             : std::ldexp(static_cast<float>(1024 + m), e - 25);
    return v.bits & 0x8000 ? -a : a;
}
Half narrow(float v) {
    const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
    if (std::isnan(v)) return {0x7e00};
    const float a = std::fabs(v);
    if (a >= 65520.0f) return {static_cast<uint16_t>(sign | 0x7c00)};
    const int e = a == 0 ? -14 : std::max(std::ilogb(a), -14);
    const int units = static_cast<int>(std::nearbyint(std::ldexp(a, 10 - e)));  // 2048 carries into the exponent
    return {static_cast<uint16_t>(sign | (units < 1024 ? units : (e + 14) * 1024 + units))};
}

// The functions
// ------------------------------------------------------------------------------------------------------------------

template <typename T>
struct Integer {
    static void inputs(Random& random, uint64_t kind, T& x, T& y) {
        constexpr unsigned kBits = 8 * sizeof(T);
        x = static_cast<T>(random.bits());
        y = static_cast<T>(random.bits());
        if (kind % 4 == 1) y = static_cast<T>(static_cast<std::make_unsigned_t<T>>(y) >> (random.bits() % kBits));
        if (kind % 4 == 2) x = static_cast<T>(static_cast<std::make_unsigned_t<T>>(x) >> (random.bits() % kBits));
        if (kind % 4 == 3) {  // next to a multiple, next to a power of two
            y = static_cast<T>((std::make_unsigned_t<T>{1} << (random.bits() % kBits)) + random.bits() % 5 - 2);
            x = static_cast<T>(static_cast<std::make_unsigned_t<T>>(y) * (random.bits() >> (random.bits() % 64)) +
                               random.bits() % 5 - 2);
        }
        if (y == 0) y = 3;
        if (std::is_signed_v<T> && y == static_cast<T>(-1)) y = -7;  // with which the smallest number overflows
    }
    static T want(T x, T y) {
        using U = std::make_unsigned_t<T>;
        return static_cast<T>(
            static_cast<U>(x / y) ^
            static_cast<U>(static_cast<U>(x % y) * static_cast<U>(sizeof(T) == 4 ? 0x9e3779b1 : 0x9e3779b97f4a7c15)));
    }
    static bool same(T a, T b) { return a == b; }
    static std::string text(T v) { return fmt::format("{}", v); }
};

template <typename T>
struct Floating {
    static void inputs(Random& random, uint64_t kind, T& x, T& y) { pair(random, kind, x, y); }
    static bool same(T a, T b) { return bits_of(a) == bits_of(b) || (a != a && b != b); }  // no NaN's payload is promised
    static std::string text(T v) { return fmt::format("{:a}", v); }
};
template <typename T>
struct Quotient : Floating<T> {
    static T want(T x, T y) { return x / y; }
};
template <typename T>
struct Reciprocal : Floating<T> {
    static T want(T x, T) { return T(1) / x; }
};
template <typename T>
struct Root : Floating<T> {
    static void inputs(Random& random, uint64_t kind, T& x, T& y) {
        pair(random, kind / 4, x, y);
        if (random.bits() % 8 != 0) x = std::fabs(x);
        near_square(random, kind, x);
    }
    static T want(T x, T) { return std::sqrt(x); }
};
/// Denormal quotients of half may be off by one unit, by the expansion itself: clang-19 multiplies by a rounded reciprocal in
/// float, and a quotient halfway between two denormal numbers is not always halfway after that.
struct HalfQuotient {
    static void inputs(Random& random, uint64_t kind, Half& x, Half& y) { pair(random, kind, x, y); }
    static Half want(Half x, Half y) { return narrow(widen(x) / widen(y)); }
    static bool same(Half a, Half b) {
        if ((a.bits & 0x7fff) > 0x7c00 && (b.bits & 0x7fff) > 0x7c00) return true;
        const bool denormal = (b.bits & 0x7fff) < 0x400;
        return a.bits == b.bits || (denormal && ((a.bits ^ b.bits) & 0x8000) == 0 && std::abs(a.bits - b.bits) == 1);
    }
    static std::string text(Half v) { return fmt::format("{:a}", widen(v)); }
};

constexpr uint32_t kChunk = 1 << 16, kBlock = 256;

/// Runs `pairs` pairs of one kernel. @return how many results differ; the first ones are printed
template <typename Case, typename T>
uint64_t check(const std::string& chip, const std::string& path, const char* kernel, uint64_t pairs, uint64_t seed) {
    inproc::InProcessOptions options;
    options.chip = chip;
    KernelRunner runner(path, options);
    if (!runner.error().empty()) {
        fmt::print("{}\n", runner.error());
        return pairs;
    }
    std::vector<T> x(kChunk), y(kChunk);
    const GpuBuffer in = runner.buffer(x), other = runner.buffer(y), out = runner.buffer(x);
    inproc::LaunchShape shape;
    shape.grid[0] = kChunk;
    shape.block[0] = kBlock;
    const inproc::AqlDispatch packet = runner.packet(kernel, shape, {argument(in.va), argument(other.va), argument(out.va)});
    Random random(seed);
    uint64_t wrong = 0;
    for (uint64_t done = 0; done < pairs; done += kChunk) {
        const uint32_t count = static_cast<uint32_t>(std::min<uint64_t>(kChunk, pairs - done));
        for (uint32_t i = 0; i < count; ++i) Case::inputs(random, done + i, x[i], y[i]);
        std::copy(x.begin(), x.end(), reinterpret_cast<T*>(in.host));
        std::copy(y.begin(), y.end(), reinterpret_cast<T*>(other.host));
        std::fill_n(out.host, out.bytes, uint8_t{0xa5});
        runner.queue().signal(packet.completion_signal)->value = 1;
        if (!runner.error().empty() || runner.run(packet) != RunOutcome::Done) {
            fmt::print("{} {}: the kernel did not end {}\n", chip, kernel, runner.error());
            return pairs;
        }
        const T* results = reinterpret_cast<const T*>(out.host);
        for (uint32_t i = 0; i < count; ++i) {
            const T want = Case::want(x[i], y[i]);
            if (Case::same(results[i], want) || ++wrong > 5) continue;
            fmt::print("{} {}({}, {}) = {}, not {}\n", chip, kernel, Case::text(x[i]), Case::text(y[i]), Case::text(results[i]),
                       Case::text(want));
        }
    }
    return wrong;
}

struct Row {
    const char* kernel;
    uint64_t (*check)(const std::string& chip, const std::string& path, const char* kernel, uint64_t pairs, uint64_t seed);
};
constexpr Row kRows[] = {
    {"div_f16", check<HalfQuotient, Half>},         {"div_f32", check<Quotient<float>, float>},
    {"div_f64", check<Quotient<double>, double>},   {"rcp_f32", check<Reciprocal<float>, float>},
    {"rcp_f64", check<Reciprocal<double>, double>}, {"sqrt_f32", check<Root<float>, float>},
    {"sqrt_f64", check<Root<double>, double>},      {"div_u32", check<Integer<uint32_t>, uint32_t>},
    {"div_i32", check<Integer<int32_t>, int32_t>},  {"div_u64", check<Integer<uint64_t>, uint64_t>},
    {"div_i64", check<Integer<int64_t>, int64_t>},
};
struct Chip {
    const char* name;
    const char* code_object;
};
constexpr Chip kChips[] = {{"gfx900", LYRA_DIVISION_GFX900}, {"gfx906", LYRA_DIVISION_GFX906}};

int run(uint64_t pairs, uint64_t seed) {
    uint64_t wrong = 0;
    std::string names;
    for (const Row& row : kRows) {
        names += std::string(names.empty() ? "" : " ") + row.kernel;
        for (const Chip& chip : kChips) wrong += row.check(chip.name, chip.code_object, row.kernel, pairs, seed);
    }
    fmt::print("division: {} pairs each of {} on gfx900 and gfx906, seed {}: {} wrong: {}\n", pairs, names, seed, wrong,
               wrong == 0 ? "PASSED" : "FAILED");
    return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace lyra::isa

int main(int argc, char** argv) {
    char* end = nullptr;
    const uint64_t pairs = argc == 3 ? std::strtoull(argv[1], &end, 10) : 0;
    if (pairs == 0 || *end != 0) {
        fmt::print(stderr, "usage: lyra_isa_division PAIRS SEED\n");
        return 2;
    }
    return lyra::isa::run(pairs, std::strtoull(argv[2], nullptr, 10));
}
