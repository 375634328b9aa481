// SPDX-License-Identifier: MIT
// libFuzzer: any bytes decode to something inside the limits that the executor relies on, and can be printed.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "gcn-interp/isa/op.h"

namespace {

using namespace lyra::gcn;

void require(bool condition) {
    if (!condition) std::abort();
}

bool vgprs_fit(uint16_t first, unsigned dwords) { return first == kNoOperand || first + dwords <= 256; }

void check(const Inst& inst, std::size_t available, Chip chip) {
    require(inst.size_bytes == 4 || inst.size_bytes == 8 || inst.size_bytes == 12);
    if (inst.format == Format::Invalid) {
        require(inst.op == Op::Invalid && inst.size_bytes == 4);
        return;
    }
    const InstInfo& row = info(inst.op);
    require(inst.size_bytes <= available * 4 && op_index(inst.op) < kOpCount && !disassemble(inst, chip).empty());
    const bool scalar_format = row.format <= Format::SMEM;
    if (row.format != Format::MIMG) {
        require(scalar_format ? inst.dst == kNoOperand || inst.dst < 128 : vgprs_fit(inst.dst, row.dst_dwords()));
    }
    require(inst.sdst == kNoOperand || inst.sdst < 128);
    require(vgprs_fit(inst.vaddr, 1) && vgprs_fit(inst.vdata, 1) && vgprs_fit(inst.vdata2, 1));
    for (unsigned n = 0; n < 3; ++n) {
        const uint16_t source = inst.src[n];
        require(source == kNoOperand || source < 512);
        if (source != kNoOperand && source >= kSrcVgpr0 && row.format <= Format::VOP3P)
            require(vgprs_fit(source - kSrcVgpr0, row.src_dwords(n)));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    std::vector<uint32_t> words(size / 4);
    if (!words.empty()) std::memcpy(words.data(), data, words.size() * 4);
    for (const lyra::ChipFacts& chip : lyra::kChips) {
        for (std::size_t at = 0; at < words.size();) {
            const Inst inst = decode(&words[at], words.size() - at, chip.chip);
            check(inst, words.size() - at, chip.chip);
            at += inst.size_bytes / 4;
        }
    }
    return 0;
}
