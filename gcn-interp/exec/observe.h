// SPDX-License-Identifier: MIT
// Observers of a device's wave instructions and of the memory that they touch; step 6 of the data flow. Costs nothing without
// one (Env::observer): handlers are replaced when code is decoded.
#pragma once

#include "gcn-interp/exec/exec.h"

namespace lyra::gcn {

/// Called on the thread that runs the compute unit.
class ExecObserver {
public:
    virtual ~ExecObserver() = default;
    /// In place of the handler, which it has to call once.
    virtual void execute(ExecContext& ctx, const Inst& inst, ExecFn handler) = 0;
    /// Every instruction comes, with its PC. false: those that are interpreted, which is as it is without an observer.
    virtual bool sees_all() const { return true; }
};

inline bool all_seen(const Env& env) { return env.observer != nullptr && env.observer->sees_all(); }

/// Hears of memory accesses before they happen: those of vector instructions, and scalar stores and atomics.
class AccessListener {
public:
    virtual ~AccessListener() = default;
    /// @param va  of each lane that is active; bytes are accessed from there
    virtual void access(const uint64_t* va, uint64_t active, unsigned bytes, Access access) = 0;
};

/// Of this thread, during one instruction. Only while ExecContext::watch is not nullptr: then all accesses are looked at.
void set_access_listener(AccessListener* listener);

}  // namespace lyra::gcn
