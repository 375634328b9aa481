// SPDX-License-Identifier: MIT
// Test fixture over the bench of cp_bench.h, of everything above the waves.
#pragma once

#include <gtest/gtest.h>

#include "cp-firmware-model/testing/cp_bench.h"

namespace lyra::testing {

class CpRig : public ::testing::Test, protected CpBench {
protected:
    CpRig() : CpBench(test_shape(2, 2), Waves::Fake) {}
};

}  // namespace lyra::testing
