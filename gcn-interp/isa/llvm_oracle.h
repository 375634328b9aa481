// SPDX-License-Identifier: MIT
// Test only: LLVM 19's disassembler for gfx900, and where our text is known to differ from it, with the reason.
#pragma once

#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>

#include <cstdint>
#include <string>
#include <string_view>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo(void);
void LLVMInitializeAMDGPUTarget(void);
void LLVMInitializeAMDGPUTargetMC(void);
void LLVMInitializeAMDGPUDisassembler(void);
}

namespace lyra::gcn::test {

struct Decoded {
    unsigned size = 0;   ///< bytes; 0 = rejected
    std::string text;
    bool wrong_register = false;  ///< printed by LLVM with the comment "Invalid register"; taken as rejected
};

class LlvmOracle {
public:
    explicit LlvmOracle(const char* cpu = "gfx900") {
        LLVMInitializeAMDGPUTargetInfo();
        LLVMInitializeAMDGPUTarget();
        LLVMInitializeAMDGPUTargetMC();
        LLVMInitializeAMDGPUDisassembler();
        context_ = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", cpu, nullptr, 0, nullptr, nullptr);
    }
    ~LlvmOracle() { LLVMDisasmDispose(context_); }
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

    Decoded decode(const uint32_t* words, std::size_t count) const {
        char buffer[512];
        auto* bytes = reinterpret_cast<uint8_t*>(const_cast<uint32_t*>(words));
        const std::size_t size = LLVMDisasmInstruction(context_, bytes, count * 4, 0, buffer, sizeof buffer);
        // LLVM prints such an operand but says in a comment that the instruction does not take that register.
        if (!size) return {};
        if (std::string_view(buffer).find("/*Invalid register") != std::string_view::npos) return {0, "", true};
        return {static_cast<unsigned>(size), clean(buffer), false};
    }

private:
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

    LLVMDisasmContextRef context_;
};

}  // namespace lyra::gcn::test
