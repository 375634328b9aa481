// SPDX-License-Identifier: MIT
// A handle of libelf on bytes in memory, with the few walks that code objects need.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lyra::inproc {

class ElfFile {
public:
    explicit ElfFile(const std::vector<uint8_t>& bytes);
    ~ElfFile() { elf_end(elf_); }
    ElfFile(const ElfFile&) = delete;
    ElfFile& operator=(const ElfFile&) = delete;

    bool header(GElf_Ehdr& header) const { return elf_ && gelf_getehdr(elf_, &header); }
    std::vector<GElf_Phdr> segments() const;
    void sections(const std::function<void(Elf_Scn*, const GElf_Shdr&)>& visit) const;
    /// Empty when the file gives none.
    std::string section_name(const GElf_Shdr& header) const;
    /// Symbols of .dynsym and .symtab.
    void symbols(const std::function<void(const char* name, const GElf_Sym&)>& visit) const;
    /// Relocations of all RELA sections that apply to loaded memory, with the value of their symbol (0: none).
    void relocations(const std::function<void(const GElf_Rela&, const GElf_Sym* symbol)>& visit) const;
    /// Notes of PT_NOTE segments and SHT_NOTE sections. visit returns true to stop.
    bool notes(
        const std::function<bool(const std::string& name, uint32_t type, const uint8_t* data, size_t bytes)>& visit) const;

private:
    Elf* elf_ = nullptr;
};

}  // namespace lyra::inproc
