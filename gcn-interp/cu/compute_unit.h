// SPDX-License-Identifier: MIT
// One compute unit: wave slots, register files, LDS, and the loop that steps its waves; step 6 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "gcn-interp/cu/port.h"
#include "gcn-interp/isa/inst.h"

namespace lyra::gcn {

struct ExecContext;
struct FirstCode;
struct FirstRows;
struct GroupCode;
struct WorkItemIds;
struct Inst;
class CodePage;
class PageCode;
class Shadow;
class Translator;

/// Generated code for the compute units of a device. nullptr: this host cannot run any.
std::shared_ptr<Translator> make_translator(Chip chip);

class ComputeUnit final : public CuPort {
public:
    ComputeUnit(Env& env, MemoryPort& memory, CuServices& services, unsigned index, Chip chip = Chip::gfx900);
    ~ComputeUnit() override;

    bool fits(const WorkgroupLaunch& launch) const override;
    void launch(const WorkgroupLaunch& launch) override;
    void prepare(const KernelLaunch& kernel) override;
    unsigned reserve(unsigned most) override;
    uint64_t start(const GroupLaunch& group, uint64_t limit) override;
    Started started() override;
    void finish() override;
    bool fits(const WorkgroupRestore& group) const override;
    void restore(const WorkgroupRestore& group) override;
    void request_save(uint64_t dispatch) override;
    void command(WaveCommand command, uint32_t data, const WaveMatch& match) override;
    void set_watch(const Watchpoints* watch) override { watch_ = watch; }
    void grant_save(unsigned slot, uint64_t record, bool first) override;
    void gws_done(unsigned slot) override;
    void gws_again(unsigned slot) override;
    uint64_t run(uint64_t instruction_budget) override;
    uint64_t run_until(uint64_t limit_clk) override;
    uint64_t next_clk() override;
    bool runnable() const override;
    bool waits_for_page() const override;
    unsigned waves_live() const override;
    void kill_dispatch(uint64_t dispatch) override;
    void reset() override;
    void visit(StateVisitor& v) override;
    void invalidate_code() override;
    const Wave& wave(unsigned slot) const override {
        write_registers();
        return waves_[slot];
    }
    const Workgroup& workgroup(unsigned number) const override { return workgroups_[number]; }

    /// Waves run generated code where they can. nullptr: never. Stays the caller's.
    void set_translator(Translator* translator);
    /// Turns end between two blocks of generated code, so that the interpreter need not execute what is left of one: a turn may
    /// be shorter than it could be, and run() may execute more than its budget by a turn. Otherwise both tiers have the same
    /// turns, to the instruction.
    void set_whole_blocks(bool on) { whole_blocks_ = on; }
    void set_counts_later(bool on) override { counts_later_ = on; }
    void tell_counts() override;

    unsigned index() const { return index_; }
    unsigned waves_live(uint64_t dispatch) const;
    /// As kill_dispatch(), those of a VMID.
    void kill_vmid(uint32_t vmid);

private:
    friend bool can_ever_fit(const WorkgroupLaunch& launch);
    friend bool can_ever_fit(const WorkgroupRestore& group);
    struct Needs;  ///< registers, LDS and slots that a work-group takes
    struct Plan;  ///< where they are
    struct Taken;  ///< of all that there is
    static bool plan(const Needs& needs, Taken& taken, Plan& plan);
    void take_group(uint64_t dispatch, const Plan& plan);
    void write_registers() const;
    Wave& take_wave(const Wave& image, const Plan& plan, unsigned number, const WorkItemIds& ids, bool without_others);
    const FirstRows* first_rows() const;
    uint64_t run_owing(Wave& wave, uint64_t limit, const WorkItemIds& ids);
    void begin_wave(Wave& wave);
    uint64_t start_on(Plan& plan, const GroupLaunch& group, bool whole, uint64_t limit);
    uint64_t run_group(const Plan& plan, uint64_t limit);
    void count(uint64_t instructions);
    bool is_last_code(const Wave& wave, uint64_t va) const;
    bool is_current(const FirstCode& code, const Wave& wave, uint64_t va) const;
    bool tracks_exceptions(const Wave& wave) const;
    void keep_no_place(const Plan& plan);
    void cut(Plan& plan, unsigned waves);

    void visit_wave(StateVisitor& v, unsigned slot);
    void take_loaded(StateVisitor& v);
    uint64_t step(Wave& wave, uint64_t limit);
    uint64_t turn(Wave& wave, uint64_t limit_clk);
    bool waits(const Wave& wave, uint64_t limit_clk);
    void keep_next(const Wave& wave, const CodePage* page, uint64_t page_va);
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
    uint64_t execute(Wave& wave, uint64_t limit, FirstCode* first = nullptr, const WorkItemIds* ids = nullptr,
                     GroupCode* group = nullptr);
    bool look_up_code(Wave& wave, uint64_t va, CodePage*& page, PageCode*& generated);
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
    void leave_group(Wave& wave, Workgroup& group);
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
    bool counts_later_ = false;
    uint64_t executed_ = 0, started_waves_ = 0;  ///< since they were told
    uint64_t translated_ = 0;  ///< of the instructions, those that generated code has executed
    std::shared_ptr<Shadow> shadow_;  ///< of the generated code
};

}  // namespace lyra::gcn
