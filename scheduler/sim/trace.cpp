// SPDX-License-Identifier: MIT
// Event traces of the policy core: text to steps and back.
#include <sstream>

#include "scheduler/sim/replay.h"

namespace lyra::sim {

namespace {

struct Parameter {
    const char* name;
    uint64_t qsched_params::* value;
};
constexpr Parameter kParameters[] = {
    {"quantum_ns", &qsched_params::quantum_ns},
    {"min_run_ns", &qsched_params::min_run_ns},
    {"hysteresis_ns", &qsched_params::hysteresis_ns},
    {"starvation_ns", &qsched_params::starvation_ns},
    {"turn_ns", &qsched_params::turn_ns},
    {"ageing_ns", &qsched_params::ageing_ns},
};
constexpr const char* kStepNames[] = {"add", "ask", "wants", "idle", "blocked", "unblocked", "remove", "end"};

uint64_t number(const std::string& word) {
    if (word.empty() || word.size() > 18 || word.find_first_not_of("0123456789") != std::string::npos)
        throw std::invalid_argument("'" + word + "' is not a number");
    return std::stoull(word);
}

void read_parameter(const std::string& name, const std::string& value, qsched_params& params) {
    if (name == "policy") {
        params.policy = qsched_policy_of(value.c_str());
        if (params.policy == QSCHED_POLICIES) throw std::invalid_argument("there is no policy '" + value + "'");
        return;
    }
    if (name == "inherit") {
        params.inherit = number(value) != 0;
        return;
    }
    for (const Parameter& p : kParameters) {
        if (name == p.name) {
            params.*p.value = number(value);
            return;
        }
    }
    throw std::invalid_argument("unknown word '" + name + "'");
}

Step read_step(const std::vector<std::string>& words, unsigned queues) {
    Step step;
    step.at_ns = number(words[0]);
    size_t kind = 0;
    while (kind < std::size(kStepNames) && words[1] != kStepNames[kind]) ++kind;
    if (kind == std::size(kStepNames)) throw std::invalid_argument("unknown step '" + words[1] + "'");
    step.kind = static_cast<StepKind>(kind);
    const auto known = [&](const std::string& word) {
        const uint64_t n = number(word);
        if (n >= queues) throw std::invalid_argument("there is no queue " + word + " yet");
        return static_cast<unsigned>(n);
    };
    const auto words_are = [&](size_t least, size_t most) {
        if (words.size() < least || words.size() > most)
            throw std::invalid_argument("'" + words[1] + "' has too few words or too many");
    };
    switch (step.kind) {
        case StepKind::Add:
        case StepKind::Ask:
            words_are(3, 5);
            step.params.priority = static_cast<uint8_t>(std::min<uint64_t>(number(words[2]), QSCHED_MAX_PRIORITY));
            step.params.weight = words.size() > 3 ? static_cast<uint32_t>(std::min<uint64_t>(number(words[3]), UINT32_MAX)) : 1;
            step.params.deadline_ns = words.size() > 4 ? number(words[4]) : 0;
            break;
        case StepKind::Blocked:
            words_are(4, 4);
            step.queue = known(words[2]);
            step.other = words[3] == "-" ? -1 : static_cast<int>(known(words[3]));
            break;
        case StepKind::End: words_are(2, 2); break;
        default: words_are(3, 3); step.queue = known(words[2]);
    }
    return step;
}

}  // namespace

Trace read_trace(const std::string& text) {
    Trace trace;
    std::istringstream in(text);
    std::string line;
    unsigned queues = 0;
    for (unsigned at = 1; std::getline(in, line); ++at) {
        std::istringstream cut(line.substr(0, line.find('#')));
        std::vector<std::string> words;
        for (std::string word; cut >> word;) words.push_back(word);
        if (words.empty()) continue;
        try {
            if (words.size() < 2) throw std::invalid_argument("one word alone");
            if (words[0].find_first_not_of("0123456789") != std::string::npos) {
                read_parameter(words[0], words[1], trace.params);
                continue;
            }
            const Step step = read_step(words, queues);
            if (!trace.steps.empty() && step.at_ns < trace.steps.back().at_ns) throw std::invalid_argument("goes back in time");
            if (adds(step.kind) && ++queues > QSCHED_MAX_QUEUES) throw std::invalid_argument("too many queues");
            trace.steps.push_back(step);
        } catch (const std::invalid_argument& error) {
            throw std::invalid_argument("line " + std::to_string(at) + ": " + error.what());
        }
    }
    return trace;
}

std::string write_trace(const Trace& trace) {
    std::ostringstream out;
    out << "policy " << qsched_policy_name(trace.params.policy) << '\n';
    for (const Parameter& p : kParameters) {
        if (trace.params.*p.value != 0) out << p.name << ' ' << trace.params.*p.value << '\n';
    }
    if (trace.params.inherit) out << "inherit 1\n";
    for (const Step& step : trace.steps) {
        out << step.at_ns << ' ' << kStepNames[static_cast<size_t>(step.kind)];
        if (adds(step.kind)) {
            out << ' ' << unsigned{step.params.priority};
            if (step.params.weight > 1 || step.params.deadline_ns != 0) out << ' ' << step.params.weight;
            if (step.params.deadline_ns != 0) out << ' ' << step.params.deadline_ns;
        } else if (step.kind != StepKind::End) {
            out << ' ' << step.queue;
        }
        if (step.kind == StepKind::Blocked) out << ' ' << (step.other < 0 ? "-" : std::to_string(step.other));
        out << '\n';
    }
    return out.str();
}

}  // namespace lyra::sim
