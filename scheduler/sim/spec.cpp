// SPDX-License-Identifier: MIT
// Reads experiments from TOML. Every key has to be known: a word that is misspelt must not silently mean the default.
#include "scheduler/sim/spec.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#define TOML_EXCEPTIONS 1
#include <toml++/toml.h>

#include "common/firmware.h"

namespace lyra::sim {

namespace {

constexpr size_t kMostConfigurations = 100'000;

std::string where(const toml::node& node) {
    const toml::source_position at = node.source().begin;
    return at.line == 0 ? std::string() : "line " + std::to_string(at.line) + ": ";
}
[[noreturn]] void wrong(const toml::node& node, const std::string& what) { throw SpecError(where(node) + what); }

/// Takes the keys of a table one by one; at the end none may be left.
class Reader {
public:
    Reader(const toml::table& table, std::string path) : table_(table), path_(std::move(path)) {}

    const toml::node* take(const char* key) {
        known_.insert(key);
        return table_.get(key);
    }
    void number(const char* key, double& out, double least = 0, double most = 1e15) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto value = node->value<double>();
        if (!node->is_number() || !value || !std::isfinite(*value) || *value < least || *value > most)
            wrong(*node, full(key) + " has to be a number from " + short_number(least) + " to " + short_number(most));
        out = *value;
    }
    template <class T>
    void whole(const char* key, T& out, double least, double most) {
        double value = static_cast<double>(out);
        number(key, value, least, most);
        if (value != std::floor(value)) wrong(*table_.get(key), full(key) + " has to be a whole number");
        out = static_cast<T>(value);
    }
    /// Microseconds in the file.
    void time(const char* key, uint64_t& out_ns) {
        double us = static_cast<double>(out_ns) / 1000;
        number(key, us, 0, 1e12);
        out_ns = static_cast<uint64_t>(std::llround(us * 1000));
    }
    void flag(const char* key, bool& out) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto value = node->value_exact<bool>();
        if (!value) wrong(*node, full(key) + " has to be true or false");
        out = *value;
    }
    void text(const char* key, std::string& out) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto value = node->value_exact<std::string>();
        if (!value) wrong(*node, full(key) + " has to be a string");
        out = *value;
    }
    template <class E>
    void choice(const char* key, E& out, const std::vector<std::pair<std::string, E>>& words) {
        const toml::node* node = take(key);
        if (node == nullptr) return;
        const auto value = node->value_exact<std::string>();
        std::string all;
        for (const auto& [word, meaning] : words) {
            if (value && *value == word) {
                out = meaning;
                return;
            }
            all += (all.empty() ? "" : ", ") + word;
        }
        wrong(*node, full(key) + " has to be one of: " + all);
    }
    void end() const {
        for (const auto& [key, node] : table_) {
            if (!known_.contains(std::string(key.str()))) wrong(node, "unknown key '" + full(std::string(key.str())) + "'");
        }
    }
    std::string full(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

private:
    static std::string short_number(double value) {
        std::ostringstream out;
        out << value;
        return out.str();
    }
    const toml::table& table_;
    std::string path_;
    std::set<std::string> known_;
};

template <class Read>
void part(Reader& reader, const char* key, Read read) {
    const toml::node* node = reader.take(key);
    if (node == nullptr) return;
    const toml::table* table = node->as_table();
    if (table == nullptr) wrong(*node, std::string(key) + " has to be a table");
    Reader inner(*table, reader.full(key));
    read(inner);
    inner.end();
}

uint64_t nanoseconds(double us) { return static_cast<uint64_t>(std::llround(us * 1000)); }

/// Arrivals in a file of their own: a number of microseconds a line, '#' begins a comment.
std::vector<uint64_t> read_arrivals(const toml::node& node, const std::filesystem::path& path) {
    std::ifstream in(path);
    if (!in) wrong(node, "cannot read '" + path.string() + "'");
    std::vector<uint64_t> out;
    std::string line;
    for (unsigned at = 1; std::getline(in, line); ++at) {
        std::istringstream words(line.substr(0, line.find('#')));
        double us = 0;
        std::string more;
        if (!(words >> more)) continue;
        std::istringstream number(more);
        if (!(number >> us) || !number.eof() || !(us >= 0) || us > 1e12 || words >> more)
            wrong(node, path.string() + ":" + std::to_string(at) + ": not a time in microseconds");
        out.push_back(nanoseconds(us));
    }
    return out;
}

ClientClass read_client(const toml::table& table, unsigned number, const std::filesystem::path& folder) {
    ClientClass c;
    c.name = "client" + std::to_string(number);
    Reader reader(table, "client");
    reader.text("name", c.name);
    reader.whole("count", c.count, 1, QSCHED_MAX_QUEUES);
    reader.whole("priority", c.queue.priority, 0, QSCHED_MAX_PRIORITY);
    reader.whole("weight", c.queue.weight, 0, 1e6);
    reader.time("deadline_us", c.queue.deadline_ns);
    reader.time("kernel_us", c.kernel_ns);
    reader.time("turnaround_us", c.turnaround_ns);
    reader.time("marker_us", c.marker_ns);
    reader.whole("context_bytes", c.context_bytes, 0, 1e12);
    bool fills = c.room != 0;
    reader.flag("fills", fills);
    c.room = fills ? 1 : 0;
    reader.number("room", c.room, 0, 1);
    reader.text("process", c.process);
    reader.text("waits_for", c.waits_for);
    reader.text("after", c.after);
    reader.text("suspends", c.suspends);
    reader.flag("latency_critical", c.latency_critical);
    reader.flag("full_gpu", c.full_gpu);
    reader.choice<Work>("work", c.work, {{"sleep", Work::Sleep}, {"stream", Work::Stream}, {"lds", Work::Lds}});
    reader.whole("cu_mask", c.cu_mask, 0, 9007199254740992.0);
    reader.choice<Arrival>("arrival", c.arrival,
                           {{"closed", Arrival::Closed},
                            {"uniform", Arrival::Uniform},
                            {"poisson", Arrival::Poisson},
                            {"bursty", Arrival::Bursty},
                            {"trace", Arrival::Trace},
                            {"dependent", Arrival::Dependent}});
    reader.number("rate_hz", c.rate_hz, 0, 1e9);
    reader.number("burst_hz", c.burst_hz, 0, 1e9);
    reader.time("burst_us", c.burst_ns);
    reader.time("calm_us", c.calm_ns);
    if (const toml::node* node = reader.take("trace_us")) {
        const toml::array* array = node->as_array();
        if (array == nullptr) wrong(*node, "client.trace_us has to be a list of numbers");
        for (const toml::node& each : *array) {
            const auto us = each.value<double>();
            if (!us || !(*us >= 0) || *us > 1e12) wrong(each, "client.trace_us has to be a list of microseconds");
            c.trace_ns.push_back(nanoseconds(*us));
        }
    }
    std::string file;
    reader.text("trace_file", file);
    if (!file.empty()) c.trace_ns = read_arrivals(*table.get("trace_file"), folder / file);
    reader.end();
    return c;
}

Experiment read_experiment(const toml::table& root, const std::filesystem::path& folder) {
    Experiment e;
    Reader reader(root, "");
    std::string about;
    reader.text("about", about);
    reader.whole("samples", e.samples, 1, 1e9);
    reader.whole("seed", e.seed, 0, 9007199254740992.0);
    reader.whole("seeds", e.seeds, 1, 1000);
    reader.time("most_us", e.most_ns);
    reader.time("alone_us", e.alone_ns);
    reader.take("sweep");
    part(reader, "detection", [&](Reader& r) {
        r.choice<Detection>("kind", e.detection,
                            {{"poll", Detection::Poll}, {"adaptive", Detection::Adaptive}, {"notify", Detection::Notify}});
        r.time("period_us", e.period_ns);
        r.time("idle_period_us", e.idle_period_ns);
        r.flag("runnable_test", e.runnable_test);
        r.flag("owner_known", e.owner_known);
    });
    part(reader, "action", [&](Reader& r) {
        r.choice<Unmap>("unmap", e.unmap,
                        {{"all", Unmap::All}, {"process", Unmap::Process}, {"queue", Unmap::Queue}, {"static", Unmap::Static}});
        r.whole("static_priority", e.static_priority, 0, QSCHED_MAX_PRIORITY);
        r.time("grace_us", e.grace_ns);
        r.time("retry_us", e.retry_ns);
        r.time("save_fixed_us", e.save_fixed_ns);
        r.choice<SaveArea>("save_area", e.save_area, {{"vram", SaveArea::Vram}, {"system", SaveArea::System}});
    });
    part(reader, "policy", [&](Reader& r) {
        std::vector<std::pair<std::string, qsched_policy>> names;
        for (unsigned n = 0; n < QSCHED_POLICIES; ++n) {
            const auto policy = static_cast<qsched_policy>(n);
            names.emplace_back(qsched_policy_name(policy), policy);
        }
        r.choice("name", e.policy.policy, names);
        r.time("quantum_us", e.policy.quantum_ns);
        r.time("min_run_us", e.policy.min_run_ns);
        r.time("hysteresis_us", e.policy.hysteresis_ns);
        r.time("starvation_us", e.policy.starvation_ns);
        r.time("turn_us", e.policy.turn_ns);
        r.time("ageing_us", e.policy.ageing_ns);
        r.time("budget_us", e.policy.budget_ns);
        r.time("period_us", e.policy.period_ns);
        r.flag("inherit", e.policy.inherit);
    });
    part(reader, "guest", [&](Reader& r) {
        r.whole("cus", e.cus, 2, 64);
        if (e.cus > 4 && e.cus % 4 != 0) wrong(*r.take("cus"), r.full("cus") + " has to be at most 4 or a multiple of 4");
    });
    part(reader, "hardware", [&](Reader& r) {
        r.whole("hqds", e.hardware.hqds, 1, QSCHED_MAX_QUEUES);
        r.whole("processes", e.hardware.processes, 1, QSCHED_MAX_QUEUES);
        r.time("quantum_us", e.hardware.quantum_ns);
    });
    part(reader, "driver", [&](Reader& r) {
        r.time("look_us", e.driver.look_ns);
        r.time("submit_us", e.driver.submit_ns);
        r.time("query_us", e.driver.query_ns);
        r.time("wake_us", e.driver.wake_ns);
        r.time("fence_us", e.driver.fence_ns);
        r.time("irq_us", e.driver.irq_ns);
        r.time("notify_us", e.driver.notify_ns);
        r.time("timer_us", e.driver.timer_ns);
        r.time("round_us", e.driver.round_ns);
        r.flag("stock", e.stock_driver);
    });
    if (e.stock_driver && e.policy.policy != QSCHED_NONE)
        wrong(*root.get("driver"), "driver.stock: that driver knows no policy but \"none\"");
    if (const toml::node* node = reader.take("firmware")) {
        const toml::table* table = node->as_table();
        if (table == nullptr) wrong(*node, "firmware has to be a table");
        Firmware firmware;
        for (const auto& [key, value] : *table) {
            const auto text = value.value_exact<std::string>();
            if (!text) wrong(value, "firmware." + std::string(key.str()) + " has to be a string");
            e.firmware.push_back(std::string(key.str()) + "=" + *text);
            const std::string problem = firmware.set(e.firmware.back());
            if (!problem.empty()) wrong(value, problem);
        }
    }
    if (const toml::node* node = reader.take("timing")) {
        const toml::table* table = node->as_table();
        if (table == nullptr) wrong(*node, "timing has to be a table");
        for (const auto& [key, value] : *table) {
            const auto number = value.value_exact<int64_t>();
            if (!number) wrong(value, "timing." + std::string(key.str()) + " has to be a whole number");
            const std::string problem = e.timing.set(std::string(key.str()) + "=" + std::to_string(*number));
            if (!problem.empty()) wrong(value, problem);
        }
    }
    if (const toml::node* node = reader.take("client")) {
        const toml::array* array = node->as_array();
        if (array == nullptr || !array->is_array_of_tables()) wrong(*node, "clients are written as [[client]]");
        for (const toml::node& each : *array)
            e.clients.push_back(read_client(*each.as_table(), static_cast<unsigned>(e.clients.size()), folder));
    }
    reader.end();
    if (e.clients.empty()) throw SpecError("there is no [[client]]");
    return e;
}

/// Different values have different texts: a sweep's jobs are told apart by them.
std::string text_of(const toml::node& node) {
    if (const auto text = node.value_exact<std::string>()) return *text;
    std::ostringstream out;
    node.visit([&](const auto& each) { out << each; });
    return out.str();
}

/// Put a value where a path of [sweep] says: "detection.period_us", "client.NAME.kernel_us", "samples".
void put(toml::table& root, const std::string& path, const toml::node& value) {
    std::vector<std::string> words;
    std::istringstream in(path);
    for (std::string word; std::getline(in, word, '.');) words.push_back(word);
    toml::table* table = &root;
    size_t at = 0;
    if (words.size() == 3 && words[0] == "client") {
        table = nullptr;
        if (toml::array* clients = root["client"].as_array()) {
            for (toml::node& each : *clients) {
                toml::table* client = each.as_table();
                if (client != nullptr && (*client)["name"].value_or(std::string()) == words[1]) table = client;
            }
        }
        if (table == nullptr) wrong(value, "sweep: there is no client named '" + words[1] + "'");
        at = 2;
    } else if (words.size() == 2) {
        if (!root.contains(words[0])) root.insert(words[0], toml::table{});
        table = root[words[0]].as_table();
        at = 1;
    } else if (words.size() != 1) {
        table = nullptr;
    }
    if (table == nullptr) wrong(value, "sweep: '" + path + "' names nothing");
    value.visit([&](const auto& each) { table->insert_or_assign(words[at], each); });
}

}  // namespace

std::vector<Configuration> read_spec(const std::string& text, const std::string& name) {
    try {
        const toml::table root = toml::parse(text, name);
        const std::filesystem::path folder = std::filesystem::path(name).parent_path();
        const Experiment unswept = read_experiment(root, folder);  // a combined copy does not know its lines any more
        std::vector<Configuration> out;
        const toml::table* sweep = nullptr;
        if (const toml::node* node = root.get("sweep")) {
            sweep = node->as_table();
            if (sweep == nullptr) wrong(*node, "sweep has to be a table");
        }
        struct Axis {
            std::string path;
            const toml::array* values;
        };
        std::vector<Axis> axes;
        size_t count = 1;
        if (sweep != nullptr) {
            for (const auto& [key, node] : *sweep) {
                const toml::array* values = node.as_array();
                if (values == nullptr || values->empty())
                    wrong(node, "sweep." + std::string(key.str()) + " has to be a list of values");
                axes.push_back({std::string(key.str()), values});
                count *= values->size();
                if (count > kMostConfigurations) wrong(node, "more than 100000 combinations");
            }
        }
        for (size_t n = 0; n < count; ++n) {
            Configuration c;
            c.experiment = unswept;
            toml::table combined = root;
            size_t rest = n;
            for (const Axis& axis : axes) {
                const toml::node& value = *axis.values->get(rest % axis.values->size());
                rest /= axis.values->size();
                put(combined, axis.path, value);
                c.swept.emplace_back(axis.path, text_of(value));
            }
            if (!axes.empty()) c.experiment = read_experiment(combined, folder);
            out.push_back(std::move(c));
        }
        return out;
    } catch (const toml::parse_error& error) {
        throw SpecError(name + ":" + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
    } catch (const SpecError& error) {
        throw SpecError(name + ": " + error.what());
    }
}

}  // namespace lyra::sim
