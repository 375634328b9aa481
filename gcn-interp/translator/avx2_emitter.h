// SPDX-License-Identifier: MIT
// The generator of AVX2 code. Blocks, exits and scalar instructions are those of the other one; step 6 of the data flow.
//
// Vector instructions that follow one another are a loop over eight strips of eight lanes, so that code is short and iterations
// run side by side. A lane mask is a register with all bits of its lanes, and a byte of its pair of SGPRs. Each loop is there
// twice: for waves of which all lanes are on, and for any lanes. Code with affine VGPRs has the first one only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn {

/// In a loop r11 is the strip, r15 its bytes from the start of a row, r10 the table of lanes by mask; r8, r9 and rcx are masks
/// that it writes.
class Avx2Emitter final : public Emitter {
public:
    using Emitter::Emitter;
    static constexpr unsigned kLanesOfStrip = 8, kStripsOfWave = kLanes / kLanesOfStrip;

    // For the functions that emit instructions: as in Emitter ----------------------------------------------------------------

    Xbyak::Ymm source(const VectorOp& op, unsigned n);
    /// A 64-bit source: lanes 0, 1, 4, 5 and 2, 3, 6, 7.
    struct Wide {
        Xbyak::Ymm first, second;
        bool may_change = false;  ///< registers of this instruction
    };
    Wide wide_source(const VectorOp& op, unsigned n);
    Wide wide_temporary() { return {temporary(), temporary(), true}; }
    Xbyak::Ymm low_half(const VectorOp& op, unsigned n);
    Xbyak::Ymm high_half(const VectorOp& op, unsigned n);
    Xbyak::Ymm operand32(const VectorOp& op, unsigned number) { return operand(op, number, 0, 1, true); }
    Xbyak::Ymm temporary();
    /// A temporary that the instruction does not need any more.
    void release(const Xbyak::Ymm& temporary) { lanes_[static_cast<unsigned>(temporary.getIdx())] = {}; }
    void release_pins();
    Xbyak::Ymm constant(uint32_t bits) { return load(What::Constant, bits); }
    Xbyak::Ymm constant64(uint64_t bits) { return load(What::Constant64, bits); }
    void define(unsigned vgpr, const Xbyak::Ymm& value);
    void define_wide(unsigned vgpr, const Wide& value);
    /// All bits of the lanes that are in the mask, and of others that are off.
    Xbyak::Ymm mask(unsigned pair) { return load(What::Mask, pair); }
    /// @param value  may hold anything in lanes that are off, and is changed
    void define_mask(unsigned pair, const Xbyak::Ymm& value);

private:
    VectorOp plan_vector(const Inst& inst) const override { return avx2_vector_op(inst, config()); }
    void plan_region(const Region& region) override;
    void emit_version(const BasicBlock& block, Version& version) override;
    void vector_segment(const std::vector<VectorOp>& ops) override;
    bool memory(const BasicBlock& block, const Step& step, unsigned done) override;
    transcendental::Routine row_function(Op op) const override;
    bool matrix(const Inst&) override { return false; }
    void copy(const Xbyak::RegExp& to, const Xbyak::RegExp& from, int bytes, const Xbyak::Zmm& scratch) override;
    void entry(const BasicBlock& block) override;
    bool looks_at_rows(const BasicBlock& from, const WholeBlock& to) const override;
    unsigned lanes_of_strip() const override { return kLanesOfStrip; }
    void emit_op(const VectorOp& op) override;
    void complete_rows() override;
    void write_uniform_rows(const std::vector<std::pair<unsigned, unsigned>>& rows) override;
    void emit_routines() override;
    void keep_high(const Xbyak::Reg32& high) override;
    void keep_window(const Xbyak::Reg32& first, const Xbyak::Reg32& last) override;

    // Affine VGPRs: see avx2_affine.cpp
    bool has_affine() const { return circumstances_.gave_up != nullptr; }
    bool has_slot(unsigned vgpr);
    bool has_slots(const Inst& inst, unsigned results);
    Xbyak::RegExp slot(unsigned vgpr) const;
    Xbyak::RegExp row_of(unsigned vgpr) const { return rbp + static_cast<int>(vgpr * sizeof(VgprRow)); }
    void write_row(unsigned vgpr);
    void write_rows();
    void write_sources(const Inst& inst);
    void write_moved(const Inst& inst);
    void write_rows_but(const Affine& others);
    void emit_row_routines();
    void emit_affine_routines();
    void later(std::function<void()> emit);
    void affine_steps(const BasicBlock& block);
    size_t affine_scalar_loads(const BasicBlock& block, size_t first);
    void affine_end(const BasicBlock& block);
    void affine_go(int32_t offset);
    void look_at_rows(const Affine& affine, const Xbyak::Label& otherwise);
    void first_lanes(const BasicBlock& block, size_t step, const AffineStep& how);
    void end_first_lanes();
    void give_up_unless(const AffineStep& how, const VectorOp& op, const BasicBlock& block, size_t step);
    bool affine_move(const BasicBlock& block, size_t step, const PlainMove& move);

    bool quick_move(const Inst& inst, Xbyak::Label& slow, Xbyak::Label& end);
    void move(const Routine& routine);
    void load_some(const Routine& routine, Xbyak::Label& fails);
    void move_all(const Routine& routine, Xbyak::Label& otherwise);
    void move_line_of_strip(const Routine& routine, unsigned strip);
    void strips(const std::vector<VectorOp>& ops);
    void pass_uniform(const VectorOp& op);

    enum class What : uint8_t { Nothing, Temporary, Vgpr, Scalar, Scalar64, Constant, Constant64, Mask };
    struct Lanes {
        What what = What::Nothing;
        bool dirty = false, pinned = false;
        uint64_t key = 0;
    };
    int find(What what, uint64_t key) const;
    Xbyak::Ymm take();
    Xbyak::Ymm load(What what, uint64_t key);
    void fill(const Xbyak::Ymm& to, What what, uint64_t key);
    bool comes_from_slot(unsigned vgpr) const;
    void fill_vgpr(const Xbyak::Ymm& to, unsigned vgpr);
    void fill_mask(const Xbyak::Ymm& to, unsigned pair);
    void write_back(unsigned reg);
    void write_back_dirty();
    size_t next_use(const Lanes& lanes) const;
    Xbyak::Ymm operand(const VectorOp& op, unsigned number, unsigned half, unsigned dwords, bool is_float);
    void with_sign(const Inst& inst, unsigned n, const Xbyak::Ymm& to, const Xbyak::Ymm& value, const Xbyak::Ymm& sign);
    /// Where a VGPR is while no register has it, and where its result goes.
    Xbyak::Address lanes_of(unsigned vgpr) const;
    Xbyak::RegExp lanes_to(unsigned vgpr) const { return is_first_lanes_ ? slot(vgpr) : row_of(vgpr) + r15; }
    Xbyak::Reg64 written_mask(unsigned pair) const;

    /// All bits of byte n where bit n of the index is set.
    static const uint64_t* lanes_by_mask();

    static constexpr unsigned kScratchLanes = 14, kExecLanes = 15;
    std::array<Lanes, kScratchLanes> lanes_{};
    bool all_ = false;  ///< the code is for waves of which all lanes are on
    ScalarSet defined_masks_;  ///< in the strip so far
    VectorSet defined_;  ///< VGPRs, in the strip so far

    bool is_affine_code_ = false;  ///< the code is for waves of which all lanes are on, and some VGPRs are affine
    bool is_first_lanes_ = false;  ///< an instruction is emitted for first lanes, in slots
    Affine segment_affine_;  ///< where the segment begins
    VectorSet rows_hold_;  ///< affine VGPRs whose rows hold them, too
    std::map<unsigned, unsigned> slots_;  ///< by VGPR
    std::map<std::pair<unsigned, uint32_t>, Xbyak::Label> row_routines_;  ///< by VGPR and distance
    std::map<std::pair<Routine, uint32_t>, Xbyak::Label> affine_routines_;
};

}  // namespace lyra::gcn
