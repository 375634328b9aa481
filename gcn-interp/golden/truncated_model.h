// SPDX-License-Identifier: MIT
// Reference model of the sums of matrix instructions of gfx942.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lyra::golden {

/// Bits of elements in the order of k, of types "f16", "bf16", "xf32", "fp8" or "bf8". @return c + a * b as f32
uint32_t truncated_dot(std::string_view a_type, const std::vector<uint64_t>& a, std::string_view b_type,
                       const std::vector<uint64_t>& b, uint32_t c);

}  // namespace lyra::golden
