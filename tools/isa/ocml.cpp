// SPDX-License-Identifier: MIT
// The device's math library (ocml, by way of OpenCL's functions) on the device in this process, against MPFR: the largest error
// of each function in units in the last place, and the bound of the OpenCL specification. lyra_isa_ocml [INPUTS] [NAME or ""]
// [FOLDER]; FOLDER has ocml.f32.co, ocml.f64.co and ocml.f16.co by another compiler and library. Exit status 1 when an error is
// beyond its bound.
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "common/hash.h"
#include "tools/inproc/kernel_runner.h"
#include "tools/isa/ocml_reference.h"

namespace lyra::isa {
namespace {

using inproc::argument;
using inproc::GpuBuffer;
using inproc::KernelRunner;
using inproc::RunOutcome;

struct Function {
    const char* name;
    double bounds[3];  ///< f32, f64, f16
    double low, high;
    bool only_float;
    void (*reference)(mpfr_ptr r, mpfr_ptr x, mpfr_ptr y, mpfr_ptr z, long n, const Format& format, bool& counts);
};
#define ROW(name, b32, b64, b16, low, high, only, ...)                                                                      \
    {#name,                                                                                                                 \
     {b32, b64, b16},                                                                                                       \
     low,                                                                                                                   \
     high,                                                                                                                  \
     only,                                                                                                                  \
     []([[maybe_unused]] mpfr_ptr r, [[maybe_unused]] mpfr_ptr x, [[maybe_unused]] mpfr_ptr y, [[maybe_unused]] mpfr_ptr z, \
        [[maybe_unused]] long n, [[maybe_unused]] const Format& format, [[maybe_unused]] bool& counts) { __VA_ARGS__; }},
#define FUNCTION(name, call, b32, b64, b16, low, high, ...) ROW(name, b32, b64, b16, low, high, false, __VA_ARGS__)
#define FLOAT_FUNCTION(name, call, b32, b64, b16, low, high, ...) ROW(name, b32, b64, b16, low, high, true, __VA_ARGS__)
const Function kFunctions[] = {
#include "tools/isa/ocml_functions.def"
};
#undef FUNCTION
#undef FLOAT_FUNCTION
#undef ROW

/// splitmix64: the same numbers on every machine.
class Random {
public:
    uint64_t bits() {
        uint64_t v = state_ += 0x9e3779b97f4a7c15;
        v = (v ^ (v >> 30)) * 0xbf58476d1ce4e5b9;
        v = (v ^ (v >> 27)) * 0x94d049bb133111eb;
        return v ^ (v >> 31);
    }
    double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

private:
    uint64_t state_ = 2024;
};

template <typename T>
struct Type;
template <>
struct Type<float> {
    static constexpr const Format& kFormat = kF32;
    static constexpr int kBound = 0;
    static double value(float v) { return v; }
};
template <>
struct Type<double> {
    static constexpr const Format& kFormat = kF64;
    static constexpr int kBound = 1;
    static double value(double v) { return v; }
};
template <>
struct Type<uint16_t> {  // half, as its bits
    static constexpr const Format& kFormat = kF16;
    static constexpr int kBound = 2;
    static double value(uint16_t v) { return half_value(v); }
};

template <typename T>
std::vector<T> special_values() {
    using L = std::numeric_limits<T>;
    std::vector<T> values;
    for (const T v : {T(0),
                      L::infinity(),
                      L::denorm_min(),
                      L::min(),
                      L::min() - L::denorm_min(),
                      L::max(),
                      L::epsilon(),
                      T(1),
                      T(1) + L::epsilon(),
                      T(1) - L::epsilon() / 2,
                      T(0.5),
                      T(0.25),
                      T(1.5),
                      T(2),
                      T(2.5),
                      T(3),
                      T(4),
                      T(10),
                      T(1.57079632679489661923),
                      T(3.14159265358979323846),
                      T(0x1p23),
                      T(0x1p24) + T(1),
                      T(0x1p31),
                      T(0x1p32),
                      T(0x1p52) + T(0.5),
                      T(0x1p63),
                      std::sqrt(L::max()),
                      std::sqrt(L::min()),
                      T(170.5),
                      T(35.25),
                      T(1e-5)}) {
        values.push_back(v);
        values.push_back(-v);
    }
    values.push_back(L::quiet_NaN());
    return values;
}

/// Three arrays of n values, one after the other; the first starts with the special values.
template <typename T>
std::vector<T> inputs(size_t n, double low, double high) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    Random random;
    const std::vector<T> special = special_values<T>();
    std::vector<T> values(3 * n);
    for (size_t i = 0; i < values.size(); ++i) {
        const double sign = random.bits() & 1 ? -1 : 1;
        const uint64_t kind = random.bits() % 8;
        if (i < special.size())
            values[i] = special[i];
        else if (i >= n && random.bits() % 8 == 0)
            values[i] = special[random.bits() % special.size()];
        else if (kind == 0)
            values[i] = std::bit_cast<T>(static_cast<Bits>(random.bits()));
        else if (kind == 1)
            values[i] = static_cast<T>(sign * std::ldexp(1 + random.unit(), static_cast<int>(random.bits() % 41) - 20));
        else if (kind == 2)
            values[i] = static_cast<T>(sign * static_cast<double>(random.bits() % 64) / 2);
        else
            values[i] = static_cast<T>(low + (high - low) * random.unit());
    }
    return values;
}
/// All halves for the first operand, random ones for the others.
template <>
std::vector<uint16_t> inputs(size_t n, double, double) {
    Random random;
    std::vector<uint16_t> values(3 * n);
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<uint16_t>(i < n ? i * (65536 / std::min<size_t>(n, 65536)) : random.bits());
        if (i >= n && random.bits() % 2) values[i] = static_cast<uint16_t>((values[i] & 0x8fff) | 0x3000);  // about 1
    }
    return values;
}

/// Errors beyond the bound that are the library's own: each step of its algorithm is an IEEE operation, and those, done exactly
/// and rounded by other means, give the same result.
struct Known {
    const char* name;
    const Format& format;
    double error;
    const char* reason;
};
const Known kKnown[] = {
    {"sin", kF16, std::numeric_limits<double>::infinity(),
     "rocm-device-libs 5.2.3 asks for \"finite\" where it means the opposite: NaN"},
    {"tan", kF16, 2.25, "the library's steps in half"},
    {"atan2pi", kF16, 2.26, "the library's steps in half"},
};

struct Worst {
    double error = -1, x = 0, y = 0, z = 0, got = 0, want = 0;
    long n = 0;
};

class Report {
public:
    void row(const char* name, const Format& format, const Worst& worst, double bound, size_t inputs) {
        const bool good = worst.error >= 0 && worst.error <= std::max(bound, 0.5) + 1e-9;
        ++rows_;
        inputs_ = std::max(inputs_, inputs);
        for (const Known& known : kKnown) {
            if (good || std::strcmp(known.name, name) != 0 || known.format.digits != format.digits || worst.error > known.error)
                continue;
            ++beyond_;
            fmt::print("{:<12} {} {:>9.3f} ulp, bound {:<6} {}\n", name, format.name, worst.error, bound, known.reason);
            return;
        }
        wrong_ += !good;
        fmt::print("{:<12} {} {:>9.3f} ulp, bound {:<6} {}\n", name, format.name, worst.error,
                   bound == 0 ? "0.5" : fmt::format("{}", bound), good ? "ok" : "WRONG");
        if (!good) {
            fmt::print("    {}({:a}, {:a}, {:a}, {}) = ({:.9g}, {:.9g}, {:.9g}): got {:a}, expected {:a}\n", name, worst.x,
                       worst.y, worst.z, worst.n, worst.x, worst.y, worst.z, worst.got, worst.want);
        }
        std::fflush(stdout);
    }
    void failed(const std::string& why) {
        fmt::print("{}\n", why);
        ++wrong_;
    }
    /// Every bit of what a function gave, and how many instructions of it were generated code.
    void results(const GpuBuffer& out, uint64_t generated) {
        hash_ = hash_text({reinterpret_cast<const char*>(out.host), out.bytes}, hash_);
        generated_ += generated;
    }
    int finish() {
        const char* const jit = std::getenv("LYRA_JIT");
        if (jit != nullptr && std::strstr(jit, "eager") != nullptr && generated_ == 0) failed("no generated code has run");
        const bool good = wrong_ == 0 && rows_ > 0;
        fmt::print(
            "ocml: {} functions, {} beyond their bound, {} more by the library's own doing, up to {} inputs each, results "
            "{:016x}: {}\n",
            rows_, wrong_, beyond_, inputs_, hash_, good ? "PASSED" : "FAILED");
        return good ? 0 : 1;
    }

private:
    unsigned rows_ = 0, wrong_ = 0, beyond_ = 0;
    size_t inputs_ = 0;
    uint64_t hash_ = hash_text(""), generated_ = 0;
};

constexpr uint32_t kBlock = 256;

/// The worst result of one function.
template <typename T>
Worst judge(const Function& function, const std::vector<T>& in, const std::vector<int>& ns, const T* out, size_t n) {
    const Format& format = Type<T>::kFormat;
    const double smallest = std::strcmp(function.name, "lgamma") == 0 ? 1 : function.only_float ? format.normal() : 0;
    Number x, y, z, want;
    Worst worst;
    for (size_t i = 0; i < n; ++i) {
        const double values[3] = {Type<T>::value(in[i]), Type<T>::value(in[n + i]), Type<T>::value(in[2 * n + i])};
        // Denormal numbers are optional for the functions with a wide bound.
        const auto denormal = [&](double v) { return v != 0 && std::fabs(v) < format.normal(); };
        if (function.only_float && (denormal(values[0]) || denormal(values[1]))) continue;
        mpfr_set_d(x, values[0], kNear);
        mpfr_set_d(y, values[1], kNear);
        mpfr_set_d(z, values[2], kNear);
        bool counts = true;
        function.reference(want, x, y, z, ns[i], format, counts);
        if (!counts || (function.only_float && denormal(mpfr_get_d(want, kNear)))) continue;
        const double got = Type<T>::value(out[i]);
        const double error = error_in_ulp(got, want, format, smallest);
        if (error > worst.error) worst = {error, values[0], values[1], values[2], got, mpfr_get_d(want, kNear), ns[i]};
    }
    return worst;
}

template <typename T>
void check(Report& report, const std::string& path, size_t n, const char* only) {
    const Format& format = Type<T>::kFormat;
    KernelRunner runner(path);
    if (!runner.error().empty()) return report.failed(runner.error());
    if (sizeof(T) == 2) n = 65536;
    const GpuBuffer xs = runner.buffer(std::vector<T>(n)), ys = runner.buffer(std::vector<T>(n)),
                    zs = runner.buffer(std::vector<T>(n)), out = runner.buffer(std::vector<T>(n));
    Random random;
    std::vector<int> ns(n);
    for (int& each : ns) each = static_cast<int>(random.bits() % 81) - 40;
    const GpuBuffer integers = runner.buffer(ns);
    uint64_t generated = 0;
    for (const Function& function : kFunctions) {
        if ((*only != 0 && std::strcmp(only, function.name) != 0) || (function.only_float && !std::is_same_v<T, float>))
            continue;
        const std::vector<T> in = inputs<T>(n, function.low, function.high);
        std::memcpy(xs.host, in.data(), n * sizeof(T));
        std::memcpy(ys.host, in.data() + n, n * sizeof(T));
        std::memcpy(zs.host, in.data() + 2 * n, n * sizeof(T));
        std::memset(out.host, 0xa5, n * sizeof(T));
        inproc::LaunchShape shape;
        shape.grid[0] = static_cast<uint32_t>(n);
        shape.block[0] = kBlock;
        const inproc::AqlDispatch packet =
            runner.packet(std::string("f_") + function.name, shape,
                          {argument(xs.va), argument(ys.va), argument(zs.va), argument(integers.va), argument(out.va)});
        if (!runner.error().empty() || runner.run(packet) != RunOutcome::Done) {
            report.failed(fmt::format("{} {} did not end {}", function.name, format.name, runner.error()));
            return;
        }
        report.results(out, runner.device().stat("translated_instructions") - generated);
        generated = runner.device().stat("translated_instructions");
        report.row(function.name, format, judge<T>(function, in, ns, reinterpret_cast<const T*>(out.host), n),
                   function.bounds[Type<T>::kBound], n);
    }
}

}  // namespace
}  // namespace lyra::isa

int main(int argc, char** argv) {
    using namespace lyra::isa;
    const long wanted = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 16384;
    if (wanted < 1 || wanted > 1 << 24 || argc > 4) {
        fmt::print(stderr, "usage: lyra_isa_ocml [INPUTS] [NAME or \"\"] [FOLDER]\n");
        return 2;
    }
    const size_t n = (static_cast<size_t>(wanted) + kBlock - 1) / kBlock * kBlock;
    Report report;
    const char* only = argc > 2 ? argv[2] : "";
    const auto file = [&](const char* built, const char* name) {
        return argc > 3 ? fmt::format("{}/{}", argv[3], name) : std::string(built);
    };
    check<float>(report, file(LYRA_OCML_F32, "ocml.f32.co"), n, only);
    check<double>(report, file(LYRA_OCML_F64, "ocml.f64.co"), n, only);
    check<uint16_t>(report, file(LYRA_OCML_F16, "ocml.f16.co"), n, only);
    return report.finish();
}
