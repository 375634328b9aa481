// SPDX-License-Identifier: MIT
// SMU mailbox, version 13.0.1. @source Linux 6.12 swsmu/smu13/yellow_carp_ppt.c, smu_v13_0.c, smu_cmn.c,
// inc/pmfw_if/smu_v13_0_1_ppsmc.h, smu13_driver_if_yellow_carp.h
#include "qemu-hw/soc/smu.h"

#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "common/bits.h"
#include "qemu-hw/soc/vbios.h"

namespace lyra {

namespace {

constexpr uint32_t kArgument = regs::MP1::MP1_SMN_C2PMSG_82, kResponse = regs::MP1::MP1_SMN_C2PMSG_90;
constexpr uint32_t kFirmwareFlags = 0x03b10024, kInterruptsEnabled = 1;  ///< SMN address
constexpr uint32_t kOk = 1, kFailed = 0xff, kUnknown = 0xfe;

constexpr uint32_t kVersion = 0x00010000, kDriverInterface = 4;

enum Message : uint32_t {
    kTestMessage = 1,
    kGetSmuVersion = 2,
    kGetDriverIfVersion = 3,
    kSetDriverDramAddrHigh = 0xd,
    kSetDriverDramAddrLow = 0xe,
    kTransferTableSmu2Dram = 0xf,
    kGetEnabledSmuFeatures = 0x12,
    kGetGfxclkFrequency = 0x17,
    kGetFclkFrequency = 0x18,
    kMessages = 0x29,
};

constexpr uint32_t kEngineMhz = kEngineClock10kHz / 100, kMemoryMhz = kMemoryClock10kHz / 100;

/// DpmClocks_t: one level of everything.
constexpr uint32_t kDpmClocks = 4;
constexpr auto kDpmClocksTable = [] {
    std::array<uint32_t, 76> words{};
    words[24] = kEngineMhz;                     // SocClocks
    words[56] = words[57] = kMemoryMhz;         // DfPstateTable: FClk, MemClk
    words[72] = 1 << 16;                        // NumSocClkLevelsEnabled
    words[73] = 1;                              // NumDfPstatesEnabled
    words[74] = words[75] = kEngineMhz;         // MinGfxClk, MaxGfxClk
    return words;
}();

/// SmuMetrics_t. What the model has no word for is 0.
constexpr uint32_t kMetrics = 7;
struct Metrics {
    uint16_t gfxclk_mhz, socclk_mhz, vclk_mhz, dclk_mhz, memclk_mhz, spare;
    uint16_t gfx_activity, uvd_activity;          ///< 1/100 percent
    uint16_t voltage[2], current[2], power[2];
    uint16_t core_mhz[8], core_power[8], core_temperature[8], l3_mhz, l3_temperature;
    uint16_t gfx_temperature, soc_temperature;    ///< 1/100 degrees Celsius
    uint16_t throttler_status;
    uint16_t socket_power_mw, stapm_limits_w[2];
    uint32_t apu_power_mw, dgpu_power_mw;
    uint16_t tdc_edc_ma[4], infrastructure_mhz[2], skin_temperature, device_state;
};
static_assert(offsetof(Metrics, gfx_temperature) == 80 && offsetof(Metrics, socket_power_mw) == 86 && sizeof(Metrics) == 116);

// Not those of any chip. The power of 64 compute units just fits into the 16 bits that this interface has for milliwatts.
constexpr uint32_t kIdleMilliwatts = 5000, kComputeUnitMilliwatts = 900;
constexpr uint32_t kIdleCentidegrees = 3500, kCentidegreesPerWatt = 75;

Metrics metrics(const Activity& activity) {
    const uint32_t above_idle = kComputeUnitMilliwatts * activity.units / 1000;
    Metrics table{};
    table.gfxclk_mhz = table.socclk_mhz = kEngineMhz;
    table.memclk_mhz = kMemoryMhz;
    table.gfx_activity = static_cast<uint16_t>(activity.busy);
    table.gfx_temperature = table.soc_temperature =
        static_cast<uint16_t>(kIdleCentidegrees + above_idle * kCentidegreesPerWatt / 1000);
    table.socket_power_mw = static_cast<uint16_t>(kIdleMilliwatts + above_idle);
    return table;
}

}  // namespace

Smu::Smu(Env& env, RegisterFile& registers, Nbio& nbio, MemoryPort& mmhub, std::function<Activity()> activity)
    : env_(env), registers_(registers), nbio_(nbio), mmhub_(mmhub), activity_(std::move(activity)) {
    registers.attach(regs::Owner::Smu, *this);
}

void Smu::reset() {
    table_address_ = 0;
    nbio_.store_smn(kFirmwareFlags, kInterruptsEnabled);
}

uint32_t Smu::read(uint32_t dw) { return registers_.stored(dw); }

void Smu::write(uint32_t dw, uint32_t value) {
    registers_.store(dw, value);
    uint32_t argument = registers_.stored(kArgument);
    const uint32_t response = message(value, argument);
    if (response != kOk)
        report(env_, Fault::SmuMessage, fmt::format("{:#x}, argument {:#x}", value, registers_.stored(kArgument)));
    registers_.store(kArgument, argument);
    registers_.store(kResponse, response);
}

/// Whatever asks for a clock, a voltage or a power state is granted and changes nothing. No feature is enabled.
uint32_t Smu::message(uint32_t id, uint32_t& argument) {
    switch (id) {
        case 0: return kUnknown;
        case kTestMessage: ++argument; return kOk;
        case kGetSmuVersion: argument = kVersion; return kOk;
        case kGetDriverIfVersion: argument = kDriverInterface; return kOk;
        case kGetEnabledSmuFeatures: argument = 0; return kOk;
        case kGetGfxclkFrequency: argument = kEngineMhz; return kOk;
        case kGetFclkFrequency: argument = kMemoryMhz; return kOk;
        case kSetDriverDramAddrHigh: table_address_ = make64(lo32(table_address_), argument); return kOk;
        case kSetDriverDramAddrLow: table_address_ = make64(argument, hi32(table_address_)); return kOk;
        case kTransferTableSmu2Dram: return give_table(argument) ? kOk : kFailed;
        default: return id < kMessages ? kOk : kUnknown;
    }
}

bool Smu::give_table(uint32_t number) {
    if (table_address_ == 0) return false;
    const auto give = [&](const auto& table) { return mmhub_.write(0, table_address_, &table, sizeof table) == Fault::None; };
    if (number == kDpmClocks) return give(kDpmClocksTable);
    return number == kMetrics && give(metrics(activity_()));
}

}  // namespace lyra
