// SPDX-License-Identifier: MIT
// What a host's lyra_config means for the device: its checks, and the shape of the chip.
#pragma once

#include <optional>
#include <string>

#include "common/env.h"
#include "common/recording.h"
#include "cp-firmware-model/cp_bus.h"
#include "qemu-hw/include/lyra.h"

namespace lyra {

/// @return what is wrong with it, empty: nothing. The functions below are for one that is right.
std::string check_config(const lyra_config& config);

GpuShape shape_of(const lyra_config& config);
/// Nothing: the text is none of those that are known.
std::optional<FpExceptions> fp_exceptions_of(const lyra_config& config);

/// What a device is made of, for a device that shall do the same. @param env  of the device, which is new
RecordingHeader recording_header(const lyra_config& config, Env& env, const char* version, bool has_clock);

}  // namespace lyra
