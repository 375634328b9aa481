// SPDX-License-Identifier: MIT
// libFuzzer target: the chip through the C interface, as a hostile guest reaches it. Registers of every block, doorbells, page
// tables, the rings of IH and PSP, the mailbox of the SMU, discovery table and option ROM; bus mastering, BARs and guest memory
// that come and go; resets. Addresses are often those of the device itself. A third of the devices has virtual time and is
// recorded; a device that replays the recording has to do the same. Half of them have two XCCs.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "cp-firmware-model/fuzz/input.h"
#include "facts/registers.h"
#include "qemu-hw/include/lyra.h"
#include "tools/inproc/replayer.h"

namespace {

using lyra::fuzz::Input;
namespace regs = lyra::regs;

constexpr uint64_t kVram = 256ull << 20, kRam = 1 << 20, kRamBus = 0x100000000;
constexpr uint64_t kVramBar = 0x800000000, kDoorbellBar = 0x900000000, kRegisterBar = 0x900200000;
constexpr uint64_t kFrameBuffer = 0x8000000000;  ///< MC address of VRAM
constexpr uint32_t kIhDoorbell = 0xf4 * 8;
constexpr uint32_t kDiscoverySignature = 0x28211407;

/// Of the chip that has several; and of its register BAR, which has 256 KiB for each.
constexpr uint32_t kXccs = 4, kRegisterBytes = kXccs * regs::kXccStride * 4;

constexpr uint32_t kPages = 64;  ///< at the start of VRAM and of RAM, which page tables are made of

enum class Mode : uint8_t { Plain, Strict, Recorded, RecordedInHostTime };

bool is_recorded(Mode mode) { return mode == Mode::Recorded || mode == Mode::RecordedInHostTime; }

struct Device {
    /// @param record  file of those that are recorded
    Device(Mode mode, const char* chip, const std::string& record) : ram(kRam) {
        vram = mmap(nullptr, kVram, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (vram == MAP_FAILED) __builtin_trap();
        lyra_config config;
        lyra_config_init(&config);
        config.vram_bytes = kVram;
        config.compute_units = 4;
        config.chip = chip;
        if (lyra::find_chip(chip)->most_xccs > 1) config.xccs = is_recorded(mode) ? 2 : kXccs;
        config.poison = true;
        if (mode == Mode::Strict) config.strict = "tlb,hdp,l2";
        if (is_recorded(mode)) {
            config.strict = "tlb,hdp";
            config.virtual_time = mode == Mode::Recorded;
            config.repeatable = !config.virtual_time;
            config.record_path = record.c_str();
        }
        config.ih_overflow = true;  // where IH_RB_CNTL has it enabled
        lyra_host_ops ops{};
        ops.now_ns = [](void* self) { return static_cast<Device*>(self)->now; };
        ops.log = [](void*, lyra_log_level, const char*) {};
        char error[200] = "";
        device = lyra_create(&config, &ops, this, vram, error, sizeof error);
        if (!device) __builtin_trap();
        lyra_set_bar_addresses(device, kVramBar, kDoorbellBar, kRegisterBar);
        lyra_set_bus_master(device, true);
        show_memory(true);
    }
    ~Device() {
        lyra_destroy(device);
        munmap(vram, kVram);
    }
    void show_memory(bool there) {
        const lyra_ram_range range = {kRamBus, kRam, ram.data(), false};
        lyra_set_ram_map(device, &range, there ? 1 : 0);
    }
    void write(uint32_t byte, uint32_t value) { lyra_mmio_write(device, byte, value, 4); }
    uint32_t read(uint32_t byte) { return static_cast<uint32_t>(lyra_mmio_read(device, byte, 4)); }

    std::vector<uint8_t> ram;
    void* vram;
    uint64_t now = 1'000'000;
    lyra_device* device;
};

/// An address that something is at, mostly.
uint64_t address(Input& input) {
    const uint64_t offset = input.take<uint16_t>();
    switch (input.below(8)) {
        case 0: return kRamBus + offset;
        case 1: return kVramBar + offset;
        case 2: return kDoorbellBar + offset;
        case 3: return kDoorbellBar + kIhDoorbell;
        case 4: return kRegisterBar + offset;
        case 5: return kFrameBuffer + offset;
        case 6: return kRamBus + kRam - 8 + offset;
        default: return offset << 48 | input.take<uint32_t>();
    }
}

/// Half of them are part of an address.
uint32_t value(Input& input) {
    switch (input.below(4)) {
        case 0: return static_cast<uint32_t>(address(input));
        case 1: return static_cast<uint32_t>(address(input) >> 8);
        case 2: return static_cast<uint32_t>(address(input) >> 32);
        default: return input.take<uint32_t>();
    }
}

/// Byte offset of a register. Each owner is as likely as the next, however many registers it has.
uint32_t register_of(Input& input) {
    static const auto by_owner = [] {
        std::array<std::vector<const regs::Row*>, regs::kOwners> rows;
        for (const regs::Row& row : regs::kRows) rows[static_cast<unsigned>(row.owner)].push_back(&row);
        return rows;
    }();
    const uint32_t owner = input.below(regs::kOwners + 1);
    if (owner == regs::kOwners) return input.take<uint32_t>() % (kRegisterBytes + 16);
    const auto& rows = by_owner[owner];
    const regs::Row& row = *rows[input.below(static_cast<uint32_t>(rows.size()))];
    const uint32_t xcc = input.below(8) == 0 ? (1 + input.below(kXccs - 1)) * regs::kXccStride : 0;
    return 4 * (xcc + row.dw + input.below(row.count));
}

/// Rings that the driver would set up, so that what is in them is looked at.
void bring_up(Device& d, uint32_t what) {
    using namespace regs;
    if (what & 1) {  // 4 vectors, with write-back, interrupts and doorbell
        using namespace OSSSYS;
        d.write(4 * IH_RB_BASE, kRamBus >> 8);
        d.write(4 * IH_RB_BASE_HI, static_cast<uint32_t>(kRamBus >> 40));
        d.write(4 * IH_RB_WPTR_ADDR_HI, kRamBus >> 32);
        d.write(4 * IH_RB_WPTR_ADDR_LO, 0x8000);
        d.write(4 * IH_DOORBELL_RPTR, kIhDoorbell / 4 | 1u << 28);
        d.write(4 * NBIO::RCC_DOORBELL_APER_EN, 1);
        d.write(4 * NBIO::BIF_IH_DOORBELL_RANGE, kIhDoorbell | 8 << 16);
        d.write(4 * IH_RB_CNTL, 1 | 5 << 1 | 1 << 8 | 1 << 17);
    }
    if (what & 2) {  // a ring of 16 frames at the start of VRAM
        d.write(4 * MP0::MP0_SMN_C2PMSG_69, static_cast<uint32_t>(kFrameBuffer));
        d.write(4 * MP0::MP0_SMN_C2PMSG_70, static_cast<uint32_t>(kFrameBuffer >> 32));
        d.write(4 * MP0::MP0_SMN_C2PMSG_71, 1024);
        d.write(4 * MP0::MP0_SMN_C2PMSG_64, 2 << 16);
    }
    if (what & 4) {  // VMID 8 with four levels, VMID 0 flat
        for (const Hub* hub : {&kGfxHub, &kMmHub}) {
            d.write(4 * hub->VM_CONTEXT_CNTL, 1);
            d.write(4 * (hub->VM_CONTEXT_CNTL + 8), 1 | 3 << 1 | 1 << 7);
        }
    }
    if (what & 8) d.write(4 * GC::CP_MEC_CNTL, 0);
}

/// The state as somebody else has changed it. It is refused, or the device goes on with it.
void load_edited(Device& d, Input& input) {
    void* state = nullptr;
    const size_t bytes = lyra_save(d.device, false, &state);
    auto* const stream = static_cast<uint8_t*>(state);
    if (!bytes) __builtin_trap();
    for (unsigned edits = input.below(8); edits != 0; --edits) stream[input.take<uint32_t>() % bytes] ^= input.take<uint8_t>();
    const size_t length = input.below(16) ? bytes : input.take<uint32_t>() % bytes;
    char error[200] = "";
    if (lyra_load(d.device, stream, length, error, sizeof error) == (error[0] != 0)) __builtin_trap();
    std::free(state);
}

void step(Device& d, Input& input) {
    switch (input.below(16)) {
        case 0:
        case 1:
        case 2:
        case 3:
        case 4: {
            const uint32_t where = register_of(input);
            d.write(where, value(input));
            break;
        }
        case 5: d.read(register_of(input)); break;
        case 6: {  // a whole number in two registers
            const uint32_t where = register_of(input);
            const uint64_t at = address(input);
            d.write(where, static_cast<uint32_t>(at));
            d.write(where + 4, static_cast<uint32_t>(at >> 32));
            break;
        }
        case 7: {
            const unsigned size = 1u << input.below(4);
            const uint64_t offset = input.take<uint32_t>() % (kRegisterBytes + 16);
            lyra_mmio_write(d.device, offset, input.take<uint64_t>(), size);
            lyra_mmio_read(d.device, offset, size);
            break;
        }
        case 8: lyra_doorbell_write(d.device, input.below(0x1000) * 4, address(input), input.below(2) ? 8 : 4); break;
        case 9: lyra_doorbell_write(d.device, kIhDoorbell, input.below(256), 4); break;
        case 10: {  // page tables, rings and queue descriptors
            auto* at = input.below(2) ? static_cast<uint8_t*>(d.vram) : d.ram.data();
            const uint64_t entry = address(input) | input.take<uint16_t>() | uint64_t{input.take<uint8_t>()} << 48;
            if (const uint64_t offset = input.below(kPages * 512) * 8; input.below(2)) {
                lyra_vram_write(d.device, offset, entry, 8);
            } else {
                std::memcpy(at + offset, &entry, sizeof entry);
            }
            if (const unsigned size = 1 + input.below(8); input.below(4) == 0) {
                lyra_vram_write(d.device, entry, entry, size);
                lyra_vram_read(d.device, entry ^ input.take<uint16_t>(), size);
            }
            break;
        }
        case 11: lyra_set_bus_master(d.device, input.below(4) != 0); break;
        case 12: d.show_memory(input.below(4) != 0); break;
        case 13:
            if (input.below(2))
                lyra_set_bar_addresses(d.device, address(input), address(input), address(input));
            else
                lyra_set_bar_addresses(d.device, kVramBar, kDoorbellBar, kRegisterBar);
            break;
        case 14:
            lyra_run(d.device, 1000);
            d.now += uint64_t{input.take<uint16_t>()} * 1000;
            break;
        default:
            switch (input.below(8)) {
                case 0: lyra_reset(d.device); break;
                case 1: load_edited(d, input); break;
                default: bring_up(d, input.below(16));
            }
    }
}

void run(Device& d, Input& input) {
    bring_up(d, input.below(16));
    while (!input.empty()) step(d, input);
    for (int n = 0; n < 16; ++n) lyra_run(d.device, 1000);
    // The device must come up again after anything.
    lyra_reset(d.device);
    lyra_set_bus_master(d.device, true);
    if (d.read(0x378c) != kVram >> 20) __builtin_trap();
    uint32_t signature;
    std::memcpy(&signature, static_cast<uint8_t*>(d.vram) + kVram - 65536, sizeof signature);
    const void* rom = nullptr;
    const size_t rom_bytes = lyra_rom(d.device, &rom);
    if (signature != kDiscoverySignature || rom_bytes < 512 || std::memcmp(rom, "\x55\xaa", 2) != 0) __builtin_trap();
}

/// Every call again, with the same answers, interrupts and events.
void replay(const std::string& file) {
    std::string error;
    const std::unique_ptr<lyra::RecordingReader> reader = lyra::RecordingReader::open(file, error);
    if (!reader) __builtin_trap();
    lyra::inproc::ReplayOptions options;
    options.log = [](lyra_log_level, const char*) {};
    const std::unique_ptr<lyra::inproc::Replayer> replayer = lyra::inproc::Replayer::create(*reader, options, error);
    if (!replayer) __builtin_trap();
    lyra::RecordedCall call;
    while (reader->next(call))
        if (!replayer->perform(call).empty()) __builtin_trap();
    if (!reader->error().empty()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const int file = memfd_create("recording", MFD_CLOEXEC);
    static const std::string path = "/proc/self/fd/" + std::to_string(file);
    Input input(data, size);
    const unsigned kind = input.below(8);
    const Mode mode = static_cast<Mode>(kind & 3);
    {
        Device d(mode, kind & 4 ? "gfx942" : "gfx900", path);
        run(d, input);
    }
    if (is_recorded(mode)) replay(path);
    return 0;
}
