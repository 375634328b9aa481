// SPDX-License-Identifier: MIT
// Test fixture over the bench of cp_bench.h.
#pragma once

#include <gtest/gtest.h>

#include "cp-firmware-model/testing/cp_bench.h"

namespace lyra::testing {

class CpRig : public ::testing::Test, protected CpBench {};

}  // namespace lyra::testing
