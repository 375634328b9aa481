// SPDX-License-Identifier: MIT
// lyra timing: the timing table from measurements of a GPU.
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/results/results.h"
#include "tools/lyra/results/timing_import.h"

namespace lyra::cli {

namespace {

struct Options {
    std::string file;
    results::SaveAreaIn area = results::SaveAreaIn::System;
};

int import_main(const Options& options) {
    try {
        fmt::print("{}", results::to_toml(results::import_timing(read_input(options.file), options.file, options.area)));
    } catch (const results::Error& error) {
        throw UserError(error.what());
    }
    return kOk;
}

}  // namespace

std::function<int()> set_up_timing(CLI::App& app) {
    auto options = std::make_shared<Options>();
    CLI::App* sub =
        app.add_subcommand("import", "print the rows that tools/hardware/preempt_timing has measured, as a [timing] table");
    sub->fallthrough();
    sub->add_option("FILE", options->file, "its output")->required()->type_name("FILE.jsonl");
    const std::map<std::string, results::SaveAreaIn> areas = {{"system", results::SaveAreaIn::System},
                                                              {"vram", results::SaveAreaIn::Vram}};
    sub->add_option("--save-area", options->area, "where its kernel puts the area that waves are saved to")
        ->transform(CLI::CheckedTransformer(areas))
        ->type_name("system|vram")
        ->default_str("system");
    app.require_subcommand(1);
    app.footer("docs/user/real_hardware.md says how to measure, and which figures a row is made of.");
    return [options] { return import_main(*options); };
}

}  // namespace lyra::cli
