// SPDX-License-Identifier: MIT
// lyra isa: the instruction tables, and what of them is executed.
#include <set>

#include <nlohmann/json.hpp>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/format_names.h"
#include "gcn-interp/isa/op.h"
#include "tools/lyra/cli/chip_option.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/work_dir.h"
#include "tools/lyra/device/isa_coverage.h"

namespace lyra::cli {

namespace {

using gcn::Format;
using gcn::InstInfo;
using gcn::Op;

struct Options {
    std::string format, executed, chip;
    bool coverage = false, missing = false, json = false;
};

/// An encoding that a vector instruction has besides its own.
struct DerivedForm {
    Format base, derived;
    uint64_t absent_if;   ///< flag that says the instruction lacks it
};
constexpr DerivedForm kDerived[] = {
    {Format::VOP1, Format::VOP3, gcn::flag::NoE64},
    {Format::VOP2, Format::VOP3, gcn::flag::NoE64},
    {Format::VOPC, Format::VOP3, 0},
    {Format::VOP1, Format::VOP1_SDWA, gcn::flag::NoSdwa},
    {Format::VOP2, Format::VOP2_SDWA, gcn::flag::NoSdwa},
    {Format::VOPC, Format::VOPC_SDWA, gcn::flag::NoSdwa},
    {Format::VOP1, Format::VOP1_DPP, gcn::flag::NoDpp},
    {Format::VOP2, Format::VOP2_DPP, gcn::flag::NoDpp},
};

struct Form {
    Op op;
    Format format;
    bool done;
};

// Every (instruction, encoding) of the chip.
std::vector<Form> all_forms(Chip chip) {
    std::vector<Form> forms;
    const auto add = [&](Op op, Format format) { forms.push_back({op, format, gcn::exec_function(op, format) != nullptr}); };
    for (size_t i = 1; i < gcn::kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        const InstInfo& info = gcn::info(op);
        if (!info.on(chip)) continue;
        add(op, info.format);
        for (const DerivedForm& each : kDerived) {
            const bool there = !info.has(each.absent_if) && (!gcn::is_dpp(each.derived) || info.has_dpp(chip));
            if (each.base == info.format && there) add(op, each.derived);
        }
    }
    return forms;
}

int list(const Options& options) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Form& form : all_forms(chip_named(options.chip))) {
        const InstInfo& info = gcn::info(form.op);
        if (!options.format.empty() && options.format != gcn::name_of(form.format)) continue;
        if (options.missing && form.done) continue;
        if (options.json) {
            rows.push_back(
                {{"name", info.name}, {"format", gcn::name_of(form.format)}, {"opcode", info.opcode}, {"done", form.done}});
        } else {
            fmt::print("{:<10} {:>5} {:<5} {}\n", gcn::name_of(form.format), fmt::format("{:#x}", info.opcode),
                       form.done ? "done" : "todo", info.name);
        }
    }
    if (options.json) fmt::print("{}\n", rows.dump(1));
    return kOk;
}

// What the tests of the last `lyra test` of this checkout recorded, or the given folder's records. Empty without any.
std::set<std::string> recorded_operations(const Options& options) {
    const std::string build = own_program().parent_path().parent_path().filename().string() + "-sanitize";
    const std::filesystem::path folder =
        options.executed.empty() ? cache_dir() / build / "isa-executed" : std::filesystem::path(options.executed);
    std::error_code error;
    const std::set<std::string> names = executed_operations(folder, error);
    if (error && !options.executed.empty()) throw UserError(fmt::format("{}: {}", options.executed, error.message()));
    return names;
}

nlohmann::json coverage_of(Chip chip, const std::set<std::string>& executed) {
    const IsaCoverage counted = isa_coverage(chip, executed);
    unsigned forms = 0, done = 0;
    nlohmann::json by_format;
    for (const Form& form : all_forms(chip)) {
        ++forms, done += form.done;
        nlohmann::json& counts = by_format[gcn::name_of(form.format)];
        if (counts.is_null()) counts = {{"forms", 0}, {"done", 0}};
        counts["forms"] = counts["forms"].get<unsigned>() + 1;
        counts["done"] = counts["done"].get<unsigned>() + form.done;
    }
    nlohmann::json result{{"total", counted.total},
                          {"implemented", counted.implemented()},
                          {"executed_in_tests", nullptr},
                          {"missing", counted.missing},
                          {"forms", forms},
                          {"done", done},
                          {"todo", forms - done},
                          {"formats", by_format}};
    if (!executed.empty()) {
        result["executed_in_tests"] = counted.executed();
        result["not_executed_in_tests"] = counted.untested;
    }
    return result;
}

int coverage(const Options& options) {
    const std::set<std::string> executed = recorded_operations(options);
    if (options.json) {
        nlohmann::json result;
        for (const ChipFacts& chip : kChips) result[chip.name] = coverage_of(chip.chip, executed);
        fmt::print("{}\n", result.dump(2));
        return kOk;
    }
    const nlohmann::json result = coverage_of(chip_named(options.chip), executed);
    fmt::print("{:<12}{:>7}{:>7}{:>7}\n", "format", "forms", "done", "todo");
    const auto row = [](const std::string& name, unsigned forms, unsigned done) {
        fmt::print("{:<12}{:>7}{:>7}{:>7}\n", name, forms, done, forms - done);
    };
    for (const char* name : gcn::kFormatNames) {
        if (!result["formats"].contains(name)) continue;
        row(name, result["formats"][name]["forms"].get<unsigned>(), result["formats"][name]["done"].get<unsigned>());
    }
    row("total", result["forms"].get<unsigned>(), result["done"].get<unsigned>());
    fmt::print("\n{} base operations that are not graphics formats, {} implemented, {} executed in tests\n",
               result["total"].get<unsigned>(), result["implemented"].get<unsigned>(),
               executed.empty() ? "an unknown number (no records: run lyra test)" : result["executed_in_tests"].dump());
    return kOk;
}

}  // namespace

std::function<int()> set_up_isa(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_flag("--coverage", options->coverage, "count the instructions that are executed, by format");
    add_chip_option(app, options->chip);
    app.add_option("--executed", options->executed,
                   "folder of the records of executed operations (default: those of the last lyra test)")
        ->type_name("DIR");
    app.add_option("--format", options->format, "list only this format, such as VOP3")->type_name("FORMAT");
    app.add_flag("--missing", options->missing, "list only what is not executed");
    app.add_flag("--json", options->json, "as JSON");
    return [options] { return options->coverage ? coverage(*options) : list(*options); };
}

}  // namespace lyra::cli
