// SPDX-License-Identifier: MIT
// A compute unit as the layer above sees it, and what it asks of that layer; steps 5 and 6 of the data flow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "common/env.h"
#include "common/memory_port.h"
#include "gcn-interp/cu/group.h"
#include "gcn-interp/wave/services.h"

namespace lyra::gcn {

struct Watchpoints;

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

/// Work-groups go in, waves run, and CuServices is told. ComputeUnit is one, and so is the double that tests of the layers
/// above have in its place.
class CuPort {
public:
    virtual ~CuPort() = default;
    CuPort(const CuPort&) = delete;
    CuPort& operator=(const CuPort&) = delete;

    /// Counters that all threads add to are only added to by tell_counts(): lines of memory that go from one thread to another
    /// take as long as hundreds of instructions.
    virtual void set_counts_later(bool) {}
    virtual void tell_counts() {}

    /// True when wave slots, registers, LDS and a barrier slot are free for the whole work-group.
    virtual bool fits(const WorkgroupLaunch& launch) const = 0;
    /// Start a work-group. Only when fits() says so.
    virtual void launch(const WorkgroupLaunch& launch) = 0;

    /// The same for many work-groups of a kernel: prepare() it, reserve() room for some and start() them, again and again, and
    /// finish() to give back what is left of the room. From reserve() to finish() nothing else is launched and nothing waits.
    virtual void prepare(const KernelLaunch& kernel) = 0;
    /// @return work-groups that can be started, at most so many
    virtual unsigned reserve(unsigned most) = 0;
    /// Its waves run at once, up to about limit instructions; what has not ended by then is a turn of run(). A group that has
    /// ended leaves its place to the next one, so that short waves find their registers in the cache nearest to the thread.
    /// @return instructions
    virtual uint64_t start(const GroupLaunch& group, uint64_t limit) = 0;
    struct Started {
        unsigned waves = 0;
        /// Of groups that have ended in start(), which CuServices does not hear of: nothing else is to be told of these.
        unsigned ended_waves = 0, ended_groups = 0;
    };
    /// @return since the last call
    virtual Started started() = 0;
    virtual void finish() = 0;

    /// The same for a work-group that comes back from the save area: its waves run the trap handler's restore entry.
    virtual bool fits(const WorkgroupRestore& group) const = 0;
    virtual void restore(const WorkgroupRestore& group) = 0;

    /// Raise TRAPSTS.SAVECTX in every wave of a dispatch. Outside the trap handler a wave enters it at once, also when it is
    /// halted, asleep or at a barrier (whose arrival is taken back); inside, when it returns. Waves without a handler go on.
    virtual void request_save(uint64_t dispatch) = 0;
    /// SQ_CMD to the waves that match says.
    virtual void command(WaveCommand command, uint32_t data, const WaveMatch& match) = 0;
    /// Addresses that vector memory accesses report from now on; nullptr for none. Stays the caller's.
    virtual void set_watch(const Watchpoints* watch) = 0;
    /// Answer to wave_save_ready(). @param record address of the wave's record; first: it saves the LDS of its work-group
    virtual void grant_save(unsigned slot, uint64_t record, bool first) = 0;

    /// A wave that waits in a DS_GWS_* instruction: it is done, or it is executed again.
    virtual void gws_done(unsigned slot) = 0;
    virtual void gws_again(unsigned slot) = 0;

    /// Step waves in turn, a few hundred instructions each, until the budget is used or nothing can run.
    /// @return instructions executed; 0 when no wave can run now
    virtual uint64_t run(uint64_t instruction_budget) = 0;

    /// The same in virtual time: step waves, each at its own time from the clock on, until all have come to the limit, or one
    /// has ended and left room. @return the clock that was reached; kept by the caller as the compute unit's own time
    virtual uint64_t run_until(uint64_t limit_clk) = 0;
    /// The first clock at which a wave can go on, kNever without one.
    virtual uint64_t next_clk() = 0;

    /// At least one wave could run (sleeping ones count: they wake by rounds of run()).
    virtual bool runnable() const = 0;
    /// A wave waits for a page: look again soon.
    virtual bool waits_for_page() const = 0;
    virtual unsigned waves_live() const = 0;
    /// Kill the waves of a dispatch. workgroup_ended() is called, wave_ended() too.
    virtual void kill_dispatch(uint64_t dispatch) = 0;
    virtual void reset() = 0;
    /// Decoded code and the addresses of pages are left out: who loads lets the memory port say that they are stale.
    virtual void visit(StateVisitor& v) = 0;

    /// Forget decoded code (kernel dispatch, ACQUIRE_MEM with an instruction cache action, TLB invalidation by itself).
    virtual void invalidate_code() = 0;

    virtual const Wave& wave(unsigned slot) const = 0;
    virtual const Workgroup& workgroup(unsigned number) const = 0;

protected:
    CuPort() = default;
};

/// Makes the compute unit of this index. All that it is given outlives it.
using MakeCu = std::function<std::unique_ptr<CuPort>(Env&, MemoryPort&, CuServices&, unsigned index)>;

}  // namespace lyra::gcn
