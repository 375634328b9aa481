// SPDX-License-Identifier: MIT
// libFuzzer target: the chip through the C interface, as a hostile guest reaches it. Registers of every block, doorbells, page
// tables, the rings of IH and PSP, the mailbox of the SMU, discovery table and option ROM; bus mastering, BARs and guest memory
// that come and go; resets. Addresses are often those of the device itself.
#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "cp-firmware-model/fuzz/input.h"
#include "qemu-hw/include/lyra.h"

namespace {

using lyra::fuzz::Input;

constexpr uint64_t kVram = 256ull << 20, kRam = 1 << 20, kRamBus = 0x100000000;
constexpr uint64_t kVramBar = 0x800000000, kDoorbellBar = 0x900000000, kRegisterBar = 0x900200000;
constexpr uint64_t kFrameBuffer = 0x8000000000;  ///< MC address of VRAM
constexpr uint32_t kIhDoorbell = 0xf4 * 8;
constexpr uint32_t kDiscoverySignature = 0x28211407;

/// Blocks of registers, byte offsets. @source qemu-hw/soc/registers.def
constexpr struct {
    uint32_t first, count;  ///< count in dwords
} kBlocks[] = {
    {0x0, 16},    {0x120, 48},     {0x30b0, 16},    {0x34c0, 2},     {0x3780, 8},      {0x3890, 4},     {0x3bc0, 4},
    {0x4280, 32}, {0x4480, 8},     {0x4980, 0x300}, {0x6180, 0x300}, {0x8010, 8},      {0x8200, 0x180}, {0x8de0, 8},
    {0x9360, 24}, {0xa100, 0x180}, {0xb800, 0x60},  {0xc000, 0x280}, {0xca80, 12},     {0x30000, 0x80}, {0x30800, 1},
    {0x31068, 3}, {0x3b2a8, 1},    {0x58180, 72},   {0x58900, 96},   {0x69a00, 0x1b0}, {0x7fff0, 1},
};
constexpr uint32_t kPages = 64;  ///< at the start of VRAM and of RAM, which page tables are made of

struct Device {
    explicit Device(bool strict) : ram(kRam) {
        vram = mmap(nullptr, kVram, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (vram == MAP_FAILED) __builtin_trap();
        lyra_config config;
        lyra_config_init(&config);
        config.vram_bytes = kVram;
        config.compute_units = 4;
        config.poison = true;
        if (strict) config.strict = "tlb,hdp,l2";
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

uint32_t register_of(Input& input) {
    const uint32_t which = input.below(std::size(kBlocks) + 1);
    if (which == std::size(kBlocks)) return input.take<uint32_t>() % (LYRA_REGISTER_BAR_BYTES + 16);
    const auto& block = kBlocks[which];
    return block.first + input.below(block.count) * 4;
}

/// Rings that the driver would set up, so that what is in them is looked at.
void bring_up(Device& d, uint32_t what) {
    if (what & 1) {  // IH: 4 vectors, with write-back, interrupts and doorbell
        d.write(0x4484, kRamBus >> 8);
        d.write(0x4488, static_cast<uint32_t>(kRamBus >> 40));
        d.write(0x4494, kRamBus >> 32);
        d.write(0x4498, 0x8000);
        d.write(0x449c, kIhDoorbell / 4 | 1u << 28);
        d.write(0x3780, 1);
        d.write(0x3bc8, kIhDoorbell | 8 << 16);
        d.write(0x4480, 1 | 5 << 1 | 1 << 8 | 1 << 17);
    }
    if (what & 2) {  // PSP: a ring of 16 frames at the start of VRAM
        d.write((0x16040 + 69) * 4, static_cast<uint32_t>(kFrameBuffer));
        d.write((0x16040 + 70) * 4, static_cast<uint32_t>(kFrameBuffer >> 32));
        d.write((0x16040 + 71) * 4, 1024);
        d.write((0x16040 + 64) * 4, 2 << 16);
    }
    if (what & 4) {  // both hubs: VMID 8 with four levels, VMID 0 flat
        for (const uint32_t hub : {0xa200u, 0x69b00u}) {
            d.write(hub, 1);
            d.write(hub + 8 * 4, 1 | 3 << 1 | 1 << 7);
        }
    }
    if (what & 8) d.write(0x8234, 0);  // the MEC runs
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
            const uint64_t offset = input.take<uint32_t>() % (LYRA_REGISTER_BAR_BYTES + 16);
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
            if (input.below(8) == 0)
                lyra_reset(d.device);
            else
                bring_up(d, input.below(16));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input input(data, size);
    Device d(input.below(2) != 0);
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
    return 0;
}
