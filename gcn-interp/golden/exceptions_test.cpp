// SPDX-License-Identifier: MIT
// The exceptions that the reference model reports, one operand at a time.
#include <gtest/gtest.h>

#include "gcn-interp/golden/cases.h"
#include "gcn-interp/golden/soft_float.h"
#include "gcn-interp/golden/wave_model.h"

namespace lyra::golden::test {
namespace {

using gcn::Op;

constexpr uint32_t kAllDenormals = 0x3f0, kFlushed = 0x300;

uint32_t exceptions(Op op, gcn::Format format, uint32_t a, uint32_t b = 0, uint32_t mode = kAllDenormals) {
    WaveCopy copy;
    copy.wave.exec = 1;
    copy.wave.mode = mode;
    copy.rows[0].lane[0] = a;
    copy.rows[1].lane[0] = b;
    copy.rows[0].lane[1] = 0xff800001;  // not in EXEC: says nothing
    gcn::Inst inst;
    inst.op = op;
    inst.format = format;
    inst.dst = 2;
    inst.src[0] = gcn::kSrcVgpr0;
    if (gcn::info(op).profile->sources() > 1) inst.src[1] = gcn::kSrcVgpr0 + 1;
    return execute(copy.wave, inst).flags;
}
uint32_t one(Op op, uint32_t a, uint32_t mode = kAllDenormals) { return exceptions(op, gcn::Format::VOP1, a, 0, mode); }
uint32_t two(Op op, uint32_t a, uint32_t b, uint32_t mode = kAllDenormals) {
    return exceptions(op, gcn::Format::VOP2, a, b, mode);
}

constexpr uint32_t kOne = 0x3f800000, kInf = 0x7f800000, kSignaling = 0x7f800001, kQuiet = 0x7fc00000, kLeast = 1,
                   kMost = 0x7f7fffff;

TEST(GoldenExceptions, ArithmeticRaisesWhatIeeeSays) {
    EXPECT_EQ(two(Op::v_add_f32, kOne, kOne), 0u);
    EXPECT_EQ(two(Op::v_add_f32, kQuiet, kOne), 0u);
    EXPECT_EQ(two(Op::v_add_f32, kSignaling, kOne), uint32_t{excp::kInvalid});
    EXPECT_EQ(two(Op::v_sub_f32, kInf, kInf), uint32_t{excp::kInvalid});
    EXPECT_EQ(two(Op::v_mul_f32, kInf, 0), uint32_t{excp::kInvalid});
    EXPECT_EQ(two(Op::v_add_f32, kMost, kMost), uint32_t{excp::kOverflow | excp::kInexact});
    EXPECT_EQ(two(Op::v_add_f32, kOne, 0x33000000), uint32_t{excp::kInexact});
    EXPECT_EQ(two(Op::v_mul_f32, 0x00800001, 0x3f000000), uint32_t{excp::kUnderflow | excp::kInexact});
    EXPECT_EQ(two(Op::v_mul_f32, 0x00800002, 0x3f000000), 0u) << "an exact denormal is no underflow";
    EXPECT_EQ(two(Op::v_mul_f32, 0x00800002, 0x3f000000, kFlushed), uint32_t{excp::kUnderflow | excp::kInexact});
}

TEST(GoldenExceptions, InputDenormalsCountOnlyWhereModeLetsThemBe) {
    EXPECT_EQ(two(Op::v_add_f32, kLeast, kLeast), uint32_t{excp::kInputDenormal});
    EXPECT_EQ(two(Op::v_add_f32, kLeast, kLeast, kFlushed), 0u);
    EXPECT_EQ(two(Op::v_and_b32, kLeast, kSignaling), 0u);
}

TEST(GoldenExceptions, ReciprocalsAndRoots) {
    EXPECT_EQ(one(Op::v_rcp_f32, 0), uint32_t{excp::kDivideByZero});
    EXPECT_EQ(one(Op::v_rcp_iflag_f32, 0), uint32_t{excp::kIntDivideByZero});
    EXPECT_EQ(one(Op::v_rcp_iflag_f32, 0x40400000), 0u);
    EXPECT_EQ(one(Op::v_rsq_f32, 0), uint32_t{excp::kDivideByZero});
    EXPECT_EQ(one(Op::v_log_f32, 0), uint32_t{excp::kDivideByZero});
    EXPECT_EQ(one(Op::v_sqrt_f32, kOne | 0x80000000), uint32_t{excp::kInvalid});
    EXPECT_EQ(one(Op::v_sin_f32, kInf), uint32_t{excp::kInvalid});
}

TEST(GoldenExceptions, Conversions) {
    EXPECT_EQ(one(Op::v_cvt_i32_f32, kQuiet), uint32_t{excp::kInvalid});
    EXPECT_EQ(one(Op::v_cvt_i32_f32, 0x4f000000), uint32_t{excp::kInvalid});
    EXPECT_EQ(one(Op::v_cvt_i32_f32, 0x3fc00000), uint32_t{excp::kInexact});
    EXPECT_EQ(one(Op::v_cvt_i32_f32, 0x40000000), 0u);
    EXPECT_EQ(one(Op::v_cvt_f16_f32, 0x477ff000), uint32_t{excp::kOverflow | excp::kInexact});
    EXPECT_EQ(one(Op::v_cvt_f32_u32, 0x01000001), uint32_t{excp::kInexact});
}

}  // namespace
}  // namespace lyra::golden::test
