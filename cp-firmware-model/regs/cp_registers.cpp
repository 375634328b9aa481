// SPDX-License-Identifier: MIT
// Command processor registers: queue slots by bank, gfx ring, halts, resets, kills; step 2 of the data flow.
#include "cp-firmware-model/regs/cp_registers.h"

#include <algorithm>

#include <fmt/format.h>

#include "cp-firmware-model/command_processor.h"
#include "cp-firmware-model/queue/hqd_reset.h"
#include "facts/register_fields.h"
#include "facts/registers.h"

namespace lyra {

namespace {

struct Row {
    const char* name;
    uint32_t dw;
    CpRegisters::Bank bank;
    uint32_t reset;
    CpRegisters::Read read;
    CpRegisters::Write write;
};

constexpr Row kRows[] = {
#define CPREG(name, byte, bank, reset, read, write) \
    {#name, (byte) / 4, CpRegisters::Bank::bank, reset, &CpRegisters::read_##read, &CpRegisters::write_##write},
#include "facts/registers/cp.def"
#undef CPREG
};

using namespace regs::GC;

/// SQ_CMD.MODE. @source Linux 6.12 cik_regs.h SQ_IND_CMD_MODE
constexpr uint32_t kSqBroadcastMe = 4;

}  // namespace

CpRegisters::CpRegisters(Env& env, CpBus& bus, Dispatcher& dispatcher, Mec& mec)
    : env_(env), bus_(bus), dispatcher_(dispatcher), mec_(mec), values_(std::size(kRows)) {
    for (unsigned row = 0; row < std::size(kRows); ++row) row_of_dword_[kRows[row].dw] = static_cast<uint16_t>(row);
    reset();
}

void CpRegisters::reset() {
    for (unsigned row = 0; row < std::size(kRows); ++row) values_[row].fill(kRows[row].reset);
}

uint32_t& CpRegisters::stored(unsigned row, const GrbmSelect& select) {
    switch (kRows[row].bank) {
        case Bank::One: break;
        case Bank::Pipe: return values_[row][(select.me & 3) * 4 + (select.pipe & 3)];
        case Bank::Debug: return values_[row][debug_per_vmid() ? select.vmid % kBanks : 0];
    }
    return values_[row][0];
}

uint32_t CpRegisters::in_bank(uint32_t dw, unsigned bank) const { return values_[row_of_dword_.at(dw)][bank]; }

Hqd* CpRegisters::selected(const GrbmSelect& select) {
    if (select.me < 1 || select.me > kMecs) return nullptr;
    return &mec_.slot(select.me, select.pipe, select.queue);
}

/// Each XCC of a partition shows the queues that its first one has mapped for all of them.
CpRegisters::Shown CpRegisters::shown(unsigned me, unsigned pipe, unsigned queue) const {
    const Hqd& own = mec_.slot(me, pipe, queue);
    CommandProcessor* const leader = own.active() ? nullptr : bus_.leader();
    if (leader == nullptr) return {own, nullptr};
    const Hqd& hqd = leader->slot(me, pipe, queue);
    return hqd.active() && hqd.xccs.count > 1 ? Shown{hqd, leader} : Shown{own, nullptr};
}

bool CpRegisters::read(uint32_t dw, const GrbmSelect& select, uint32_t& value) {
    if (dw >= kHqdFirstRegister && dw < kHqdFirstRegister + kHqdRegisters) {
        const bool is_slot = selected(select) != nullptr;
        value = is_slot ? read_hqd(shown(select.me, select.pipe, select.queue).hqd, dw - kHqdFirstRegister) : 0;
        return true;
    }
    const auto found = row_of_dword_.find(dw);
    if (found == row_of_dword_.end()) return false;
    const Access access{found->second, select, stored(found->second, select)};
    value = (this->*kRows[found->second].read)(access);
    return true;
}

bool CpRegisters::write(uint32_t dw, const GrbmSelect& select, uint32_t value) {
    if (dw >= kHqdFirstRegister && dw < kHqdFirstRegister + kHqdRegisters) {
        if (Hqd* hqd = selected(select)) {
            write_hqd(*hqd, dw - kHqdFirstRegister, value);
        } else {
            report(env_, Fault::RegisterRange, fmt::format("queue register {:#x} with ME {} selected", dw * 4, select.me));
        }
        return true;
    }
    const auto found = row_of_dword_.find(dw);
    if (found == row_of_dword_.end()) return false;
    const Access access{found->second, select, stored(found->second, select)};
    (this->*kRows[found->second].write)(access, value);
    return true;
}

uint32_t CpRegisters::read_plain(const Access& access) { return access.stored; }
void CpRegisters::write_plain(const Access& access, uint32_t value) { access.stored = value; }
void CpRegisters::write_none(const Access&, uint32_t) {}

// --- queue slots ---

uint32_t CpRegisters::read_hqd(const Hqd& hqd, unsigned index) const {
    const unsigned xcc = mec_.partition().xcc;
    if (index == hqd_reg::CP_HQD_ACTIVE) return hqd.active() && !bit(hqd.xccs.reset, xcc);
    if (hqd.active() && index == hqd_reg::CP_HQD_PQ_RPTR) return static_cast<uint32_t>(hqd.rptr_dw & (hqd.ring_dwords() - 1));
    if (index == hqd_reg::CP_HQD_QUANTUM)
        return field::CP_HQD_QUANTUM::QUANTUM_ACTIVE::set(hqd.regs[index], mec_.quantum_runs(hqd));
    if (xcc != 0 && index == hqd_reg::CP_MQD_BASE_ADDR) return lo32(hqd.mqd_address(xcc));
    if (xcc != 0 && index == hqd_reg::CP_MQD_BASE_ADDR_HI)
        return field::CP_MQD_BASE_ADDR_HI::BASE_ADDR_HI::set(hqd.regs[index], hi32(hqd.mqd_address(xcc)));
    if (hqd.active() && index == hqd_reg::CP_HQD_PQ_WPTR_LO) return lo32(hqd.wptr_dw);
    if (hqd.active() && index == hqd_reg::CP_HQD_PQ_WPTR_HI) return hi32(hqd.wptr_dw);
    return hqd.regs[index];
}

void CpRegisters::write_hqd(Hqd& hqd, unsigned index, uint32_t value) {
    switch (index) {
        case hqd_reg::CP_HQD_ACTIVE: set_active(hqd, field::CP_HQD_ACTIVE::ACTIVE::get(value)); return;
        case hqd_reg::CP_HQD_DEQUEUE_REQUEST: set_dequeue(hqd, value); return;
        default: break;
    }
    hqd.regs[index] = value;
    const bool priority =
        index == hqd_reg::CP_HQD_PIPE_PRIORITY || index == hqd_reg::CP_HQD_QUEUE_PRIORITY || index == hqd_reg::CP_HQD_QUANTUM;
    if (priority && hqd.active()) mec_.priority_changed(hqd);
    const bool pointer = index == hqd_reg::CP_HQD_PQ_WPTR_LO || index == hqd_reg::CP_HQD_PQ_WPTR_HI;
    if (!pointer || !hqd.active() || hqd.is_aql()) return;
    // The low half first, then the high one: only the pair is a pointer.
    if (index == hqd_reg::CP_HQD_PQ_WPTR_HI) mec_.set_wptr(hqd, make64(hqd.regs[hqd_reg::CP_HQD_PQ_WPTR_LO], value));
}

/// RLC_CP_SCHEDULERS names the slot of the KIQ: ME 6:5, pipe 4:3, queue 2:0. @source Linux 6.12 gfx_v9_0_kiq_setting()
bool CpRegisters::is_kiq(const Hqd& hqd) const {
    const uint32_t scheduler = one(RLC_CP_SCHEDULERS) & 0x7f;
    return scheduler != 0 && scheduler == uint32_t(hqd.me << 5 | hqd.pipe << 3 | hqd.queue);
}

void CpRegisters::set_active(Hqd& hqd, bool active) {
    if (!active) {
        if (hqd.active()) mec_.unmap().drop(hqd);
        return;
    }
    if (hqd.active()) return;
    const bool kernel = field::CP_HQD_PQ_CONTROL::KMD_QUEUE::get(hqd.regs[hqd_reg::CP_HQD_PQ_CONTROL]);
    mec_.activate(hqd, is_kiq(hqd) ? QueueKind::Kiq : kernel ? QueueKind::Kernel : QueueKind::User);
}

void CpRegisters::set_dequeue(Hqd& hqd, uint32_t value) {
    hqd.regs[hqd_reg::CP_HQD_DEQUEUE_REQUEST] = value;
    const uint32_t kind = field::CP_HQD_DEQUEUE_REQUEST::DEQUEUE_REQ::get(value);
    if (kind < 1 || kind > 3) return;
    mec_.unmap().request(hqd, static_cast<Dequeue>(kind));
    mec_.unmap().look(hqd);
}

void CpRegisters::write_wptr_poll(const Access& access, uint32_t value) {
    access.stored = value;
    for (unsigned n = 0; n < kPipesPerMec * kQueuesPerPipe; ++n) {
        if (!bit(value, n)) continue;
        Hqd& hqd = mec_.slot(1, n / kQueuesPerPipe, n % kQueuesPerPipe);
        if (hqd.active()) {
            mec_.poll_wptr(hqd);
        } else {
            hqd.wptr_poll_once = true;
        }
    }
}

void CpRegisters::write_schedulers(const Access& access, uint32_t value) { access.stored = value; }

/// RESET kills the waves of the selected queue; a dequeue that waited for them goes on.
void CpRegisters::write_queue_reset(const Access& access, uint32_t value) {
    Hqd* const own = selected(access.select);
    if (!field::SPI_COMPUTE_QUEUE_RESET::RESET::get(value) || !own) return;
    const auto [hqd, leader] = shown(access.select.me, access.select.pipe, access.select.queue);
    if (!hqd.active()) return;
    if (leader)
        leader->reset_queue(hqd, mec_.partition().xcc);
    else
        reset_queue(*own, mec_.partition().xcc);
}

void CpRegisters::reset_queue(Hqd& hqd, unsigned xcc) {
    hqd.xccs.reset |= 1u << xcc;
    const uint32_t all = (1u << hqd.xccs.count) - 1;
    if (hqd.xccs.count > 1 && hqd.xccs.reset != all) return;
    hqd.xccs.reset = 0;
    mec_.unmap().kill_waves(hqd);
    if (hqd.dequeue == Dequeue::None) return;
    mec_.unmap().request(hqd, Dequeue::Reset);
    mec_.unmap().look(hqd);
}

// --- micro engines ---

void CpRegisters::write_mec_cntl(const Access& access, uint32_t value) {
    namespace cntl = field::CP_MEC_CNTL;
    access.stored = value;
    mec_.halt(1, cntl::MEC_ME1_HALT::get(value));
    mec_.halt(2, cntl::MEC_ME2_HALT::get(value));
    // Six bits of pipes in a row.
    for (unsigned n = 0; n <= cntl::MEC_ME2_PIPE1_RESET::kLow - cntl::MEC_ME1_PIPE0_RESET::kLow; ++n) {
        if (!bit(value, cntl::MEC_ME1_PIPE0_RESET::kLow + n)) continue;
        for (unsigned queue = 0; queue < kQueuesPerPipe; ++queue) {
            Hqd& hqd = mec_.slot(n < 4 ? 1 : 2, n % 4, queue);
            if (hqd.active()) mec_.unmap().drop(hqd);
        }
    }
}

void CpRegisters::write_pipe_weights(const Access& access, uint32_t value) {
    access.stored = value;
    mec_.set_pipe_weights(kRows[access.row].dw == CP_ME1_PIPE_PRIORITY_CNTS ? 1 : 2, PipeWeights::of(value));
}

void CpRegisters::write_wait_times(const Access& access, uint32_t value) {
    access.stored = value;
    mec_.unmap().set_wait_times(value);
}

void CpRegisters::write_pipe_level(const Access& access, uint32_t value) {
    access.stored = field::CP_ME1_PIPE0_PRIORITY::PRIORITY::of(value);
    const uint32_t dw = kRows[access.row].dw;
    const bool second = dw >= CP_ME2_PIPE0_PRIORITY;
    mec_.set_pipe_level(second ? 2 : 1, dw - (second ? CP_ME2_PIPE0_PRIORITY : CP_ME1_PIPE0_PRIORITY), value);
}

void CpRegisters::write_me_cntl(const Access& access, uint32_t value) {
    access.stored = value;
    const bool halted = field::CP_ME_CNTL::ME_HALT::get(value) || field::CP_ME_CNTL::PFP_HALT::get(value);
    if (mec_.halted(0) && !halted && mec_.gfx().state == HqdState::Stopped) mec_.restart_gfx();
    mec_.halt(0, halted);
}

/// Client GRBM_CP, source 178: the driver's way to get an interrupt from a KIQ fence.
/// @source Linux 6.12 gfx_v9_0_ring_emit_fence_kiq()
void CpRegisters::write_int_status(const Access&, uint32_t value) {
    if (!field::CPC_INT_STATUS::GENERIC2_INT_STATUS::get(value)) return;
    Interrupt vector;
    vector.client = ih_client::kGrbmCp;
    vector.source = ih_source::kCpGeneric;
    for (const Hqd& hqd : mec_.slots()) {
        if (is_kiq(hqd)) vector.ring_id = static_cast<uint8_t>(hqd.pipe | hqd.me << 2 | hqd.queue << 4);
    }
    bus_.interrupt(vector);
}

// --- gfx ring ---

uint32_t CpRegisters::read_gfx_rptr(const Access&) {
    return static_cast<uint32_t>(mec_.gfx().rptr_dw & (mec_.gfx().ring_dwords() - 1));
}

uint32_t CpRegisters::read_gfx_wptr(const Access& access) {
    return kRows[access.row].dw == CP_RB0_WPTR ? lo32(mec_.gfx().wptr_dw) : hi32(mec_.gfx().wptr_dw);
}

/// The gfx ring is kept as a queue: its registers have the fields of the HQD's.
void CpRegisters::write_gfx_ring(const Access& access, uint32_t value) {
    access.stored = value;
    auto& regs = mec_.gfx().regs;
    regs[hqd_reg::CP_HQD_PQ_BASE] = one(CP_RB0_BASE);
    regs[hqd_reg::CP_HQD_PQ_BASE_HI] = field::CP_RB0_BASE_HI::RB_BASE_HI::get(one(CP_RB0_BASE_HI));
    regs[hqd_reg::CP_HQD_PQ_RPTR_REPORT_ADDR] = one(CP_RB0_RPTR_ADDR);
    regs[hqd_reg::CP_HQD_PQ_RPTR_REPORT_ADDR_HI] = field::CP_RB0_RPTR_ADDR_HI::RB_RPTR_ADDR_HI::get(one(CP_RB0_RPTR_ADDR_HI));
    regs[hqd_reg::CP_HQD_PQ_WPTR_POLL_ADDR] = one(CP_RB_WPTR_POLL_ADDR_LO);
    regs[hqd_reg::CP_HQD_PQ_WPTR_POLL_ADDR_HI] =
        field::CP_RB_WPTR_POLL_ADDR_HI::RB_WPTR_POLL_ADDR_HI::get(one(CP_RB_WPTR_POLL_ADDR_HI));
    regs[hqd_reg::CP_HQD_PQ_DOORBELL_CONTROL] = one(CP_RB_DOORBELL_CONTROL);
    regs[hqd_reg::CP_HQD_VMID] = field::CP_RB_VMID::RB0_VMID::get(one(CP_RB_VMID));
}

/// RB_BUFSZ: 8 << n bytes, the same size as QUEUE_SIZE of an HQD. The driver writes it when it starts the ring anew.
void CpRegisters::write_gfx_cntl(const Access& access, uint32_t value) {
    access.stored = value;
    mec_.gfx().regs[hqd_reg::CP_HQD_PQ_CONTROL] = field::CP_RB0_CNTL::RB_BUFSZ::get(value);
    mec_.restart_gfx();
}

void CpRegisters::write_gfx_wptr(const Access& access, uint32_t value) {
    access.stored = value;
    const uint64_t wptr = make64(one(CP_RB0_WPTR), one(CP_RB0_WPTR_HI));
    if (kRows[access.row].dw == CP_RB0_WPTR_HI) mec_.set_wptr(mec_.gfx(), wptr);
}

/// The resource that GDS_GWS_RESOURCE_CNTL.INDEX names: its state, or how many waves wait.
uint32_t CpRegisters::read_gws(const Access& access) {
    const uint32_t index = field::GDS_GWS_RESOURCE_CNTL::INDEX::get(one(GDS_GWS_RESOURCE_CNTL));
    const bool state = kRows[access.row].dw == GDS_GWS_RESOURCE;
    return state ? dispatcher_.gws().state(index) : dispatcher_.gws().waiting(index);
}

// --- waves ---

/// Kill the waves of VMIDs and the buffers of the gfx ring that run in them. Reads 0 when done, which is at once.
void CpRegisters::write_vmid_reset(const Access& access, uint32_t value) {
    access.stored = 0;
    auto& buffers = mec_.gfx().pm4.ib_stack;
    for (uint32_t vmid = 0; vmid < kVmids; ++vmid) {
        if (!bit(field::CP_VMID_RESET::RESET_REQUEST::get(value), vmid)) continue;
        dispatcher_.kill_vmid(vmid);
        if (std::any_of(buffers.begin(), buffers.end(), [&](const IndirectBuffer& ib) { return ib.vmid == vmid; })) {
            buffers.clear();
        }
    }
}

/// MODE: 0 one wave, 1 all, 2 those of a queue, 3 of a pipe, 4 of a micro engine. The registers of GRBM say on which shader
/// engine and CU, and which pipe and micro engine are meant.
WaveSelection CpRegisters::sq_cmd_selection(const Access& access, uint32_t value) {
    namespace cmd = field::SQ_CMD;
    namespace gfx = field::GRBM_GFX_INDEX;
    WaveSelection selection;
    const uint32_t index = bus_.read_register(GRBM_GFX_INDEX);
    if (!gfx::SE_BROADCAST_WRITES::get(index)) selection.engine = static_cast<int>(gfx::SE_INDEX::get(index));
    if (!gfx::INSTANCE_BROADCAST_WRITES::get(index)) selection.cu = static_cast<int>(gfx::INSTANCE_INDEX::get(index));
    // An engine has one shader array.
    const bool here = gfx::SH_BROADCAST_WRITES::get(index) || gfx::SH_INDEX::get(index) == 0;
    if (!here) selection.queues.reset();
    if (cmd::CHECK_VMID::get(value)) selection.vmid = static_cast<int>(cmd::VM_ID::get(value));
    const uint32_t mode = cmd::MODE::get(value);
    if (mode == 0) {
        selection.simd = static_cast<int>(cmd::SIMD_ID::get(value));
        selection.wave = static_cast<int>(cmd::WAVE_ID::get(value));
    }
    if (mode < 2 || !here) return selection;
    selection.queues.reset();
    const auto look = [&](const Hqd& hqd) {
        const bool me = hqd.me == access.select.me, pipe = hqd.pipe == access.select.pipe;
        const bool queue = hqd.queue == cmd::QUEUE_ID::get(value);
        if (me && (mode > 3 || pipe) && (mode > 2 || queue)) selection.queues.set(hqd.id());
    };
    look(mec_.gfx());
    for (const Hqd& hqd : mec_.slots()) look(hqd);
    return selection;
}

void CpRegisters::write_sq_cmd(const Access& access, uint32_t value) {
    access.stored = value;
    if (field::SQ_CMD::MODE::get(value) > kSqBroadcastMe) {
        report(env_, Fault::TodoRegister, fmt::format("SQ_CMD {:#010x}", value));
        return;
    }
    const auto command = static_cast<gcn::WaveCommand>(field::SQ_CMD::CMD::get(value));
    dispatcher_.command_waves(command, field::SQ_CMD::DATA::get(value), sq_cmd_selection(access, value));
}

void CpRegisters::write_gdbg(const Access& access, uint32_t value) {
    access.stored = value;
    set_debug();
}

void CpRegisters::bind_debug(uint32_t vmid, const ProcessBinding& binding) {
    if (!debug_per_vmid()) return;
    vmid %= kBanks;
    values_[row_of_dword_.at(SPI_GDBG_TRAP_MASK)][vmid] = binding.debug;
    // A watch of another process stays: the driver gives each to one process at a time.
    namespace watch = field::TCP_WATCH0_CNTL;
    for (uint32_t n = 0; n < gcn::kWatchpoints; ++n) {
        uint32_t& cntl = values_[row_of_dword_.at(TCP_WATCH0_CNTL + n * (TCP_WATCH1_CNTL - TCP_WATCH0_CNTL))][0];
        if (watch::VALID::get(binding.watch[n]) || watch::VMID::get(cntl) == vmid)
            cntl = watch::VMID::set(binding.watch[n], vmid);
    }
    set_debug();
}

/// Launch modes, exceptions and watched addresses: a debugger's registers, taken together.
/// MASK of TCP_WATCHn_CNTL has bits 29:6 of an address; the bits above them are always compared.
void CpRegisters::set_debug() {
    DebugControls controls;
    const uint32_t cntl = one(SPI_GDBG_WAVE_CNTL), cntl2 = one(SPI_GDBG_WAVE_CNTL2);
    controls.stall = field::SPI_GDBG_WAVE_CNTL::STALL_RA::get(cntl);
    controls.stalled_vmids = field::SPI_GDBG_WAVE_CNTL::STALL_VMID::get(cntl);
    for (unsigned vmid = 0; vmid < kVmids; ++vmid) {
        DebugControls::OfVmid& set = controls.of_vmid[vmid];
        if (debug_per_vmid()) {
            const uint32_t word = in_bank(SPI_GDBG_TRAP_MASK, vmid);
            controls.stalled_vmids |= PerVmidDebug::StallVmid::get(word) << vmid;
            set = {PerVmidDebug::ExcpEn::get(word), PerVmidDebug::ExcpReplace::get(word) != 0,
                   static_cast<LaunchMode>(PerVmidDebug::LaunchMode::get(word))};
        } else {
            const uint32_t mask = one(SPI_GDBG_TRAP_MASK);
            const bool mode = bit(field::SPI_GDBG_WAVE_CNTL2::VMID_MASK::get(cntl2), vmid);
            set = {field::SPI_GDBG_TRAP_MASK::EXCP_EN::get(mask), field::SPI_GDBG_TRAP_MASK::REPLACE::get(mask) != 0,
                   mode ? static_cast<LaunchMode>(field::SPI_GDBG_WAVE_CNTL2::MODE::get(cntl2)) : LaunchMode::Normal};
        }
        if (set.launch_mode != LaunchMode::Kill) continue;
        report(env_, Fault::TodoRegister, fmt::format("launch mode kill in VMID {}", vmid));
        set.launch_mode = LaunchMode::Normal;
    }
    namespace watch = field::TCP_WATCH0_CNTL;
    for (uint32_t n = 0; n < gcn::kWatchpoints; ++n) {
        const uint32_t first = TCP_WATCH0_ADDR_H + n * (TCP_WATCH1_ADDR_H - TCP_WATCH0_ADDR_H);
        const uint32_t point_cntl = one(first + 2);
        gcn::Watchpoint& point = controls.watch.points[n];
        point.valid = watch::VALID::get(point_cntl);
        point.mode = static_cast<uint8_t>(watch::MODE::get(point_cntl));
        point.vmid = watch::VMID::get(point_cntl);
        point.mask = (uint64_t{watch::MASK::get(point_cntl)} << 6) | 0xffffc0000000;
        point.address = make64(one(first + 1), field::TCP_WATCH0_ADDR_H::ADDR::get(one(first))) & point.mask;
    }
    dispatcher_.set_debug(controls);
}

// --- who is busy ---

/// A micro engine is busy while a queue of it has packets to execute, or work of them that has not ended; an idle queue in its
/// slot does not count, nor one that a bad packet has stopped. The SPI is busy while waves are resident.
/// The blocks of graphics, caches and the RLC are never busy.
uint32_t CpRegisters::read_grbm_status(const Access&) {
    namespace grbm = field::GRBM_STATUS;
    const uint32_t status = grbm::SPI_BUSY::of(dispatcher_.waves_live_total() != 0) |
                            grbm::CP_BUSY::of(mec_.busy_pipes() != 0 || mec_.busy(mec_.gfx()));
    return status | grbm::GUI_ACTIVE::of(status != 0);
}

uint32_t CpRegisters::read_grbm_status2(const Access&) {
    namespace grbm = field::GRBM_STATUS2;
    const bool compute = mec_.busy_pipes() != 0, gfx = mec_.busy(mec_.gfx());
    return grbm::CPF_BUSY::of(compute || gfx) | grbm::CPC_BUSY::of(compute) | grbm::CPG_BUSY::of(gfx);
}

uint32_t CpRegisters::read_grbm_engine(const Access& access) {
    const uint32_t dw = kRows[access.row].dw;
    const unsigned engine = dw < GRBM_STATUS_SE2 ? dw - GRBM_STATUS_SE0 : 2 + dw - GRBM_STATUS_SE2;
    return field::GRBM_STATUS_SE0::SPI_BUSY::of(dispatcher_.waves_on_engine(engine) != 0);
}

uint32_t CpRegisters::read_cpc_status(const Access&) {
    namespace cpc = field::CP_CPC_STATUS;
    const uint32_t pipes = mec_.busy_pipes();
    return cpc::MEC1_BUSY::of(bits(pipes, 0, kPipesPerMec) != 0) |
           cpc::MEC2_BUSY::of(bits(pipes, kPipesPerMec, kPipesPerMec) != 0) | cpc::CPC_BUSY::of(pipes != 0);
}

uint32_t CpRegisters::read_cpc_busy(const Access&) {
    const uint32_t pipes = mec_.busy_pipes();
    return bits(pipes, 0, kPipesPerMec) << field::CP_CPC_BUSY_STAT::MEC1_PIPE0_BUSY::kLow |
           bits(pipes, kPipesPerMec, kPipesPerMec) << field::CP_CPC_BUSY_STAT::MEC2_PIPE0_BUSY::kLow;
}

uint32_t CpRegisters::read_cpf_status(const Access&) {
    namespace cpf = field::CP_CPF_STATUS;
    const bool compute = mec_.busy_pipes() != 0, gfx = mec_.busy(mec_.gfx());
    return cpf::HQD_BUSY::of(compute) | cpf::CPF_CMP_BUSY::of(compute) | cpf::CPF_GFX_BUSY::of(gfx) |
           cpf::CPF_BUSY::of(compute || gfx);
}

uint32_t CpRegisters::read_cp_stat(const Access&) {
    const bool busy = mec_.busy(mec_.gfx());
    return field::CP_STAT::ME_BUSY::of(busy) | field::CP_STAT::CP_BUSY::of(busy);
}

/// Waves are not told apart by shader engine: engine 0 shows them all, so that the driver's sum is right.
bool CpRegisters::counts_waves_here() {
    const uint32_t index = bus_.read_register(GRBM_GFX_INDEX);
    return field::GRBM_GFX_INDEX::SE_BROADCAST_WRITES::get(index) || field::GRBM_GFX_INDEX::SE_INDEX::get(index) == 0;
}

uint32_t CpRegisters::read_wf_status(const Access& access) {
    if (access.select.me < 1 || access.select.me > kMecs || !counts_waves_here()) return 0;
    uint32_t map = 0;
    for (unsigned n = 0; n < kPipesPerMec * kQueuesPerPipe; ++n) {
        const Hqd& hqd = shown(access.select.me, n / kQueuesPerPipe, n % kQueuesPerPipe).hqd;
        map |= uint32_t{hqd.active()} << n;
    }
    return map;
}

/// COUNT of queue n of the selected pipe.
uint32_t CpRegisters::read_wf_count(const Access& access) {
    if (access.select.me < 1 || access.select.me > kMecs || !counts_waves_here()) return 0;
    const unsigned queue = kRows[access.row].dw - SPI_CSQ_WF_ACTIVE_COUNT_0;
    const auto [hqd, leader] = shown(access.select.me, access.select.pipe, queue);
    const unsigned waves = leader ? leader->waves_live(hqd, mec_.partition().xcc) : dispatcher_.waves_live(hqd.id(), 0);
    return std::min(waves, field::SPI_CSQ_WF_ACTIVE_COUNT_0::COUNT::kMask);
}

}  // namespace lyra
