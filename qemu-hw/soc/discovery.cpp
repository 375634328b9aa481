// SPDX-License-Identifier: MIT
// Builds the IP-discovery table. @source Linux 6.12 amd/include/discovery.h, amdgpu_discovery.c
#include "qemu-hw/soc/discovery.h"

#include <algorithm>
#include <iterator>

#include "facts/chips.h"

namespace lyra {

namespace {

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

constexpr uint32_t kBinarySignature = 0x28211407, kDiscoverySignature = 0x53445049, kGcSignature = 0x4347,
                   kHarvestSignature = 0x56524148;
constexpr size_t kBinaryHeaderBytes = 12 + 6 * 8;
constexpr size_t kDiscoveryHeaderBytes = 4 + 2 + 2 + 4 + 2 + 16 * 4 + 2;

void put_ip_list(Bytes& b, const GpuShape& shape) {
    const uint16_t graphics = ip_block(shape.chip, "GC").hardware_id;
    const auto of_chip = [&](const IpBlock& block) {
        return (block.chips & only(shape.chip)) != 0 && (block.hardware_id != graphics || block.instance < shape.xccs);
    };
    b.u16(0);  // die id
    b.u16(static_cast<uint32_t>(std::count_if(std::begin(kIpBlocks), std::end(kIpBlocks), of_chip)));
    for (const IpBlock& block : kIpBlocks) {
        if (!of_chip(block)) continue;
        b.u16(block.hardware_id);
        b.u8(block.instance);
        b.u8(block.segments);
        for (const uint8_t part : block.version) b.u8(part);
        b.u8(0);
        for (unsigned n = 0; n < block.segments; ++n) b.u32(block.base[n]);
    }
}

/// @source Linux 6.12 include/discovery.h struct gc_info_v2_0, gc_info_v2_1 (order)
void put_gc_info(Bytes& b, const GpuShape& shape) {
    const GcInfo gc = gc_info(shape);
    std::vector<uint32_t> values = {gc.engines,
                                    gc.cus_per_array,
                                    gc.arrays_per_engine,
                                    gc.backends_per_engine,
                                    gc.texture_caches,
                                    gc.vgprs,
                                    gc.gs_threads,
                                    gc.gs_table,
                                    gc.primitive_buffer,
                                    gc.parameter_cache,
                                    gc.double_offchip_lds,
                                    gc.wave_size,
                                    gc.waves_per_simd,
                                    gc.scratch_slots_per_cu,
                                    gc.lds_kib,
                                    1,
                                    2};
    const bool caches = facts_of(shape.chip).xccs > 1;
    if (caches)
        values.insert(values.end(), {gc.l1_per_array, gc.l1_kib, gc.sdp_interfaces, gc.cus_per_sqc, gc.instruction_kib,
                                     gc.scalar_kib, gc.l2_kib});
    b.u32(kGcSignature);
    b.u16(2);
    b.u16(caches);
    b.u32(static_cast<uint32_t>(12 + values.size() * sizeof(uint32_t)));
    for (uint32_t v : values) b.u32(v);
}

/// Nothing is missing. @source Linux 6.12 include/discovery.h struct harvest_table
void put_harvest(Bytes& b) {
    constexpr size_t kEntries = 32;
    b.u32(kHarvestSignature);
    b.u32(0);
    b.zeros(kEntries * 4);
}

}  // namespace

GcInfo gc_info(const GpuShape& shape) {
    const ChipFacts& chip = facts_of(shape.chip);
    GcInfo gc;
    gc.engines = shape.shader_engines;
    gc.cus_per_array = shape.cus_per_engine;
    gc.vgprs = chip.vgprs_per_simd;
    gc.waves_per_simd = chip.waves_per_simd;
    gc.scratch_slots_per_cu = shape.max_scratch_slots_per_cu;
    gc.lds_kib = chip.lds_bytes / 1024;
    gc.l1_per_array = shape.cus_per_engine;
    return gc;
}

std::vector<uint8_t> discovery_table(const GpuShape& shape) {
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
    put_ip_list(b, shape);
    const size_t gc_at = b.data.size();
    b.put16(ip_at + 6, static_cast<uint32_t>(gc_at - ip_at));
    put_gc_info(b, shape);
    const size_t harvest_at = b.data.size();
    const bool harvest = facts_of(shape.chip).xccs > 1;
    if (harvest) put_harvest(b);
    const size_t end = b.data.size();
    const size_t table[3][2] = {{ip_at, gc_at}, {gc_at, harvest_at}, {harvest_at, end}};
    for (size_t i = 0; i < (harvest ? 3 : 2); ++i) {
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
