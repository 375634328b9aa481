// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/kernel_events.h"

#include <charconv>
#include <stdexcept>

#include <fmt/format.h>

namespace lyra::cli {

namespace {

constexpr unsigned kBufferKb = 65536;

class Line {
public:
    Line(std::string_view text, size_t number) : text_(text), rest_(text), number_(number) {}

    /// What is before the mark, which is skipped, without blanks around it.
    std::string_view until(std::string_view mark) {
        const size_t end = rest_.find(mark);
        if (end == std::string_view::npos) bad();
        const std::string_view out = trimmed(rest_.substr(0, end));
        rest_.remove_prefix(end + mark.size());
        return out;
    }
    std::string_view rest() const { return trimmed(rest_); }
    uint64_t number(std::string_view word) const {
        uint64_t out = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
        if (error != std::errc{} || end != word.data() + word.size()) bad();
        return out;
    }
    [[noreturn]] void bad() const {
        throw std::runtime_error(
            fmt::format("line {} of the kernel's trace is not an event: '{}'", number_, text_.substr(0, 80)));
    }

private:
    static std::string_view trimmed(std::string_view text) {
        const size_t begin = text.find_first_not_of(' ');
        return begin == std::string_view::npos ? std::string_view()
                                               : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
    }

    std::string_view text_, rest_;
    size_t number_;
};

/// "name=value name=value"; words that are not of this form belong to the value before them.
std::vector<std::pair<std::string, std::string>> fields_of(std::string_view text) {
    std::vector<std::pair<std::string, std::string>> out;
    while (!text.empty()) {
        const size_t blank = text.find(' ');
        const std::string_view word = text.substr(0, blank);
        text = blank == std::string_view::npos ? std::string_view() : text.substr(blank + 1);
        if (word.empty()) continue;
        const size_t equals = word.find('=');
        if (equals != std::string_view::npos)
            out.emplace_back(word.substr(0, equals), word.substr(equals + 1));
        else if (out.empty())
            out.emplace_back("text", word);
        else
            out.back().second += " " + std::string(word);
    }
    return out;
}

}  // namespace

std::string kernel_events_script(const std::vector<std::string>& events, const std::string& command, const std::string& port) {
    std::string script = fmt::format(
        "#!/bin/sh\n"
        "t=/sys/kernel/tracing\n"
        "mount -t tracefs tracefs $t && echo x86-tsc >$t/trace_clock && echo {} >$t/buffer_size_kb || exit 70\n"
        "enable() {{ echo \"$1\" 2>/dev/null >>$t/set_event || {{ echo \"the guest's kernel has no trace event $1\" >&2; exit "
        "70; }}; }}\n",
        kBufferKb);
    for (const std::string& event : events)
        script += fmt::format("enable '{}{}'\n", event, event.find(':') == std::string::npos ? ":*" : "");
    return script + fmt::format("{}\necho 0 >$t/tracing_on\ncat $t/trace >{}\nexit $status\n", command, port);
}

KernelEvents read_kernel_events(std::string_view text) {
    KernelEvents out;
    size_t number = 0;
    while (!text.empty()) {
        const size_t end = text.find('\n');
        Line line(text.substr(0, end), ++number);
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        if (line.rest().empty()) continue;
        if (line.rest().front() == '#') {
            // "# entries-in-buffer/entries-written: 12/15   #P:1"
            if (line.rest().find("entries-written: ") == std::string_view::npos) continue;
            line.until("entries-written: ");
            const uint64_t kept = line.number(line.until("/"));
            const uint64_t written = line.number(line.until(" "));
            if (written < kept) line.bad();
            out.lost = written - kept;
            continue;
        }
        // "   kworker/0:1-38      [000] .....     123456: kfd_hws_done: gpu_id=0x1 result=0"
        KernelEvent event;
        event.task = line.until("[");
        line.until("] ");
        const std::string_view flags_and_time = line.until(": ");
        const size_t blank = flags_and_time.rfind(' ');
        if (blank == std::string_view::npos) line.bad();
        event.time_ns = line.number(flags_and_time.substr(blank + 1));
        event.name = line.until(":");
        event.fields = fields_of(line.rest());
        out.events.push_back(std::move(event));
    }
    return out;
}

}  // namespace lyra::cli
