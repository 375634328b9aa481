// SPDX-License-Identifier: MIT
// Random memory instructions, and what they work on.
#include "gcn-interp/golden/memory_cases.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "gcn-interp/golden/cases.h"
#include "gcn-interp/isa/base_name.h"
#include "gcn-interp/isa/op.h"

namespace lyra::golden::test {

using namespace gcn;

namespace {

bool one_in(Random& random, unsigned n) { return random() % n == 0; }
uint32_t below(Random& random, uint64_t n) { return static_cast<uint32_t>(random() % n); }

/// In the allocation with what follows it, but now and then past it.
uint32_t random_vgpr(Random& random) { return one_in(random, 60) ? below(random, 240) : below(random, WaveCopy::kVgprs - 8); }
/// Below those that VCC and its neighbours share.
uint32_t random_sgpr(Random& random) { return below(random, 92); }
uint32_t random_offset_source(Random& random) {
    if (one_in(random, 3)) return 128 + below(random, 65);
    if (one_in(random, 20)) return one_in(random, 2) ? 193 + below(random, 16) : 240 + below(random, 9);
    return one_in(random, 12) ? uint32_t{kM0} : random_sgpr(random);
}

/// Pairs of data and number format that hardware has. @source AMD Vega ISA document, "Data formats"
struct FormatPair {
    uint32_t data, number;
};
FormatPair random_format(Random& random) {
    const uint32_t data = 1 + below(random, 14);
    const bool words = data == 4 || data == 11 || data == 13 || data == 14;
    const bool halves = data == 2 || data == 5 || data == 12, small_floats = data == 6 || data == 7;
    if (words) return {data, 4 + std::array{0u, 1u, 3u}[random() % 3]};
    if ((halves || small_floats) && one_in(random, 3)) return {data, 7};
    return {data, below(random, 6)};
}

struct Encoder {
    const MemoryRow& row;
    Random& random;
    const InstInfo& info = gcn::info(row.op);
    uint32_t word[2] = {};

    bool has(unsigned source) const { return gcn::info(info.profile->src[source]).dwords > 0; }
    uint32_t code() const { return info.opcode; }

    void ds() {
        const bool two = info.has(flag::Two | flag::TwoSt64);
        uint32_t offset = two ? below(random, 24) | below(random, 24) << 8 : below(random, 256);
        if (one_in(random, 5) || info.has(flag::Swizzle)) offset = below(random, 0x10000);
        if (info.has(flag::Swizzle) && one_in(random, 2)) offset |= 0xc000;
        if (info.has(flag::Src2) && !one_in(random, 8))
            offset = one_in(random, 3) ? 0x8000u : (below(random, 200) - 100) & 0x7fff;
        if (row.op == Op::ds_nop) offset = 0;
        const uint32_t gds = !info.has(flag::NoGds) && one_in(random, 8) ? 1 : 0;
        word[0] = 0xd8000000u | code() << 17 | gds << 16 | offset;
        for (unsigned n = 0; n < 3; ++n) word[1] |= has(n) ? random_vgpr(random) << (8 * n) : 0;
        if (info.profile->dst != Type::NONE) word[1] |= random_vgpr(random) << 24;
    }
    void flat() {
        uint32_t offset = row.seg == 0 ? below(random, 64) : (below(random, 128) - 64) & 0x1fff;
        if (one_in(random, 4)) offset = below(random, row.seg == 0 ? 0x1000 : 0x2000);
        const uint32_t lds = row.seg != 0 && info.has(flag::LdsDma) && one_in(random, 5) ? 1 : 0;
        const uint32_t saddr = row.seg == 0 ? 0 : one_in(random, 2) ? 0x7f : random_sgpr(random);
        word[0] = 0xdc000000u | code() << 18 | below(random, 4) << 16 | row.seg << 14 | lds << 13 | offset;
        word[1] = random_vgpr(random) | random_vgpr(random) << 8 | saddr << 16 | random_vgpr(random) << 24;
    }
    void buffer_fields() {
        uint32_t offset = one_in(random, 6) ? below(random, 0x1000) : below(random, 40);
        if (one_in(random, 2)) offset &= ~3u;
        word[0] |= offset | below(random, 4) << 12 | below(random, 2) << 14;
        word[1] =
            random_vgpr(random) | random_vgpr(random) << 8 | random_sgpr(random) / 4 << 16 | random_offset_source(random) << 24;
    }
    void mubuf() {
        word[0] = 0xe0000000u | code() << 18;
        if (info.profile->none() && !info.has(flag::LdsDma)) return;  // caches
        buffer_fields();
        const bool only_lds = info.profile->none();
        if (only_lds) word[0] &= ~0x3000u;
        if (only_lds || (info.has(flag::LdsDma) && one_in(random, 5)))
            word[0] |= 1 << 16;
        else if (!info.has(flag::Atomic) && one_in(random, 6))
            word[1] |= 1 << 23;  // TFE
        word[0] |= below(random, 2) << 17;
    }
    void mtbuf() {
        const FormatPair format = random_format(random);
        word[0] = 0xe8000000u | code() << 15 | format.data << 19 | format.number << 23;
        buffer_fields();
        word[1] |= below(random, 2) << 22;
    }
    void smem() {
        const uint32_t form = 1 + below(random, 3);  // immediate, register, both
        const bool immediate = (form & 1) != 0 || info.profile->src[0] == Type::NONE, both = form == 3;
        uint32_t offset = one_in(random, 8) ? below(random, 1 << 21) : (below(random, 512) - 128) & 0x1fffff;
        if (!immediate) offset = random_sgpr(random);
        word[0] = 0xc0000000u | code() << 18 | below(random, 2) << 15 | below(random, 2) << 16;
        if (info.profile->src[0] == Type::NONE) {
            word[0] |= random_sgpr(random) / 2 * 2 << 6;
            return;
        }
        word[0] |= random_sgpr(random) / 2 | random_sgpr(random) << 6 | uint32_t{both} << 14 | uint32_t{immediate} << 17;
        word[1] = offset | (both ? random_sgpr(random) << 25 : 0);
    }
};

/// Bytes that a lane moves.
uint32_t element_bytes(const Inst& inst) {
    const InstInfo& row = info(inst.op);
    const Type type = row.profile->dst != Type::NONE ? row.profile->dst : row.profile->src[1];
    const TypeInfo& t = info(type);
    uint32_t bytes = t.bits < 32 && t.dwords == 1 ? t.bits / 8u : t.dwords * 4u;
    if (row.has(flag::Two | flag::TwoSt64) && row.profile->dst != Type::NONE) bytes /= 2;
    const std::string_view name = row.name;
    if (row.has(flag::Src2)) bytes = name.ends_with("64") ? 8 : 4;
    return std::max(bytes, 1u);
}

/// Where the lanes of one instruction go, as offsets below a limit.
class Pattern {
public:
    Pattern(Random& random, uint32_t size, uint32_t room, bool aligned)
        : random_(random), size_(size), room_(std::max(room, size + 64)) {
        kind_ = below(random, 7);
        if (aligned && !one_in(random, 12))
            align_ = size_;
        else
            align_ = one_in(random, 3) ? 1 : 4;
        start_ = one_in(random, 2) ? 0 : below(random, room_ / 2);
        if (one_in(random, 2)) start_ = start_ / align_ * align_;
        for (uint32_t& each : few_) each = any();
        wild_ = one_in(random, 12);
    }
    uint32_t lane(unsigned lane) {
        if (wild_ && one_in(random_, 6))
            return one_in(random_, 2) ? below(random_, 3 * room_) : static_cast<uint32_t>(random_());
        switch (kind_) {
            case 0:
            case 1: return (start_ + lane * size_) % (room_ - size_);
            case 2: return start_;
            case 3: return few_[random_() % 4];
            case 4: return (start_ + lane / 16 * 64 * size_ + lane % 16 * size_) % (room_ - size_);
            default: return any();
        }
    }

private:
    uint32_t any() { return below(random_, room_ - size_) / align_ * align_; }
    Random& random_;
    uint32_t size_, room_, kind_ = 0, align_ = 1, start_ = 0;
    uint32_t few_[4] = {};
    bool wild_ = false;
};

uint64_t random_exec(Random& random) {
    switch (random() % 8) {
        case 0:
        case 1:
        case 2: return ~uint64_t{0};
        case 3: return one_in(random, 3) ? 0 : uint64_t{1} << random() % 64;
        case 4: return 0xffff0000ffffull << random() % 32;
        default: return random();
    }
}

class Filler {
public:
    Filler(MemoryState& state, const Inst& inst, Random& random)
        : s_(state), inst_(inst), random_(random), wave_(state.copy.wave), row_(info(inst.op)),
          name_(base_name(inst.op, inst.seg)), size_(element_bytes(inst)) {}

    void run() {
        if (sums_f32()) wave_.chip = random_chip(inst_.op, row_.format, random_);
        registers();
        contents();
        data(inst_.vdata);
        data(inst_.vdata2);
        switch (row_.format) {
            case Format::DS: return ds();
            case Format::FLAT: return flat();
            case Format::SMEM: return smem();
            default: return buffer();
        }
    }

private:
    bool atomic() const { return row_.has(flag::Atomic); }
    /// In memory: chips differ.
    bool sums_f32() const { return atomic() && row_.format != Format::DS && name_.ends_with("add_f32"); }
    /// Cheap numbers for all that has to be filled. @source splitmix64
    uint64_t noise() {
        uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        return z ^ z >> 31;
    }
    /// Often one of few, so that lanes and memory have equal ones, or near to it.
    uint64_t value() {
        const uint64_t n = noise(), one = pool_[n % 4];
        if ((n >> 8) % 3 == 0) return one + (n >> 16) % 3 - 1;
        return (n >> 24) % 4 == 0 ? noise() : one;
    }
    void registers() {
        const Type type = name_.ends_with("f64")                               ? Type::F64
                          : name_.ends_with("pk_add_f16")                      ? Type::V2F16
                          : name_.ends_with("f32") || row_.has(flag::Converts) ? Type::F32
                          : size_ == 8                                         ? Type::U64
                                                                               : Type::U32;
        for (uint64_t& each : pool_) each = corner(type, random_) | (size_ == 8 ? 0 : corner(type, random_) << 32);
        wave_.exec = random_exec(random_);
        wave_.mode = 0x3f0 ^ (one_in(random_, 2) ? below(random_, 0x100) : 0);
        wave_.m0 = below(random_, 0x400) | (one_in(random_, 3) ? below(random_, 0x10000) << 16 : 0);
        wave_.scc = one_in(random_, 2);
        wave_.shared_base = uint64_t{1} << 48;
        wave_.private_base = uint64_t{2} << 48;
        wave_.lds_base = MemoryState::kLdsBase;
        wave_.lds_bytes = std::array{512u, 4096u, 8192u}[random_() % 3];
        for (uint32_t& s : wave_.sgpr) s = static_cast<uint32_t>(random_());
        for (unsigned n = 0; n < WaveCopy::kVgprs; ++n)
            for (uint32_t& v : s_.copy.rows[n].lane) v = static_cast<uint32_t>(noise());
        // SGPR data of scalar stores and atomics.
        for (unsigned n = 0; row_.format == Format::SMEM && inst_.src[0] < 90 && n < 4; n += size_ == 8 ? 2 : 1) {
            const uint64_t v = value();
            wave_.write_scalar(inst_.src[0] + n, static_cast<uint32_t>(v));
            if (size_ == 8) wave_.write_scalar(inst_.src[0] + n + 1u, static_cast<uint32_t>(v >> 32));
        }
    }
    void contents() {
        using Rights = PageRights;
        s_.memory.first = MemoryState::kFirst;
        s_.memory.pages = {Rights::All, Rights::All, Rights::All, Rights::All, Rights::ReadOnly, Rights::Absent, Rights::All};
        s_.memory.bytes.resize(s_.memory.pages.size() * GlobalMemory::kPage);
        for (std::vector<uint8_t>* bytes : {&s_.memory.bytes, &s_.lds, &s_.gds}) {
            for (size_t at = 0; at < bytes->size(); at += 8) {
                const uint64_t v = value();
                std::memcpy(bytes->data() + at, &v, 8);
            }
        }
    }
    void put(unsigned vgpr, unsigned lane, uint32_t v) {
        if (vgpr < WaveCopy::kVgprs) s_.copy.rows[vgpr].lane[lane] = v;
    }
    void data(unsigned vgpr) {
        if (vgpr == kNoOperand) return;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            for (unsigned n = 0; n < 4; n += 2) {
                const uint64_t v = value();
                put(vgpr + n, lane, static_cast<uint32_t>(v));
                put(vgpr + n + 1, lane, static_cast<uint32_t>(v >> 32));
                if (size_ != 8) put(vgpr + n + 1, lane, static_cast<uint32_t>(value()));
            }
        }
    }

    void ds() {
        if (inst_.gds) wave_.m0 = below(random_, 2048) << 16 | below(random_, 4096);
        if (inst_.vaddr == kNoOperand) return;
        const uint32_t room = inst_.gds ? MemoryState::kGds / 2 : wave_.lds_bytes;
        Pattern pattern(random_, std::max(size_, 1u), row_.has(flag::Two | flag::TwoSt64) ? room / 2 : room, atomic());
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            uint32_t at = pattern.lane(lane);
            if (row_.has(flag::Src2) && (inst_.imm & 0x8000) != 0)
                at = (at & 0x1ffff) | (below(random_, 200) - 100) << 17;
            else if (!one_in(random_, 2) && row_.has(flag::NoGds))
                at = below(random_, 256);
            put(inst_.vaddr, lane, at);
        }
    }

    void put_address(unsigned lane, uint64_t address) {
        put(inst_.vaddr, lane, static_cast<uint32_t>(address));
        put(inst_.vaddr + 1u, lane, static_cast<uint32_t>(address >> 32));
    }
    void flat() {
        constexpr uint64_t kLinear = MemoryState::kFirst, kPrivate = kLinear + 2 * GlobalMemory::kPage;
        constexpr uint32_t kPrivateRoom = 124;
        const auto imm = static_cast<uint64_t>(static_cast<int64_t>(inst_.imm));
        wave_.write_scalar64(kFlatScratchLo, kPrivate);
        // Kinds of addresses: linear, LDS, private, all of them.
        const uint32_t kind = inst_.seg == 2 ? 0 : inst_.seg == 1 ? 2 : below(random_, 4);
        const uint32_t linear_room = static_cast<uint32_t>((kind == 3 ? 2 : 4) * GlobalMemory::kPage);
        Pattern linear(random_, size_, one_in(random_, 3) ? 4096 + 64 : linear_room, atomic());
        Pattern lds(random_, size_, wave_.lds_bytes, atomic()), own(random_, size_, kPrivateRoom, true);
        const uint64_t base = kLinear - 8192;
        const bool pair = inst_.seg == 2 && inst_.saddr != kNoOperand;
        if (pair) wave_.write_scalar64(inst_.saddr, base);
        if (inst_.seg == 1 && inst_.saddr != kNoOperand)
            wave_.write_scalar(inst_.saddr, own.lane(0) - static_cast<uint32_t>(imm));
        if (inst_.vaddr == kNoOperand) return;
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            const uint32_t which = kind == 3 ? below(random_, 3) : kind;
            if (inst_.seg == 1)
                put(inst_.vaddr, lane, own.lane(lane) - static_cast<uint32_t>(imm));
            else if (pair)
                put(inst_.vaddr, lane, static_cast<uint32_t>(kLinear + linear.lane(lane) - imm - base));
            else if (which == 1)
                put_address(lane, wave_.shared_base + lds.lane(lane) - imm);
            else if (which == 2)
                put_address(lane, wave_.private_base + own.lane(lane) - imm);
            else
                put_address(lane, kLinear + linear.lane(lane) - imm);
        }
        if (inst_.seg != 1 && one_in(random_, 40)) put_address(below(random_, 64), random_());
    }

    /// NUM_RECORDS: often the limit of what the lanes want.
    uint32_t records(uint32_t usual) {
        if (one_in(random_, 4)) return 0xffffffff;
        return below(random_, 2 * usual) & ~3u;
    }
    void descriptor(uint32_t stride, uint32_t usual_records) {
        const FormatPair format = random_format(random_);
        const bool swizzled = row_.format != Format::SMEM && one_in(random_, 3);
        const bool thread = !row_.has(flag::Converts) && row_.format != Format::SMEM && one_in(random_, 4);
        uint64_t base = MemoryState::kFirst + below(random_, 64) * 8;
        if (!atomic() && one_in(random_, 8)) base += below(random_, 8);
        wave_.write_scalar(inst_.saddr, static_cast<uint32_t>(base));
        wave_.write_scalar(inst_.saddr + 1u,
                           static_cast<uint32_t>(base >> 32 & 0xffff) | stride << 16 | uint32_t{swizzled} << 31);
        wave_.write_scalar(inst_.saddr + 2u, usual_records);
        uint32_t last = thread ? 1 << 23 : format.data << 15;
        last |= format.number << 12 | below(random_, 4) << 21;
        for (unsigned c = 0; c < 4; ++c) last |= (one_in(random_, 4) ? below(random_, 2) : 4 + below(random_, 4)) << (3 * c);
        wave_.write_scalar(inst_.saddr + 3u, last);
    }
    void buffer() {
        if (inst_.saddr == kNoOperand) return;
        const uint32_t stride = std::array{0u, 0u, 4u, 8u, 16u, 24u, 64u}[random_() % 7];
        const bool by_record = inst_.idxen && stride != 0;
        if (inst_.soffset < 128 && !one_in(random_, 12)) wave_.write_scalar(inst_.soffset, below(random_, 32) * 8);
        const uint32_t limit = by_record ? 70 : 3000;
        descriptor(stride, records(limit));
        if (inst_.vaddr == kNoOperand) return;
        Pattern offset(random_, size_, stride == 0 ? 1024 : 64, atomic());
        const uint32_t indices = below(random_, 3);
        for (unsigned lane = 0; lane < kLanes; ++lane) {
            unsigned next = inst_.vaddr;
            const uint32_t index = indices == 0 ? lane : indices == 1 ? below(random_, 70) : below(random_, 4);
            if (inst_.idxen) put(next++, lane, index);
            if (inst_.offen) put(next, lane, offset.lane(lane));
        }
    }
    void smem() {
        if (inst_.saddr == kNoOperand) return;
        const bool scratch = std::string_view(row_.name).starts_with("s_scratch");
        if (inst_.soffset < 128 && !one_in(random_, 15)) wave_.write_scalar(inst_.soffset, below(random_, scratch ? 32 : 1024));
        if (inst_.soffset < 128 && atomic()) wave_.write_scalar(inst_.soffset, wave_.read_scalar(inst_.soffset) & ~(size_ - 1));
        if (info(row_.profile->src[0]).dwords == 4) {
            const uint32_t stride = std::array{0u, 0u, 4u, 16u}[random_() % 4];
            descriptor(stride, records(stride != 0 ? 70 : 800));
        } else {
            uint64_t base = MemoryState::kFirst + 1024 + below(random_, 1024) * 8;
            if (one_in(random_, 4)) base += below(random_, atomic() ? 4 : 8);
            wave_.write_scalar64(inst_.saddr, base);
        }
    }

    MemoryState& s_;
    const Inst& inst_;
    Random& random_;
    Wave& wave_;
    const InstInfo& row_;
    const std::string name_;
    uint32_t size_;
    uint64_t pool_[4] = {};
    uint64_t state_ = random_();
};

}  // namespace

std::vector<MemoryRow> memory_rows(Format format, unsigned seg) {
    constexpr uint64_t kSegments[] = {flag::SegFlat, flag::SegScratch, flag::SegGlobal};
    std::vector<MemoryRow> rows;
    for (size_t n = 1; n < kOpCount; ++n) {
        if (kInstInfo[n].format != format || (format == Format::FLAT && !kInstInfo[n].has(kSegments[seg]))) continue;
        rows.push_back({static_cast<Op>(n), seg});
    }
    return rows;
}

Inst random_memory_inst(const MemoryRow& row, Random& random) {
    Inst inst;
    for (unsigned tries = 0; tries < 50; ++tries) {
        Encoder e{row, random};
        switch (info(row.op).format) {
            case Format::DS: e.ds(); break;
            case Format::FLAT: e.flat(); break;
            case Format::MUBUF: e.mubuf(); break;
            case Format::MTBUF: e.mtbuf(); break;
            default: e.smem(); break;
        }
        inst = decode(e.word, 2, chip_of(row.op));
        if (inst.op == row.op && inst.format == info(row.op).format && inst.seg == row.seg) return inst;
    }
    inst.format = Format::Invalid;
    return inst;
}

void fill(MemoryState& state, const Inst& inst, Random& random) { Filler(state, inst, random).run(); }

}  // namespace lyra::golden::test
