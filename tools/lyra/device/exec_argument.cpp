// SPDX-License-Identifier: MIT
// Parses --arg: one row per form, each with its fields, its maker and its line of help.
#include "tools/lyra/device/exec_argument.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>

#include <fmt/format.h>

#include "facts/chips.h"
#include "tools/lyra/cli/cli.h"

namespace lyra::cli {

namespace {

constexpr uint64_t kMaxBufferBytes = uint64_t{16} << 30;

using Fields = std::vector<std::string>;

[[noreturn]] void refuse(const ExecArgument& argument, const std::string& why) {
    throw UserError(fmt::format("--arg {}: {}", argument.text, why));
}

const ElementType& type_of(const ExecArgument& argument, const std::string& name) {
    const ElementType* type = find_element_type(name);
    if (!type) refuse(argument, fmt::format("\"{}\" is not a type; types are {}", name, element_type_names()));
    return *type;
}

uint64_t number(const ExecArgument& argument, const std::string& text, const char* what) {
    uint64_t value = 0;
    if (!find_element_type("u64")->parse(text, &value)) refuse(argument, fmt::format("{} \"{}\" is not a number", what, text));
    return value;
}

// TYPE and COUNT are fields 0 and 1.
void make_buffer(ExecArgument& argument, const Fields& fields) {
    argument.kind = ExecArgument::Kind::Buffer;
    argument.type = &type_of(argument, fields[0]);
    const uint64_t count = number(argument, fields[1], "the count");
    if (count == 0 || count > kMaxBufferBytes / argument.type->bytes) refuse(argument, "the count is 0 or too large");
    argument.buffer_bytes = count * argument.type->bytes;
}

/// make(index, where) for each element.
template <typename Make>
void fill(ExecArgument& argument, Make make) {
    argument.fill = [make, step = argument.type->bytes, bytes = argument.buffer_bytes](uint8_t* to) mutable {
        for (uint64_t i = 0; i * step < bytes; ++i) make(i, to + i * step);
    };
}

constexpr size_t kChunkBytes = 1 << 20;
using Chunks = std::deque<std::vector<uint8_t>>;
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

File open_file(const std::string& path) {
    File file(path == "-" ? stdin : std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) throw UserError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    return file;
}

/// What cannot say how long it is, such as a pipe. @return the chunks, in order
std::shared_ptr<Chunks> read_chunks(const std::string& path, uint64_t& bytes) {
    const File file = open_file(path);
    auto chunks = std::make_shared<Chunks>();
    for (bool more = true; more;) {
        std::vector<uint8_t> chunk(kChunkBytes);
        chunk.resize(std::fread(chunk.data(), 1, chunk.size(), file.get()));
        more = chunk.size() == kChunkBytes;
        bytes += chunk.size();
        if (bytes > kMaxBufferBytes) throw UserError(fmt::format("{} is too large", path));
        chunks->push_back(std::move(chunk));
    }
    if (std::ferror(file.get())) throw UserError(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    return chunks;
}

void load(ExecArgument& argument, const std::string& type, const std::string& path) {
    argument.kind = ExecArgument::Kind::Buffer;
    argument.type = &type_of(argument, type);
    const auto file = std::make_shared<inproc::FileSource>(path);
    if (path != "-" && file->ok()) {
        argument.buffer_bytes = file->size();
        argument.fill = [file, path](uint8_t* to) {
            if (!file->read(0, to, file->size())) throw UserError(fmt::format("cannot read {}", path));
        };
    } else {
        // Each chunk is given back when it has been copied.
        argument.fill = [chunks = read_chunks(path, argument.buffer_bytes)](uint8_t* to) {
            for (; !chunks->empty(); chunks->pop_front()) to = std::copy(chunks->front().begin(), chunks->front().end(), to);
        };
    }
    if (argument.buffer_bytes == 0) refuse(argument, "the file is empty");
    if (argument.buffer_bytes > kMaxBufferBytes) refuse(argument, "the file is too large");
    if (argument.buffer_bytes % argument.type->bytes) {
        refuse(argument,
               fmt::format("the file has {} bytes, not a multiple of {}", argument.buffer_bytes, argument.type->bytes));
    }
}

std::string field(const Fields& fields, size_t number) { return number < fields.size() ? fields[number] : ""; }

// splitmix64: the same numbers everywhere for a seed.
uint64_t next_random(uint64_t& state) {
    uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

struct Form {
    const char* name;
    unsigned required, optional;   ///< number of fields
    const char* syntax;
    const char* meaning;
    void (*make)(ExecArgument&, const Fields&);
};

const Form kForms[] = {
    {"in", 2, 0, "in:TYPE:FILE", "buffer with the content of FILE (raw, - is standard input)",
     [](ExecArgument& a, const Fields& f) { load(a, f[0], f[1]); }},
    {"inout", 3, 0, "inout:TYPE:FILE:DEST", "the same, written to DEST afterwards",
     [](ExecArgument& a, const Fields& f) {
         load(a, f[0], f[1]);
         a.destination = f[2];
     }},
    {"out", 3, 0, "out:TYPE:COUNT:DEST", "buffer of zeros, written to DEST afterwards",
     [](ExecArgument& a, const Fields& f) {
         make_buffer(a, f);
         a.destination = f[2];
     }},
    {"zero", 2, 1, "zero:TYPE:COUNT[:DEST]", "buffer of zeros",
     [](ExecArgument& a, const Fields& f) {
         make_buffer(a, f);
         a.destination = field(f, 2);
     }},
    {"iota", 2, 1, "iota:TYPE:COUNT[:DEST]", "buffer of 0, 1, 2, ...",
     [](ExecArgument& a, const Fields& f) {
         make_buffer(a, f);
         fill(a, [type = a.type](uint64_t i, void* to) { type->from_index(i, to); });
         a.destination = field(f, 2);
     }},
    {"fill", 3, 1, "fill:TYPE:COUNT:VALUE[:DEST]", "buffer of equal values",
     [](ExecArgument& a, const Fields& f) {
         make_buffer(a, f);
         std::array<uint8_t, 8> value{};
         if (!a.type->parse(f[2], value.data())) refuse(a, fmt::format("\"{}\" is not a {}", f[2], a.type->name));
         fill(a, [type = a.type, value](uint64_t, void* to) { std::memcpy(to, value.data(), type->bytes); });
         a.destination = field(f, 3);
     }},
    {"rand", 3, 1, "rand:TYPE:COUNT:SEED[:DEST]", "buffer of random numbers, floats from 0 to 1",
     [](ExecArgument& a, const Fields& f) {
         make_buffer(a, f);
         fill(a, [type = a.type, state = number(a, f[2], "the seed")](uint64_t, void* to) mutable {
             type->random(next_random(state), to);
         });
         a.destination = field(f, 3);
     }},
    {"lds", 1, 0, "lds:BYTES", "dynamic LDS that the argument points to (OpenCL __local pointer)",
     [](ExecArgument& a, const Fields& f) {
         a.kind = ExecArgument::Kind::Lds;
         const uint64_t bytes = number(a, f[0], "the size");
         constexpr uint32_t kMost = same_for_all_chips(&ChipFacts::lds_bytes);
         if (bytes > kMost) refuse(a, fmt::format("LDS has {} bytes", kMost));
         a.lds_bytes = static_cast<uint32_t>(bytes);
     }},
    {"bytes", 1, 0, "bytes:HEX", "a value of any size, first byte first (structures)",
     [](ExecArgument& a, const Fields& f) {
         for (size_t i = 0; i < f[0].size(); i += 2) {
             uint8_t byte = 0;
             if (f[0].size() % 2 || !find_element_type("u8")->parse("0x" + f[0].substr(i, 2), &byte)) {
                 refuse(a, "not an even number of hexadecimal digits");
             }
             a.bytes.push_back(byte);
         }
     }},
};

Fields split(const std::string& text, size_t limit) {
    Fields fields;
    size_t at = 0;
    while (fields.size() + 1 < limit) {
        const size_t colon = text.find(':', at);
        if (colon == std::string::npos) break;
        fields.push_back(text.substr(at, colon - at));
        at = colon + 1;
    }
    fields.push_back(text.substr(at));
    return fields;
}

}  // namespace

ExecArgument parse_exec_argument(const std::string& text) {
    ExecArgument argument;
    argument.text = text;
    const size_t colon = text.find(':');
    const std::string name = text.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
    for (const Form& form : kForms) {
        if (name != form.name) continue;
        const Fields fields = split(rest, form.required + form.optional);
        if (fields.size() < form.required || fields[0].empty()) refuse(argument, fmt::format("the form is {}", form.syntax));
        form.make(argument, fields);
        return argument;
    }
    const ElementType* type = find_element_type(name);
    if (!type) {
        refuse(argument, "is neither TYPE:VALUE nor one of the forms that `lyra exec --help` lists");
    }
    argument.bytes.resize(type->bytes);
    if (!type->parse(rest, argument.bytes.data())) refuse(argument, fmt::format("\"{}\" is not a {}", rest, type->name));
    return argument;
}

std::string exec_argument_help() {
    std::string help = fmt::format("--arg, in the kernel's order:\n  {:<30}{}\n", "TYPE:VALUE", "a number");
    for (const Form& form : kForms) help += fmt::format("  {:<30}{}\n", form.syntax, form.meaning);
    return help + fmt::format("TYPE is {}.\nDEST is a file (raw) or - (text on standard output, a value per line).\n",
                              element_type_names());
}

inproc::Bytes read_code_object(const std::string& path, const std::string& chip) {
    std::string error;
    const inproc::FileSource file(path);
    inproc::Bytes elf =
        file.ok() ? inproc::extract_code_object(file, chip, error) : inproc::extract_code_object(read_file(path), chip, error);
    if (elf.empty()) throw UserError(fmt::format("{}: {}", path, error));
    return elf;
}

std::vector<uint8_t> read_file(const std::string& path) {
    uint64_t size = 0;
    const std::shared_ptr<Chunks> chunks = read_chunks(path, size);
    std::vector<uint8_t> bytes;
    bytes.reserve(size);
    for (; !chunks->empty(); chunks->pop_front()) bytes.insert(bytes.end(), chunks->front().begin(), chunks->front().end());
    return bytes;
}

void write_file(const std::string& path, const void* data, size_t bytes) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    const bool written = file && std::fwrite(data, 1, bytes, file) == bytes;
    const bool closed = file && std::fclose(file) == 0;
    if (!written || !closed) throw EnvironmentError(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

}  // namespace lyra::cli
