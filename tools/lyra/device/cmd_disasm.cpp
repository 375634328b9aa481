// SPDX-License-Identifier: MIT
// lyra disasm: a code object in LLVM's spelling and llvm-objdump's layout, or how many of which instructions it has.
#include <cstring>

#include <nlohmann/json.hpp>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/isa/base_name.h"
#include "gcn-interp/isa/format_names.h"
#include "gcn-interp/isa/op.h"
#include "tools/inproc/code_object.h"
#include "tools/lyra/cli/chip_option.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/device/exec_argument.h"
#include "tools/lyra/device/histogram.h"

namespace lyra::cli {

namespace {

using gcn::Format;
using gcn::Inst;
using inproc::CodeSection;
using inproc::CodeSymbol;

struct Options {
    std::string file, kernel, chip;
    bool histogram = false, json = false;
};

/// A stretch of a section that begins with a symbol, or with the section.
struct Stretch {
    const CodeSection* section;
    std::string name;
    size_t from, to;   ///< bytes of the section
};

std::vector<Stretch> stretches(const CodeSection& section) {
    std::vector<Stretch> found;
    if (section.symbols.empty() || section.symbols[0].address != section.address)
        found.push_back({&section, section.name, 0, 0});
    for (const CodeSymbol& symbol : section.symbols)
        found.push_back({&section, symbol.name, symbol.address - section.address, 0});
    for (size_t i = 0; i < found.size(); ++i) found[i].to = i + 1 < found.size() ? found[i + 1].from : section.bytes.size();
    return found;
}

// The whole of what was asked for: everything, or one kernel without what pads it.
std::vector<Stretch> chosen(const inproc::CodeObject& code, const std::vector<CodeSection>& sections, const Options& options) {
    std::vector<Stretch> all;
    for (const CodeSection& section : sections) {
        const std::vector<Stretch> some = stretches(section);
        all.insert(all.end(), some.begin(), some.end());
    }
    if (options.kernel.empty()) return all;
    std::string error;
    const inproc::KernelInfo* kernel = code.find(options.kernel, error);
    if (!kernel) throw UserError(fmt::format("{}: {}", options.file, error));
    for (const CodeSection& section : sections) {
        for (const CodeSymbol& symbol : section.symbols) {
            if (symbol.name != kernel->name) continue;
            const size_t from = symbol.address - section.address, left = section.bytes.size() - from;
            return {{&section, symbol.name, from, from + (symbol.size ? std::min<size_t>(symbol.size, left) : left)}};
        }
    }
    throw UserError(fmt::format("{}: kernel {} has no symbol with code", options.file, kernel->name));
}

/// One instruction of a stretch, or what is none.
struct Item {
    uint64_t address;
    size_t bytes;
    std::vector<uint32_t> words;   ///< empty: a run of zero bytes
    Inst inst;
    bool valid() const { return inst.format != Format::Invalid; }
};

// Zero bytes that llvm-objdump leaves out: from eight on, whole dwords. @source LLVM llvm-objdump.cpp countSkippableZeroBytes()
size_t skippable_zeros(const uint8_t* bytes, size_t size) {
    size_t n = 0;
    while (n < size && bytes[n] == 0) ++n;
    return n < 8 ? 0 : n & ~size_t{3};
}

template <class Visit>
void each_item(const Stretch& stretch, Chip chip, Visit visit) {
    for (size_t at = stretch.from; at < stretch.to;) {
        const uint8_t* bytes = stretch.section->bytes.data() + at;
        const size_t left = stretch.to - at;
        Item item{stretch.section->address + at, 0, {}, {}};
        if (const size_t zeros = skippable_zeros(bytes, left)) {
            item.bytes = zeros;
        } else if (left < 4) {
            item.bytes = left;
            item.words.resize(1);
        } else {
            uint32_t words[3] = {};
            const size_t available = std::min<size_t>(left / 4, 3);
            std::memcpy(words, bytes, available * 4);
            item.inst = gcn::decode(words, available, chip);
            item.bytes = std::max<size_t>(4, item.inst.size_bytes);
            item.words.assign(words, words + item.bytes / 4);
        }
        visit(item);
        at += item.bytes;
    }
}

/// " <name+0x10>", empty without a symbol before the address.
std::string place_name(const CodeSection& section, uint64_t address) {
    if (address < section.address || address - section.address >= section.bytes.size()) return "";
    const CodeSymbol* before = nullptr;
    for (const CodeSymbol& symbol : section.symbols)
        if (symbol.address <= address) before = &symbol;
    if (!before) return fmt::format(" <{}+{:#x}>", section.name, address - section.address);
    if (before->address == address) return fmt::format(" <{}>", before->name);
    return fmt::format(" <{}+{:#x}>", before->name, address - before->address);
}

/// llvm-objdump names the target where the offset is the only operand.
bool is_branch(const Inst& inst) {
    return inst.format == Format::SOPP && gcn::info(inst.op).profile->src[0] == gcn::Type::BRANCH;
}

void print_item(const CodeSection& section, const Item& item, Chip chip) {
    if (item.words.empty()) {
        fmt::print("\t\t...\n");
        return;
    }
    if (item.bytes < 4) {
        fmt::print("\t; {} bytes that are no dword\n", item.bytes);
        return;
    }
    if (item.valid())
        fmt::print("\t{:<59}", gcn::disassemble(item.inst, chip));
    else
        fmt::print("\t.long {:#010x} {:42}", item.words[0], "");
    fmt::print("// {:012X}:", item.address);
    for (const uint32_t word : item.words) fmt::print(" {:08X}", word);
    if (item.valid() && is_branch(item.inst)) {
        fmt::print("{}", place_name(section, item.address + 4 + static_cast<uint64_t>(int64_t{item.inst.imm} * 4)));
    }
    fmt::print("\n");
}

void print_listing(const Options& options, const std::vector<Stretch>& parts, Chip chip) {
    fmt::print("\n{}:\tfile format elf64-amdgpu\n", options.file);
    const CodeSection* section = nullptr;
    for (const Stretch& part : parts) {
        if (part.section != section) fmt::print("\nDisassembly of section {}:\n", part.section->name);
        section = part.section;
        fmt::print("\n{:016x} <{}>:\n", part.section->address + part.from, part.name);
        each_item(part, chip, [&](const Item& item) { print_item(*section, item, chip); });
    }
}

int disassemble(const Options& options) {
    const Chip chip = chip_named(options.chip);
    std::string error;
    inproc::CodeObject code;
    inproc::Bytes elf = inproc::extract_code_object(read_file(options.file), options.chip, error);
    if (elf.empty() || !code.parse(std::move(elf), options.chip, error)) {
        throw UserError(fmt::format("{}: {}", options.file, error));
    }
    if (options.json && !options.histogram) throw UserError("--json needs --histogram: the listing is text");
    const std::vector<CodeSection> sections = code.code();
    const std::vector<Stretch> parts = chosen(code, sections, options);
    if (!options.histogram) {
        print_listing(options, parts, chip);
        return kOk;
    }
    Histogram histogram;
    for (const Stretch& part : parts) {
        each_item(part, chip, [&](const Item& item) {
            if (item.valid()) ++histogram[{gcn::base_name(item.inst.op, item.inst.seg), gcn::name_of(item.inst.format)}];
        });
    }
    if (options.json)
        fmt::print("{}\n", histogram_json(histogram).dump(2));
    else
        print_histogram(stdout, histogram);
    return kOk;
}

}  // namespace

std::function<int()> set_up_disasm(CLI::App& app) {
    auto options = std::make_shared<Options>();
    app.add_option("file", options->file, "code object, offload bundle, or HIP program with GPU code")
        ->required()
        ->type_name("FILE");
    app.add_option("--kernel", options->kernel, "only this kernel")->type_name("NAME");
    add_chip_option(app, options->chip);
    app.add_flag("--histogram", options->histogram, "count instructions by operation and encoding instead");
    app.add_flag("--json", options->json, "the histogram as JSON");
    return [options] { return disassemble(*options); };
}

}  // namespace lyra::cli
