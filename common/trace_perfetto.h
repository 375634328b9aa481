// SPDX-License-Identifier: MIT
// Trace sink that writes a Perfetto file (.pftrace).
#pragma once

#include <memory>
#include <string>

#include "common/trace.h"

namespace lyra {

/// @return nullptr when the file cannot be written; error then says why
std::unique_ptr<TraceSink> open_perfetto_trace(const std::string& path, std::string& error);

}  // namespace lyra
