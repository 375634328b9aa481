// SPDX-License-Identifier: MIT
// lyra replay: the device does again what a recording has, without a guest.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <optional>

#include <nlohmann/json.hpp>

#include "common/trace_text.h"
#include "tools/inproc/replayer.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/device/histogram.h"
#include "tools/lyra/device/recording_text.h"

namespace lyra::cli {

namespace {

using inproc::Replayer;
using inproc::ReplayOptions;

struct Options {
    std::string file, until, trace, commit_log;
    bool check = false, print = false, state = false, histogram = false, stats = false, json = false;
};

/// Where to stop: after so many calls, before the first one that is later, or after the one that has the event.
struct Until {
    uint64_t calls = UINT64_MAX, ns = UINT64_MAX, events = UINT64_MAX;
};

Until parse_until(const std::string& text) {
    Until until;
    if (text.empty()) return until;
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string unit(end, text.data() + text.size());
    if (error == std::errc{} && unit == "events") return {.events = value};
    const uint64_t scale = unit == "ns" ? 1 : unit == "us" ? 1000 : unit == "ms" ? 1000000 : unit == "s" ? 1000000000 : 0;
    if (error != std::errc{} || (!unit.empty() && scale == 0) || (scale != 0 && value > UINT64_MAX / scale))
        throw UserError(fmt::format(
            "--until {}: a number of calls, such as 1000, of events, such as 200events, or a device time, such as 5ms", text));
    (unit.empty() ? until.calls : until.ns) = unit.empty() ? value : value * scale;
    return until;
}

uint64_t time_of(const RecordedCall& call) { return call.kind == CallKind::RunUntil ? call.value : call.now_ns; }

std::unique_ptr<RecordingReader> open_recording(const std::string& file) {
    std::string error;
    std::unique_ptr<RecordingReader> reader = RecordingReader::open(file, error);
    if (!reader) throw UserError(error);
    return reader;
}

class Replay {
public:
    explicit Replay(const Options& options) : options_(options), until_(parse_until(options.until)) {}

    int run() {
        const std::unique_ptr<RecordingReader> reader = open_recording(options_.file);
        make_device(*reader);
        const auto start = std::chrono::steady_clock::now();
        perform(*reader);
        seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        at_ = replayer_->checkpoint();
        counters_ = counters();
        if (options_.histogram) print_histogram(stderr, histogram_of(replayer_->handle()));
        const std::string state = options_.state ? state_text() : "";
        replayer_.reset();  // closes the traces
        if (options_.print) print_calls();
        fmt::print("{}", state);
        options_.json ? print_json(*reader) : print_text(*reader);
        if (!damage_.empty()) return kUsage;
        return options_.check && (!difference_.empty() || !complete_) ? kFailed : kOk;
    }

private:
    void make_device(const RecordingReader& reader) {
        ReplayOptions options;
        if (options_.print) {
            work_ = std::make_unique<WorkDir>();
            events_ = (work_->path() / "events.tsv").string();
            words_.open(work_->path() / "words", std::ios::in | std::ios::out | std::ios::trunc);
        }
        options.trace_path = options_.print ? events_ : options_.trace;
        options.commit_log_path = options_.commit_log == "-" ? "/dev/stdout" : options_.commit_log;
        options.histogram = options_.histogram;
        options.log_packets = options_.print;
        options.log = [this](lyra_log_level level, const char* text) {
            if (level == LYRA_LOG_DEBUG)
                words_ << text << '\n';
            else if (level <= LYRA_LOG_WARN || verbosity > 0)
                talk(text);
        };
        std::string error;
        replayer_ = Replayer::create(reader, options, error);
        if (!replayer_) throw UserError(fmt::format("{}: {}", options_.file, error));
    }

    void perform(RecordingReader& reader) {
        RecordedCall call;
        while (calls_ < until_.calls && until_.events != 0 && !interrupted && reader.next(call)) {
            if (time_of(call) > until_.ns) break;
            std::string different;
            try {
                different = replayer_->perform(call);
            } catch (const std::runtime_error& error) {
                damage_ = fmt::format("call {}: {}", calls_ + 1, error.what());
                break;
            }
            ++calls_;
            if (!different.empty() && difference_.empty()) {
                difference_ = fmt::format("call {} at {} ns, {}: {}", calls_, time_of(call), call_text(call), different);
                if (options_.check) break;
            }
            complete_ = call.kind == CallKind::End;
            if (until_.events != UINT64_MAX && replayer_->checkpoint().events >= until_.events) break;
        }
        if (interrupted) throw Interrupted();
        cut_off_ = reader.error();
    }

    /// Once more, now that it is known when what happened.
    void print_calls() {
        const std::unique_ptr<RecordingReader> reader = open_recording(options_.file);
        EventList events(events_);
        words_.seekg(0);
        RecordedCall call;
        for (uint64_t number = 1; number <= calls_ && reader->next(call); ++number) {
            const uint64_t at = time_of(call);
            print_events(events, at);
            for (const std::string& text : pages_text(call.pages)) fmt::print("{:>14} ns  memory    {}\n", at, text);
            if (call.kind != CallKind::RunUntil) fmt::print("{:>14} ns  #{:<8} {}\n", at, number, call_text(call));
            if (call.msis != 0) fmt::print("{:>14} ns  interrupt {}\n", at, call.msis);
        }
        print_events(events, UINT64_MAX);
    }

    /// By time: in virtual time a compute unit has its turn after another one, for the same time.
    void print_events(EventList& events, uint64_t until_ns) {
        std::vector<std::pair<uint64_t, std::string>> lines;
        while (const std::optional<TraceRecord> event = events.next(until_ns)) add_lines(*event, lines);
        std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [at, text] : lines) fmt::print("{:>14} ns  {}\n", at, text);
    }

    void add_lines(const TraceRecord& event, std::vector<std::pair<uint64_t, std::string>>& lines) {
        std::string words;
        if (event.id == EventId::packet || of_wave(event.id)) {
            // Packets of a run list are no events. They come before the next one that is.
            while (std::getline(words_, words) && words.starts_with(' '))
                lines.emplace_back(event.time_ns, "run list  " + words.substr(1));
        }
        if (event.id == EventId::dispatch_begin) queues_[event.args[0]] = event.args[1];
        if (of_wave(event.id)) words += queue_text(words);
        lines.emplace_back(event.time_ns, fmt::format("event     {}{}{}", event_text(event), words.empty() ? "" : ": ", words));
    }

    /// Of a wave. @param words  "dispatch=3 ...". One that began before the recording is not known
    std::string queue_text(std::string_view words) const {
        constexpr std::string_view kName = "dispatch=";
        uint64_t dispatch = 0;
        if (!words.starts_with(kName)) return "";
        std::from_chars(words.data() + kName.size(), words.data() + words.size(), dispatch);
        const auto found = queues_.find(dispatch);
        return found == queues_.end() ? "" : fmt::format(" queue={}", found->second);
    }

    std::string state_text() const {
        char* text = nullptr;
        const size_t bytes = lyra_state_text(replayer_->handle(), &text);
        const std::string copy(text, bytes);
        std::free(text);
        return copy;
    }

    std::vector<std::pair<std::string, uint64_t>> counters() const {
        std::vector<std::pair<std::string, uint64_t>> found;
        for (size_t i = 0; const char* name = lyra_stat_name(i); ++i)
            if (const uint64_t value = lyra_stat(replayer_->handle(), name)) found.emplace_back(name, value);
        return found;
    }

    std::string outcome() const {
        if (!difference_.empty()) return "differs";
        if (complete_) return "as recorded";
        return cut_off_.empty() ? "as recorded until there" : "as recorded as far as it goes";
    }

    void print_text(const RecordingReader& reader) const {
        std::FILE* const to = options_.print || options_.state ? stderr : stdout;
        fmt::print(to, "made by {}; {} calls, {:.3f} ms of device time, {} wave instructions in {:.2f} s\n",
                   reader.text("lyra"), calls_, static_cast<double>(at_.virtual_ns) / 1e6, at_.instructions, seconds_);
        fmt::print(to, "trace hash {:016x} after {} events: {}\n", at_.hash, at_.events, outcome());
        if (!difference_.empty()) talk(difference_);
        if (!damage_.empty()) complain(fmt::format("{}: {}", options_.file, damage_));
        if (!cut_off_.empty()) talk(fmt::format("{}: {}", options_.file, cut_off_));
        if (options_.stats)
            for (const auto& [name, count] : counters_) fmt::print(stderr, "{:<24}{}\n", name, count);
    }

    void print_json(const RecordingReader& reader) const {
        nlohmann::json result{{"calls", calls_},
                              {"virtual_ns", at_.virtual_ns},
                              {"trace_hash", fmt::format("{:016x}", at_.hash)},
                              {"trace_events", at_.events},
                              {"instructions", at_.instructions},
                              {"seconds", seconds_},
                              {"complete", complete_},
                              {"difference", difference_},
                              {"damage", damage_.empty() ? cut_off_ : damage_}};
        for (const auto& [name, text] : reader.header()) result["device"][name] = text;
        for (const auto& [name, count] : counters_) result["counters"][name] = count;
        fmt::print("{}\n", result.dump(2));
    }

    const Options& options_;
    Until until_;
    std::unique_ptr<WorkDir> work_;
    std::string events_;
    std::fstream words_;  ///< of the events that are packets or of waves
    std::map<uint64_t, uint64_t> queues_;  ///< by dispatch
    std::unique_ptr<Replayer> replayer_;
    std::vector<std::pair<std::string, uint64_t>> counters_;
    Checkpoint at_;
    uint64_t calls_ = 0;
    bool complete_ = false;
    std::string difference_, damage_, cut_off_;
    double seconds_ = 0;
};

}  // namespace

std::function<int()> set_up_replay(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("file", options->file, "recording, as --record has written it")->required()->type_name("FILE");
    app.add_option("--until", options->until,
                   "stop after so many calls (1000) or events (200events), or at a device time (5ms)")
        ->type_name("WHEN");
    app.add_flag("--check", options->check, "stop at the first difference from the recording, which fails the command");
    CLI::Option* print =
        app.add_flag("--print", options->print, "every call, change of memory and event, with fields and waves");
    app.add_flag("--state", options->state, "the state of the device at the end, queues and waves with their registers");
    app.add_option("--trace", options->trace, "write a Perfetto trace, or a text trace (.tsv)")
        ->excludes(print)
        ->type_name("FILE.pftrace");
    app.add_option("--log-commits", options->commit_log,
                   "write a line for every wave instruction, with all that it changed; - is standard output")
        ->type_name("FILE");
    app.add_flag("--histogram", options->histogram,
                 "count the executed wave instructions by operation and encoding; printed on standard error");
    app.add_flag("--stats", options->stats, "print counters on standard error");
    app.add_flag("--json", options->json, "print the result as JSON")->excludes(print);
    app.footer(
        "0: replayed, 1: with --check, something was not as recorded or is missing, 2: FILE is no recording or is damaged.\n"
        "docs/user/replay.md tells what a recording is good for.");
    return [options] {
        catch_signals();
        return Replay(*options).run();
    };
}

}  // namespace lyra::cli
