// SPDX-License-Identifier: MIT
// Parameters of tests that run once for each back end whose generated code this host can run.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "gcn-interp/wave/backend.h"

namespace lyra::gcn {

inline std::vector<Backend> generated_backends() {
    std::vector<Backend> out;
    for (const Backend backend : {Backend::Avx2, Backend::Avx512}) {
        if (supported(backend)) out.push_back(backend);
    }
    return out;
}

inline std::string backend_name(const ::testing::TestParamInfo<Backend>& info) {
    return kBackendNames[static_cast<unsigned>(info.param)];
}

}  // namespace lyra::gcn
