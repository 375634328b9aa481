// SPDX-License-Identifier: MIT
#include "common/trace_text.h"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

#include "common/trace_perfetto.h"

namespace lyra {

namespace {

class TextSink : public TraceSink {
public:
    TextSink(std::ofstream file, bool waves) : file_(std::move(file)), waves_(waves) {}

    void record(const TraceRecord& record) override {
        const EventInfo& info = kEvents[static_cast<size_t>(record.id)];
        if (!waves_ && of_wave(record.id)) return;
        line_.clear();
        fmt::format_to(std::back_inserter(line_), "{}\t{}", record.time_ns, info.name);
        for (size_t i = 0; i < event_arg_count(record.id); ++i)
            fmt::format_to(std::back_inserter(line_), "\t{}", record.args[i]);
        line_ += '\n';
        file_ << line_;
    }

private:
    std::ofstream file_;
    const bool waves_;
    std::string line_;
};

std::optional<EventId> event_of(std::string_view name) {
    for (size_t n = 0; n < std::size(kEvents); ++n) {
        if (name == kEvents[n].name) return static_cast<EventId>(n);
    }
    return {};
}

TraceRecord parse(std::string_view text, uint64_t number) {
    const auto bad = [&] {
        return std::runtime_error(fmt::format("line {} of the trace is not an event: '{}'", number, text.substr(0, 80)));
    };
    auto next = [rest = text]() mutable -> std::optional<std::string_view> {
        if (rest.data() == nullptr) return {};
        const size_t tab = rest.find('\t');
        const std::string_view word = rest.substr(0, tab);
        rest = tab == std::string_view::npos ? std::string_view() : rest.substr(tab + 1);
        return word;
    };
    const auto value = [&](std::string_view word) {
        uint64_t out = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
        if (error != std::errc{} || end != word.data() + word.size()) throw bad();
        return out;
    };
    TraceRecord record{};
    record.time_ns = value(next().value());
    const std::optional<std::string_view> name = next();
    const std::optional<EventId> id = name ? event_of(*name) : std::nullopt;
    if (!id) throw bad();
    record.id = *id;
    size_t count = 0;
    while (const std::optional<std::string_view> word = next()) {
        if (count == record.args.size()) throw bad();
        record.args[count++] = value(*word);
    }
    if (count != event_arg_count(*id)) throw bad();
    return record;
}

}  // namespace

bool of_wave(EventId id) { return std::string_view(kEvents[static_cast<size_t>(id)].block) == "sq"; }

void read_text_trace(std::istream& in, const std::function<void(const TraceRecord&)>& each) {
    uint64_t number = 0;
    for (std::string line; std::getline(in, line);) each(parse(line, ++number));
}

std::unique_ptr<TraceSink> open_text_trace(const std::string& path, bool waves, std::string& error) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (!file) {
        error = fmt::format("cannot write trace file {}: {}", path, std::strerror(errno));
        return nullptr;
    }
    return std::make_unique<TextSink>(std::move(file), waves);
}

std::unique_ptr<TraceSink> open_trace(const std::string& path, bool waves_in_text, std::string& error) {
    return path.ends_with(".tsv") ? open_text_trace(path, waves_in_text, error) : open_perfetto_trace(path, error);
}

}  // namespace lyra
