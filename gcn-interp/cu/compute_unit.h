// SPDX-License-Identifier: MIT
// One compute unit: wave slots, register files, LDS, and the loop that steps its waves; step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "common/env.h"
#include "common/memory_port.h"
#include "gcn-interp/isa/inst.h"
#include "gcn-interp/wave/services.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

using lyra::kSimdsPerCu;
inline constexpr unsigned kWaveSlots = kSimdsPerCu * same_for_all_chips(&ChipFacts::waves_per_simd);
inline constexpr unsigned kMaxWorkgroupsPerCu = kWaveSlots;
inline constexpr unsigned kBarrierSlots = 16;           ///< work-groups of more than one wave
inline constexpr unsigned kMaxWavesPerWorkgroup = 16;
inline constexpr uint32_t kLdsBytes = same_for_all_chips(&ChipFacts::lds_bytes);
inline constexpr unsigned kVgprsPerSimd = same_for_all_chips(&ChipFacts::vgprs_per_simd);
inline constexpr unsigned kSgprsPerSimd = same_for_all_chips(&ChipFacts::sgprs_per_simd);

/// What SQ_CMD asks of waves. @source Linux 6.12 soc15d.h, vega10_enum.h SQ_IND_CMD_CMD; cik_regs.h for DATA
enum class WaveCommand : uint8_t {
    Null = 0,
    SetHalt = 1,       ///< data: on or off
    SaveContext = 2,   ///< raise SAVECTX; the waves then wait until their queue is saved
    Kill = 3,
    Debug = 4,         ///< MODE.DEBUG_EN
    Trap = 5,          ///< host trap; data: TrapID. Without effect while a wave is in its trap handler
    SetPriority = 6,   ///< data: STATUS.SPI_PRIO
    SetFatalHalt = 7,  ///< data: on or off; not even the trap handler runs
};
using WaveMatch = std::function<bool(const Wave&)>;

/// What a compute unit asks of the layer above it, for its waves and for itself. Called from ComputeUnit::run() on the thread
/// that called it.
class CuServices : public WaveServices {
public:
    /// s_sendmsg(MSG_INTERRUPT): data = M0[23:0]. MSG_GET_DOORBELL is answered by the CU itself from Wave::doorbell_id.
    virtual void wave_interrupt(const Wave& wave, uint32_t data) = 0;
    /// An exception met a wave without trap handler, which is now halted. @param error 1 illegal instruction, 2 memory
    virtual void wave_error(const Wave& wave, unsigned error) = 0;
    virtual void wave_ended(const Wave& wave) = 0;
    /// The last wave of a work-group has ended and its resources are free again.
    virtual void workgroup_ended(uint64_t dispatch) = 0;
    /// s_sendmsg(MSG_SAVEWAVE) after a request_save(): the wave waits for grant_save().
    virtual void wave_save_ready(const Wave&) {}
    /// In place of workgroup_ended(): its last wave has ended, and at least one of them in the save area.
    virtual void workgroup_saved(uint64_t) {}
    /// A wave that was told to wait does so no more: it saves itself, or is killed.
    virtual void gws_left(const Wave&) {}
};

/// What the work-groups of a kernel have in common, on one compute unit.
struct KernelLaunch {
    uint64_t dispatch = 0;
    uint64_t entry = 0;                     ///< byte address of the first instruction
    uint32_t vmid = 0;
    uint32_t rsrc1 = 0, rsrc2 = 0;          ///< COMPUTE_PGM_RSRC1/2; RSRC2.TRAP_PRESENT tells whether tba is used
    uint64_t tba = 0, tma = 0;              ///< byte addresses; 0 = none
    uint64_t private_base = 0, shared_base = 0;
    bool retry = false;                     ///< accesses to missing pages are held back (XNACK)
    uint32_t lds_bytes = 0;                 ///< multiple of 512
    std::array<uint32_t, 16> user_sgprs{};
    unsigned user_sgpr_count = 0;
    std::array<uint32_t, 3> group_size{};   ///< work-items per dimension, full size: ids and wave count follow from it
    uint32_t packet_index = 0;              ///< ttmp6: AQL packet index in the ring
    uint32_t doorbell_id = 0;
    uint32_t shader_engine = 0, cu_in_engine = 0;
    bool halted = false;                    ///< STATUS.HALT from the start: a debugger's launch mode

    bool operator==(const KernelLaunch&) const = default;
};

/// What differs from one work-group of a kernel to the next.
struct GroupLaunch {
    std::array<uint32_t, 3> group_id{};
    std::array<uint32_t, 3> group_valid{};  ///< work-items per dimension that exist (partial groups at the grid's edge)
    std::array<int32_t, kMaxWavesPerWorkgroup> scratch_slot{};       ///< scoreboard ids, -1 = none
    std::array<uint32_t, kMaxWavesPerWorkgroup> scratch_offset{};    ///< bytes; system SGPR of RSRC2.SCRATCH_EN
};

/// Everything the CU needs to start one work-group.
/// @source LLVM AMDGPUUsage "Initial Kernel Execution State"; docs/spec/front-end.md 4.1
struct WorkgroupLaunch : KernelLaunch, GroupLaunch {
    void visit(StateVisitor& v) {
        v("dispatch", dispatch);
        v("entry", entry);
        v("vmid", vmid);
        v("rsrc1", rsrc1);
        v("rsrc2", rsrc2);
        v("tba", tba);
        v("tma", tma);
        v("private_base", private_base);
        v("shared_base", shared_base);
        v("retry", retry);
        v("lds_bytes", lds_bytes);
        v("user_sgprs", user_sgprs);
        v("user_sgpr_count", user_sgpr_count);
        v("group_id", group_id);
        v("group_size", group_size);
        v("group_valid", group_valid);
        v("packet_index", packet_index);
        v("doorbell_id", doorbell_id);
        v("shader_engine", shader_engine);
        v("cu_in_engine", cu_in_engine);
        v("halted", halted);
        v("scratch_slot", scratch_slot);
        v("scratch_offset", scratch_offset);
    }
};

/// What the CU needs to bring back one work-group from the save area. @source docs/spec/front-end.md 6.4, 6.6
struct WorkgroupRestore {
    uint64_t dispatch = 0;
    uint32_t vmid = 0;
    uint64_t tba = 0, tma = 0;              ///< byte addresses; waves start at tba + 4
    uint64_t private_base = 0, shared_base = 0;
    bool retry = false;
    uint32_t doorbell_id = 0;
    uint32_t shader_engine = 0, cu_in_engine = 0;
    unsigned vgprs = 4;                     ///< multiple of 4
    unsigned sgprs = 16;                    ///< multiple of 16, without TTMPs
    uint32_t lds_bytes = 0;                 ///< multiple of 512
    unsigned waves = 1;
    uint32_t rsrc1 = 0;                     ///< of its grid; PRIORITY only, the rest is in the save area
    std::array<uint64_t, kMaxWavesPerWorkgroup> record{};       ///< addresses in the wave's VMID, 48 bits
    std::array<int32_t, kMaxWavesPerWorkgroup> scratch_slot{};  ///< scoreboard ids, -1 = none

    void visit(StateVisitor& v) {
        v("dispatch", dispatch);
        v("vmid", vmid, 15);
        v("tba", tba);
        v("tma", tma);
        v("private_base", private_base);
        v("shared_base", shared_base);
        v("retry", retry);
        v("doorbell_id", doorbell_id);
        v("shader_engine", shader_engine);
        v("cu_in_engine", cu_in_engine);
        v("vgprs", vgprs);
        v("sgprs", sgprs);
        v("lds_bytes", lds_bytes);
        v("waves", waves);
        v("rsrc1", rsrc1);
        v("record", record);
        v("scratch_slot", scratch_slot);
    }
};

/// Waves of a work-group of this size; a wave without any existing work-item is not launched.
unsigned wave_count(const WorkgroupLaunch& launch);

struct Workgroup {
    bool used = false;
    uint64_t dispatch = 0;
    uint32_t lds_base = 0, lds_bytes = 0;
    uint8_t waves_live = 0;
    uint8_t waves_at_barrier = 0;
    bool has_barrier_slot = false;
    bool saved = false;                     ///< at least one of its waves has ended in the save area
    uint64_t slots = 0;                     ///< of its waves, a bit each
    bool keeps_place = false;               ///< while start() runs it: what it has taken is for the next group then
    void visit(StateVisitor& v);
};

struct ExecContext;
struct Inst;
struct Watchpoints;
class CodePage;
class PageCode;
class Shadow;
class Translator;

/// Generated code for the compute units of a device. nullptr: this host cannot run any.
std::shared_ptr<Translator> make_translator(Chip chip);

class ComputeUnit {
public:
    ComputeUnit(Env& env, MemoryPort& memory, CuServices& services, unsigned index, Chip chip = Chip::gfx900);
    ~ComputeUnit();
    ComputeUnit(const ComputeUnit&) = delete;
    ComputeUnit& operator=(const ComputeUnit&) = delete;

    /// True when wave slots, registers, LDS and a barrier slot are free for the whole work-group.
    bool fits(const WorkgroupLaunch& launch) const;
    /// True when an empty CU could ever hold the work-group.
    static bool can_ever_fit(const WorkgroupLaunch& launch);
    /// Start a work-group. Only when fits() says so.
    void launch(const WorkgroupLaunch& launch);

    /// The same for many work-groups of a kernel: prepare() it, reserve() room for some and start() them, again and again, and
    /// finish() to give back what is left of the room. From reserve() to finish() nothing else is launched and nothing waits.
    void prepare(const KernelLaunch& kernel);
    /// @return work-groups that can be started, at most so many
    unsigned reserve(unsigned most);
    /// Its waves run at once, up to about limit instructions; what has not ended by then is a turn of run(). A group that has
    /// ended leaves its place to the next one, so that short waves find their registers in the cache nearest to the thread.
    /// @return instructions
    uint64_t start(const GroupLaunch& group, uint64_t limit);
    /// @return waves, since the last call
    unsigned started();
    void finish();

    /// The same for a work-group that comes back from the save area: its waves run the trap handler's restore entry.
    bool fits(const WorkgroupRestore& group) const;
    static bool can_ever_fit(const WorkgroupRestore& group);
    void restore(const WorkgroupRestore& group);

    /// Raise TRAPSTS.SAVECTX in every wave of a dispatch. Outside the trap handler a wave enters it at once, also when it is
    /// halted, asleep or at a barrier (whose arrival is taken back); inside, when it returns. Waves without a handler go on.
    void request_save(uint64_t dispatch);
    /// SQ_CMD to the waves that match says.
    void command(WaveCommand command, uint32_t data, const WaveMatch& match);
    /// Addresses that vector memory accesses report from now on; nullptr for none. Stays the caller's.
    void set_watch(const Watchpoints* watch) { watch_ = watch; }
    /// Waves run generated code where they can. nullptr: never. Stays the caller's.
    void set_translator(Translator* translator);
    /// Turns end between two blocks of generated code, so that the interpreter need not execute what is left of one: a turn may
    /// be shorter than it could be, and run() may execute more than its budget by a turn. Otherwise both tiers have the same
    /// turns, to the instruction.
    void set_whole_blocks(bool on) { whole_blocks_ = on; }
    /// Answer to wave_save_ready(). @param record address of the wave's record; first: it saves the LDS of its work-group
    void grant_save(unsigned slot, uint64_t record, bool first);

    /// A wave that waits in a DS_GWS_* instruction: it is done, or it is executed again.
    void gws_done(unsigned slot);
    void gws_again(unsigned slot);

    /// Step waves in turn, a few hundred instructions each, until the budget is used or nothing can run.
    /// @return instructions executed; 0 when no wave can run now
    uint64_t run(uint64_t instruction_budget);

    /// The same in virtual time: step waves, each at its own time from the clock on, until all have come to the limit, or one
    /// has ended and left room. @return the clock that was reached; kept by the caller as the compute unit's own time
    uint64_t run_until(uint64_t limit_clk);
    /// The first clock at which a wave can go on, kNever without one.
    uint64_t next_clk();

    /// At least one wave could run (sleeping ones count: they wake by rounds of run()).
    bool runnable() const;
    /// A wave waits for a page: look again soon.
    bool waits_for_page() const;
    unsigned waves_live() const;
    unsigned waves_live(uint64_t dispatch) const;
    /// Kill waves: those of a dispatch, or those of a VMID. workgroup_ended() is called, wave_ended() too.
    void kill_dispatch(uint64_t dispatch);
    void kill_vmid(uint32_t vmid);
    void reset();
    /// Decoded code and the addresses of pages are left out: who loads lets the memory port say that they are stale.
    void visit(StateVisitor& v);

    /// Forget decoded code (kernel dispatch, ACQUIRE_MEM with an instruction cache action, TLB invalidation by itself).
    void invalidate_code();

    unsigned index() const { return index_; }
    const Wave& wave(unsigned slot) const { return waves_[slot]; }
    const Workgroup& workgroup(unsigned number) const { return workgroups_[number]; }

private:
    struct Needs;  ///< registers, LDS and slots that a work-group takes
    struct Plan;  ///< where they are
    struct Taken;  ///< of all that there is
    static bool plan(const Needs& needs, Taken& taken, Plan& plan);
    void take_group(uint64_t dispatch, const Plan& plan);
    Wave& take_wave(const Wave& image, const Plan& plan, unsigned number, unsigned written);
    void begin_wave(Wave& wave);
    unsigned start_on(const Plan& plan, const GroupLaunch& group);
    uint64_t run_group(const Plan& plan, uint64_t limit);
    void count(uint64_t instructions);
    bool is_last_code(const Wave& wave, uint64_t va) const;
    bool tracks_exceptions(const Wave& wave) const;
    void keep_no_place(const Plan& plan);
    void cut(Plan& plan, unsigned waves);

    void visit_wave(StateVisitor& v, unsigned slot);
    void take_loaded(StateVisitor& v);
    uint64_t step(Wave& wave, uint64_t limit);
    uint64_t turn(Wave& wave, uint64_t limit_clk);
    uint64_t ready_clk(Wave& wave);
    /// Every change of state of a wave but the one that is stepped goes through here, so that the loop of virtual time need not
    /// look at all.
    void set_state(Wave& wave, WaveState state) {
        wave.state = state;
        const uint64_t bit = uint64_t{1} << wave.slot;
        changed_ |= bit;
        const bool awake = state == WaveState::Running || state == WaveState::Sleeping || state == WaveState::AtPage;
        awake_ = awake ? awake_ | bit : awake_ & ~bit;
    }
    void look_at_changed();
    void look_at(unsigned slot);
    bool outranked(const Wave& wave, uint64_t clk) const;
    uint64_t step_debugged(Wave& wave);
    bool step_trap(Wave& wave);
    uint64_t execute(Wave& wave, uint64_t limit);
    PageCode* generated_code(const Wave& wave, CodePage& page, uint64_t pc) const;
    bool wake_next_sleeper();
    bool wait_for_page(Wave& wave, uint64_t pc);
    bool page_may_be_there(const Wave& wave) const;
    /// After an instruction that asked for something or faulted. @return true when the wave may go on at once
    bool after(ExecContext& ctx, uint64_t pc);
    bool serve(ExecContext& ctx, uint64_t pc);
    CodePage* code_page(Wave& wave, uint64_t pc);
    bool fetch_failed(Wave& wave, uint64_t pc);
    bool cannot_execute(Wave& wave, const Inst& inst, uint64_t pc);
    bool arrive_at_barrier(Wave& wave);
    void release_barrier(uint8_t group);
    bool enter_trap(Wave& wave, uint32_t trap_id, uint64_t pc, uint32_t cause);
    bool interrupt_wave(Wave& wave, uint32_t trap_id, uint32_t cause);
    bool take_exception(Wave& wave, uint32_t raised);
    bool at_end_of_program(const Wave& wave);
    void ask_for_save(Wave& wave);
    void set_halt(Wave& wave, bool on);
    void set_fatal_halt(Wave& wave, bool on);
    void go_on(Wave& wave);
    bool return_from_trap(ExecContext& ctx, uint64_t pc);
    bool take_savectx(Wave& wave);
    bool wait_for_grant(Wave& wave);
    bool raise_exception(Wave& wave, Fault fault, uint64_t pc, std::string_view detail = {});
    bool halt_if_asked(Wave& wave);
    void end_wave(Wave& wave);
    void kill(const WaveMatch& match);

    Env& env_;
    MemoryPort& memory_;
    CuServices& services_;
    unsigned index_;
    std::array<Wave, kWaveSlots> waves_;
    std::array<Workgroup, kMaxWorkgroupsPerCu> workgroups_;
    struct Storage;  ///< VGPR files, LDS, code cache, allocation maps
    std::unique_ptr<Storage> storage_;
    struct Prepared;  ///< a kernel, and room for work-groups of it
    std::unique_ptr<Prepared> prepared_;
    struct Paced;  ///< virtual time only
    std::unique_ptr<Paced> paced_;
    uint64_t round_ = 0;
    unsigned next_slot_ = 0;
    unsigned live_ = 0;  ///< waves that have a slot
    uint64_t awake_ = 0;  ///< by slot: waves that go on by themselves are among these
    uint64_t changed_ = ~uint64_t{0};  ///< by slot: the loop of virtual time has not looked at it since
    const Watchpoints* watch_ = nullptr;
    Translator* translator_ = nullptr;
    bool whole_blocks_ = false;
    uint64_t translated_ = 0;  ///< instructions that generated code has executed since they were counted
    std::shared_ptr<Shadow> shadow_;  ///< of the generated code
};

}  // namespace lyra::gcn
