// SPDX-License-Identifier: MIT
// Builds the ATOM image. @source Linux 6.12 atom.c, amdgpu_bios.c, atomfirmware.h
#include "qemu-hw/soc/vbios.h"

#include <cstring>
#include <numeric>
#include <string_view>

#include "qemu-hw/include/lyra.h"
#include "qemu-hw/soc/discovery.h"

namespace lyra {

namespace {

constexpr size_t kImageBytes = 8192;
constexpr size_t kPcir = 0x90, kStrings = 0x100, kRomHeader = 0x200, kCommandTable = 0x240, kDataTable = 0x300,
                 kAsicInit = 0x360, kFirmwareInfo = 0x380, kSmuInfo = 0x400, kGfxInfo = 0x440;
constexpr size_t kCommandTableBytes = 4 + 0xa2, kDataTableBytes = 4 + 0x46, kFirmwareInfoBytes = 0x48, kSmuInfoBytes = 0x1c,
                 kGfxInfoBytes = 0x4c;
// Dword number of BIOS_SCRATCH_0 + start of the driver's scratch window (0x5c - 0x10 in dwords is register 0x4c)
constexpr uint32_t kScratchStart = 0x4c;

class Image {
public:
    Image() : bytes_(kImageBytes) {}
    void u8(size_t at, uint32_t v) { bytes_[at] = static_cast<uint8_t>(v); }
    void u16(size_t at, uint32_t v) { u8(at, v & 0xff), u8(at + 1, v >> 8); }
    void u32(size_t at, uint32_t v) { u16(at, v & 0xffff), u16(at + 2, v >> 16); }
    void text(size_t at, std::string_view s) { std::memcpy(bytes_.data() + at, s.data(), s.size()); }
    /// ATOM table header: size, format revision, content revision.
    void header(size_t at, size_t size, uint32_t format, uint32_t content) {
        u16(at, static_cast<uint32_t>(size)), u8(at + 2, format), u8(at + 3, content);
    }
    std::vector<uint8_t>& bytes() { return bytes_; }

private:
    std::vector<uint8_t> bytes_;
};

void put_pci_rom(Image& rom) {
    rom.u8(0, 0x55), rom.u8(1, 0xaa), rom.u8(2, kImageBytes / 512);
    rom.u8(3, 0xcb);  // far return, for a firmware that calls the entry point
    rom.u16(0x18, kPcir);
    rom.text(kPcir, "PCIR");
    rom.u16(kPcir + 4, LYRA_PCI_VENDOR), rom.u16(kPcir + 6, LYRA_PCI_DEVICE);
    rom.u16(kPcir + 0xa, 0x18);
    rom.u8(kPcir + 0xe, 0x80), rom.u8(kPcir + 0xf, 0x03);  // class 0x038000
    rom.u16(kPcir + 0x10, kImageBytes / 512);
    rom.u8(kPcir + 0x15, 0x80);  // last image
}

void put_atom_header(Image& rom) {
    using std::string_view_literals::operator""sv;
    rom.u8(0x2f, 4);
    rom.text(0x30, " 761295520");
    rom.u16(0x48, kRomHeader);
    rom.text(0x50, "01/01/26,00:00");
    rom.u16(0x6e, kStrings);
    rom.text(kStrings, "113-LYRA-GFX9\0LYRA\0PCI_EXPRESS\0HBM\0\r\nLyra GFX9 compute device\0"sv);
    rom.header(kRomHeader, 0x28, 2, 2);
    rom.text(kRomHeader + 4, "ATOM");
    rom.u16(kRomHeader + 0x1e, kCommandTable), rom.u16(kRomHeader + 0x20, kDataTable);
}

void put_tables(Image& rom) {
    rom.header(kCommandTable, kCommandTableBytes, 2, 1);
    rom.u16(kCommandTable + 4, kAsicInit);
    rom.header(kAsicInit, 7, 2, 1);
    rom.u8(kAsicInit + 6, 0x5b);  // end of table
    rom.header(kDataTable, kDataTableBytes, 2, 1);
    rom.u16(kDataTable + 4 + 2 * 4, kFirmwareInfo);
    rom.u16(kDataTable + 4 + 2 * 8, kSmuInfo);
    rom.header(kFirmwareInfo, kFirmwareInfoBytes, 3, 1);
    rom.u32(kFirmwareInfo + 4, 0x10000);  // firmware revision
    rom.u32(kFirmwareInfo + 8, kEngineClock10kHz), rom.u32(kFirmwareInfo + 12, kMemoryClock10kHz);
    rom.u32(kFirmwareInfo + 0x18, kScratchStart);
    rom.header(kSmuInfo, kSmuInfoBytes, 3, 1);
    rom.u32(kSmuInfo + 0x10, kReferenceClock10kHz);
}

/// Table gfx_info, form 2.4. What compute does not need is 0. @source Linux 6.12 atomfirmware.h struct atom_gfx_info_v2_4,
/// amdgpu_atomfirmware.c amdgpu_atomfirmware_get_gfx_info()
void put_gfx_info(Image& rom, const GpuShape& shape) {
    const GcInfo gc = gc_info(shape);
    rom.u16(kDataTable + 4 + 2 * 14, kGfxInfo);
    rom.header(kGfxInfo, kGfxInfoBytes, 2, 4);
    rom.u8(kGfxInfo + 6, gc.engines);
    rom.u8(kGfxInfo + 8, gc.cus_per_array), rom.u8(kGfxInfo + 9, gc.arrays_per_engine);
    rom.u8(kGfxInfo + 10, gc.backends_per_engine), rom.u8(kGfxInfo + 11, gc.texture_caches);
    rom.u32(kGfxInfo + 0x28, kReferenceClock10kHz);
    rom.u8(kGfxInfo + 0x2c, gc.cus_per_array), rom.u8(kGfxInfo + 0x2d, gc.backends_per_engine);
    rom.u16(kGfxInfo + 0x30, gc.vgprs);
    rom.u16(kGfxInfo + 0x32, gc.primitive_buffer), rom.u16(kGfxInfo + 0x34, gc.parameter_cache);
    rom.u16(kGfxInfo + 0x36, gc.wave_size), rom.u16(kGfxInfo + 0x38, gc.waves_per_simd), rom.u16(kGfxInfo + 0x3a, gc.lds_kib);
    rom.u8(kGfxInfo + 0x3c, gc.gs_threads), rom.u8(kGfxInfo + 0x3d, gc.gs_table);
    rom.u8(kGfxInfo + 0x3e, gc.double_offchip_lds), rom.u8(kGfxInfo + 0x3f, gc.scratch_slots_per_cu);
}

}  // namespace

std::vector<uint8_t> vbios_image(const GpuShape& shape) {
    Image rom;
    put_pci_rom(rom);
    put_atom_header(rom);
    put_tables(rom);
    if (facts_of(shape.chip).shape_in_vbios) put_gfx_info(rom, shape);
    std::vector<uint8_t>& bytes = rom.bytes();
    const unsigned sum = std::accumulate(bytes.begin(), bytes.end(), 0u);
    bytes.back() = static_cast<uint8_t>(0u - sum);
    return bytes;
}

}  // namespace lyra
