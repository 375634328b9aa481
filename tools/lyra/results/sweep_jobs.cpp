// SPDX-License-Identifier: MIT
// Ids and seeds of jobs, their list as tab-separated values, and their state by what lies in the folder.
#include "tools/lyra/results/sweep_jobs.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

namespace lyra::sweep {

namespace {

constexpr const char* kHeader = "id\tcommand\toutput";
constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+:@%=,-";

bool is_id(const std::string& text) {
    return text.size() == 16 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

/// Of the job with another seed that made this, or would.
std::string id_with(const results::Manifest& m, const results::Configuration& configuration, uint64_t seed) {
    return job_id(m.lyra, m.source, m.spec_hash, configuration.swept, RunKey{seed, configuration.raw->asked, m.chip});
}

bool is_output_of(const std::string& id, const results::Manifest& m, const results::Configuration& configuration) {
    if (m.source == "measure") return configuration.raw && id_with(m, configuration, configuration.seed) == id;
    return !configuration.raw && job_id(m.lyra, m.source, m.spec_hash, configuration.swept) == id &&
           configuration.seed == job_seed(id);
}

}  // namespace

std::string job_id(const std::string& lyra_version, const std::string& source, const std::string& spec_hash, const Swept& swept,
                   const std::optional<RunKey>& run) {
    // Each part with its length, so that no two lists of parts are one text.
    std::string all;
    const auto add = [&](const std::string& part) { all += fmt::format("{}:{};", part.size(), part); };
    for (const std::string& part : {lyra_version, source, spec_hash}) add(part);
    for (const auto& [path, value] : swept) {
        add(path);
        add(value);
    }
    if (run) {
        add(std::to_string(run->seed));
        add(std::to_string(run->samples));
        // The first one is not named in results, either.
        if (run->chip != kChips[0].name) add(run->chip);
    }
    return results::hash_text(all);
}

uint64_t job_seed(const std::string& id) {
    // TOML and JSON keep numbers below 2^53 exactly. The hash again, so that seeds do not depend on how ids are written.
    const uint64_t seed = std::stoull(results::hash_text("seed of " + id), nullptr, 16) & ((uint64_t{1} << 53) - 1);
    return std::max<uint64_t>(seed, 1);
}

std::string header() { return std::string(kHeader) + "\n"; }

std::string to_line(const Job& job) { return fmt::format("{}\t{}\t{}\n", job.id, job.command, job.output); }

std::vector<Job> read_jobs(std::string_view text, const std::string& name) {
    std::vector<Job> jobs;
    std::set<std::string> ids;
    for (size_t number = 1; !text.empty(); ++number) {
        const size_t end = text.find('\n');
        const std::string line(text.substr(0, end));
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
        const auto wrong = [&](const char* what) { throw Error(fmt::format("{}:{}: {}", name, number, what)); };
        if (number == 1) {
            if (line != kHeader)
                wrong("not a list of jobs: the first line has to be 'id', 'command' and 'output', with tabs between them");
            continue;
        }
        if (line.empty()) continue;
        const size_t first = line.find('\t'), second = first == std::string::npos ? first : line.find('\t', first + 1);
        if (second == std::string::npos || line.find('\t', second + 1) != std::string::npos)
            wrong("needs an id, a command and an output, with tabs between them");
        Job job{line.substr(0, first), line.substr(first + 1, second - first - 1), line.substr(second + 1)};
        if (!is_id(job.id)) wrong("the id has to be 16 hexadecimal digits");
        if (job.output.empty()) wrong("the output has no name");
        if (!ids.insert(job.id).second) wrong("this id was there before");
        jobs.push_back(std::move(job));
    }
    if (jobs.empty()) throw Error(name + ": there are no jobs in it");
    return jobs;
}

std::vector<std::string> words_of(const std::string& command) {
    std::vector<std::string> words;
    bool in_word = false, in_quotes = false;
    for (size_t n = 0; n < command.size(); ++n) {
        const char c = command[n];
        if (!in_word && c != ' ') {
            words.emplace_back();
            in_word = true;
        }
        if (in_quotes) {
            if (c == '\'')
                in_quotes = false;
            else
                words.back() += c;
        } else if (c == ' ') {
            in_word = false;
        } else if (c == '\'') {
            in_quotes = true;
        } else if (c == '\\' && n + 1 < command.size() && command[n + 1] == '\'') {
            words.back() += command[++n];
        } else if (std::string_view(kPlain).find(c) != std::string_view::npos || static_cast<unsigned char>(c) >= 0x80) {
            words.back() += c;
        } else {
            throw Error(fmt::format("'{}' in a command has to stand in single quotes", c));
        }
    }
    if (in_quotes) throw Error("a quote is not closed");
    return words;
}

std::string quoted(const std::string& word) {
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
    std::string out = "'";
    for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

void leave_job(std::vector<sim::Configuration>& configurations, const std::string& id, const std::string& spec,
               const std::function<std::string(const sim::Configuration&)>& id_of) {
    const auto found =
        std::find_if(configurations.begin(), configurations.end(), [&](const auto& each) { return id_of(each) == id; });
    if (found == configurations.end())
        throw Error(
            fmt::format("no configuration of '{}' is job {}: the file, lyra or an option is not what the sweep was "
                        "planned with",
                        spec, id));
    configurations = {sim::Configuration(*found)};
}

std::vector<std::string> seeds_of(const std::set<std::string>& ids, const results::Manifest& manifest,
                                  const results::Configuration& configuration) {
    const auto listed = [&](uint64_t seed) { return ids.contains(id_with(manifest, configuration, seed)); };
    uint64_t seed = configuration.seed;
    while (seed > 0 && listed(seed - 1)) --seed;
    std::vector<std::string> out;
    for (; listed(seed); ++seed) out.push_back(id_with(manifest, configuration, seed));
    return out;
}

std::filesystem::path failure_note(const std::filesystem::path& output) { return output.string() + ".failed"; }

State state_of(const Job& job, const std::string& folder, std::string& why) {
    const std::filesystem::path output = std::filesystem::path(folder) / job.output;
    std::ifstream file(output, std::ios::binary);
    if (!file) {
        std::ifstream note(failure_note(output));
        if (!note) {
            why = "missing";
            return State::Missing;
        }
        std::string last, line;
        while (std::getline(note, line)) {
            if (!line.empty()) last = line;
        }
        why = last;
        return State::Failed;
    }
    const std::string text((std::istreambuf_iterator<char>(file)), {});
    try {
        const std::vector<results::RunResults> runs = results::read(text, output.string());
        const results::RunResults& run = runs.front();
        if (runs.size() != 1 || run.configurations.size() != 1)
            throw results::Error(output.string() + ": has more than one configuration");
        if (!is_output_of(job.id, run.manifest, run.configurations.front()))
            throw results::Error(output.string() + ": is not what this job makes");
    } catch (const results::Error& error) {
        why = error.what();
        return State::Failed;
    }
    return State::Done;
}

}  // namespace lyra::sweep
