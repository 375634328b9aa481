// SPDX-License-Identifier: MIT
// Rows of the timing table out of what tools/hardware/preempt_timing has measured on a GPU (docs/user/real_hardware.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lyra::results {

struct ImportedRow {
    std::string name;    ///< of common/timing.def
    uint64_t value = 0;  ///< in the row's unit
    std::string from;    ///< the figures that it was made of
};

struct ImportedTiming {
    std::string machine;             ///< GPU, chip and kernel
    std::vector<ImportedRow> rows;
    std::vector<std::string> notes;  ///< why a row is not there
};

/// Where the kernel puts the area that waves are saved to: VRAM when it has device-private pages, else system memory.
enum class SaveAreaIn { Vram, System };

/// @param name of the file, for messages
/// @throws Error  not the program's output
ImportedTiming import_timing(std::string_view text, const std::string& name, SaveAreaIn area);

/// A [timing] table for experiments, with its sources as comments.
std::string to_toml(const ImportedTiming& timing);

}  // namespace lyra::results
