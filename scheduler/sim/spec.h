// SPDX-License-Identifier: MIT
// Experiments as TOML files: one experiment, or one for each combination of the values in [sweep].
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/sim/experiment.h"

namespace lyra::sim {

/// What is wrong with a file, and where.
class SpecError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// One combination of the sweep's values.
struct Configuration {
    std::vector<std::pair<std::string, std::string>> swept;  ///< what [sweep] varies, and its value here as text
    Experiment experiment;
};

/// @param text of the file  @param name  of the file, for messages, and for files that it names: they are beside it  @throws
/// SpecError
std::vector<Configuration> read_spec(const std::string& text, const std::string& name);

}  // namespace lyra::sim
