// SPDX-License-Identifier: MIT
// What the generator knows of a block of code for waves of which all lanes are on. For the files that generate it only.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "gcn-interp/translator/emitter.h"

namespace lyra::gcn {

/// The code of a block for one set of affine VGPRs.
struct Emitter::Version {
    Affine affine;
    Xbyak::Label code;
    std::optional<Registers> begins_with;  ///< decided by the first one who jumps to it
    bool emitted = false;
};

struct Emitter::WholeBlock {
    const BasicBlock* block = nullptr;
    size_t order = 0;  ///< most blocks follow one that jumps to them
    std::deque<Version> versions;  ///< the first one has no affine VGPRs
    bool any_lanes = false;  ///< mostly calculation: there is only the code for waves of any lanes
    bool begins_loop = false;
    std::set<int32_t> loop;  ///< blocks of the loop that it begins
    VectorSet lanes_read;  ///< VGPRs that the loop reads for other than addresses
    std::vector<unsigned> keeps;  ///< VGPRs that the loop had better keep in registers, the best ones first
};

/// How an instruction computes an affine VGPR.
struct Emitter::AffineStep {
    /// What has to hold for the lanes of each strip, or the wave leaves the code in front of the instruction.
    enum class Check : uint8_t {
        None,
        NoWrap,  ///< the low half of the result does not pass 2^32, nor does source `low`
        NotNegative,  ///< source `low`
        Disjoint,  ///< the bits in which lanes of source `low` differ are below all bits of the other part
    };
    Check check = Check::None;
    unsigned low = 0;
    uint32_t distance = 0;  ///< of the first VGPR of the result; the second has 0
    unsigned results = 1;
};

/// The move of one instruction: what it takes from registers and where it goes.
struct Emitter::WholeMove {
    const Inst& inst;
    const PlainMove& move;
    const Routine& kind;
    int bytes;  ///< of one lane
    Xbyak::Zmm t, different;
    /// Registers, or -1: rows in memory
    std::array<int, kStrips> low{}, high{};
    std::array<std::array<int, kStrips>, 4> data{};  ///< by word, strip
    std::array<std::array<std::array<int, kStrips>, 4>, 2> values{};  ///< of loads by element, word, strip
    std::array<int, 4> quads{};
    /// rsi + at[s]: host address of the first lane of a strip
    static inline const std::array<Xbyak::Reg64, kStrips> at{Xbyak::util::r8, Xbyak::util::r9, Xbyak::util::r10,
                                                             Xbyak::util::r11};

    Xbyak::Zmm value(unsigned e, unsigned w, unsigned s) const { return Xbyak::Zmm(values[e][w][s]); }
};

}  // namespace lyra::gcn
