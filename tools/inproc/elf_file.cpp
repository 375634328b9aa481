// SPDX-License-Identifier: MIT
// Walks over segments, symbols, relocations and notes by libelf.
#include "tools/inproc/elf_file.h"

namespace lyra::inproc {

ElfFile::ElfFile(const std::vector<uint8_t>& bytes) {
    elf_version(EV_CURRENT);
    // libelf wants a mutable pointer, but does not write without elf_update().
    elf_ = elf_memory(reinterpret_cast<char*>(const_cast<uint8_t*>(bytes.data())), bytes.size());
}

std::vector<GElf_Phdr> ElfFile::segments() const {
    std::vector<GElf_Phdr> found;
    size_t count = 0;
    if (!elf_ || elf_getphdrnum(elf_, &count) != 0) return found;
    for (size_t i = 0; i < count; ++i) {
        GElf_Phdr segment;
        if (gelf_getphdr(elf_, static_cast<int>(i), &segment)) found.push_back(segment);
    }
    return found;
}

void ElfFile::sections(const std::function<void(Elf_Scn*, const GElf_Shdr&)>& visit) const {
    if (!elf_) return;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section));) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header)) visit(section, header);
    }
}

std::string ElfFile::section_name(const GElf_Shdr& header) const {
    size_t strings = 0;
    const char* name = elf_getshdrstrndx(elf_, &strings) == 0 ? elf_strptr(elf_, strings, header.sh_name) : nullptr;
    return name ? name : "";
}

void ElfFile::symbols(const std::function<void(const char*, const GElf_Sym&)>& visit) const {
    sections([&](Elf_Scn* section, const GElf_Shdr& header) {
        if ((header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB) || header.sh_entsize == 0) return;
        Elf_Data* data = elf_getdata(section, nullptr);
        for (int i = 0; data && static_cast<uint64_t>(i) < header.sh_size / header.sh_entsize; ++i) {
            GElf_Sym symbol;
            if (!gelf_getsym(data, i, &symbol)) break;
            const char* name = elf_strptr(elf_, header.sh_link, symbol.st_name);
            if (name) visit(name, symbol);
        }
    });
}

void ElfFile::relocations(const std::function<void(const GElf_Rela&, const GElf_Sym*)>& visit) const {
    sections([&](Elf_Scn* section, const GElf_Shdr& header) {
        if (header.sh_type != SHT_RELA || !(header.sh_flags & SHF_ALLOC) || header.sh_entsize == 0) return;
        Elf_Data* data = elf_getdata(section, nullptr);
        Elf_Scn* symbol_section = elf_getscn(elf_, header.sh_link);
        Elf_Data* symbols = symbol_section ? elf_getdata(symbol_section, nullptr) : nullptr;
        for (int i = 0; data && static_cast<uint64_t>(i) < header.sh_size / header.sh_entsize; ++i) {
            GElf_Rela relocation;
            GElf_Sym symbol;
            if (!gelf_getrela(data, i, &relocation)) break;
            const size_t number = GELF_R_SYM(relocation.r_info);
            const bool found = number && symbols && gelf_getsym(symbols, static_cast<int>(number), &symbol);
            visit(relocation, found ? &symbol : nullptr);
        }
    });
}

bool ElfFile::notes(const std::function<bool(const std::string&, uint32_t, const uint8_t*, size_t)>& visit) const {
    const auto walk = [&](Elf_Data* data) {
        GElf_Nhdr note;
        size_t name_at, data_at;
        for (size_t at = 0; data && (at = gelf_getnote(data, at, &note, &name_at, &data_at)) > 0;) {
            const auto* bytes = static_cast<const uint8_t*>(data->d_buf);
            std::string name(reinterpret_cast<const char*>(bytes) + name_at, note.n_namesz);
            while (!name.empty() && name.back() == '\0') name.pop_back();
            if (visit(name, note.n_type, bytes + data_at, note.n_descsz)) return true;
        }
        return false;
    };
    for (const GElf_Phdr& segment : segments()) {
        if (segment.p_type != PT_NOTE) continue;
        if (walk(elf_getdata_rawchunk(elf_, static_cast<int64_t>(segment.p_offset), segment.p_filesz, ELF_T_NHDR))) return true;
    }
    bool stopped = false;
    sections([&](Elf_Scn* section, const GElf_Shdr& header) {
        if (!stopped && header.sh_type == SHT_NOTE) stopped = walk(elf_getdata(section, nullptr));
    });
    return stopped;
}

}  // namespace lyra::inproc
