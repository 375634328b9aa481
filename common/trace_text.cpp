// SPDX-License-Identifier: MIT
#include "common/trace_text.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include <fmt/format.h>

#include "common/trace_perfetto.h"

namespace lyra {

namespace {

class TextSink : public TraceSink {
public:
    explicit TextSink(std::ofstream file) : file_(std::move(file)) {}

    void record(const TraceRecord& record) override {
        const EventInfo& info = kEvents[static_cast<size_t>(record.id)];
        if (std::string_view(info.block) == "sq") return;
        line_.clear();
        fmt::format_to(std::back_inserter(line_), "{}\t{}", record.time_ns, info.name);
        for (size_t i = 0; i < event_arg_count(record.id); ++i) fmt::format_to(std::back_inserter(line_), "\t{}", record.args[i]);
        line_ += '\n';
        file_ << line_;
    }

private:
    std::ofstream file_;
    std::string line_;
};

}  // namespace

std::unique_ptr<TraceSink> open_text_trace(const std::string& path, std::string& error) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    if (!file) {
        error = fmt::format("cannot write trace file {}: {}", path, std::strerror(errno));
        return nullptr;
    }
    return std::make_unique<TextSink>(std::move(file));
}

std::unique_ptr<TraceSink> open_trace(const std::string& path, std::string& error) {
    return path.ends_with(".tsv") ? open_text_trace(path, error) : open_perfetto_trace(path, error);
}

}  // namespace lyra
