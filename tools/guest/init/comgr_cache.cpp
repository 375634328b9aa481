// SPDX-License-Identifier: MIT
// A cache for the compiler that HIP has in itself, loaded into programs with LD_PRELOAD. HIP compiles the kernels of its copies
// and fills in each process that makes a queue: ten of twelve seconds of a short program under emulation. Newer versions of
// Code Object Manager have such a cache (AMD_COMGR_CACHE). Results are files in the folder LYRA_COMGR_CACHE; the result of an
// action is that of one of the same kind, ISA, options and data, by the same version of the library, as the folder is the
// guest's.
#if __has_include(<amd_comgr/amd_comgr.h>)
#include <amd_comgr/amd_comgr.h>
#else
#include <amd_comgr.h>
#endif
#include <dlfcn.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace {

/// The library that the caller has loaded, perhaps for itself only (RTLD_LOCAL).
void* library() {
    for (const char* name : {"libamd_comgr.so.2", "libamd_comgr.so.3"}) {
        if (void* const found = dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return found;
    }
    std::abort();
}

template <class Function>
Function* theirs(const char* name) {
    static void* const from = library();
    return reinterpret_cast<Function*>(dlsym(from, name));
}
#define THEIRS(name) theirs<decltype(name)>(#name)

struct Data {
    int kind;
    std::string name, bytes;
};

/// What get, a function that says how many bytes there are and then gives them, has. With the 0 byte at the end of a text.
template <class Get>
bool read(const Get& get, std::string& bytes) {
    size_t size = 0;
    if (get(&size, nullptr) != AMD_COMGR_STATUS_SUCCESS) return false;
    bytes.resize(size);
    return size == 0 || get(&size, bytes.data()) == AMD_COMGR_STATUS_SUCCESS;
}

/// Whether an action takes longer than to look for its result.
bool is_slow(amd_comgr_action_kind_t kind) {
    return kind == AMD_COMGR_ACTION_COMPILE_SOURCE_TO_BC || kind == AMD_COMGR_ACTION_LINK_BC_TO_BC ||
           kind == AMD_COMGR_ACTION_CODEGEN_BC_TO_RELOCATABLE || kind == AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE;
}

bool read(amd_comgr_data_set_t set, std::vector<Data>& all) {
    for (int kind = AMD_COMGR_DATA_KIND_SOURCE; kind <= AMD_COMGR_DATA_KIND_LAST; ++kind) {
        const auto as = static_cast<amd_comgr_data_kind_t>(kind);
        size_t count = 0;
        if (THEIRS(amd_comgr_action_data_count)(set, as, &count) != AMD_COMGR_STATUS_SUCCESS) return false;
        for (size_t n = 0; n < count; ++n) {
            amd_comgr_data_t data;
            if (THEIRS(amd_comgr_action_data_get_data)(set, as, n, &data) != AMD_COMGR_STATUS_SUCCESS) return false;
            Data& each = all.emplace_back();
            each.kind = kind;
            const bool good =
                read([&](size_t* size, char* at) { return THEIRS(amd_comgr_get_data_name)(data, size, at); }, each.name) &&
                read([&](size_t* size, char* at) { return THEIRS(amd_comgr_get_data)(data, size, at); }, each.bytes);
            THEIRS(amd_comgr_release_data)(data);
            if (!good) return false;
            if (each.bytes.empty()) all.pop_back();  // a log, and such data cannot be made
        }
    }
    return true;
}

bool add(amd_comgr_data_set_t set, const Data& data) {
    amd_comgr_data_t made;
    if (THEIRS(amd_comgr_create_data)(static_cast<amd_comgr_data_kind_t>(data.kind), &made) != AMD_COMGR_STATUS_SUCCESS)
        return false;
    const bool good = THEIRS(amd_comgr_set_data)(made, data.bytes.size(), data.bytes.data()) == AMD_COMGR_STATUS_SUCCESS &&
                      THEIRS(amd_comgr_set_data_name)(made, data.name.c_str()) == AMD_COMGR_STATUS_SUCCESS &&
                      THEIRS(amd_comgr_data_set_add)(set, made) == AMD_COMGR_STATUS_SUCCESS;
    THEIRS(amd_comgr_release_data)(made);
    return good;
}

void put(std::string& to, const std::string& part) { to += std::to_string(part.size()) + '\n' + part; }

std::optional<std::string> get(std::istream& from) {
    constexpr size_t kMost = size_t{1} << 28;  // of a file that is damaged
    size_t size = 0;
    if (!(from >> size) || from.get() != '\n' || size > kMost) return {};
    std::string part(size, 0);
    if (!from.read(part.data(), static_cast<std::streamsize>(size))) return {};
    return part;
}

/// All that the result of an action depends on. Files that a source includes are not in its data: no key with their folders.
bool read_key(amd_comgr_action_kind_t kind, amd_comgr_action_info_t info, const std::vector<Data>& input, std::string& key) {
    std::string part;
    amd_comgr_language_t language = AMD_COMGR_LANGUAGE_NONE;
    size_t options = 0;
    if (!read([&](size_t* size, char* at) { return THEIRS(amd_comgr_action_info_get_isa_name)(info, size, at); }, part) ||
        THEIRS(amd_comgr_action_info_get_language)(info, &language) != AMD_COMGR_STATUS_SUCCESS ||
        THEIRS(amd_comgr_action_info_get_option_list_count)(info, &options) != AMD_COMGR_STATUS_SUCCESS)
        return false;
    put(key, std::to_string(kind) + " " + std::to_string(language));
    put(key, part);
    for (size_t n = 0; n < options; ++n) {
        const auto option = [&](size_t* size, char* at) {
            return THEIRS(amd_comgr_action_info_get_option_list_item)(info, n, size, at);
        };
        if (!read(option, part) || part.rfind("-I", 0) == 0 || part.rfind("-i", 0) == 0) return false;
        put(key, part);
    }
    for (const Data& data : input) {
        put(key, std::to_string(data.kind));
        put(key, data.name);
        put(key, data.bytes);
    }
    return true;
}

/// FNV-1a of 64 bits. The key is in the file, too, and compared.
std::string name_of(const std::string& key) {
    uint64_t hash = 0xcbf29ce484222325;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return std::to_string(hash);
}

bool find(const std::string& file, const std::string& key, amd_comgr_data_set_t result) {
    std::ifstream in(file, std::ios::binary);
    if (get(in) != key) return false;
    std::vector<Data> all;
    while (const std::optional<std::string> kind = get(in)) {
        const std::optional<std::string> name = get(in), bytes = get(in);
        if (!name || !bytes) return false;
        all.push_back({std::atoi(kind->c_str()), *name, *bytes});
    }
    if (!in.eof()) return false;
    for (const Data& data : all) {
        if (!add(result, data)) std::abort();  // half a result
    }
    return !all.empty();
}

void keep(const std::string& file, const std::string& key, const std::vector<Data>& result) {
    std::string text;
    put(text, key);
    for (const Data& data : result) {
        put(text, std::to_string(data.kind));
        put(text, data.name);
        put(text, data.bytes);
    }
    // Complete or not there: several programs may start at a time, and be killed.
    const std::string mine = file + "." + std::to_string(getpid());
    std::ofstream(mine, std::ios::binary) << text;
    std::error_code ignored;
    std::filesystem::rename(mine, file, ignored);
}

}  // namespace

amd_comgr_status_t amd_comgr_do_action(amd_comgr_action_kind_t kind, amd_comgr_action_info_t info, amd_comgr_data_set_t input,
                                       amd_comgr_data_set_t result) {
    const char* const folder = std::getenv("LYRA_COMGR_CACHE");
    std::vector<Data> before, with, after;
    std::string key;
    const bool known = folder != nullptr && is_slow(kind) && read(input, with) && read(result, before) && before.empty() &&
                       read_key(kind, info, with, key);
    const std::string file = known ? std::string(folder) + "/" + name_of(key) : std::string();
    if (known && find(file, key, result)) return AMD_COMGR_STATUS_SUCCESS;
    const amd_comgr_status_t status = THEIRS(amd_comgr_do_action)(kind, info, input, result);
    if (known && status == AMD_COMGR_STATUS_SUCCESS && read(result, after)) keep(file, key, after);
    return status;
}
