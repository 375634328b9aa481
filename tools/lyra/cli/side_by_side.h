// SPDX-License-Identifier: MIT
// Tasks at the same time.
#pragma once

#include <functional>
#include <vector>

namespace lyra::cli {

/// Runs each in a thread of its own, and ends when all have. @throws what the first one that has failed has thrown
void side_by_side(const std::vector<std::function<void()>>& tasks);

}  // namespace lyra::cli
