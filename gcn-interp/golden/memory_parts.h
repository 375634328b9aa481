// SPDX-License-Identifier: MIT
// What the files of the memory model share: parts of mnemonics, places of bytes, elements, and what atomics do to a value.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "gcn-interp/golden/memory_model.h"
#include "gcn-interp/isa/op.h"

namespace lyra::golden {

/// A mnemonic, taken apart at its underscores.
class Name {
public:
    explicit Name(gcn::Op op);
    bool has(std::string_view part) const;
    std::string_view part(size_t n) const { return n < parts_.size() ? parts_[n] : std::string_view(); }
    std::string_view last() const { return parts_.back(); }
    bool starts(std::string_view prefix) const { return text_.substr(0, prefix.size()) == prefix; }

private:
    std::string_view text_;
    std::vector<std::string_view> parts_;
};

/// Where a byte lies. Nowhere: it reads as zero, and writing it does nothing.
struct Place {
    enum Where : uint8_t { Nowhere, Memory, Lds, NoAperture } where = Nowhere;
    uint64_t at = 0;
};
using Places = std::vector<Place>;
using Bytes = std::vector<uint8_t>;

uint32_t complaints(const MemoryMachine& m, const Places& places, bool write);
/// Zeros where there is a complaint, which is added.
Bytes read_bytes(const MemoryMachine& m, const Places& places, uint32_t& complaint);
void write_bytes(MemoryMachine& m, const Places& places, const Bytes& bytes, uint32_t& complaint);
/// bytes of LDS from an address on; all Nowhere unless all are inside of it.
Places lds_places(const MemoryMachine& m, uint32_t address, unsigned bytes);

/// What one lane moves, and which part of its register takes part.
struct Element {
    enum Part : uint8_t { Whole, Low, High };
    unsigned bytes = 0;
    bool sign = false;
    Part part = Whole;
};
/// Of loads and stores: ubyte, dwordx3, b96, i8 ..., with d16 and hi.
Element element_of(const Name& name, bool store);

inline bool active(const gcn::Wave& wave, unsigned lane) { return ((wave.exec >> lane) & 1) != 0; }
/// Past the allocation reads give v0, and writes are dropped.
uint32_t vgpr(const gcn::Wave& wave, unsigned n, unsigned lane);
void set_vgpr(gcn::Wave& wave, unsigned n, unsigned lane, uint32_t value);
/// Registers of a lane as bytes, from a part of the first one on.
Bytes register_bytes(const gcn::Wave& wave, unsigned n, unsigned lane, const Element& element);
void set_register_bytes(gcn::Wave& wave, unsigned n, unsigned lane, const Element& element, const Bytes& bytes);
uint64_t number_of(const Bytes& bytes);
Bytes bytes_of(uint64_t number, unsigned bytes);
uint64_t vgpr_number(const gcn::Wave& wave, unsigned n, unsigned lane, unsigned bytes);

/// What an atomic does to the value in memory.
struct Change {
    enum What : uint8_t {
        Swap,
        CompareSwap,
        Add,
        Sub,
        ReverseSub,
        Min,
        Max,
        And,
        Or,
        Xor,
        Inc,
        Dec,
        MaskOr,
        Wrap,
        HalfSwap,
        AddHalves,
        AddBrains,  ///< halves that are bf16
    } what = Swap;
    char type = 'b';  ///< u, i, f or b
    bool in_memory = false;  ///< not in LDS, which goes by MODE
    unsigned bytes = 4;
    bool takes_two() const { return what == CompareSwap || what == MaskOr || what == Wrap; }
};
/// By the mnemonic of DS (ds_min_rtn_f32) or of the other formats (..._atomic_smin_x2).
Change change_of(const Name& name);
/// @param data, other  the operand, or the new value; what is compared, OR'ed or added: see memory_changes.cpp
uint64_t apply(MemoryMachine& m, const Change& change, uint64_t old, uint64_t data, uint64_t other);

uint32_t run_ds(MemoryMachine& m, const gcn::Inst& inst, const Name& name);
uint32_t run_flat(MemoryMachine& m, const gcn::Inst& inst, const Name& name);
uint32_t run_buffer(MemoryMachine& m, const gcn::Inst& inst, const Name& name);
uint32_t run_smem(MemoryMachine& m, const gcn::Inst& inst, const Name& name);

/// LDS of the loads that go there: M0[15:0] + offset + 4 * lane. Anything shorter than a dword fills one.
void load_to_lds(MemoryMachine& m, const gcn::Inst& inst, unsigned lane, uint32_t value);

/// A scalar operand that is a register or an inline constant.
uint32_t scalar_value(const gcn::Wave& wave, unsigned operand);

}  // namespace lyra::golden
