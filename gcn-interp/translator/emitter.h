// SPDX-License-Identifier: MIT
// The generator of code: registers that code may count on, blocks and exits; and of AVX-512 code, in strips of 16 lanes, with
// the registers in them; step 6 of the data flow. avx2_emitter.h has what is different with AVX2.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <xbyak/xbyak.h>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/tlb.h"
#include "gcn-interp/exec/transcendental.h"
#include "gcn-interp/translator/config.h"
#include "gcn-interp/translator/region.h"
#include "gcn-interp/translator/scalar_use.h"

namespace lyra::gcn {

/// VGPRs of which each strip holds a first value and the same distance from one lane to the next, and that distance. What
/// addresses are computed from mostly is so.
using Affine = std::map<unsigned, uint32_t>;

/// What is known when a region is generated, beside its instructions.
struct Circumstances {
    const VgprRow* rows = nullptr;  ///< VGPRs of a wave that enters it; nullptr: not known
    uint32_t* gave_up =
        nullptr;  ///< counts waves whose values were not what code with affine VGPRs can do; nullptr: no such code
    bool all_affine = false;  ///< for tests: also VGPRs that no address is computed from
};

inline constexpr unsigned kAffineSlots = 24;  ///< affine VGPRs of a region of AVX2 code, and those that are put aside
inline constexpr unsigned kUniformSlots = 48;  ///< results of uniform instructions of a block
inline constexpr unsigned kStripLanes = 16, kStrips = kLanes / kStripLanes;

/// VGPRs and lane masks that are the same in all active lanes, by number and by pair of SGPRs: slots of the frame, which hold
/// them in all lanes.
struct UniformValues {
    struct Vgpr {
        unsigned slot = 0;
        bool in_row = false;  ///< its row holds it, too
        std::optional<uint32_t> constant = {};  ///< known when code is generated
    };
    std::map<unsigned, Vgpr> vgprs;
    std::map<unsigned, unsigned> masks;
};

inline constexpr unsigned kMaxMasks = 3;  ///< lane masks that one segment may write

/// VGPRs that code writes in all lanes before it reads them, if all lanes are on where it is entered, by offset of the
/// instruction that does: a wave that begins there need not have them written before. None by an instruction that may stop.
using WrittenFirst = std::vector<std::pair<uint32_t, uint16_t>>;

/// What generated code and its caller exchange. Generated code knows the offsets.
struct CodeFrame {
    ExecContext* context = nullptr;
    uint64_t page_va = 0;  ///< address of the page of code
    uint64_t stopped_at = 0;  ///< PC of the instruction that asked for something or faulted
    const std::atomic<uint64_t>* generation = nullptr;  ///< of the memory port
    const uint64_t* seen_generation = nullptr;  ///< what the TLBs are of
    Tlb* reads = nullptr;
    Tlb* writes = nullptr;
    uint8_t* lds = nullptr;  ///< of the work-group
    uint32_t lds_bytes = 0;
    bool rows_written = false;  ///< VGPRs may be others in memory than where the code was entered
    bool counts_ids = false;  ///< the wave begins here, and v0 is first_id plus the lane
    bool past_first;  ///< a wave has come to the end of the region's first block
    uint32_t first_id = 0;
    /// Of affine VGPRs, the first lane of each strip: with AVX2 of all, else of those for which there is no register during a
    /// calculation. Code fills in what it uses.
    alignas(32) std::array<std::array<uint32_t, 8>, kAffineSlots> first_lanes;
    /// See UniformValues. A mask is as code has it in a register: all bits of lanes, or with AVX-512 a bit for each.
    alignas(64) std::array<std::array<uint32_t, kStripLanes>, kUniformSlots> uniform;
};

/// @param target  address of a block's code. @return instructions that are left of the budget; wave.pc says where it is
using GeneratedFn = uint64_t (*)(CodeFrame* frame, Wave* wave, uint64_t budget, const uint8_t* target);

inline constexpr int kExec = static_cast<int>(offsetof(Wave, exec));  ///< where generated code finds it
inline constexpr int kScc = static_cast<int>(offsetof(Wave, scc));
/// vpternlogd: A | (B ^ C)
inline constexpr uint8_t kOrDifferent = 0xf6;
/// In place of a strip: a register with the first lane of each of the four strips, of an affine VGPR; or a mask of those.
inline constexpr unsigned kFirstLanes = kStrips;
inline constexpr uint64_t kFirstLaneBits = 0x0001'0001'0001'0001;  ///< of an EXEC

struct VectorOp;
class Emitter;
/// Emits the lanes of a strip. Sources are pinned registers; it gives the register of the result, or the mask.
using EmitFn = void (*)(Emitter& e, const VectorOp& op);

/// The same for scalar instructions: emit them in place.
struct ScalarOp {
    bool (*emit)(Emitter& e, const Inst& inst) = nullptr;
    Uses uses;
};

/// One instruction of a vector segment, ready to be emitted for any strip.
struct VectorOp {
    const Inst* inst = nullptr;
    EmitFn emit = nullptr;
    Uses uses;  ///< EXEC among them
    int mask_in = -1, mask_out = -1;  ///< pairs of SGPRs
};

/// A block is generated for any lanes (emitter.cpp), and for waves of which all lanes are on: in versions (emit_whole.cpp).
/// Registers: rbx wave, rbp its VGPRs, r12 frame, r13 instructions left, r14 address of the page of code.
/// rax, rcx, rdx, rsi, rdi are free in an instruction; r8 to r11 collect the masks that a segment writes.
class Emitter : public Xbyak::CodeGenerator {
public:
    Emitter(uint8_t* buffer, size_t bytes, const CodeConfig& config);
    ~Emitter() override;

    struct Output {
        size_t bytes = 0;
        std::vector<std::pair<uint32_t, uint32_t>> entries;  ///< offset of a block in its page, and of its code
        WrittenFirst written_first;  ///< by the region's first block
    };
    /// Code of a block that is not part of the region, as it is entered from outside; nullptr where there is none.
    using Existing = std::function<const uint8_t*(uint32_t offset)>;
    /// Generate a region. Its steps must live as long as the code.
    Output generate(const Region& region, const Existing& existing, const Circumstances& circumstances = {});
    /// Generate the function through which all code is entered, a GeneratedFn.
    void generate_entry();

    // For the functions that emit instructions -----------------------------------------------------------------------------

    const CodeConfig& config() const { return config_; }
    unsigned strip() const { return strip_; }

    /// Source n of an instruction in a register: with its selection (SDWA), abs and neg.
    Xbyak::Zmm source(const VectorOp& op, unsigned n);
    /// A 64-bit source as two registers of eight lanes each (see widen()), which may not be overwritten, and back.
    struct Wide {
        Xbyak::Zmm first, second;
    };
    Wide wide_source(const VectorOp& op, unsigned n);
    Wide widen(const Xbyak::Zmm& low, const Xbyak::Zmm& high);
    void narrow(const Wide& wide, const Xbyak::Zmm& low, const Xbyak::Zmm& high);
    /// Bits of eight lanes each of a Wide become bits of 16 lanes, in first.
    void join_masks(const Xbyak::Opmask& first, const Xbyak::Opmask& second);
    /// For vpermd: lanes of a row in the order of a Wide's, and back.
    Xbyak::Address lanes_of_wide() { return ptr[rip + order_pool_[0]]; }
    Xbyak::Address lanes_from_wide() { return ptr[rip + order_pool_[1]]; }
    /// A 32-bit operand by its number, as it is.
    Xbyak::Zmm operand32(const VectorOp& op, unsigned number) { return operand(op, number, 0, 1, true); }
    /// Source n, without abs and neg, where it is known when code is generated: a constant, or a VGPR that has become one.
    std::optional<uint32_t> known_source(const VectorOp& op, unsigned n) const;
    /// The halves of a 64-bit source.
    Xbyak::Zmm low_half(const VectorOp& op, unsigned n);
    Xbyak::Zmm high_half(const VectorOp& op, unsigned n);

    /// Source n is a result of v_frexp_mant_f32: neither it nor its reciprocal is a denormal.
    bool is_mantissa(const VectorOp& op, unsigned n) const;

    /// A register for this instruction.
    Xbyak::Zmm temporary();
    Xbyak::Opmask temporary_mask();
    /// The instruction has read and written what it has asked for so far.
    void release_pins();
    /// The constant in all lanes.
    Xbyak::Zmm constant(uint32_t bits);
    Xbyak::Zmm constant64(uint64_t bits);
    /// The constant in memory.
    Xbyak::Address pool64(uint64_t bits) { return ptr[rip + pool(bits)]; }
    /// The register becomes VGPR n.
    void define(unsigned vgpr, const Xbyak::Zmm& value);
    void define_wide(unsigned vgpr, const Wide& value);
    /// A register that may be overwritten and holds source n: the source's own where the instruction overwrites it anyway.
    Xbyak::Zmm consumed_source(const VectorOp& op, unsigned n);
    /// Lane mask of a pair of SGPRs; define_mask() takes one in which inactive lanes are 0.
    Xbyak::Opmask mask(unsigned pair);
    void define_mask(unsigned pair, const Xbyak::Opmask& value);
    Xbyak::Opmask exec() const { return exec_of(strip_); }
    /// Nobody sees the mask that the instruction writes: another one takes its place before anything can stop.
    bool mask_is_dead() const { return mask_is_dead_; }

    /// Code that is seldom needed goes behind the region's. @param emit  ends with a jump back
    void elsewhere(std::function<void()> emit) { elsewhere_.push_back(std::move(emit)); }

    // Scalar registers
    Xbyak::Address scalar32(unsigned operand);
    Xbyak::Address scalar64(unsigned operand);

protected:
    struct WholeBlock;
    // What depends on the back end
    virtual VectorOp plan_vector(const Inst& inst) const;
    virtual void plan_region(const Region& region);
    virtual void vector_segment(const std::vector<VectorOp>& ops);
    virtual bool memory(const BasicBlock& block, const Step& step, unsigned done);
    virtual transcendental::Routine row_function(Op op) const;
    /// 16 bytes or more from memory to memory.
    virtual void copy(const Xbyak::RegExp& to, const Xbyak::RegExp& from, int bytes, const Xbyak::Zmm& scratch);
    virtual void emit_routines();
    /// For routines: the high half of addresses, and the first and the last offset of the window, into all lanes of registers.
    virtual void keep_high(const Xbyak::Reg32& high) { vpbroadcastd(zmm18, high); }
    virtual void keep_window(const Xbyak::Reg32& first, const Xbyak::Reg32& last) {
        vpbroadcastd(zmm16, first);
        vpbroadcastd(zmm17, last);
    }
    /// A block as it is entered from outside.
    virtual void entry(const BasicBlock& block);
    /// Code for any lanes goes from one block to another one by its entry, where rows are compared with what code with affine
    /// VGPRs wants.
    virtual bool looks_at_rows(const BasicBlock&, const WholeBlock&) const { return false; }
    virtual unsigned lanes_of_strip() const { return kStripLanes; }
    virtual void emit_op(const VectorOp& op);
    /// Where code is left behind a step of which the interpreter's function has seen only what it reads.
    virtual void complete_rows() {}
    /// Pairs of VGPR and slot.
    virtual void write_uniform_rows(const std::vector<std::pair<unsigned, unsigned>>& rows);

    struct Segment;
    void block(const BasicBlock& block);
    void steps(const BasicBlock& block, size_t first, size_t last);
    void emit_segment(const Segment& segment);
    void any_step(const BasicBlock& block, size_t i);
    void vector_strips(const std::vector<VectorOp>& ops, unsigned first, unsigned count);
    Xbyak::Opmask exec_of(unsigned strip) const { return Xbyak::Opmask(whole_ ? 0 : strip == first_strip_ ? 1 : 7); }
    bool transcendental(const Inst& inst);
    /// @return false: the interpreter's function has to do it
    virtual bool matrix(const Inst& inst);
    struct MatrixRows;
    void matrix_chains(const MatrixRows& m);
    void matrix_dots(const MatrixRows& m);
    bool global_memory(const Inst& inst, Xbyak::Label& slow);
    bool lds_memory(const Inst& inst, Xbyak::Label& slow);
    bool is_plain_scalar_load(const Inst& inst) const;
    static unsigned scalar_load_dwords(const Inst& inst);
    bool scalar_memory(const Inst& inst, Xbyak::Label& slow, const Xbyak::Zmm& scratch);
    void scalar_loads(std::span<const Inst* const> loads, Xbyak::Label& slow, const Xbyak::Zmm& scratch);
    /// A kind of moves between rows and memory: see emit_moves.cpp.
    struct Routine {
        bool global, loads, high;
        unsigned words, elements;
        auto operator<=>(const Routine&) const = default;
    };
    /// A load or store of plain elements of one or two dwords, or four of global memory.
    struct PlainMove {
        Routine routine;
        std::array<unsigned, 2> rows;  ///< by element: first VGPR that is loaded or stored
        std::array<uint32_t, 2> plus;  ///< LDS, by element: what is added to addresses
    };
    std::optional<PlainMove> plain_move(const Inst& inst) const;
    void move_strips(const Routine& routine);
    void move_line(const Routine& routine, Xbyak::Label& other);
    void move_whole(const Routine& routine, Xbyak::Label& other);
    void tlb_refill(const Xbyak::Label& fails, bool loads);
    void tlb_entry(const Xbyak::Reg64& address, const Xbyak::Reg64& scratch, bool loads);
    void find_window(const Routine& routine);
    void call_routine(const Routine& routine, Xbyak::Label& slow);
    void store_lanes(const Xbyak::RegExp& row, const Xbyak::Zmm& value, const Xbyak::Opmask& lanes);
    bool global_strips(const Inst& inst, Xbyak::Label& slow);
    bool lds_strips(const Inst& inst, Xbyak::Label& slow);
    void global_base(const Inst& inst);
    bool has_rows(unsigned first, unsigned count) const;
    void unless_translations_changed(Xbyak::Label& changed);
    void call_fast(uint64_t function, Xbyak::Label& slow);
    void ask(const Step& step, Request request);
    void stop(const BasicBlock& block, const Step& step, unsigned done);
    void end_wave(const Step& step);
    void call_handler(const BasicBlock& block, const Step& step, unsigned done);
    WrittenFirst written_first(const BasicBlock& block) const;
    void note_past_first(const BasicBlock& block);
    void leave(int32_t offset);
    void go(int32_t offset);
    void go_on(const BasicBlock& block, int32_t offset);
    void choose(const BasicBlock& block);
    void jump_if_taken(Op branch, const Xbyak::Label& taken);

    // All lanes on: see plan_whole.cpp and emit_whole.cpp
    struct Version;
    void set_whole(bool whole);
    void plan_whole(const Region& region);
    void plan_loops(const Region& region);
    void keep_in_loop(WholeBlock& head, const std::map<int32_t, const BasicBlock*>& blocks);
    void whole_versions();
    virtual void emit_version(const BasicBlock& block, Version& version) { whole_block(block, version); }
    void whole_block(const BasicBlock& block, Version& here);
    void whole_steps(const BasicBlock& block);
    void whole_vector(const BasicBlock& block, size_t step);
    bool is_dead_mask(const BasicBlock& block, size_t step) const;
    void whole_scalar(const Inst& inst, const ScalarOp& op);
    void whole_general(const BasicBlock& block, size_t first, size_t last);
    struct Held;
    std::vector<std::pair<unsigned, Held>> put_aside(const BasicBlock& block, size_t first, size_t last);
    Xbyak::Address aside_slot(size_t n) const {
        return ptr[r12 + static_cast<int>(offsetof(CodeFrame, first_lanes) + n * sizeof(CodeFrame::first_lanes[0]))];
    }
    struct WholeMove;
    WholeMove begin_move(const Inst& inst, const PlainMove& move, bool is_affine);
    Xbyak::Address memory_of(const WholeMove& m, unsigned e, unsigned s, int plus);
    void load_pairs(const WholeMove& m, unsigned e, unsigned first, unsigned s);
    void transpose(const WholeMove& m, const std::array<Xbyak::Zmm, 4>& x);
    void move_lines(const WholeMove& m);
    void load_same(const WholeMove& m);
    void load_overlapping(const WholeMove& m);
    void define_loaded(const WholeMove& m);
    void whole_move(const BasicBlock& block, size_t step);
    struct ScalarLoads {
        std::vector<size_t> steps;
        std::vector<const Inst*> loads;
        ScalarSet read, written;
    };
    ScalarLoads scalar_loads_from(const BasicBlock& block, size_t first) const;
    size_t whole_scalar_loads(const BasicBlock& block, size_t first);
    void whole_end(const BasicBlock& block);
    void whole_go(int32_t offset);
    bool stays_whole(const BasicBlock& block) const;
    bool is_mostly_calculation(const BasicBlock& block, bool in_loop) const;
    bool is_long_calculation(const BasicBlock& block, size_t first, size_t end) const;
    size_t long_calculation_end(const BasicBlock& block, size_t first) const;
    void forget_scalars(const ScalarSet& written);
    void forget_masks(const ScalarSet& written);
    void masks_for(const VectorOp& op, const ScalarSet& values, unsigned strips);
    void forget_other_masks(const VectorOp& op, unsigned strips);
    Version& version_for(WholeBlock& to, const Affine& affine);
    Version& add_version(WholeBlock& to, const Affine& affine);

    size_t calculation_end(const BasicBlock& block, size_t first) const;
    /// How a step is emitted.
    struct StepPlan {
        VectorOp vector;
        ScalarOp scalar;
        std::optional<PlainMove> move;
        bool scalar_load = false;
        VectorSet writes;  ///< VGPRs; vector.uses has what it reads, also of loads and stores
        bool feeds_address = false;  ///< an address of a load or store is computed from the result
        VectorSet vectors() const { return vector.uses.vector_reads | writes; }
    };
    StepPlan plan_step(const Step& step) const;
    const StepPlan& plan_of(const BasicBlock& block, size_t step) const { return plans_.at(&block)[step]; }

    // Affine VGPRs: see emit_affine.cpp
    struct AffineStep;
    void plan_affine(const Region& region);
    Affine affine_rows() const;
    std::optional<AffineStep> affine_step(const BasicBlock& block, size_t step) const;
    bool emit_affine(const BasicBlock& block, size_t step);
    void give_up_unless(const AffineStep& how, const VectorOp& op, const BasicBlock& block, size_t step);
    void give_up(const BasicBlock& block, size_t step, Xbyak::Label& where);
    bool affine_move(const BasicBlock& block, size_t step);
    void find_strips(bool loads, int span);
    void find_lds(const PlainMove& move, int span, const Xbyak::Label& outside);
    void check_affine_rows(const Affine& affine, const Xbyak::Label& otherwise);
    void lanes_from_first(const Xbyak::Zmm& to, unsigned first, unsigned strip);
    void forget_lanes(unsigned vgpr);
    void forget_affine(const VectorSet& written, const VectorSet& read);
    void forget_affine_of(const BasicBlock& block, size_t step);
    static bool writes_no_vgpr(const Inst& inst);
    VectorSet written_by(const BasicBlock& block, size_t step) const;
    void rows_of_affine(unsigned vgpr);
    int find_first_lanes(unsigned vgpr) const;
    void first_lanes_of_rows(const Xbyak::Zmm& to, unsigned vgpr);
    void load_mask(const Xbyak::Opmask& to, unsigned pair, unsigned strip);

    // Uniform instructions: see emit_uniform.cpp
    static constexpr int kNoSlot = -1;
    Xbyak::RegExp uniform_slot(unsigned slot) const;
    Xbyak::RegExp slot_of_result(unsigned vgpr) const;
    Xbyak::RegExp slot_of_mask() const;
    void look_for_uniform(const BasicBlock& block, size_t first, size_t last);
    bool is_uniform(const VectorOp& op) const;
    bool leaves_row(const VectorOp& op) const;
    bool is_passed(size_t n) const;
    void note_results(const VectorOp& op, int slot);
    void plan_uniform(const std::vector<VectorOp>& ops);
    void uniform_part();
    void pass_uniform(const VectorOp& op);
    void uniform_rows();
    void uniform_row(unsigned vgpr);
    void write_masks(const std::function<Xbyak::Reg64(unsigned)>& collected);
    void forget_uniform() { uniform_ = {}, uniform_slots_ = 0; }
    void forget_uniform_masks(const ScalarSet& written);
    void forget_uniform_of(const BasicBlock& block, size_t step);
    bool uniform_transcendental(const Inst& inst, transcendental::Routine function);

    // Registers of a strip
    enum class Kind : uint8_t {
        None,
        Temporary,
        Vgpr,
        First,  ///< of two VGPRs from `key` on as 64-bit lanes, the first part of a Wide
        Second,  ///< the other part
        Scalar,
        Constant,
        Constant64,
    };
    struct Held {
        Kind kind = Kind::None;
        bool dirty = false, pinned = false;
        uint64_t key = 0;
        unsigned strip = 0;  ///< of VGPRs; the others are the same in all
        uint32_t distance = 0;  ///< strip kFirstLanes: see Affine
    };
    using Registers = std::array<Held, 32>;
    void fill(unsigned reg);
    void note_rows_written();
    void write_back_all();
    void write_back_masks();
    void conform(const Registers& wanted);
    Registers loop_registers(const WholeBlock& head, const Affine& affine) const;
    Xbyak::Zmm take_register();
    int find(Kind kind, uint64_t key) const;
    bool is_dirty_wide(unsigned vgpr) const;
    void narrow_held(unsigned vgpr);
    void forget_wide(unsigned vgpr);
    Xbyak::Zmm load(Kind kind, uint64_t key);
    Xbyak::Zmm with_sign(const Inst& inst, unsigned n, const Xbyak::Zmm& value);
    Xbyak::Zmm through_dpp(const Inst& inst, const Xbyak::Zmm& value);
    void keep_lanes(const Inst& inst, unsigned vgpr, const Xbyak::Zmm& value);
    Xbyak::Zmm operand(const VectorOp& op, unsigned number, unsigned half, unsigned dwords, bool is_float);
    void write_back(unsigned reg);
    size_t next_use(const Held& held) const;
    /// Where a VGPR is while no register has it.
    Xbyak::Address home(unsigned vgpr, unsigned strip) {
        const auto found = uniform_.vgprs.find(vgpr);
        return found == uniform_.vgprs.end() ? row(vgpr, strip) : ptr[uniform_slot(found->second.slot)];
    }
    Xbyak::Address row(unsigned vgpr, unsigned strip) {
        return ptr[rbp + static_cast<int>(vgpr * sizeof(VgprRow) + strip * 64)];
    }
    Xbyak::Address all_rows(unsigned vgpr) { return ptr[rbp + static_cast<int>(vgpr * sizeof(VgprRow))]; }
    Xbyak::Opmask take_mask();
    Xbyak::Reg64 collector(unsigned index) const { return Xbyak::Reg64(8 + static_cast<int>(index)); }
    Xbyak::Label& pool(uint64_t bits);
    /// 16 dwords: step * lane + first.
    Xbyak::Label& pool_lanes(unsigned step, unsigned first) { return lane_pool_[{step, first}]; }
    /// 4 * (lane % 4) + lane / 4: dword n of four lanes side by side.
    Xbyak::Label& pool_quads() { return lane_pool_[{0, 2}]; }
    /// Of two rows lane by lane, the first or second half: 0, 16, 1, 17, ...
    Xbyak::Label& pool_interleave(unsigned half) { return lane_pool_[{0, half}]; }

    CodeConfig config_;
    const Existing* existing_ = nullptr;
    Circumstances circumstances_;
    VectorSet feeds_addresses_;  ///< where the region is entered
    Affine affine_;  ///< at the instruction that is emitted
    VectorSet no_wrap_;  ///< affine ones of which no strip passes 2^32
    ScalarSet affine_masks_;  ///< pairs of SGPRs that hold the same bit for all lanes of a strip; SCC's place is not used
    UniformValues uniform_;  ///< at the instruction that is emitted, within its block
    unsigned uniform_slots_ = 0, first_new_slot_ = 0;  ///< slots that the block uses, and the first one of the segment
    std::vector<int> once_;  ///< by instruction of now_: the slot of its first result, or kNoSlot
    bool wants_uniform_ = false;
    bool has_strips_ = false;  ///< an instruction of now_ is not uniform
    bool is_once_ = false;  ///< an instruction is emitted once
    std::map<int32_t, Xbyak::Label> block_labels_, entry_labels_;
    std::map<int32_t, WholeBlock> whole_blocks_;
    int32_t entered_at_ = 0;  ///< the block that the region was generated for
    std::map<const BasicBlock*, std::vector<StepPlan>> plans_;
    Xbyak::Label exit_;
    std::vector<std::function<void()>> elsewhere_;
    std::deque<Xbyak::Label> labels_;
    /// A label that code elsewhere refers to: a copy of one that has not been used yet is another label.
    Xbyak::Label& new_label() { return labels_.emplace_back(); }
    std::map<uint64_t, Xbyak::Label> pool_;
    std::map<std::pair<unsigned, unsigned>, Xbyak::Label> lane_pool_;  ///< step, first; step 0: others
    std::array<Xbyak::Label, 2> order_pool_;
    struct DppLabels {
        Xbyak::Label from, valid;  ///< lane in the strip, all ones where there is one
    };
    std::map<uint16_t, DppLabels> dpp_pool_;  ///< by DPP_CTRL
    Xbyak::Opmask dpp_valid_;  ///< lanes of the strip whose source is there and active, in one instruction
    std::map<Routine, Xbyak::Label> routines_;
    std::map<std::pair<bool, int>, Xbyak::Label> strip_routines_;  ///< find_strips(), by its arguments
    Output output_;

    unsigned strip_ = 0, first_strip_ = 0;  ///< for which an instruction is emitted, and the first of those side by side
    bool mask_is_dead_ = false;
    bool has_wide_ = false;  ///< a register may hold 64-bit lanes
    bool translations_known_ =
        false;  ///< the code up to here has looked whether they changed; see unless_translations_changed()
    bool looks_once_ = false;  ///< code looks at most once in a block
    bool rows_noted_ = false;  ///< the code up to here says so in CodeFrame::rows_written
    bool whole_ = false;  ///< the code is for waves of which all lanes are on; k0 is all ones
    unsigned first_mask_ = 2, last_mask_ = 7;  ///< mask registers that are free to use
    /// Instructions that are emitted together, and where each VGPR is read.
    struct Together {
        std::vector<const VectorOp*> ops;
        std::vector<std::vector<uint32_t>> reads;
    };
    static Together together(std::vector<const VectorOp*> ops);
    Together now_;
    size_t at_ = 0;  ///< instruction of now_ that is emitted
    Registers held_{};
    static constexpr unsigned kScratch = 31;  ///< where something may be 64-bit lanes: for what is between two instructions
    unsigned registers_ = kScratch;  ///< that held_ may use
    struct Mask {
        int pair = -1;  ///< -1: free, -2: temporary
        bool dirty = false, pinned = false;
        unsigned strip = 0;
    };
    using Masks = std::array<Mask, 8>;
    Masks masks_{};
    void slow_path(const BasicBlock& block, std::vector<size_t> steps, const Registers& before, const Masks& masks_before,
                   Xbyak::Label& slow, Xbyak::Label& end);
    std::vector<unsigned> written_masks_;  ///< pairs that the segment writes: r8, r9, ...
};

inline bool touches(const ScalarSet& set, int pair) {
    return set.test(static_cast<size_t>(pair)) || set.test(static_cast<size_t>(pair) + 1);
}
/// VGPRs that a vector instruction writes, from its destination on.
inline unsigned results_of(const Inst& inst) {
    const InstInfo& row = info(inst.op);
    return row.format == Format::VOPC ? 0 : row.dst_dwords();
}
inline bool has_no_effect(const Inst& inst) { return inst.op == Op::s_nop || inst.op == Op::s_waitcnt; }

/// Number of a source, which is the destination where the encoding has none.
inline unsigned source_number(const Inst& inst, unsigned n) {
    return inst.src[n] == kNoOperand ? kSrcVgpr0 + inst.dst : inst.src[n];
}
/// How vector instructions are emitted, by operation.
struct EmitterRow {
    EmitFn emit = nullptr;
    bool float_clamp = false;  ///< takes the clamp bit as floats do
};
using EmitterRows = std::array<EmitterRow, kOpCount>;

/// How to emit a vector instruction, with what it touches; emit is nullptr when only the interpreter can.
VectorOp vector_op(const Inst& inst, const CodeConfig& config, const EmitterRows& rows, bool has_dpp);
/// With AVX-512, and with AVX2.
VectorOp vector_op(const Inst& inst, const CodeConfig& config);
VectorOp avx2_vector_op(const Inst& inst, const CodeConfig& config);
ScalarOp scalar_op(const Inst& inst, const CodeConfig& config);

}  // namespace lyra::gcn
