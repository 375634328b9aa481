// SPDX-License-Identifier: MIT
// Event traces of the policy core as text, and the harness that feeds them to it: a small driver that saves and restores
// queues, mistakes that can be put into both (faults.def), and what must hold whatever happens (invariants.def).
//
// A trace is lines of words; '#' begins a comment.
//   policy NAME, quantum_ns N, ... inherit 1     parameters of the core, by their names in qsched_params
//   TIME add PRIORITY [WEIGHT [DEADLINE_NS]]     a queue; they are numbered from 0 in this order
//   TIME wants|idle|unblocked|remove QUEUE       TIME in ns, ascending
//   TIME blocked QUEUE OTHER                     OTHER: the queue that will give the signal, or -
//   TIME end                                     nothing happens any more
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
#include "scheduler/core/qsched.h"
}

namespace lyra::sim {

enum class Fault : uint8_t {
    None,
#define FAULT(id, name, invariant, text) id,
#include "scheduler/sim/faults.def"
#undef FAULT
};

enum class Invariant : uint8_t {
    None,
#define INVARIANT(id, name, text) id,
#include "scheduler/sim/invariants.def"
#undef INVARIANT
};

struct FaultInfo {
    Fault fault;
    const char* name;
    Invariant noticed_by;
    const char* text;
};

inline constexpr FaultInfo kFaults[] = {
#define FAULT(id, name, invariant, text) {Fault::id, name, Invariant::invariant, text},
#include "scheduler/sim/faults.def"
#undef FAULT
};

const char* invariant_name(Invariant invariant);

enum class StepKind : uint8_t {
    Add,
    Ask,  ///< Add, by a user who may not have a high priority
    Wants,
    Idle,
    Blocked,
    Unblocked,
    Remove,
    End
};
inline bool adds(StepKind kind) { return kind == StepKind::Add || kind == StepKind::Ask; }
inline constexpr uint8_t kUnprivilegedPriority = 7;  ///< what Ask gives at most

struct Step {
    uint64_t at_ns = 0;
    StepKind kind = StepKind::End;
    unsigned queue = 0;         ///< number in the trace
    int other = -1;             ///< Blocked
    qsched_queue_params params{};  ///< Add, Ask
};

struct Trace {
    qsched_params params{};
    std::vector<Step> steps;
};

/// @throws std::invalid_argument  line and what is wrong with it
Trace read_trace(const std::string& text);
std::string write_trace(const Trace& trace);

/// What the first broken invariant is.
struct Violation {
    Invariant invariant = Invariant::None;
    uint64_t at_ns = 0;
    unsigned queue = 0;  ///< number in the trace

    bool operator==(const Violation&) const = default;
};

/// Feed a trace to the core, with a mistake or without. @return invariant None: all held
Violation replay(const Trace& trace, Fault fault = Fault::None);

}  // namespace lyra::sim
