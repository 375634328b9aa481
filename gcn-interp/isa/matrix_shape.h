// SPDX-License-Identifier: MIT
// What a matrix multiply-add multiplies: derived from its row (name, registers of the result) when the model is compiled.
#pragma once

#include <string_view>

#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

enum class MatrixInput : uint8_t { F32, F64, F16, BF16, I8, XF32, FP8, BF8 };

/// blocks products of a size * k with a k * size matrix, each added to a size * size one.
///
/// Where elements are. Of A and B a lane has `depth` elements that follow one another in k: row i (column j) of block b,
/// elements k to k + depth - 1, is in lane i + size * b + size * blocks * (k / depth). Of a sparse A, that is two of each four
/// that follow one another, in their order; the same lane of the register of indices says which, in four bits. Of C and D,
/// 32-bit elements are in pieces of four rows (`height`), one for each register; 64-bit ones of one row. The lanes have the
/// columns of one piece after the other: of the same rows of all blocks, where several are in one register, and then of the
/// rows below.
/// @source ROCm/amd_matrix_instruction_calculator, gfx908 and gfx90a; ROCm/composable_kernel, mma/sparse (sparse A)
struct MatrixShape {
    MatrixInput input{}, column_input{};  ///< of A and of B
    unsigned size = 0, k = 0, blocks = 0;
    unsigned registers = 0;  ///< elements of the result that a lane has
    bool fused = false;  ///< products of a lane and the addend are rounded once
    bool truncated = false;  ///< exec/truncated_sum.h
    bool sparse = false;
    bool signs = false;  ///< BLGP negates A, B and C
    /// Elements of A that there are, of a row; that a lane has of them; that it has of a column of B.
    constexpr unsigned products() const { return sparse ? k / 2 : k; }
    constexpr unsigned depth() const { return products() * size * blocks / 64; }
    constexpr unsigned column_depth() const { return k * size * blocks / 64; }
    constexpr unsigned groups() const { return products() / depth(); }  ///< lanes that a row of A is spread over
    constexpr unsigned height() const { return input == MatrixInput::F64 ? 1 : 4; }
    constexpr unsigned parts() const { return 64 / size; }  ///< pieces of a register
    /// Blocks of which a register has some rows.
    constexpr unsigned blocks_of_register() const { return size * size >= 64 * height() ? 1 : 64 * height() / (size * size); }
    constexpr unsigned block_of(unsigned number, unsigned part) const {
        return blocks_of_register() > 1 ? part % blocks_of_register() : number / (size * size / 64);
    }
    /// Row of a piece of a register.
    constexpr unsigned row_of(unsigned number, unsigned part) const {
        const unsigned own = blocks_of_register() > 1 ? number : number % (size * size / 64);
        return own / height() * height() * parts() + part / blocks_of_register() * height() + own % height();
    }
};

namespace detail {

constexpr unsigned leading_number(std::string_view& text) {
    unsigned value = 0;
    for (; !text.empty() && text[0] >= '0' && text[0] <= '9'; text.remove_prefix(1))
        value = 10 * value + static_cast<unsigned>(text[0] - '0');
    return value;
}

consteval MatrixInput matrix_input(std::string_view type) {
    struct Name {
        std::string_view text;
        MatrixInput input;
    };
    constexpr Name kNames[] = {{"f32", MatrixInput::F32},      {"f64", MatrixInput::F64},   {"f16", MatrixInput::F16},
                               {"bf16_1k", MatrixInput::BF16}, {"bf16", MatrixInput::BF16}, {"i8", MatrixInput::I8},
                               {"fp8", MatrixInput::FP8},      {"bf8", MatrixInput::BF8},   {"xf32", MatrixInput::XF32}};
    for (const Name& name : kNames)
        if (type == name.text) return name.input;
    throw "a type that matrices do not have";
}

/// v_mfma_f32_32x32x4bf16_1k, v_mfma_f32_4x4x4_16b_f16, v_smfmac_f32_16x16x64_fp8_bf8
consteval MatrixShape matrix_shape(const InstInfo& row) {
    std::string_view text = row.name;
    text.remove_prefix(text.find("mf"));
    text.remove_prefix(text.find('_') + std::string_view("_f32_").size());
    MatrixShape shape;
    shape.size = leading_number(text);
    text.remove_prefix(1);
    leading_number(text);
    text.remove_prefix(1);
    shape.k = leading_number(text);
    if (text.starts_with('_')) text.remove_prefix(1);
    if (const size_t blocks = text.find("b_"); blocks != text.npos && text[0] >= '0' && text[0] <= '9')
        text.remove_prefix(blocks + 2);
    const size_t second = row.has(flag::Truncated) ? text.find('_') : text.npos;
    shape.input = matrix_input(text.substr(0, second));
    shape.column_input = second == text.npos ? shape.input : matrix_input(text.substr(second + 1));
    shape.fused = row.has(flag::Fused);
    shape.truncated = row.has(flag::Truncated);
    shape.sparse = row.has(flag::Sparse);
    shape.signs = row.has(flag::FloatMods);
    shape.registers = row.dst_dwords() / (shape.input == MatrixInput::F64 ? 2 : 1);
    shape.blocks = shape.registers * 64 / (shape.size * shape.size);
    return shape;
}

}  // namespace detail

consteval MatrixShape matrix_shape(Op op) { return detail::matrix_shape(info(op)); }

}  // namespace lyra::gcn
