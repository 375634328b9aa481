// SPDX-License-Identifier: MIT
// Which choices of common/firmware.def what was seen is consistent with.
#pragma once

#include <string>
#include <vector>

namespace timing {

using Choices = std::vector<std::string>;

/// Something that was looked for several times. A tenth may be otherwise: the GPU changes its clocks, the host has other work.
struct Count {
    unsigned seen = 0, of = 0;
    bool always() const { return of != 0 && seen * 10 >= of * 9; }
    bool never() const { return of != 0 && seen * 10 <= of; }
};

/// @param returned  the queue that had been taken off came back
/// @param gaps      the queue that both lists have was off the GPU meanwhile
/// @param late      of these, it had gone on at first, for about as long as a quantum has left
inline Choices runlist_over_live(Count returned, Count gaps, Count late) {
    if (returned.never()) return {"reject"};
    if (!returned.always()) return {};
    if (gaps.never()) return {"keep"};
    if (!gaps.always()) return {};
    if (late.always()) return {"defer"};
    return late.never() ? Choices{"preempt"} : Choices{};
}

/// The driver sends a RUN_LIST at once after the packet, so keep and stop look alike, and what the other queues lose may be due
/// to either.
/// @param stopped  the queue whose doorbell was in the packet
/// @param gaps     another queue was off the GPU meanwhile
/// @param runlist  what runlist_over_live() says
inline Choices unmap_by_doorbell(Count stopped, Count gaps, const Choices& runlist) {
    if (stopped.never()) return {"reject"};
    if (!stopped.always()) return {};
    const bool explained = runlist.size() == 1 && (runlist[0] == "preempt" || runlist[0] == "defer");
    return gaps.never() || explained ? Choices{"keep", "stop"} : Choices{};
}

}  // namespace timing
