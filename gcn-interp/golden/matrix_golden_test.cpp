// SPDX-License-Identifier: MIT
// Every matrix multiply-add against the reference model: random registers, modifiers, numbers; every bit of all registers has
// to be equal. LYRA_GOLDEN_ROUNDS=n (default 12) instructions of each.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/golden/cases.h"
#include "gcn-interp/golden/matrix_model.h"
#include "gcn-interp/isa/matrix_shape.h"
#include "gcn-interp/testing/executed.h"

namespace lyra::golden::test {
namespace {

using namespace gcn;

unsigned rounds() {
    const char* text = std::getenv("LYRA_GOLDEN_ROUNDS");
    return text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 12;
}

std::vector<Op> matrix_rows() {
    std::vector<Op> rows;
    for (size_t n = 1; n < kOpCount; ++n)
        if (kInstInfo[n].has(flag::Matrix)) rows.push_back(static_cast<Op>(n));
    return rows;
}

/// A wave with enough registers for three large operands of each kind.
struct Machine {
    static constexpr unsigned kVgprs = 256, kAccFirst = 128;
    std::vector<VgprRow> rows = std::vector<VgprRow>(kVgprs);
    Wave wave;
    Machine() { bind(); }
    Machine(const Machine& other) : rows(other.rows), wave(other.wave) { bind(); }
    Machine& operator=(const Machine&) = delete;
    void bind() {
        wave.vgpr = rows.data();
        wave.vgpr_count = kVgprs;
        wave.acc_first = kAccFirst;
        wave.sgpr_count = 104;
    }
};

uint32_t below(Random& random, uint64_t n) { return static_cast<uint32_t>(random() % n); }

/// Registers anywhere, so that operands now and then overlap or lie past the allocation.
Inst random_matrix(Op op, Random& random) {
    const InstInfo& row = info(op);
    for (;;) {
        const auto number = [&](unsigned dwords) {
            const unsigned last = below(random, 20) == 0 ? 256 : Machine::kAccFirst;
            return below(random, last - dwords + 1);
        };
        const uint32_t c = below(random, 4) == 0   ? std::array{128u, 133u, 193u, 240u, 245u, 248u}[below(random, 6)]
                           : below(random, 4) == 0 ? 256 + number(row.dst_dwords())
                                                   : 512u;
        const uint32_t dst = number(row.dst_dwords());
        const bool sparse = row.has(flag::Sparse);
        const uint32_t modifiers = below(random, sparse ? 2 : 3) == 0 ? below(random, 128) : 0,
                       blgp = !sparse && below(random, 2) ? below(random, 8) : 0;
        const uint32_t index = 256 + number(1);
        const uint32_t words[2] = {0xd3800000u | uint32_t{row.opcode} << 16 | below(random, 2) << 15 | modifiers << 8 | dst,
                                   (256 + number(row.src_dwords(0))) | (256 + number(row.src_dwords(1))) << 9 |
                                       (sparse     ? index
                                        : c == 512 ? 256 + dst
                                                   : c)
                                           << 18 |
                                       below(random, 4) << 27 | blgp << 29};
        const Inst inst = decode(words, 2, chip_of(op));
        if (inst.op == op) return inst;
    }
}

/// Mostly numbers near one, whose sums neither overflow nor vanish; with `wild` anything, NaNs above all.
uint64_t random_number(const MatrixShape& shape, bool result, bool wild, Random& random) {
    const bool integer = shape.input == MatrixInput::I8;
    const Type type = shape.input == MatrixInput::F64             ? Type::F64
                      : integer                                   ? Type::U32
                      : result || shape.input == MatrixInput::F32 ? Type::F32
                      : shape.input == MatrixInput::F16           ? Type::F16
                                                                  : Type::F32;
    if (integer) return random();
    if (wild || below(random, 400) == 0) return corner(type, random);
    const unsigned fraction = type == Type::F16   ? 10
                              : type == Type::F64 ? 52
                                                  : 23,
                   bias = type == Type::F16   ? 15
                          : type == Type::F64 ? 1023
                                              : 127;
    const uint64_t sign = (random() & 1) << (info(type).bits - 1), digits = random() & ((uint64_t{1} << fraction) - 1);
    return sign | uint64_t{bias - 4 + below(random, 8)} << fraction | digits;
}
/// Denormals, and numbers whose products are.
uint64_t tiny_number(const MatrixShape& shape, bool result, Random& random) {
    if (shape.input == MatrixInput::F64) return (random() & 0x800fffffffffffff) | uint64_t{below(random, 3) * 500u} << 52;
    if (result || shape.input != MatrixInput::F16) return (random() & 0x807fffff) | uint64_t{below(random, 4) * 32u} << 23;
    return random() & 0x8fff;
}

uint32_t random_dword(const MatrixShape& shape, bool result, unsigned kind, Random& random, uint64_t& wide) {
    const auto one = [&] {
        return kind == 0 ? tiny_number(shape, result, random) : random_number(shape, result, kind == 1, random);
    };
    if (shape.input == MatrixInput::F64) {
        wide = wide == 0 ? one() : wide >> 32;
        const auto low = static_cast<uint32_t>(wide);
        if (wide >> 32 == 0) wide = 0;
        return low;
    }
    const bool small = shape.input == MatrixInput::FP8 || shape.input == MatrixInput::BF8;
    if (result || shape.input == MatrixInput::F32 || shape.input == MatrixInput::XF32 || shape.input == MatrixInput::I8)
        return static_cast<uint32_t>(one());
    // Any byte is a number but one; without that, and with numbers near one, sums are worth looking at.
    if (small) {
        auto bytes = static_cast<uint32_t>(random());
        if (kind == 1 && below(random, 3) == 0) bytes = (bytes & ~0xffu) | 0x80;
        for (unsigned shift = 0; shift < 32 && kind != 1; shift += 8)
            if ((bytes >> shift & 0xff) == 0x80) bytes ^= 1u << shift;
        if (kind > 3) bytes = (bytes & 0x8f8f8f8f) | 0x40404040;
        return bytes;
    }
    const unsigned shift = shape.input == MatrixInput::BF16 ? 16 : 0;
    return static_cast<uint32_t>((one() >> shift & 0xffff) | (one() >> shift & 0xffff) << 16);
}

void fill_operand(Machine& m, const MatrixShape& shape, unsigned first, unsigned dwords, bool result, unsigned kind,
                  Random& random) {
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        uint64_t wide = 0;
        for (unsigned n = 0; n < dwords; ++n) {
            const uint32_t value = random_dword(shape, result, kind, random, wide);
            if (first + n < Machine::kVgprs) m.rows[first + n].lane[lane] = value;
        }
    }
}

void fill(Machine& m, const Inst& inst, const MatrixShape& shape, Random& random) {
    const InstInfo& row = info(inst.op);
    for (VgprRow& each : m.rows)
        for (uint32_t& lane : each.lane) lane = static_cast<uint32_t>(random());
    const unsigned kind = below(random, 6);
    for (unsigned n = 3; n-- > 0;) {
        if (inst.src[n] < kSrcVgpr0) continue;
        const unsigned first = inst.src[n] - kSrcVgpr0 + ((inst.op_sel_hi >> n & 1) != 0 ? Machine::kAccFirst : 0);
        if (n < 2 || !row.has(flag::Sparse)) fill_operand(m, shape, first, row.src_dwords(n), n == 2, kind, random);
    }
    if (row.has(flag::Sparse)) {
        const unsigned first = inst.dst + ((inst.op_sel_hi & 4) != 0 ? Machine::kAccFirst : 0);
        fill_operand(m, shape, first, row.dst_dwords(), true, kind, random);
    }
    m.wave.exec = below(random, 3) == 0 ? 0 : random();
    m.wave.mode = below(random, 2) == 0 ? 0x3f0 : static_cast<uint32_t>(random()) & 0x080003ff;
    m.wave.m0 = below(random, 12) | below(random, 16) << 12;
}

std::string difference(const Machine& real, const Machine& model) {
    for (unsigned n = 0; n < Machine::kVgprs; ++n)
        for (unsigned lane = 0; lane < kLanes; ++lane)
            if (real.rows[n].lane[lane] != model.rows[n].lane[lane])
                return fmt::format(" register {} lane {} is {:08x}, model {:08x}", n, lane, real.rows[n].lane[lane],
                                   model.rows[n].lane[lane]);
    return "";
}

MatrixShape shape_of(Op op) {
    switch (op) {
#define MFMA(opcode, name, ...) \
    case Op::name: return matrix_shape(Op::name);
#include "gcn-interp/isa/mfma.def"
#undef MFMA
        default: return {};
    }
}

class GoldenMatrix : public testing::TestWithParam<Backend> {};

TEST_P(GoldenMatrix, HandlersAgree) {
    ExecTable table(GetParam());
    register_vector_alu(table);
    std::set<unsigned> blgp;
    unsigned broadcasts = 0;
    for (const Op op : matrix_rows()) {
        const MatrixShape shape = shape_of(op);
        const ExecFn handler = table.get(op, Format::VOP3P);
        ASSERT_NE(handler, nullptr) << info(op).name;
        Random random(op_index(op) * 100);
        for (unsigned n = 0; n < rounds(); ++n) {
            const Inst inst = random_matrix(op, random);
            Machine before;
            fill(before, inst, shape, random);
            Machine real(before), model(before);
            ExecContext ctx{real.wave};
            handler(ctx, inst);
            execute_matrix(model.wave, inst);
            gcn::test::note_executed(inst);
            blgp.insert(inst.neg);
            broadcasts += inst.neg_hi != 0 && shape.blocks > 1;
            EXPECT_EQ(ctx.fault, Fault::None);
            const std::string text = difference(real, model);
            EXPECT_EQ(text, "") << disassemble(inst) << fmt::format(" mode {:08x} m0 {:08x}", before.wave.mode, before.wave.m0);
            if (!text.empty()) break;
        }
    }
    EXPECT_EQ(blgp.size(), 8u);
    EXPECT_GT(broadcasts, 10u);
}

std::vector<Backend> host_backends() {
    std::vector<Backend> found;
    for (const Backend backend : kAllBackends)
        if (backend <= kWidest && supported(backend)) found.push_back(backend);
    return found;
}
INSTANTIATE_TEST_SUITE_P(Backends, GoldenMatrix, testing::ValuesIn(host_backends()),
                         [](const auto& parameter) { return kBackendNames[static_cast<unsigned>(parameter.param)]; });

TEST(MatrixRows, AreThoseOfTheChips) {
    for (const auto& [chip, count] : {std::pair{Chip::gfx906, 0}, {Chip::gfx908, 20}, {Chip::gfx90a, 27}, {Chip::gfx942, 46}}) {
        int found = 0;
        for (const Op op : matrix_rows()) found += info(op).on(chip);
        EXPECT_EQ(found, count) << facts_of(chip).name;
    }
}

}  // namespace
}  // namespace lyra::golden::test
