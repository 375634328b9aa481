// SPDX-License-Identifier: MIT
// What `lyra bench` runs on every engine: a kernel of kernels.cl with its data, the same loop in native code, and how results
// compare.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace lyra::bench {

/// An argument: one of the case's buffers, or a value.
struct Argument {
    int buffer = -1;
    std::vector<uint8_t> value;
};

enum class Element : uint8_t { U32, F32, F64 };

struct KernelCase {
    std::string name;                          ///< also the kernel's
    std::vector<std::vector<uint8_t>> buffers; ///< content before the run; no kernel reads what it writes
    unsigned output = 0;                       ///< the buffer that is compared
    Element element = Element::F32;            ///< of the output
    double tolerance = 0;  ///< of each element, relative to the larger of 1 and the value; 0: bit for bit
    std::vector<Argument> arguments;
    uint32_t global[3] = {1, 1, 1}, local[3] = {1, 1, 1};  ///< work-items
    std::function<void(std::vector<std::vector<uint8_t>>&)> native;
    /// What it has to read and write if every byte moves once; 0: it does not stream, and calculates or waits instead.
    uint64_t streamed_bytes = 0;
    bool of_the_eleven = false;  ///< counts in geomean_vs_pocl_1t, which has to mean the same for ever
};

/// All of them.
std::vector<KernelCase> kernel_cases();

/// Empty when the outputs agree, else the first element that does not.
std::string difference(const KernelCase& each, const std::vector<uint8_t>& got, const std::vector<uint8_t>& expected);

}  // namespace lyra::bench
