// SPDX-License-Identifier: MIT
// Test only: LLVM's disassembler. LYRA_LLVM=FILE: the library of another version than the one that was found when this was
// built.
#pragma once

#include <dlfcn.h>
#include <llvm-c/Disassembler.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

namespace lyra::gcn::test {

/// The library is loaded, not linked, so that one program can be run with several.
class LlvmLibrary {
public:
    static const LlvmLibrary& get() {
        static const LlvmLibrary library;
        return library;
    }
    decltype(&LLVMCreateDisasmCPU) create;
    decltype(&LLVMDisasmInstruction) decode;
    decltype(&LLVMDisasmDispose) dispose;
    unsigned version = 0;  ///< the first part of it

private:
    LlvmLibrary() {
        const char* named = std::getenv("LYRA_LLVM");
        handle_ = dlopen(named != nullptr ? named : LYRA_LLVM_LIBRARY, RTLD_NOW | RTLD_LOCAL);
        if (handle_ == nullptr) throw std::runtime_error(dlerror());
        for (const char* each : {"TargetInfo", "Target", "TargetMC", "Disassembler"})
            find<void (*)()>(std::string("LLVMInitializeAMDGPU") + each)();
        create = find<decltype(create)>("LLVMCreateDisasmCPU");
        decode = find<decltype(decode)>("LLVMDisasmInstruction");
        dispose = find<decltype(dispose)>("LLVMDisasmDispose");
        unsigned minor = 0, patch = 0;
        find<void (*)(unsigned*, unsigned*, unsigned*)>("LLVMGetVersion")(&version, &minor, &patch);
    }
    template <class F>
    F find(const std::string& name) {
        void* found = dlsym(handle_, name.c_str());
        if (found == nullptr) throw std::runtime_error(dlerror());
        return reinterpret_cast<F>(found);
    }
    void* handle_;
};

struct Decoded {
    unsigned size = 0;   ///< bytes; 0 = rejected
    std::string text;
    bool wrong_register = false;  ///< printed by LLVM with the comment "Invalid register"; taken as rejected
};

class LlvmOracle {
public:
    explicit LlvmOracle(const char* cpu = "gfx900")
        : context_(llvm_.create("amdgcn-amd-amdhsa", cpu, nullptr, 0, nullptr, nullptr)) {}
    ~LlvmOracle() { llvm_.dispose(context_); }
    LlvmOracle(const LlvmOracle&) = delete;
    LlvmOracle& operator=(const LlvmOracle&) = delete;

    /// LLVM 19.1.7 reads past a table and may crash on these: an SDWA selector of 7, which has no meaning.
    static bool llvm_crashes(const uint32_t* words) {
        const bool short_vector = (words[0] >> 31) == 0 && (words[0] & 0x1ff) == 249;
        if (!short_vector) return false;
        const bool compare = (words[0] >> 25) == 0x3e, one_source = (words[0] >> 25) == 0x3f;
        const unsigned dst = words[1] >> 8 & 7, unused = words[1] >> 11 & 3, src0 = words[1] >> 16 & 7,
                       src1 = words[1] >> 24 & 7;
        return (!compare && (dst == 7 || unused == 3)) || src0 == 7 || (!one_source && src1 == 7);
    }

    unsigned version() const { return llvm_.version; }

    /// Of the version that is loaded: from 21.1.8 on also on literals where GFX9 has none.
    bool crashes(const uint32_t* words) const {
        return llvm_crashes(words) || (llvm_.version > 19 && forbidden_literal(words));
    }

    Decoded decode(const uint32_t* words, std::size_t count) const {
        char buffer[512];
        auto* bytes = reinterpret_cast<uint8_t*>(const_cast<uint32_t*>(words));
        const std::size_t size = llvm_.decode(context_, bytes, count * 4, 0, buffer, sizeof buffer);
        // LLVM prints such an operand but says in a comment that the instruction does not take that register.
        if (!size) return {};
        if (std::string_view(buffer).find("/*Invalid register") != std::string_view::npos) return {0, "", true};
        return {static_cast<unsigned>(size), clean(buffer), false};
    }

private:
    static bool forbidden_literal(const uint32_t* words) {
        constexpr unsigned kLiteral = 255;
        switch (words[0] >> 26) {
            case 0x34:  // VOP3, VOP3P
                return ((words[0] >> 24 & 3) == 0 && (words[0] & 0xff) == kLiteral) ||  // SGPRs that a compare writes
                       (words[1] & 0x1ff) == kLiteral || (words[1] >> 9 & 0x1ff) == kLiteral ||
                       (words[1] >> 18 & 0x1ff) == kLiteral;
            case 0x38:  // MUBUF
            case 0x3a: return words[1] >> 24 == kLiteral;  // MTBUF
            default: return false;
        }
    }
    /// Without leading and double blanks, tabs and comments.
    static std::string clean(std::string text) {
        for (char& c : text)
            if (c == '\t') c = ' ';
        for (std::size_t at; (at = text.find("/*")) != std::string::npos;) {
            const std::size_t end = text.find("*/", at);
            text.erase(at, end == std::string::npos ? std::string::npos : end + 2 - at);
        }
        const std::size_t comment = text.find(" ;");
        if (comment != std::string::npos) text.erase(comment);
        for (std::size_t at; (at = text.find("  ")) != std::string::npos;) text.erase(at, 1);
        const std::size_t first = text.find_first_not_of(" \n");
        if (first == std::string::npos) return "";
        const std::size_t last = text.find_last_not_of(" \n");
        return text.substr(first, last - first + 1);
    }

    const LlvmLibrary& llvm_ = LlvmLibrary::get();
    LLVMDisasmContextRef context_;
};

}  // namespace lyra::gcn::test
