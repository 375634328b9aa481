// SPDX-License-Identifier: MIT
// Registers of the command processor (facts/registers: cp.def, hqd.def) and what writing them does; step 2 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "common/env.h"
#include "cp-firmware-model/cp_bus.h"
#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/mec/mec.h"

namespace lyra {

struct GrbmSelect;

class CpRegisters {
public:
    CpRegisters(Env& env, CpBus& bus, Dispatcher& dispatcher, Mec& mec);

    /// By dword number in BAR5. @return false: not a register of the command processor
    bool read(uint32_t dw, const GrbmSelect& select, uint32_t& value);
    bool write(uint32_t dw, const GrbmSelect& select, uint32_t value);
    void reset();
    void visit(StateVisitor& v) { v.fixed("banks", values_); }

    /// SPI_COMPUTE_QUEUE_RESET of an XCC. Waves are killed when each XCC that the queue uses has been told.
    void reset_queue(Hqd& hqd, unsigned xcc);

    /// What MAP_PROCESS says of a process, on chips with debug_per_vmid.
    void bind_debug(uint32_t vmid, const ProcessBinding& binding);

    enum class Bank : uint8_t { One, Pipe, Debug };
    /// A register that is being touched: its row, the value stored for the selected bank, and the bank.
    struct Access {
        unsigned row;
        const GrbmSelect& select;
        uint32_t& stored;
    };
    using Read = uint32_t (CpRegisters::*)(const Access&);
    using Write = void (CpRegisters::*)(const Access&, uint32_t);

    uint32_t read_plain(const Access& access);
    uint32_t read_gfx_rptr(const Access& access);
    uint32_t read_gfx_wptr(const Access& access);
    uint32_t read_gws(const Access& access);
    uint32_t read_wf_status(const Access& access);
    uint32_t read_wf_count(const Access& access);
    uint32_t read_grbm_status(const Access& access);
    uint32_t read_grbm_status2(const Access& access);
    uint32_t read_grbm_engine(const Access& access);
    uint32_t read_cpc_status(const Access& access);
    uint32_t read_cpc_busy(const Access& access);
    uint32_t read_cpf_status(const Access& access);
    uint32_t read_cp_stat(const Access& access);
    void write_plain(const Access& access, uint32_t value);
    void write_none(const Access& access, uint32_t value);
    void write_mec_cntl(const Access& access, uint32_t value);
    void write_me_cntl(const Access& access, uint32_t value);
    void write_sq_cmd(const Access& access, uint32_t value);
    void write_gdbg(const Access& access, uint32_t value);
    void write_gfx_ring(const Access& access, uint32_t value);
    void write_gfx_cntl(const Access& access, uint32_t value);
    void write_gfx_wptr(const Access& access, uint32_t value);
    void write_wptr_poll(const Access& access, uint32_t value);
    void write_pipe_weights(const Access& access, uint32_t value);
    void write_wait_times(const Access& access, uint32_t value);
    void write_pipe_level(const Access& access, uint32_t value);
    void write_vmid_reset(const Access& access, uint32_t value);
    void write_int_status(const Access& access, uint32_t value);
    void write_queue_reset(const Access& access, uint32_t value);
    void write_schedulers(const Access& access, uint32_t value);

private:
    static constexpr unsigned kBanks = 16;  ///< ME 0..3, pipe 0..3; or VMIDs
    static_assert(kBanks == kVmids);

    uint32_t& stored(unsigned row, const GrbmSelect& select);
    uint32_t one(uint32_t dw) const { return in_bank(dw, 0); }
    uint32_t in_bank(uint32_t dw, unsigned bank) const;
    bool debug_per_vmid() const { return facts_of(dispatcher_.shape().chip).debug_per_vmid; }
    void set_debug();
    Hqd* selected(const GrbmSelect& select);
    /// What a slot shows, and who runs its waves.
    struct Shown {
        const Hqd& hqd;
        CommandProcessor* leader;  ///< nullptr: this one
    };
    Shown shown(unsigned me, unsigned pipe, unsigned queue) const;
    bool counts_waves_here();
    uint32_t read_hqd(const Hqd& hqd, unsigned index) const;
    void write_hqd(Hqd& hqd, unsigned index, uint32_t value);
    void set_active(Hqd& hqd, bool active);
    void set_dequeue(Hqd& hqd, uint32_t value);
    bool is_kiq(const Hqd& hqd) const;
    WaveSelection sq_cmd_selection(const Access& access, uint32_t value);

    Env& env_;
    CpBus& bus_;
    Dispatcher& dispatcher_;
    Mec& mec_;
    std::vector<std::array<uint32_t, kBanks>> values_;
    std::unordered_map<uint32_t, uint16_t> row_of_dword_;
};

}  // namespace lyra
