// SPDX-License-Identifier: MIT
// lyra kfdtest: AMD's kernel driver tests in the guest, as a table, JSON or JUnit.
#include <algorithm>
#include <memory>

#include <nlohmann/json.hpp>

#include "tools/lyra/cli/cli.h"
#include "tools/lyra/guest/kfdtest.h"

namespace lyra::cli {

namespace {

struct Options {
    GuestOptions guest;
    std::string filter = "*", junit;
    bool all = false, excluded = false, json = false, list = false;
    unsigned watchdog_s = 300, parallel = 1;
};

const char* word(KfdtestOutcome outcome) {
    constexpr const char* kWords[] = {"passed", "FAILED", "vacuous", "excluded", "slow"};
    return kWords[static_cast<size_t>(outcome)];
}

struct Totals {
    unsigned counts[5] = {};
    void add(const KfdtestResult& result) { ++counts[static_cast<size_t>(result.outcome)]; }
    unsigned passed() const { return counts[0]; }
    unsigned failed() const { return counts[1]; }
    unsigned vacuous() const { return counts[2]; }
    unsigned excluded() const { return counts[3]; }
    unsigned not_run() const { return counts[4]; }
    /// Cases whose body ran.
    unsigned executed() const { return passed() + failed(); }
};

nlohmann::json to_json(const std::vector<KfdtestResult>& results, const Totals& totals) {
    nlohmann::json json{{"executed", totals.executed()},   {"passed", totals.passed()},     {"failed", totals.failed()},
                        {"vacuous", totals.vacuous()},     {"excluded", totals.excluded()}, {"not_run", totals.not_run()},
                        {"tests", nlohmann::json::array()}};
    for (const KfdtestResult& r : results) {
        std::string outcome = word(r.outcome);
        std::transform(outcome.begin(), outcome.end(), outcome.begin(), [](unsigned char c) { return std::tolower(c); });
        json["tests"].push_back({{"name", r.test.name},
                                 {"step", r.test.step},
                                 {"result", outcome},
                                 {"expectation", r.test.expectation},
                                 {"slow", r.test.slow},
                                 {"seconds", r.seconds},
                                 {"evidence", r.evidence},
                                 {"missing", r.missing},
                                 {"reason", r.reason()}});
    }
    return json;
}

std::string xml_safe(const std::string& text) {
    std::string safe;
    for (const char c : text) {
        if (c == '<')
            safe += "&lt;";
        else if (c == '>')
            safe += "&gt;";
        else if (c == '&')
            safe += "&amp;";
        else if (c == '"')
            safe += "&quot;";
        else if (c == '\n' || c == '\t' || static_cast<unsigned char>(c) >= 0x20)
            safe += c;
    }
    return safe;
}

std::string to_junit(const std::vector<KfdtestResult>& results, const Totals& totals) {
    const auto bad = std::count_if(results.begin(), results.end(), [](const KfdtestResult& r) { return !r.good(); });
    std::string xml = fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"kfdtest\" tests=\"{}\" failures=\"{}\" "
        "skipped=\"{}\">\n",
        results.size(), bad, results.size() - bad - totals.passed());
    for (const KfdtestResult& r : results) {
        const size_t dot = r.test.name.find('.');
        xml += fmt::format("  <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">", xml_safe(r.test.name.substr(0, dot)),
                           xml_safe(r.test.name.substr(dot + 1)), r.seconds);
        if (r.outcome == KfdtestOutcome::Failed) xml += fmt::format("<failure>{}</failure>", xml_safe(r.output));
        if (r.outcome == KfdtestOutcome::Vacuous)
            xml += fmt::format("<{} message=\"vacuous: {}\"/>", r.good() ? "skipped" : "failure", xml_safe(r.reason()));
        if (r.outcome == KfdtestOutcome::Excluded || r.outcome == KfdtestOutcome::NotRun)
            xml += fmt::format("<skipped message=\"{}\"/>", xml_safe(r.test.reason));
        xml += "</testcase>\n";
    }
    return xml + "</testsuite>\n";
}

void print_row(const KfdtestResult& r) {
    if (r.outcome == KfdtestOutcome::Excluded || r.outcome == KfdtestOutcome::NotRun)
        fmt::print("{:<9}{:<4}{:<52}           {}\n", word(r.outcome), r.test.step, r.test.name, r.test.reason);
    else
        fmt::print("{:<9}{:<4}{:<52}{:7.1f} s  {}\n", word(r.outcome), r.test.step, r.test.name, r.seconds,
                   r.outcome == KfdtestOutcome::Vacuous ? r.reason() : "");
    if (r.outcome == KfdtestOutcome::Failed) fmt::print("{}\n", r.output);
    std::fflush(stdout);
}

int run(const Options& options) {
    catch_signals();
    std::vector<KfdtestCase> chosen;
    std::vector<KfdtestResult> results;
    Totals totals;
    const auto keep = [&](const KfdtestResult& result) {
        results.push_back(result);
        totals.add(result);
        if (!options.json) print_row(result);
    };
    for (const KfdtestCase& test : read_kfdtest_cases(options.guest.kernel, options.guest.chip)) {
        if (!matches_filter(test.name, options.filter)) continue;
        if (options.list) {
            const auto text = [](const std::string& column) { return column.empty() ? "-" : column; };
            const std::string evidence =
                test.has_to_pass() && test.evidence.empty() ? "none" : fmt::format("{}", fmt::join(test.evidence, ","));
            fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", test.name, test.step, test.expectation, test.slow ? "slow" : "-",
                       text(test.guest), text(evidence), text(test.reason));
            continue;
        }
        const bool excluded = test.expectation == "exclude";
        if (excluded ? options.excluded : options.all || (test.has_to_pass() && !test.slow))
            chosen.push_back(test);
        else
            keep(KfdtestResult{test, test.has_to_pass() ? KfdtestOutcome::NotRun : KfdtestOutcome::Excluded, 0, ""});
    }
    if (options.list) return kOk;
    if (chosen.empty() && results.empty()) throw UserError(fmt::format("no case matches --filter {}", options.filter));
    if (options.parallel > 1 && (!options.guest.trace.empty() || !options.guest.log.empty() || options.guest.gdb))
        throw UserError("--parallel: several guests cannot have one --trace, --log or --gdb");
    if (!chosen.empty()) run_kfdtest(options.guest, chosen, options.watchdog_s, keep, "", options.parallel);
    if (options.json)
        fmt::print("{}\n", to_json(results, totals).dump(2));
    else
        fmt::print("{} bodies executed: {} passed, {} failed; {} vacuous, {} excluded, {} slow and not run\n",
                   totals.executed(), totals.passed(), totals.failed(), totals.vacuous(), totals.excluded(), totals.not_run());
    if (!options.junit.empty()) write_text(options.junit, to_junit(results, totals));
    return std::all_of(results.begin(), results.end(), [](const KfdtestResult& r) { return r.good(); }) ? kOk : kFailed;
}

}  // namespace

std::function<int()> set_up_kfdtest(CLI::App& app) {
    auto options = std::make_shared<Options>();
    add_guest_options(app, options->guest);
    add_snapshot_option(app, options->guest);
    app.add_option("--filter", options->filter, "gtest filter, such as 'KFDQMTest.*-*Sdma*'")->type_name("F");
    app.add_flag("--all", options->all, "run the slow cases and those that return early, too");
    app.add_flag("--excluded", options->excluded,
                 "try the excluded cases, too; most of them fail, for the reason that the table gives");
    app.add_flag("--list", options->list, "print the table of expectations and run nothing");
    app.add_option("--parallel", options->parallel, "guests at a time, each with a share of the cases")
        ->check(CLI::Range(1, 256))
        ->capture_default_str()
        ->type_name("N");
    app.add_flag("--json", options->json, "print the results as JSON");
    app.add_option("--junit", options->junit, "write the results as JUnit XML")->type_name("FILE");
    app.add_option("--watchdog", options->watchdog_s, "seconds for one case (slow ones: 3000 at least)")
        ->check(CLI::Range(1, 100000))
        ->capture_default_str()
        ->type_name("S");
    app.footer(
        "A case counts as executed only when its body was seen to run: kfdtest itself calls a skipped body a pass.\n"
        "vacuous: it returned early; excluded: not run, with the reason; slow: only with --all. 0: everything as expected, 1: "
        "not.");
    return [options] { return run(*options); };
}

}  // namespace lyra::cli
