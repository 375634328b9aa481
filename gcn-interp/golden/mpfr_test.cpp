// SPDX-License-Identifier: MIT
// The reference model's own floating point against MPFR: add, multiply, fused multiply-add, divide, square root and conversions
// in f16, f32 and f64, in the four rounding directions, denormals among the operands and the results. And the transcendental
// lane functions against MPFR within the unit in the last place that docs/design/decisions.md grants them.
// LYRA_GOLDEN_ROUNDS=n: more operands.
#include <gtest/gtest.h>
#include <mpfr.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/golden/cases.h"
#include "gcn-interp/golden/soft_float.h"

namespace lyra::golden::test {
namespace {

using gcn::Op;
using gcn::Type;

constexpr mpfr_rnd_t kDirections[] = {MPFR_RNDN, MPFR_RNDU, MPFR_RNDD, MPFR_RNDZ};
constexpr FloatFormat kFormats[] = {kF16, kF32, kF64};
constexpr Type type_of(const FloatFormat& f) { return f == kF16 ? Type::F16 : f == kF32 ? Type::F32 : Type::F64; }

unsigned operands(unsigned usual) {
    const char* text = std::getenv("LYRA_GOLDEN_ROUNDS");
    return text != nullptr ? usual * static_cast<unsigned>(std::strtoul(text, nullptr, 10)) / 12 : usual;
}

/// Exponent range and precision of MPFR as those of a format, for as long as this lives.
class FormatRange {
public:
    explicit FormatRange(const FloatFormat& f) : min_(mpfr_get_emin()), max_(mpfr_get_emax()) {
        mpfr_set_emin(f.least_exponent() + 1);
        mpfr_set_emax(f.bias() + 1);
    }
    ~FormatRange() {
        mpfr_set_emin(min_);
        mpfr_set_emax(max_);
    }

private:
    mpfr_exp_t min_, max_;
};

struct Value {
    mpfr_t v;
    explicit Value(mpfr_prec_t precision) { mpfr_init2(v, precision); }
    ~Value() { mpfr_clear(v); }
    Value(const Value&) = delete;
    Value& operator=(const Value&) = delete;
};

/// Bits of a format as an MPFR number, exactly.
void set_bits(mpfr_ptr v, const FloatFormat& f, uint64_t bits) {
    if (is_nan(f, bits)) return mpfr_set_nan(v);
    if (is_infinite(f, bits)) return mpfr_set_inf(v, is_negative(f, bits) ? -1 : 1);
    const uint64_t e = exponent_field(f, bits), m = bits & f.fraction_mask();
    mpfr_set_ui_2exp(v, e == 0 ? m : m | (uint64_t{1} << f.fraction),
                     f.least_exponent() + static_cast<long>(e == 0 ? 0 : e - 1), MPFR_RNDN);
    mpfr_setsign(v, v, is_negative(f, bits), MPFR_RNDN);
}
/// A number that the format has, as bits.
uint64_t get_bits(mpfr_ptr v, const FloatFormat& f) {
    const uint64_t sign = mpfr_signbit(v) != 0 ? f.sign_bit() : 0;
    if (mpfr_nan_p(v)) return f.invalid_nan();
    if (mpfr_inf_p(v)) return sign | f.infinity();
    if (mpfr_zero_p(v)) return sign;
    Value scaled(64);
    mpfr_abs(scaled.v, v, MPFR_RNDN);
    const auto exponent = static_cast<int>(mpfr_get_exp(scaled.v)) - 1;  // of the highest digit
    const int last = std::max(exponent - static_cast<int>(f.fraction), f.least_exponent());
    mpfr_mul_2si(scaled.v, scaled.v, -last, MPFR_RNDN);
    const uint64_t digits = mpfr_get_ui(scaled.v, MPFR_RNDN);
    if (digits >> f.fraction == 0) return sign | digits;
    return sign | static_cast<uint64_t>(last - f.least_exponent() + 1) << f.fraction | (digits & f.fraction_mask());
}

/// What MPFR makes of an operation, rounded once to the format.
using Operation = int (*)(mpfr_ptr r, const Value* x, mpfr_rnd_t direction);
struct Case {
    const char* name;
    unsigned sources;
    Operation mpfr;
    Real (*model)(const Real* x, Rounding direction, uint32_t& flags);
};
const Case kCases[] = {
    {"add", 2, [](mpfr_ptr r, const Value* x, mpfr_rnd_t d) { return mpfr_add(r, x[0].v, x[1].v, d); },
     [](const Real* x, Rounding d, uint32_t& f) { return sum(x[0], x[1], d, f); }},
    {"mul", 2, [](mpfr_ptr r, const Value* x, mpfr_rnd_t d) { return mpfr_mul(r, x[0].v, x[1].v, d); },
     [](const Real* x, Rounding, uint32_t& f) { return product(x[0], x[1], f); }},
    {"fma", 3, [](mpfr_ptr r, const Value* x, mpfr_rnd_t d) { return mpfr_fma(r, x[0].v, x[1].v, x[2].v, d); },
     [](const Real* x, Rounding d, uint32_t& f) { return fused(x[0], x[1], x[2], d, f); }},
    {"div", 2, [](mpfr_ptr r, const Value* x, mpfr_rnd_t d) { return mpfr_div(r, x[0].v, x[1].v, d); },
     [](const Real* x, Rounding, uint32_t& f) { return quotient(x[0], x[1], f); }},
    {"sqrt", 1, [](mpfr_ptr r, const Value* x, mpfr_rnd_t d) { return mpfr_sqrt(r, x[0].v, d); },
     [](const Real* x, Rounding, uint32_t& f) { return square_root(x[0], f); }},
    {"convert", 1, [](mpfr_ptr r, const Value* x, mpfr_rnd_t d) { return mpfr_set(r, x[0].v, d); },
     [](const Real* x, Rounding, uint32_t&) { return x[0]; }},
};

void check(const Case& c, const FloatFormat& from, const FloatFormat& to, unsigned direction, Random& random) {
    uint64_t bits[3] = {};
    Real x[3];
    const Value v[3] = {Value(53), Value(53), Value(53)};
    for (unsigned n = 0; n < c.sources; ++n) {
        bits[n] = corner(type_of(from), random);
        if (n > 0 && random() % 4 == 0) bits[n] = bits[0] ^ (random() & from.sign_bit()) ^ (random() % 4);
        x[n] = real_of(from, bits[n]);
        set_bits(const_cast<mpfr_ptr>(v[n].v), from, bits[n]);
    }
    uint32_t flags = 0;
    const auto rounding = static_cast<Rounding>(direction);
    const uint64_t model = round_to({to, rounding}, c.model(x, rounding, flags), flags);
    Value r(to.fraction + 1);
    uint64_t wanted = 0;
    bool inexact = false, overflowed = false;
    {
        const FormatRange range(to);
        mpfr_clear_flags();
        const int lost = c.mpfr(r.v, v, kDirections[direction]);
        const int checked = mpfr_check_range(r.v, lost, kDirections[direction]);
        overflowed = mpfr_overflow_p() != 0;
        inexact = mpfr_subnormalize(r.v, checked, kDirections[direction]) != 0;
    }
    wanted = get_bits(r.v, to);
    const std::string text = fmt::format("{} f{} to f{} direction {}: {:x} {:x} {:x}", c.name, from.width, to.width, direction,
                                         bits[0], bits[1], bits[2]);
    if (is_nan(to, wanted)) {
        ASSERT_TRUE(is_nan(to, model)) << text;
        bool nan_source = false;
        for (unsigned n = 0; n < c.sources; ++n) nan_source = nan_source || is_nan(from, bits[n]);
        ASSERT_TRUE(nan_source || ((flags & excp::kInvalid) != 0 && model == to.invalid_nan())) << text;
        return;
    }
    ASSERT_EQ(fmt::format("{:x}", model), fmt::format("{:x}", wanted)) << text;
    ASSERT_EQ((flags & excp::kInexact) != 0, inexact) << text;
    ASSERT_EQ((flags & excp::kDivideByZero) != 0, mpfr_divby0_p() != 0) << text;
    ASSERT_EQ((flags & excp::kOverflow) != 0, overflowed) << text;
}

TEST(GoldenMpfr, ArithmeticIsRoundedOnceInEveryDirection) {
    Random random(20);
    for (const Case& c : kCases)
        for (const FloatFormat& from : kFormats)
            for (const FloatFormat& to : kFormats)
                for (unsigned direction = 0; direction < 4; ++direction) {
                    if (!(from == to) && std::string(c.name) != "convert") continue;
                    for (unsigned n = 0; n < operands(4000); ++n) {
                        check(c, from, to, direction, random);
                        if (testing::Test::HasFatalFailure()) return;
                    }
                }
}

TEST(GoldenMpfr, WholeNumbersAndIntegersAreThoseOfMpfr) {
    constexpr Rounding kModes[] = {Rounding::NearestEven, Rounding::Up, Rounding::Down, Rounding::Zero};
    Random random(21);
    for (const FloatFormat& f : kFormats) {
        for (unsigned n = 0; n < operands(8000); ++n) {
            const uint64_t bits = corner(type_of(f), random);
            if (is_nan(f, bits)) continue;
            Value v(53), r(53);
            set_bits(v.v, f, bits);
            for (unsigned mode = 0; mode < 4; ++mode) {
                uint32_t flags = 0;
                const Real w = whole(real_of(f, bits), kModes[mode], flags);
                if (mode == 0)
                    mpfr_rint_roundeven(r.v, v.v, MPFR_RNDN);
                else
                    mpfr_rint(r.v, v.v, kDirections[mode]);
                ASSERT_EQ(round_to({f}, w, flags), get_bits(r.v, f)) << fmt::format("{:x} f{} mode {}", bits, f.width, mode);
            }
            uint32_t flags = 0;
            const auto integer = static_cast<int64_t>(to_integer(real_of(f, bits), INT32_MIN, INT32_MAX, flags));
            mpfr_trunc(r.v, v.v);
            const int64_t wanted = mpfr_cmp_si(r.v, INT32_MIN) < 0   ? INT32_MIN
                                   : mpfr_cmp_si(r.v, INT32_MAX) > 0 ? INT32_MAX
                                                                     : mpfr_get_si(r.v, MPFR_RNDZ);
            ASSERT_EQ(integer, wanted) << fmt::format("{:x} f{}", bits, f.width);
        }
    }
}

// Transcendental lane functions ---------------------------------------------------------------------------------------------

struct Function {
    Op f16, f32;
    void (*mpfr)(mpfr_ptr r, mpfr_ptr x);
    bool positive;  ///< only of numbers above zero
    double limit;  ///< and below this in magnitude
};
void turns(mpfr_ptr r, mpfr_ptr x, int (*fn)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t)) {
    Value pi(400);
    mpfr_const_pi(pi.v, MPFR_RNDN);
    mpfr_frac(r, x, MPFR_RNDN);
    mpfr_mul(r, r, pi.v, MPFR_RNDN);
    mpfr_mul_2ui(r, r, 1, MPFR_RNDN);
    fn(r, r, MPFR_RNDN);
}
const Function kFunctions[] = {
    {Op::v_exp_f16, Op::v_exp_f32, [](mpfr_ptr r, mpfr_ptr x) { mpfr_exp2(r, x, MPFR_RNDN); }, false, 120},
    {Op::v_log_f16, Op::v_log_f32, [](mpfr_ptr r, mpfr_ptr x) { mpfr_log2(r, x, MPFR_RNDN); }, true, 0x1p120},
    {Op::v_sin_f16, Op::v_sin_f32, [](mpfr_ptr r, mpfr_ptr x) { turns(r, x, mpfr_sin); }, false, 256},
    {Op::v_cos_f16, Op::v_cos_f32, [](mpfr_ptr r, mpfr_ptr x) { turns(r, x, mpfr_cos); }, false, 256},
    {Op::v_rcp_f16, Op::v_rcp_f32, [](mpfr_ptr r, mpfr_ptr x) { mpfr_ui_div(r, 1, x, MPFR_RNDN); }, false, 0x1p120},
    {Op::v_rsq_f16, Op::v_rsq_f32, [](mpfr_ptr r, mpfr_ptr x) { mpfr_rec_sqrt(r, x, MPFR_RNDN); }, true, 0x1p120},
    {Op::v_sqrt_f16, Op::v_sqrt_f32, [](mpfr_ptr r, mpfr_ptr x) { mpfr_sqrt(r, x, MPFR_RNDN); }, true, 0x1p120},
};

/// Distance of the lane's result from the true value, in units of the result's last place.
double error_in_ulp(const FloatFormat& f, uint64_t bits, mpfr_ptr truth) {
    Value got(400), unit(400);
    set_bits(got.v, f, bits);
    const auto exponent = mpfr_zero_p(truth)
                              ? f.least_exponent()
                              : std::max<long>(mpfr_get_exp(truth) - 1 - static_cast<long>(f.fraction), f.least_exponent());
    mpfr_sub(got.v, got.v, truth, MPFR_RNDN);
    mpfr_mul_2si(got.v, got.v, -exponent, MPFR_RNDN);
    return std::abs(mpfr_get_d(got.v, MPFR_RNDN));
}

TEST(GoldenMpfr, TranscendentalLanesAreWithinOneUlp) {
    gcn::ExecTable table(gcn::host_backend());
    gcn::register_vector_alu(table);
    Random random(22);
    WaveCopy copy;
    copy.wave.exec = ~uint64_t{0};
    copy.wave.mode = 0x3f0;
    for (const Function& fn : kFunctions) {
        for (const FloatFormat& f : {kF16, kF32}) {
            const Op op = f == kF16 ? fn.f16 : fn.f32;
            gcn::Inst inst;
            inst.op = op;
            inst.format = gcn::Format::VOP1;
            inst.dst = 1;
            inst.src[0] = gcn::kSrcVgpr0;
            double worst = 0;
            for (unsigned round = 0; round < operands(60); ++round) {
                for (uint32_t& v : copy.rows[0].lane) v = static_cast<uint32_t>(corner(type_of(f), random));
                gcn::ExecContext ctx{copy.wave};
                table.get(op, gcn::Format::VOP1)(ctx, inst);
                for (unsigned lane = 0; lane < gcn::kLanes; ++lane) {
                    const uint64_t source = copy.rows[0].lane[lane] & f.all_bits(), result = copy.rows[1].lane[lane];
                    if (is_nan(f, source) || is_infinite(f, source) || is_zero(f, source) ||
                        (f == kF32 && is_denormal(f, source)))
                        continue;
                    if (fn.positive && is_negative(f, source)) continue;
                    Value x(400), truth(400);
                    set_bits(x.v, f, source);
                    if (mpfr_cmpabs(x.v, (mpfr_set_d(truth.v, fn.limit, MPFR_RNDN), truth.v)) > 0) continue;
                    fn.mpfr(truth.v, x.v);
                    if (is_infinite(f, result) || (f == kF32 && is_zero(f, result)))
                        continue;  // overflow, flush: the other test's matter
                    worst = std::max(worst, error_in_ulp(f, result, truth.v));
                }
            }
            // Correctly rounded but for values very near the middle of two: never a whole unit.
            EXPECT_LE(worst, 0.501) << gcn::info(op).name;
            EXPECT_GT(worst, 0.0) << gcn::info(op).name;
        }
    }
}

}  // namespace
}  // namespace lyra::golden::test
