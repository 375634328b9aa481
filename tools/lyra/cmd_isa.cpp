// SPDX-License-Identifier: MIT
// lyra isa: the instruction tables, what of them is executed, and a disassembler for code objects.
#include <map>

#include <nlohmann/json.hpp>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/op.h"
#include "tools/inproc/code_object.h"
#include "tools/lyra/cli.h"
#include "tools/lyra/exec_argument.h"

namespace lyra::cli {

namespace {

using gcn::Format;
using gcn::InstInfo;
using gcn::Op;

struct Options {
    std::string format, file, chip = "gfx900";
    bool coverage = false, missing = false, json = false;
};

constexpr const char* kFormatNames[] = {
    "SOP2", "SOPK", "SOP1", "SOPC", "SOPP", "SMEM", "VOP1", "VOP2", "VOPC", "VOP1_SDWA", "VOP2_SDWA", "VOPC_SDWA",
    "VOP1_DPP", "VOP2_DPP", "VOP3", "VOP3P", "VINTRP", "DS", "FLAT", "MUBUF", "MTBUF", "MIMG", "EXP",
};
static_assert(std::size(kFormatNames) == static_cast<size_t>(Format::Invalid));

const char* name_of(Format format) { return kFormatNames[static_cast<size_t>(format)]; }

/// An encoding that a vector instruction has besides its own.
struct DerivedForm {
    Format base, derived;
    uint64_t absent_if;   ///< flag that says the instruction lacks it
};
constexpr DerivedForm kDerived[] = {
    {Format::VOP1, Format::VOP3, gcn::flag::NoE64},       {Format::VOP2, Format::VOP3, gcn::flag::NoE64},
    {Format::VOPC, Format::VOP3, 0},                      {Format::VOP1, Format::VOP1_SDWA, gcn::flag::NoSdwa},
    {Format::VOP2, Format::VOP2_SDWA, gcn::flag::NoSdwa}, {Format::VOPC, Format::VOPC_SDWA, gcn::flag::NoSdwa},
    {Format::VOP1, Format::VOP1_DPP, gcn::flag::NoDpp},   {Format::VOP2, Format::VOP2_DPP, gcn::flag::NoDpp},
};

struct Form {
    Op op;
    Format format;
    bool done;
};

// Every (instruction, encoding) of the chip.
std::vector<Form> all_forms() {
    std::vector<Form> forms;
    const auto add = [&](Op op, Format format) { forms.push_back({op, format, gcn::exec_function(op, format) != nullptr}); };
    for (size_t i = 1; i < gcn::kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        const InstInfo& info = gcn::info(op);
        if (info.has(gcn::flag::OnlyGfx906)) continue;
        add(op, info.format);
        for (const DerivedForm& each : kDerived) {
            if (each.base == info.format && !info.has(each.absent_if)) add(op, each.derived);
        }
    }
    return forms;
}

int list(const Options& options) {
    nlohmann::json rows = nlohmann::json::array();
    for (const Form& form : all_forms()) {
        const InstInfo& info = gcn::info(form.op);
        if (!options.format.empty() && options.format != name_of(form.format)) continue;
        if (options.missing && form.done) continue;
        if (options.json) {
            rows.push_back({{"name", info.name}, {"format", name_of(form.format)}, {"opcode", info.opcode}, {"done", form.done}});
        } else {
            fmt::print("{:<10} {:>5} {:<5} {}\n", name_of(form.format), fmt::format("{:#x}", info.opcode),
                       form.done ? "done" : "todo", info.name);
        }
    }
    if (options.json) fmt::print("{}\n", rows.dump(1));
    return kOk;
}

int coverage(const Options& options) {
    std::map<Format, std::pair<unsigned, unsigned>> by_format;  // forms, done
    unsigned total = 0, done = 0;
    for (const Form& form : all_forms()) {
        auto& [forms, executed] = by_format[form.format];
        ++forms, ++total;
        executed += form.done, done += form.done;
    }
    if (options.json) {
        nlohmann::json result{{"chip", options.chip}, {"forms", total}, {"done", done}, {"todo", total - done}};
        for (const auto& [format, counts] : by_format) {
            result["formats"][name_of(format)] = {{"forms", counts.first}, {"done", counts.second}};
        }
        fmt::print("{}\n", result.dump(2));
        return kOk;
    }
    fmt::print("{:<12}{:>7}{:>7}{:>7}\n", "format", "forms", "done", "todo");
    for (const auto& [format, counts] : by_format) {
        fmt::print("{:<12}{:>7}{:>7}{:>7}\n", name_of(format), counts.first, counts.second, counts.first - counts.second);
    }
    fmt::print("{:<12}{:>7}{:>7}{:>7}\n", "total", total, done, total - done);
    return kOk;
}

int disassemble(const Options& options) {
    std::string error;
    inproc::CodeObject code;
    inproc::Bytes elf = inproc::extract_code_object(read_file(options.file), options.chip, error);
    if (elf.empty() || !code.parse(std::move(elf), options.chip, error)) {
        throw UserError(fmt::format("{}: {}", options.file, error));
    }
    for (const inproc::CodeRange& range : code.code()) {
        fmt::print("{}:\n", range.name);
        for (size_t at = 0; at < range.words.size();) {
            const gcn::Inst inst = gcn::decode(&range.words[at], range.words.size() - at);
            const bool valid = inst.format != Format::Invalid;
            const size_t words = std::max<size_t>(1, inst.size_bytes / 4);
            std::string bytes;
            for (size_t i = 0; i < words && at + i < range.words.size(); ++i) bytes += fmt::format(" {:08x}", range.words[at + i]);
            fmt::print("  {:012x}: {:<28} {}{}\n", range.address + 4 * at, bytes, valid ? gcn::disassemble(inst) : "(invalid)",
                       valid && !gcn::exec_function(inst.op, inst.format) ? "  ; not executed by this model" : "");
            at += words;
        }
        fmt::print("\n");
    }
    return kOk;
}

}  // namespace

std::function<int()> set_up_isa(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_flag("--coverage", options->coverage, "count the instructions that are executed, by format");
    app.add_option("--format", options->format, "list only this format, such as VOP3")->type_name("FORMAT");
    app.add_flag("--missing", options->missing, "list only what is not executed");
    app.add_option("--disassemble", options->file, "disassemble a code object")->type_name("FILE");
    app.add_flag("--json", options->json, "as JSON");
    return [options] {
        if (!options->file.empty()) return disassemble(*options);
        return options->coverage ? coverage(*options) : list(*options);
    };
}

}  // namespace lyra::cli
