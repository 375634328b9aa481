// SPDX-License-Identifier: MIT
// Builds the IP-discovery table. @source Linux 6.12 amd/include/discovery.h, amdgpu_discovery.c
#include "qemu-hw/soc/discovery.h"

#include <cstring>
#include <initializer_list>

#include "facts/registers.h"

namespace lyra {

namespace {

constexpr Chip kChips[] = {
#define CHIP(name, gc0, gc1, gc2, sdma0, sdma1, sdma2, waves, granule) \
    {#name, {gc0, gc1, gc2}, {sdma0, sdma1, sdma2}, waves, granule, gcn::Chip::name},
#include "qemu-hw/soc/chips.def"
#undef CHIP
};

struct IpEntry {
    uint16_t hardware_id;
    uint8_t version[3];
    std::initializer_list<uint32_t> bases;  ///< dword numbers
};

class Bytes {
public:
    void u8(uint32_t v) { data.push_back(static_cast<uint8_t>(v)); }
    void u16(uint32_t v) { u8(v & 0xff), u8(v >> 8); }
    void u32(uint32_t v) { u16(v & 0xffff), u16(v >> 16); }
    void zeros(size_t n) { data.insert(data.end(), n, 0); }
    void put16(size_t at, uint32_t v) { data[at] = static_cast<uint8_t>(v), data[at + 1] = static_cast<uint8_t>(v >> 8); }
    uint16_t sum(size_t from, size_t to) const {
        uint32_t s = 0;
        for (size_t i = from; i < to; ++i) s += data[i];
        return static_cast<uint16_t>(s);
    }
    std::vector<uint8_t> data;
};

constexpr uint32_t kBinarySignature = 0x28211407, kDiscoverySignature = 0x53445049, kGcSignature = 0x4347;
constexpr size_t kBinaryHeaderBytes = 12 + 6 * 8;
constexpr size_t kDiscoveryHeaderBytes = 4 + 2 + 2 + 4 + 2 + 16 * 4 + 2;

// VCN 2.0.3 is a version that the driver knows but adds no block for: no multimedia. A table without VCN is refused. Without a
// block for the SMU (MP1 11.0.8) the driver would fall over its own feet in a GPU reset; 13.0.1 is one that asks for little.
void put_ip_list(Bytes& b, const Chip& chip) {
    const IpEntry list[] = {
        {11, {chip.gc[0], chip.gc[1], chip.gc[2]}, {0x2000, 0xa000, 0, 0}},
        {34, {9, 3, 0}, {0x1a000}},
        {35, {9, 0, 0}, {0xc20}},
        {108, {7, 4, 1}, {0x0, 0x14, 0xd20, 0x10400}},
        {41, {4, 0, 0}, {0xf20}},
        {40, {4, 0, 0}, {0x10a0}},
        {42, {chip.sdma[0], chip.sdma[1], chip.sdma[2]}, {regs::kSdmaBase[0]}},
        {43, {chip.sdma[0], chip.sdma[1], chip.sdma[2]}, {regs::kSdmaBase[1]}},
        {255, {11, 0, 2}, {0x16000}},
        {1, {13, 0, 1}, {0x16000}},
        {4, {11, 0, 2}, {0x16800, 0x16a00}},
        {12, {2, 0, 3}, {0x7800, 0x7e00}},
    };
    b.u16(0);  // die id
    b.u16(static_cast<uint32_t>(std::size(list)));
    for (const IpEntry& ip : list) {
        b.u16(ip.hardware_id);
        b.u8(0);
        b.u8(static_cast<uint32_t>(ip.bases.size()));
        for (uint8_t part : ip.version) b.u8(part);
        b.u8(0);
        for (uint32_t base : ip.bases) b.u32(base);
    }
}

void put_gc_info(Bytes& b, const Chip& chip, const GpuShape& shape) {
    const uint32_t values[] = {shape.shader_engines, shape.cus_per_engine,           1,  4, 16, 256, 32, 32, 1792, 2048, 1, 64,
                               chip.waves_per_simd,  shape.max_scratch_slots_per_cu, 64, 1, 2};
    b.u32(kGcSignature);
    b.u16(2);
    b.u16(0);
    b.u32(static_cast<uint32_t>(12 + sizeof(values)));
    for (uint32_t v : values) b.u32(v);
}

}  // namespace

const Chip* find_chip(const char* name) {
    for (const Chip& chip : kChips)
        if (std::strcmp(chip.name, name) == 0) return &chip;
    return nullptr;
}

std::vector<uint8_t> discovery_table(const Chip& chip, const GpuShape& shape) {
    Bytes b;
    b.u32(kBinarySignature);
    b.u16(1), b.u16(0);   // version
    b.u16(0), b.u16(0);   // checksum and size, below
    b.zeros(6 * 8);       // table list, below
    const size_t ip_at = b.data.size();
    b.u32(kDiscoverySignature);
    b.u16(2);             // below 3: 32-bit bases
    b.u16(0);             // size, below
    b.u32(0);
    b.u16(1);             // one die
    b.u16(0);
    b.u16(static_cast<uint32_t>(ip_at + kDiscoveryHeaderBytes));
    b.zeros(15 * 4 + 2);
    put_ip_list(b, chip);
    const size_t gc_at = b.data.size();
    b.put16(ip_at + 6, static_cast<uint32_t>(gc_at - ip_at));
    put_gc_info(b, chip, shape);
    const size_t end = b.data.size();
    const size_t table[2][2] = {{ip_at, gc_at}, {gc_at, end}};
    for (size_t i = 0; i < 2; ++i) {
        b.put16(12 + i * 8, static_cast<uint32_t>(table[i][0]));
        b.put16(14 + i * 8, b.sum(table[i][0], table[i][1]));
        b.put16(16 + i * 8, static_cast<uint32_t>(table[i][1] - table[i][0]));
    }
    b.put16(10, static_cast<uint32_t>(end));
    b.put16(8, b.sum(10, end));
    static_assert(kBinaryHeaderBytes == 60);
    return b.data;
}

}  // namespace lyra
