// SPDX-License-Identifier: MIT
// Implicit uses and definitions of LLVM 19's instruction descriptions against isa/effects.h.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/MCTargetOptions.h>
#include <llvm/MC/TargetRegistry.h>

#include "gcn-interp/fuzz/random_program.h"
#include "gcn-interp/isa/effects.h"
#include "gcn-interp/isa/llvm_oracle.h"

extern "C" {
void LLVMInitializeAMDGPUTargetInfo(void);
void LLVMInitializeAMDGPUTarget(void);
void LLVMInitializeAMDGPUTargetMC(void);
void LLVMInitializeAMDGPUDisassembler(void);
}

namespace lyra::gcn {
namespace {

/// What LLVM's description of one instruction names implicitly, as sets of effects; other registers are left out.
class Descriptions {
public:
    explicit Descriptions(const char* cpu) {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTarget();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUDisassembler();
        const std::string triple = "amdgcn-amd-amdhsa";
        std::string error;
        const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
        registers_.reset(target->createMCRegInfo(triple));
        assembler_.reset(target->createMCAsmInfo(*registers_, triple, llvm::MCTargetOptions()));
        instructions_.reset(target->createMCInstrInfo());
        subtarget_.reset(target->createMCSubtargetInfo(triple, cpu, ""));
        context_ =
            std::make_unique<llvm::MCContext>(llvm::Triple(triple), assembler_.get(), registers_.get(), subtarget_.get());
        disassembler_.reset(target->createMCDisassembler(*subtarget_, *context_));
    }

    /// @return false when LLVM does not take the words
    bool effects(const uint32_t* words, Effects& effects) {
        const llvm::ArrayRef<uint8_t> bytes(reinterpret_cast<const uint8_t*>(words), 12);
        llvm::MCInst inst;
        uint64_t size = 0;
        if (disassembler_->getInstruction(inst, size, bytes, 0, llvm::nulls()) != llvm::MCDisassembler::Success) return false;
        const llvm::MCInstrDesc& description = instructions_->get(inst.getOpcode());
        for (const llvm::MCPhysReg each : description.implicit_uses()) effects.read(set_of(each));
        for (const llvm::MCPhysReg each : description.implicit_defs()) effects.write(set_of(each));
        return true;
    }

private:
    uint32_t set_of(llvm::MCPhysReg number) const {
        static const std::map<std::string, uint32_t> kSets = {
            {"SCC", effect::Scc},    {"VCC", effect::Vcc},   {"VCC_LO", effect::Vcc},
            {"VCC_HI", effect::Vcc}, {"EXEC", effect::Exec}, {"EXEC_LO", effect::Exec},
            {"M0", effect::M0},      {"MODE", effect::Mode}, {"FLAT_SCR", effect::FlatScratch},
        };
        const auto found = kSets.find(registers_->getName(number));
        return found == kSets.end() ? 0 : found->second;
    }
    std::unique_ptr<llvm::MCRegisterInfo> registers_;
    std::unique_ptr<llvm::MCAsmInfo> assembler_;
    std::unique_ptr<llvm::MCInstrInfo> instructions_;
    std::unique_ptr<llvm::MCSubtargetInfo> subtarget_;
    std::unique_ptr<llvm::MCContext> context_;
    std::unique_ptr<llvm::MCDisassembler> disassembler_;
};

constexpr uint32_t kCompared = effect::Scc | effect::Vcc | effect::Exec | effect::M0 | effect::Mode | effect::FlatScratch;

/// Our effects, with VCC where struct Inst has it as an operand and the encoding does not.
Effects with_implied_vcc(const Inst& inst) {
    Effects effects = effects_of(inst);
    const InstInfo& row = info(inst.op);
    if (inst.format == Format::VOP3) return effects;
    if (row.has(flag::CarryIn)) effects.read(effect::Vcc);
    if (row.has(flag::CarryOut)) effects.write(effect::Vcc);
    if (row.format == Format::VOPC && inst.format != Format::VOPC_SDWA) effects.write(effect::Vcc);
    return effects;
}

/// Where one of the two names a register and the other does not.
struct Difference {
    uint32_t piece;
    bool write, ours;
    std::vector<std::string_view> names;  ///< beginnings of mnemonics
    const char* reason;
    ChipMask chips = kEveryChip;  ///< that have it
    bool is(uint32_t bit, bool writes, bool by_us, std::string_view name) const {
        return piece == bit && write == writes && ours == by_us &&
               std::any_of(names.begin(), names.end(), [&](std::string_view each) { return name.starts_with(each); });
    }
};
constexpr bool kRead = false, kWrite = true, kOurs = true, kLlvm = false;
const Difference kKnown[] = {
    {effect::Scc, kRead, kOurs, {"s_getreg_b32"}, "STATUS has SCC, VCCZ and EXECZ"},
    {effect::Vcc, kRead, kOurs, {"s_getreg_b32"}, "STATUS has VCCZ"},
    {effect::Exec, kRead, kOurs, {"s_getreg_b32"}, "STATUS has EXECZ"},
    {effect::Scc, kWrite, kOurs, {"s_setreg_"}, "STATUS has SCC"},
    {effect::Scc, kWrite, kOurs, {"s_quadmask_"}, "AMD Vega ISA document: SCC = result is not zero"},
    {effect::Scc, kWrite, kLlvm, {"s_setvskip"}, "LLVM has it with the compares of its format"},
    {effect::Vcc, kRead, kOurs, {"s_movrels_", "s_movreld_"}, "M0 may select it"},
    {effect::Vcc, kWrite, kOurs, {"s_movreld_"}, "M0 may select it"},
    {effect::FlatScratch, kRead, kOurs, {"s_movrels_", "s_movreld_"}, "M0 may select it"},
    {effect::FlatScratch, kWrite, kOurs, {"s_movreld_"}, "M0 may select it"},
    {effect::Vcc, kWrite, kLlvm, {"v_cmp_class_", "v_cmpx_class_"}, "SDWA: the destination is an operand"},
    {effect::Exec, kRead, kLlvm, {"v_cmp_f_", "v_cmpx_f_"}, "always false, in every lane"},
    {effect::Exec, kRead, kLlvm, {"v_nop", "v_clrexcp", "buffer_wb", "buffer_inv"}, "nothing is done for lanes"},
    {effect::Exec, kRead, kLlvm, {"s_sendmsg"}, "messages of the other stages of a pipeline"},
    {effect::Exec, kRead, kOurs, {"s_cbranch_g_fork", "s_cbranch_i_fork"}, "LLVM does not use forks"},
    {effect::Exec, kWrite, kOurs, {"s_cbranch_g_fork", "s_cbranch_i_fork", "s_cbranch_join"}, "LLVM does not use forks"},
    {effect::M0, kRead, kLlvm, {"ds_"}, "LDS needs M0 before GFX9 only; LLVM decodes some to those forms"},
    {effect::M0, kRead, kLlvm, {"s_ttracedata"}, "the thread trace would take it; the model has none"},
    {effect::M0, kRead, kOurs, {"ds_read_"}, "GDS needs it; the D16 forms have one description, for LDS", before(Chip::gfx90a)},
    {effect::M0, kRead, kOurs, {"s_set_gpr_idx_mode"}, "the other bits of M0 stay"},
    {effect::M0, kRead, kOurs, {"v_interp_p2_f16"}, "as the other interpolations", before(Chip::gfx90a)},
    {effect::Mode, kRead, kLlvm, {"s_set_gpr_idx_"}, "GPR_IDX_EN: not a float field"},
    {effect::Mode, kWrite, kLlvm, {"s_set_gpr_idx_"}, "GPR_IDX_EN: not a float field"},
    {effect::Mode, kRead, kLlvm, {"v_cmp_f_", "v_cmpx_f_", "v_cmp_tru_", "v_cmpx_tru_"}, "the same for all values"},
    {effect::Mode, kRead, kLlvm, {"v_cmp_o_", "v_cmpx_o_", "v_cmp_u_", "v_cmpx_u_"}, "a NaN is one in every mode"},
    {effect::Mode, kRead, kLlvm, {"v_cvt_i", "v_cvt_u", "v_cvt_pk"}, "to integers, not by MODE.ROUND; denormals give 0"},
    {effect::Mode, kRead, kLlvm, {"v_interp_"}, "f32: the model rounds to nearest", before(Chip::gfx90a)},
    {effect::Mode, kRead, kOurs, {"v_cvt_f32_ubyte", "v_cvt_off_f32_i4"}, "output modifiers obey it"},
    {effect::Mode, kRead, kOurs, {"v_cvt_flr_i32_f32"}, "the floor of a negative denormal is -1"},
    {effect::Mode, kRead, kOurs, {"ds_add_rtn_f32", "flat_atomic_add_f32"}, "denormals, of a FLAT instruction in LDS"},
    {effect::Exec, kRead, kLlvm, {"v_mfma_", "v_smfmac_"}, "AMD CDNA3 ISA document: it is ignored", since(Chip::gfx908)},
    {effect::Mode,
     kRead,
     kLlvm,
     {"v_mfma_", "v_smfmac_"},
     "LLVM has it for integers, too; MMA-Sim: no rounding but one",
     since(Chip::gfx908)},
    {effect::FlatScratch, kRead, kLlvm, {"s_scratch_"}, "AMD Vega ISA document: the base is an SGPR pair"},
    {effect::FlatScratch, kRead, kOurs, {"flat_load_"}, "scratch to LDS"},
};

class LlvmEffects : public testing::TestWithParam<Chip> {};

TEST_P(LlvmEffects, AgreeButForKnownDifferences) {
    Descriptions llvm_says(facts_of(GetParam()).name);
    std::set<const Difference*> met;
    std::set<std::string> unknown;
    std::set<Op> compared;
    const auto differ = [&](const Inst& inst, uint32_t bit, bool write, bool ours) {
        const char* const name = info(inst.op).name;
        const auto known = std::find_if(std::begin(kKnown), std::end(kKnown),
                                        [&](const Difference& each) { return each.is(bit, write, ours, name); });
        if (known != std::end(kKnown))
            met.insert(known);
        else if (unknown.insert(fmt::format("{} {} {:#x} {}", name, write, bit, ours)).second)
            ADD_FAILURE() << (ours ? "only we" : "only LLVM") << (write ? " write " : " read ") << "effect " << bit << ": "
                          << disassemble(inst);
    };
    for (size_t i = 1; i < kOpCount; ++i) {
        const InstInfo& row = kInstInfo[i];
        if (!row.on(GetParam())) continue;
        for (uint64_t seed = 1; seed <= 400; ++seed) {
            const uint64_t data = seed * 0x9e3779b97f4a7c15;
            fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(&data), sizeof data);
            uint32_t words[3];
            fuzz::try_words(bytes, row, words);
            const Inst inst = decode(words, 3, GetParam());
            Effects theirs;
            if (inst.op != static_cast<Op>(i) || test::LlvmOracle::llvm_crashes(words)) continue;
            if (!llvm_says.effects(words, theirs)) continue;
            compared.insert(inst.op);
            const Effects ours = with_implied_vcc(inst);
            for (uint32_t bit = 1; bit != 0; bit <<= 1) {
                if ((ours.reads ^ theirs.reads) & kCompared & bit) differ(inst, bit, kRead, (ours.reads & bit) != 0);
                if ((ours.writes ^ theirs.writes) & kCompared & bit) differ(inst, bit, kWrite, (ours.writes & bit) != 0);
            }
        }
    }
    EXPECT_GT(compared.size(), 800u);
    for (const Difference& each : kKnown)
        EXPECT_EQ(met.count(&each) != 0, (each.chips & only(GetParam())) != 0)
            << each.names[0] << ": is there such a difference?";
}

INSTANTIATE_TEST_SUITE_P(Chips, LlvmEffects, testing::ValuesIn(kAllChips),
                         [](const auto& parameter) { return facts_of(parameter.param).name; });

}  // namespace
}  // namespace lyra::gcn
