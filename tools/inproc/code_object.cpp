// SPDX-License-Identifier: MIT
// Reads a code object with libelf and its MessagePack metadata with nlohmann-json; loads and relocates it.
#include "tools/inproc/code_object.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include <nlohmann/json.hpp>

#include "facts/chips.h"
#include "tools/inproc/elf_file.h"

namespace lyra::inproc {

namespace {

constexpr uint32_t kNoteMetadata = 32;                        // NT_AMDGPU_METADATA
constexpr uint64_t kMaxImageBytes = uint64_t{512} << 20;      // a program larger than this is a broken file

/// EF_AMDGPU_MACH values of e_flags 7:0 of chips that the model does not have, for messages. @source LLVM ELF.h
struct Machine {
    uint8_t id;
    const char* chip;
};
constexpr Machine kOtherMachines[] = {
    {0x2d, "gfx902"},  {0x2e, "gfx904"}, {0x31, "gfx909"},  {0x32, "gfx90c"}, {0x33, "gfx1010"},
    {0x36, "gfx1030"}, {0x40, "gfx940"}, {0x41, "gfx1100"}, {0x4c, "gfx942"}, {0x20, "gfx600"},
    {0x22, "gfx700"},  {0x28, "gfx801"}, {0x29, "gfx802"},  {0x2a, "gfx803"},
};

std::string machine_name(uint8_t id) {
    for (const ChipFacts& chip : kChips) {
        if (chip.elf_machine == id) return chip.name;
    }
    for (const Machine& machine : kOtherMachines) {
        if (machine.id == id) return machine.chip;
    }
    char text[24];
    std::snprintf(text, sizeof text, "machine 0x%02x", id);
    return text;
}

/// Relocations that may be left for load time. value = symbol + addend (relative: base + addend), cut to bytes after a shift.
struct RelocationRow {
    uint32_t type;
    bool relative;
    unsigned bytes, shift;
};
constexpr RelocationRow kRelocations[] = {
    {1, false, 4, 0},   // R_AMDGPU_ABS32_LO
    {2, false, 4, 32},  // R_AMDGPU_ABS32_HI
    {3, false, 8, 0},   // R_AMDGPU_ABS64
    {6, false, 4, 0},   // R_AMDGPU_ABS32
    {13, true, 8, 0},   // R_AMDGPU_RELATIVE64
};

// "add" of "_Z3addPfS_", or "" for a name that is not mangled.
std::string source_name(const std::string& mangled) {
    int status = 0;
    char* text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
    std::string name = text ? text : "";
    std::free(text);
    name = name.substr(0, name.find('('));
    const size_t space = name.rfind(' ');  // templates carry their return type
    return space == std::string::npos || name.find('<') < space ? name : name.substr(space + 1);
}

/// Takes kernels out of the metadata as it is read: as a tree it would take twenty times the room of its text, which has
/// megabytes in libraries. {"amdhsa.kernels": [{".name": ..., ".args": [{".offset": ...}]}]}
class MetadataReader : public nlohmann::json_sax<nlohmann::json> {
public:
    explicit MetadataReader(std::vector<KernelInfo>& kernels) : kernels_(kernels) {}
    bool has_kernels() const { return has_kernels_; }

    bool null() override { return true; }
    bool boolean(bool value) override {
        if (place() == Place::Kernel && key_ == ".uses_dynamic_stack") kernel().dynamic_stack = value;
        return true;
    }
    bool number_integer(number_integer_t value) override { return number(static_cast<uint32_t>(value)); }
    bool number_unsigned(number_unsigned_t value) override { return number(static_cast<uint32_t>(value)); }
    bool number_float(number_float_t, const string_t&) override { return true; }
    bool binary(binary_t&) override { return true; }
    bool string(string_t& value) override {
        if (place() == Place::Kernel) {
            if (key_ == ".name") kernel().name = value;
            if (key_ == ".symbol") kernel().symbol = value;
        } else if (place() == Place::Argument) {
            KernelArgument& argument = kernel().arguments.back();
            if (key_ == ".name") argument.name = value;
            if (key_ == ".value_kind") argument.value_kind = value;
            if (key_ == ".type_name") argument.type_name = value;
        }
        return true;
    }
    bool start_object(std::size_t) override {
        Place inside = Place::Other;
        if (open_.empty())
            inside = Place::Root;
        else if (place() == Place::Kernels)
            inside = Place::Kernel, kernels_.emplace_back();
        else if (place() == Place::Arguments)
            inside = Place::Argument, kernel().arguments.emplace_back();
        open_.push_back(inside);
        return true;
    }
    bool start_array(std::size_t) override {
        const bool kernels = place() == Place::Root && key_ == "amdhsa.kernels";
        const bool arguments = place() == Place::Kernel && key_ == ".args";
        has_kernels_ |= kernels;
        open_.push_back(kernels ? Place::Kernels : arguments ? Place::Arguments : Place::Other);
        return true;
    }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t& value) override {
        key_ = value;
        return true;
    }
    bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception&) override { return false; }

private:
    enum class Place : uint8_t { Other, Root, Kernels, Kernel, Arguments, Argument };
    Place place() const { return open_.empty() ? Place::Other : open_.back(); }
    KernelInfo& kernel() { return kernels_.back(); }
    bool close() {
        open_.pop_back();
        return true;
    }
    bool number(uint32_t value) {
        if (place() == Place::Kernel) {
            if (key_ == ".kernarg_segment_size") kernel().kernarg_bytes = value;
            if (key_ == ".group_segment_fixed_size") kernel().group_bytes = value;
            if (key_ == ".private_segment_fixed_size") kernel().private_bytes = value;
            if (key_ == ".max_flat_workgroup_size") kernel().max_workgroup = value;
        } else if (place() == Place::Argument) {
            KernelArgument& argument = kernel().arguments.back();
            if (key_ == ".offset") argument.offset = value;
            if (key_ == ".size") argument.size = value;
            if (key_ == ".pointee_align") argument.pointee_align = std::max(1u, value);
        }
        return true;
    }

    std::vector<KernelInfo>& kernels_;
    std::vector<Place> open_;
    std::string key_;
    bool has_kernels_ = false;
};

}  // namespace

bool CodeObject::parse(Bytes elf, const std::string& chip, std::string& error) {
    elf_ = std::move(elf);
    GElf_Ehdr header;
    if (!ElfFile(elf_).header(header)) {
        error = "not a valid ELF file";
        return false;
    }
    if (header.e_machine != EM_AMDGPU || header.e_type != ET_DYN) {
        error = "not a linked AMD GPU code object";
        return false;
    }
    const std::string machine = machine_name(header.e_flags & 0xff);
    if (machine != chip) {
        error = "the code is for " + machine + ", the device is " + chip + ": compile with -mcpu=" + chip +
                " or --offload-arch=" + chip;
        return false;
    }
    return find_metadata(error) && find_descriptors(error);
}

bool CodeObject::find_metadata(std::string& error) {
    bool found = false, good = false;
    ElfFile(elf_).notes([&](const std::string& name, uint32_t type, const uint8_t* data, size_t bytes) {
        if (name != "AMDGPU" || type != kNoteMetadata) return false;
        found = true;
        good = read_metadata(data, bytes, error);
        return true;
    });
    if (!found) error = "the code object has no metadata of version 3 or later";
    return good;
}

bool CodeObject::read_metadata(const uint8_t* note, size_t bytes, std::string& error) {
    MetadataReader reader(kernels_);
    const bool whole = nlohmann::json::sax_parse(note, note + bytes, &reader, nlohmann::json::input_format_t::msgpack, true);
    if (!whole || !reader.has_kernels()) {
        kernels_.clear();
        error = "the code object's metadata is damaged";
        return false;
    }
    if (kernels_.empty()) error = "the code object has no kernels";
    return !kernels_.empty();
}

bool CodeObject::find_descriptors(std::string& error) {
    ElfFile(elf_).symbols([&](const char* name, const GElf_Sym& symbol) {
        for (KernelInfo& kernel : kernels_) {
            if (kernel.symbol == name) kernel.descriptor = symbol.st_value;
        }
    });
    for (const KernelInfo& kernel : kernels_) {
        if (kernel.descriptor == 0) {
            error = "kernel " + kernel.name + " has no descriptor";
            return false;
        }
    }
    return true;
}

const KernelInfo* CodeObject::find(const std::string& name, std::string& error) const {
    if (name.empty() && kernels_.size() == 1) return &kernels_[0];
    const KernelInfo* match = nullptr;
    unsigned matches = 0;
    std::string list;
    for (const KernelInfo& kernel : kernels_) {
        if (kernel.name == name) return &kernel;
        const std::string source = source_name(kernel.name);
        if (!name.empty() && source == name) {
            match = &kernel;
            ++matches;
        }
        list += "\n  " + kernel.name + (source.empty() ? "" : "  (" + source + ")");
    }
    if (matches == 1) return match;
    error = name.empty() ? "--kernel is needed, there are several kernels:"
            : matches    ? "more than one kernel is called " + name + ":"
                         : "there is no kernel " + name + "; the file has:";
    error += list;
    return nullptr;
}

bool CodeObject::load(InProcessDevice& device, std::string& error) {
    ElfFile elf(elf_);
    uint64_t bytes = 0;
    for (const GElf_Phdr& segment : elf.segments()) {
        if (segment.p_type != PT_LOAD) continue;
        const uint64_t end = segment.p_vaddr + segment.p_memsz;
        if (end < segment.p_vaddr || end > kMaxImageBytes || segment.p_filesz > segment.p_memsz ||
            segment.p_offset > elf_.size() || segment.p_filesz > elf_.size() - segment.p_offset) {
            error = "a segment of the code object lies outside the file";
            return false;
        }
        bytes = std::max(bytes, end);
    }
    const GpuBuffer image = device.allocate(bytes);
    if (!image) {
        error = "the code object does not fit into VRAM";
        return false;
    }
    for (const GElf_Phdr& segment : elf.segments()) {
        if (segment.p_type != PT_LOAD) continue;
        std::memcpy(image.host + segment.p_vaddr, elf_.data() + segment.p_offset, segment.p_filesz);
    }
    base_ = image.va;
    return relocate(image.host, bytes, error);
}

bool CodeObject::relocate(uint8_t* image, uint64_t bytes, std::string& error) const {
    ElfFile(elf_).relocations([&](const GElf_Rela& relocation, const GElf_Sym* symbol) {
        const uint32_t type = GELF_R_TYPE(relocation.r_info);
        if (type == 0) return;
        const auto row = std::find_if(std::begin(kRelocations), std::end(kRelocations),
                                      [&](const RelocationRow& each) { return each.type == type; });
        if (row == std::end(kRelocations)) {
            error = "relocation type " + std::to_string(type) + " is not supported";
        } else if (!row->relative && symbol && symbol->st_shndx == SHN_UNDEF && GELF_ST_BIND(symbol->st_info) != STB_WEAK) {
            error = "the code object refers to a symbol that it does not define";
        } else if (relocation.r_offset > bytes || row->bytes > bytes - relocation.r_offset) {
            error = "a relocation lies outside the code object";
        } else {
            const bool defined = symbol && symbol->st_shndx != SHN_UNDEF;
            const uint64_t target = row->relative ? base_ : defined ? base_ + symbol->st_value : 0;
            const uint64_t value = (target + static_cast<uint64_t>(relocation.r_addend)) >> row->shift;
            std::memcpy(image + relocation.r_offset, &value, row->bytes);
        }
    });
    return error.empty();
}

std::vector<CodeSection> CodeObject::code() const {
    ElfFile elf(elf_);
    std::vector<CodeSection> code;
    std::map<uint64_t, size_t> by_index;
    elf.sections([&](Elf_Scn* section, const GElf_Shdr& header) {
        const bool executable = header.sh_type == SHT_PROGBITS && (header.sh_flags & SHF_EXECINSTR);
        if (!executable || header.sh_offset > elf_.size() || header.sh_size > elf_.size() - header.sh_offset) return;
        const uint8_t* first = elf_.data() + header.sh_offset;
        by_index[elf_ndxscn(section)] = code.size();
        code.push_back({elf.section_name(header), header.sh_addr, Bytes(first, first + header.sh_size), {}});
    });
    // .dynsym and .symtab name the same functions; of several names of one address the last one stays.
    std::map<uint64_t, CodeSymbol> symbols;
    elf.symbols([&](const char* name, const GElf_Sym& symbol) {
        const unsigned type = GELF_ST_TYPE(symbol.st_info);
        const auto found = by_index.find(symbol.st_shndx);
        if (found == by_index.end() || type == STT_SECTION || type == STT_FILE || *name == 0) return;
        CodeSymbol& row = symbols[symbol.st_value];
        if (row.name < name) row = {name, symbol.st_value, symbol.st_size};
    });
    for (CodeSection& section : code) {
        for (const auto& [address, symbol] : symbols) {
            if (address >= section.address && address - section.address < section.bytes.size())
                section.symbols.push_back(symbol);
        }
    }
    return code;
}

}  // namespace lyra::inproc
