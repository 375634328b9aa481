// SPDX-License-Identifier: MIT
// Sink that keeps nothing of the events but a hash of all their fields and times, and their number: two runs that did the
// same at the same times have the same hash.
#pragma once

#include "common/snapshot.h"
#include "common/trace.h"

namespace lyra {

class TraceHash : public TraceSink {
public:
    /// @param next gets every event as well; nullptr: nobody
    explicit TraceHash(TraceSink* next = nullptr) : next_(next) {}

    void record(const TraceRecord& record) override {
        add(static_cast<uint64_t>(record.id));
        add(record.time_ns);
        for (size_t i = 0; i < event_arg_count(record.id); ++i) add(record.args[i]);
        ++events_;
        if (next_) next_->record(record);
    }

    void visit(StateVisitor& v) {
        v("hash", hash_);
        v("events", events_);
    }
    uint64_t hash() const { return hash_; }
    uint64_t events() const { return events_; }

private:
    /// FNV-1a, eight bytes at a time, with the high half folded in so that every bit of a word reaches all others.
    void add(uint64_t word) {
        hash_ = (hash_ ^ word) * 0x100000001b3;
        hash_ ^= hash_ >> 29;
    }

    TraceSink* next_;
    uint64_t hash_ = 0xcbf29ce484222325;
    uint64_t events_ = 0;
};

}  // namespace lyra
