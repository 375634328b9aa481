// SPDX-License-Identifier: MIT
// Scalar handlers against the reference model, on random operands; every SGPR, EXEC, SCC, M0 have to be equal.
// LYRA_GOLDEN_ROUNDS=n (default 12): more instructions for each row.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include <fmt/format.h>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/golden/cases.h"
#include "gcn-interp/golden/scalar_model.h"
#include "gcn-interp/testing/executed.h"

namespace lyra::golden::test {
namespace {

using namespace gcn;
using gcn::test::note_executed;

/// Flow, hardware registers, relative addressing: exec/scalar_test.cpp, cu/*_test.cpp.
const std::set<std::string> kNotComputed = {"s_getpc_b64",      "s_setpc_b64",       "s_swappc_b64",     "s_rfe_b64",
                                            "s_movrels_b32",    "s_movrels_b64",     "s_movreld_b32",    "s_movreld_b64",
                                            "s_cbranch_join",   "s_set_gpr_idx_idx", "s_cbranch_g_fork", "s_rfe_restore_b64",
                                            "s_cbranch_i_fork", "s_getreg_b32",      "s_setreg_b32",     "s_setreg_imm32_b32",
                                            "s_call_b64",       "s_setvskip",        "s_set_gpr_idx_on"};

std::vector<Op> scalar_rows() {
    std::vector<Op> rows;
    for (size_t n = 1; n < kOpCount; ++n) {
        const Format f = kInstInfo[n].format;
        if (f == Format::SOP1 || f == Format::SOP2 || f == Format::SOPK || f == Format::SOPC)
            rows.push_back(static_cast<Op>(n));
    }
    return rows;
}

uint32_t register_number(Random& random) {
    constexpr uint32_t kSpecial[] = {102, 104, 106, 107, 124, 126, 127};
    return random() % 4 == 0 ? kSpecial[random() % std::size(kSpecial)] : static_cast<uint32_t>(random() % 102);
}
uint32_t source_number(Random& random) {
    constexpr uint32_t kSpecial[] = {235, 236, 237, 238, 251, 252, 253, 255, 255};
    switch (random() % 6) {
        case 0: return kSpecial[random() % std::size(kSpecial)];
        case 1: return 128 + static_cast<uint32_t>(random() % 81);
        case 2: return 240 + static_cast<uint32_t>(random() % 9);
        default: return register_number(random);
    }
}
Inst random_scalar_inst(Op op, Random& random) {
    const InstInfo& row = info(op);
    Inst inst;
    for (unsigned tries = 0; tries < 50; ++tries) {
        const uint32_t a = source_number(random), b = source_number(random), d = register_number(random), code = row.opcode;
        uint32_t word[3] = {0, static_cast<uint32_t>(corner(Type::U32, random)), 0};
        switch (row.format) {
            case Format::SOP2: word[0] = 0x80000000u | code << 23 | d << 16 | b << 8 | a; break;
            case Format::SOP1: word[0] = 0xbe800000u | d << 16 | code << 8 | a; break;
            case Format::SOPC: word[0] = 0xbf000000u | code << 16 | b << 8 | a; break;
            default: word[0] = 0xb0000000u | code << 23 | d << 16 | static_cast<uint32_t>(random() & 0xffff); break;
        }
        inst = decode(word, 3);
        if (inst.op == op) return inst;
    }
    inst.format = Format::Invalid;
    return inst;
}

TEST(GoldenScalar, HasEveryRowThatComputes) {
    std::string missing;
    for (const Op op : scalar_rows())
        if (models_scalar(op) == (kNotComputed.count(info(op).name) != 0)) missing += std::string(" ") + info(op).name;
    EXPECT_EQ(missing, "");
}

TEST(GoldenScalar, HandlersAgree) {
    ExecTable table(host_backend());
    register_scalar_and_memory(table);
    const char* text = std::getenv("LYRA_GOLDEN_ROUNDS");
    const unsigned rounds = 15 * (text != nullptr ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : 12);
    for (const Op op : scalar_rows()) {
        if (!models_scalar(op)) continue;
        Random random(op_index(op));
        for (unsigned n = 0; n < rounds; ++n) {
            const Inst inst = random_scalar_inst(op, random);
            ASSERT_NE(inst.format, Format::Invalid) << info(op).name;
            WaveCopy before;
            const Type type = info(info(op).profile->src[0]).dwords == 1 ? info(op).profile->src[0] : Type::U32;
            for (uint32_t& s : before.wave.sgpr) s = static_cast<uint32_t>(corner(type, random));
            before.wave.exec = random() % 8 == 0 ? 0 : corner(Type::U64, random);
            before.wave.m0 = static_cast<uint32_t>(random());
            before.wave.scc = random() % 2 != 0;
            before.wave.private_base = uint64_t{2} << 48;
            before.wave.shared_base = uint64_t{1} << 48;
            WaveCopy real(before), model(before);
            ExecContext ctx{real.wave};
            table.get(op, inst.format)(ctx, inst);
            note_executed(inst);
            execute_scalar(model.wave, inst);
            std::string differs;
            if (real.wave.scc != model.wave.scc) differs += fmt::format(" scc {} model {}", real.wave.scc, model.wave.scc);
            if (real.wave.exec != model.wave.exec)
                differs += fmt::format(" exec {:x} model {:x}", real.wave.exec, model.wave.exec);
            if (real.wave.m0 != model.wave.m0) differs += fmt::format(" m0 {:x} model {:x}", real.wave.m0, model.wave.m0);
            for (size_t i = 0; i < real.wave.sgpr.size(); ++i)
                if (real.wave.sgpr[i] != model.wave.sgpr[i])
                    differs += fmt::format(" s{} was {:x} is {:x} model {:x}", i, before.wave.sgpr[i], real.wave.sgpr[i],
                                           model.wave.sgpr[i]);
            EXPECT_EQ(differs, "") << disassemble(inst) << fmt::format(" scc {} exec {:x}", before.wave.scc, before.wave.exec);
            if (!differs.empty()) break;
        }
    }
}

}  // namespace
}  // namespace lyra::golden::test
