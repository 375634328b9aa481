// SPDX-License-Identifier: MIT
// Reads object files of the assembler.
#include "kfdtest-ports/shim/programs.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include "tools/inproc/elf_file.h"

namespace lyra::kfd {

namespace {

std::vector<uint8_t> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

Programs::Programs(const std::string& path) {
    const std::vector<uint8_t> bytes = read_file(path);
    const inproc::ElfFile elf(bytes);
    elf.sections([this](Elf_Scn* section, const GElf_Shdr& header) {
        if (header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_EXECINSTR)) return;
        const Elf_Data* data = elf_getdata(section, nullptr);
        if (!data || !data->d_size) return;
        code_.resize(data->d_size / 4);
        std::memcpy(code_.data(), data->d_buf, code_.size() * 4);
    });
    elf.symbols([this](const char* name, const GElf_Sym& symbol) {
        if (name && *name && symbol.st_value < code_.size() * 4) offsets_[name] = symbol.st_value;
    });
}

GpuBuffer Programs::load(Process& process) const {
    GpuBuffer buffer = process.allocate(code_.size() * 4);
    if (buffer) std::memcpy(buffer.host, code_.data(), code_.size() * 4);
    return buffer;
}

Words trap_handler() {
    const char* other = std::getenv("LYRA_CWSR_HANDLER");
    if (!other) return Programs(LYRA_PORTS_HANDLER).code();
    const std::vector<uint8_t> bytes = read_file(other);
    Words words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    return words;
}

const Programs& programs() {
    static const Programs loaded(LYRA_PORTS_PROGRAMS);
    return loaded;
}

}  // namespace lyra::kfd
