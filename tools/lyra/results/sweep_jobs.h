// SPDX-License-Identifier: MIT
// Jobs of a sweep: their ids, seeds and commands, the list that `lyra sweep plan` writes, and what became of each
// (docs/user/sweep.md).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "facts/chips.h"
#include "scheduler/sim/spec.h"
#include "tools/lyra/results/results.h"

namespace lyra::sweep {

/// Values that [sweep] gives a configuration, by path.
using Swept = std::vector<std::pair<std::string, std::string>>;

/// What a measurement's job has beside the experiment.
struct RunKey {
    uint64_t seed = 0;
    uint64_t samples = 0;  ///< kernels of each latency-critical client
    std::string chip = kChips[0].name;  ///< the guest's GPU
};

/// 16 hexadecimal digits: equal for equal experiments by equal programs. @param source "sim" or "measure"
/// @param run  of a measurement; a simulation's job has the file's samples, and a seed by its id
std::string job_id(const std::string& lyra_version, const std::string& source, const std::string& spec_hash, const Swept& swept,
                   const std::optional<RunKey>& run = std::nullopt);
/// Seed of a simulation's job: from its id, so that it is the same wherever and whenever the job runs. 1 to 2^53 - 1.
uint64_t job_seed(const std::string& id);

struct Job {
    std::string id, command, output;  ///< command: for a POSIX shell, of words in single quotes and plain ones
};

/// What is wrong with a list, and where.
class Error : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

std::string header();
std::string to_line(const Job& job);
/// @throws Error
std::vector<Job> read_jobs(std::string_view text, const std::string& name);

/// The words of a command as to_line() writes it. Nothing is executed by a shell, so whatever only a shell would understand is
/// refused.
/// @throws Error
std::vector<std::string> words_of(const std::string& command);
/// A word for a command: as it is when a shell would leave it alone, else in single quotes.
std::string quoted(const std::string& word);

enum class State : uint8_t { Missing, Done, Failed };
/// Leaves the configuration that is this job. @param spec  name of the file, for messages  @throws Error
void leave_job(std::vector<sim::Configuration>& configurations, const std::string& id, const std::string& spec,
               const std::function<std::string(const sim::Configuration&)>& id_of);
/// The jobs that measure the same configuration: one for each seed, as far as there is no gap in their seeds.
/// @param ids  of the list  @param manifest, configuration  of one of these jobs, which has a raw run
/// @return ids by ascending seed
std::vector<std::string> seeds_of(const std::set<std::string>& ids, const results::Manifest& manifest,
                                  const results::Configuration& configuration);

/// Done: its output is there and holds exactly this job. Failed: the last attempt has left a note.
/// @param why  what is wrong, unless it is done
State state_of(const Job& job, const std::string& folder, std::string& why);
/// Where a failed attempt says why.
std::filesystem::path failure_note(const std::filesystem::path& output);

}  // namespace lyra::sweep
