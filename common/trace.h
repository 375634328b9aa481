// SPDX-License-Identifier: MIT
// Typed trace events (events.def): emit<event::doorbell>(tracer, now_ns, offset, value). Off costs one load.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lyra {

enum class EventId : uint8_t {
#define EVENT(name, block, text) name,
#define EARG(event, type, name, text)
#include "common/events.def"
#undef EVENT
#undef EARG
};

struct EventArgInfo {
    EventId event;
    const char* name;
    const char* text;
};

struct EventInfo {
    const char* name;
    const char* block;
    const char* text;
};

inline constexpr EventInfo kEvents[] = {
#define EVENT(name, block, text) {#name, #block, text},
#define EARG(event, type, name, text)
#include "common/events.def"
#undef EVENT
#undef EARG
};

inline constexpr EventArgInfo kEventArgs[] = {
#define EVENT(name, block, text)
#define EARG(event, type, name, text) {EventId::event, #name, text},
#include "common/events.def"
#undef EVENT
#undef EARG
};

inline constexpr size_t kMaxEventArgs = 6;

constexpr size_t event_arg_count(EventId id) {
    size_t n = 0;
    for (const EventArgInfo& arg : kEventArgs) n += arg.event == id;
    return n;
}

/// One event as a sink receives it. args holds event_arg_count(id) values in the order of events.def.
struct TraceRecord {
    EventId id;
    uint64_t time_ns;
    std::array<uint64_t, kMaxEventArgs> args;
};

class TraceSink {
public:
    virtual ~TraceSink() = default;
    virtual void record(const TraceRecord& record) = 0;
};

class Tracer {
public:
    void set_sink(TraceSink* sink) { sink_ = sink; }
    bool on() const { return sink_ != nullptr; }
    void record(const TraceRecord& record) { sink_->record(record); }

private:
    TraceSink* sink_ = nullptr;
};

namespace event {
#define EVENT(name, block, text)                      \
    struct name {                                     \
        static constexpr EventId kId = EventId::name; \
    };
#define EARG(event, type, name, text)
#include "common/events.def"
#undef EVENT
#undef EARG
}  // namespace event

/// Record an event when tracing is on. A wrong number of arguments does not compile.
template <class Event, class... Args>
void emit(Tracer& tracer, uint64_t now_ns, Args... args) {
    static_assert(sizeof...(Args) == event_arg_count(Event::kId), "arguments differ from the row in events.def");
    if (tracer.on()) tracer.record({Event::kId, now_ns, {static_cast<uint64_t>(args)...}});
}

}  // namespace lyra
