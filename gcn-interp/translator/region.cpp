// SPDX-License-Identifier: MIT
// Finding the blocks of a region; step 6 of the data flow.
#include "gcn-interp/translator/region.h"

#include <algorithm>
#include <cstring>

#include "common/memory_port.h"
#include "gcn-interp/exec/then.h"
#include "gcn-interp/isa/effects.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

/// What changes the meaning of instructions after it, which generated code does not ask for again.
bool changes_meaning(Op op) {
    return op == Op::s_set_gpr_idx_on || op == Op::s_set_gpr_idx_off || op == Op::s_set_gpr_idx_mode;
}

bool is_choice(Op op) {
    switch (op) {
        case Op::s_cbranch_scc0:
        case Op::s_cbranch_scc1:
        case Op::s_cbranch_vccz:
        case Op::s_cbranch_vccnz:
        case Op::s_cbranch_execz:
        case Op::s_cbranch_execnz: return true;
        default: return false;
    }
}

/// It may write EXEC, as its destination or otherwise.
bool writes_exec(const Inst& inst) {
    if ((effects_of(inst).writes & effect::Exec) != 0) return true;
    const auto within = [](unsigned first, unsigned dwords) { return first <= kExecHi && first + dwords > kExecLo; };
    if (inst.sdst != kNoOperand && within(inst.sdst, 2)) return true;
    switch (inst.format) {
        case Format::SOP1:
        case Format::SOP2:
        case Format::SOPK: return within(inst.dst, 2);
        case Format::SMEM: return within(inst.dst, 16);
        default: return false;
    }
}

/// In all their ways loads and stores become 2 KB, most calculations a few hundred bytes. Of the longest matrix instructions,
/// those of f16, a hundred become more than a region has room for.
size_t cost(const Inst& inst) {
    if (info(inst.op).has(flag::Matrix)) return 20;
    return inst.format == Format::FLAT || inst.format == Format::DS ? 4 : 1;
}

class Finder {
public:
    Finder(const CodeBytes& code, Chip chip, unsigned acc_first, const std::function<bool(uint32_t)>& is_known)
        : code_(code), chip_(chip), acc_first_(acc_first), is_known_(is_known) {}

    Region find(uint32_t entry) {
        Region region;
        std::vector<uint32_t> todo{entry};
        for (size_t i = 0; i < todo.size() && region.blocks.size() < kMaxRegionBlocks && region.cost < kMaxRegionCost; ++i) {
            region.blocks.push_back(block(todo[i]));
            const BasicBlock& added = region.blocks.back();
            for (const Step& step : added.steps) region.cost += cost(step.inst);
            const auto want = [&](int32_t offset) {
                if (offset < 0 || offset >= static_cast<int32_t>(code_.bytes.size())) return;
                const auto at = static_cast<uint32_t>(offset);
                if (std::find(todo.begin(), todo.end(), at) == todo.end() && !is_known_(at)) todo.push_back(at);
            };
            // The way that a loop takes is laid out first.
            if (added.end == BlockEnd::Branch || added.end == BlockEnd::Choice) want(added.target);
            if (added.end == BlockEnd::Next || added.end == BlockEnd::Choice) want(added.next);
        }
        return region;
    }

private:
    /// Up to where an instruction at an offset may be read.
    size_t end_of(uint32_t offset) const {
        return offset < kPageBytes && !code_.crosses_within ? kPageBytes : code_.bytes.size();
    }
    BasicBlock block(uint32_t offset) const {
        BasicBlock out;
        out.offset = offset;
        size_t spent = 0;
        while (true) {
            out.next = static_cast<int32_t>(offset);
            out.end = out.steps.size() < kMaxBlockSteps && spent < kMaxRegionCost ? BlockEnd::Leave : BlockEnd::Next;
            if (out.end == BlockEnd::Next || offset >= code_.bytes.size()) return out;
            uint32_t words[3] = {};
            const size_t available = std::min(sizeof words, end_of(offset) - offset);
            std::memcpy(words, code_.bytes.data() + offset, available);
            Step step;
            step.inst = as_rows(decode(words, available / sizeof(uint32_t), chip_), acc_first_);
            if (step.inst.format == Format::Invalid || step.inst.size_bytes > available) return out;
            if (step.inst.format == Format::SOPP && (step.inst.op == Op::s_branch || is_choice(step.inst.op))) {
                out.end = step.inst.op == Op::s_branch ? BlockEnd::Branch : BlockEnd::Choice;
                out.branch = step.inst;
                out.branch_offset = offset;
                out.next = static_cast<int32_t>(offset + step.inst.size_bytes);
                out.target = out.next + static_cast<int16_t>(step.inst.imm) * 4;
                return out;
            }
            step.fn = exec_function(step.inst.op, step.inst.format);
            const Then then = then_of(step.inst);
            step.ends = step.inst.op == Op::s_endpgm;
            const bool asks = step.ends || step.inst.op == Op::s_barrier;
            if (!step.fn || (then == Then::Jump && !asks) || changes_meaning(step.inst.op)) return out;
            step.offset = offset;
            step.can_stop = asks || then == Then::Check;
            step.writes_exec = writes_exec(step.inst);
            out.steps.push_back(step);
            spent += cost(step.inst);
            offset += step.inst.size_bytes;
            if (!asks && !step.writes_exec) continue;
            out.end = step.ends ? BlockEnd::Leave : BlockEnd::Next;
            out.next = static_cast<int32_t>(offset);
            return out;
        }
    }

    CodeBytes code_;
    Chip chip_;
    unsigned acc_first_;
    const std::function<bool(uint32_t)>& is_known_;
};

}  // namespace

Region discover(const CodeBytes& code, uint32_t entry, Chip chip, unsigned acc_first,
                const std::function<bool(uint32_t)>& is_known) {
    return Finder(code, chip, acc_first, is_known).find(entry);
}

Inst as_rows(const Inst& inst, unsigned acc_first) {
    if (acc_first == 0 || inst.format == Format::Invalid) return inst;
    Inst out = inst;
    const auto move = [&](uint16_t& number, bool is_acc) {
        if (is_acc && number != kNoOperand) number = static_cast<uint16_t>(number + acc_first);
    };
    switch (inst.op) {
        case Op::v_accvgpr_read_b32:
        case Op::v_accvgpr_write_b32:
        case Op::v_accvgpr_mov_b32: {
            const Profile& profile = *info(inst.op).profile;
            move(out.src[0], profile.src[0] == Type::ACC);
            move(out.dst, profile.dst == Type::ACC);
            out.op = Op::v_mov_b32;
            out.format = Format::VOP1;
            out.op_sel = out.op_sel_hi = out.neg = out.neg_hi = 0;
            return out;
        }
        default: break;
    }
    if (info(inst.op).has(flag::Matrix)) {
        // A sparse product's third source is a register of indices.
        const bool of_result = bit(inst.op_sel_hi, 2);
        move(out.src[0], bit(inst.op_sel_hi, 0));
        move(out.src[1], bit(inst.op_sel_hi, 1));
        move(out.src[2], of_result && inst.src[2] >= kSrcVgpr0 && !info(inst.op).has(flag::Sparse));
        move(out.dst, of_result);
        out.op_sel_hi = 0;
        return out;
    }
    for (uint16_t* const number : {&out.dst, &out.vdata, &out.vdata2}) move(*number, inst.acc);
    out.acc = false;
    return out;
}

}  // namespace lyra::gcn
