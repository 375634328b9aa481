// SPDX-License-Identifier: MIT
// What a memory instruction moves: derived from its row (type of the data, flags, name) when the model is compiled.
#pragma once

#include <string_view>

#include "facts/atomics.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

using lyra::atomics::AtomicOp;

enum class Direction : uint8_t { None, Load, Store, Atomic };

constexpr Direction direction_of(const InstInfo& row) {
    return row.has(flag::Load)     ? Direction::Load
           : row.has(flag::Store)  ? Direction::Store
           : row.has(flag::Atomic) ? Direction::Atomic
                                   : Direction::None;
}

/// What one lane moves; of SMEM, the wave.
struct MemoryShape {
    Direction direction = Direction::None;
    uint8_t bytes = 0;   ///< of an element in memory; 0 where a format says it
    uint8_t count = 1;   ///< elements: 2 of the forms with two addresses; with a format, components
    bool sign = false;   ///< sign-extend 8 or 16 bits
    bool d16 = false;    ///< loads: to one half of the register, the other half stays; with a format: 16-bit components
    bool hi = false;     ///< that half, of a store the one that the value comes from, is the high one
    bool returns = false;  ///< DS atomics: the old value goes to a register. Elsewhere GLC says it
    AtomicOp op{};       ///< of atomics
};

namespace detail {

/// The part of a mnemonic behind its last underscore, and the part before it.
constexpr std::string_view last_part(std::string_view name) { return name.substr(name.rfind('_') + 1); }
constexpr std::string_view first_parts(std::string_view name) { return name.substr(0, name.rfind('_')); }

constexpr bool drop_end(std::string_view& text, std::string_view end) {
    if (!text.ends_with(end)) return false;
    text.remove_suffix(end.size());
    return true;
}

/// flat_atomic_smin_x2, s_buffer_atomic_add, image_atomic_swap, buffer_atomic_pk_add_f16
consteval AtomicOp memory_operation(std::string_view name) {
    constexpr std::string_view kBefore = "atomic_";
    name.remove_prefix(name.find(kBefore) + kBefore.size());
    drop_end(name, "_x2");
    for (const std::string_view width : {"16", "32", "64"})
        if (name.ends_with(width)) name.remove_suffix(width.size());
    for (const auto& row : lyra::atomics::kNames)
        if (name == row.memory) return row.op;
    throw "an atomic operation that facts/atomics.def does not have";
}

/// ds_min_rtn_i32, ds_add_src2_u64, ds_write_src2_b32, ds_wrxchg2st64_rtn_b32
consteval void set_ds_operation(MemoryShape& shape, std::string_view name) {
    const std::string_view type = last_part(name);
    name = first_parts(name);
    shape.bytes = type.ends_with("64") ? 8 : 4;
    shape.returns = drop_end(name, "_rtn");
    drop_end(name, "_src2");
    name.remove_prefix(std::string_view("ds_").size());
    if (shape.count == 2 || name == "write") name = "wrxchg";
    for (const auto& row : lyra::atomics::kNames) {
        if (name != row.ds || type[0] != row.ds_type) continue;
        shape.op = row.op;
        return;
    }
    throw "an atomic operation that facts/atomics.def does not have";
}

consteval MemoryShape memory_shape(const InstInfo& row) {
    const std::string_view name = row.name;
    MemoryShape shape;
    shape.direction = direction_of(row);
    const bool load = shape.direction == Direction::Load;
    if (row.has(flag::Two | flag::TwoSt64)) shape.count = 2;
    shape.hi = row.has(flag::D16Hi);
    if (shape.direction == Direction::None) return shape;
    if (row.format == Format::MIMG) {
        if (shape.direction == Direction::Atomic) shape.op = memory_operation(name);
        return shape;
    }
    if (row.has(flag::Converts)) {
        shape.count = static_cast<uint8_t>(last_part(name).size());  // x, xy, xyz, xyzw
        shape.d16 = row.has(flag::D16 | flag::D16Hi);
        return shape;
    }
    if (shape.direction == Direction::Atomic) {
        if (row.format == Format::DS) {
            if (row.profile->src[0] != Type::NONE) set_ds_operation(shape, name);  // not ds_append, ds_consume
            return shape;
        }
        shape.op = memory_operation(name);
        shape.bytes = static_cast<uint8_t>(info(row.profile->dst).bits / 8);
        return shape;
    }
    const TypeInfo& data = info(load ? row.profile->dst : row.profile->src[1]);
    shape.bytes = static_cast<uint8_t>(data.bits / 8 / (load ? shape.count : 1));
    if (row.has(flag::LdsDma) && !load) shape.bytes = 4;  // a dword of LDS, no register
    shape.sign = load && data.kind == Kind::Int && data.bits < 32;
    shape.d16 = load && row.has(flag::D16 | flag::D16Hi);
    return shape;
}

}  // namespace detail

/// Shape of an operation; direction None for what is no memory instruction.
consteval MemoryShape memory_shape(Op op) { return detail::memory_shape(info(op)); }

}  // namespace lyra::gcn
