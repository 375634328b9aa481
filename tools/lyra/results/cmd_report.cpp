// SPDX-License-Identifier: MIT
// lyra report: one HTML page about results of experiments.
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/results/results.h"
#include "tools/report/report.h"

namespace lyra::cli {

namespace {

namespace fs = std::filesystem;

struct Options {
    std::vector<std::string> results;
    std::string out;
};

int report_main(const Options& options) {
    std::vector<report::NamedRun> runs;
    fs::path out = options.out.empty() ? fs::path(options.results.front()).replace_extension(".html") : fs::path(options.out);
    for (const std::string& path : options.results) {
        if (out == fs::path(path))
            throw UserError(fmt::format("the report would overwrite '{}': name another file with -o", path));
    }
    try {
        for (const std::string& path : options.results) {
            // The folder is no part of what was measured.
            for (results::RunResults& run : results::read(read_input(path), path))
                runs.push_back({fs::path(path).filename().string(), std::move(run)});
        }
        const std::string page = report::html(runs);
        if (options.out == "-") {
            fmt::print("{}", page);
            return kOk;
        }
        results::AtomicFile file(out);
        file.write(page);
        file.commit();
    } catch (const results::Error& error) {
        throw UserError(error.what());
    }
    talk(fmt::format("the report is {}", out.string()));
    return kOk;
}

}  // namespace

std::function<int()> set_up_report(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("RESULTS", options->results, "files of lyra sim --results or lyra sweep collect; two are also compared")
        ->required()
        ->type_name("FILE.jsonl");
    app.add_option("-o,--output", options->out, "the page; - is standard output, by default it lies beside the first file")
        ->type_name("FILE.html");
    return [options] { return report_main(*options); };
}

}  // namespace lyra::cli
