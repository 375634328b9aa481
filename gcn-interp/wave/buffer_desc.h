// SPDX-License-Identifier: MIT
// The buffer resource descriptor (V#) that four SGPRs hold.
#pragma once

#include <cstdint>

#include "common/bits.h"
#include "gcn-interp/wave/wave.h"

namespace lyra::gcn {

/// @source Linux 6.12 gc_9_0_sh_mask.h SQ_BUF_RSRC_WORD0..3; AMD Vega ISA document, "Buffer resource descriptor"
struct BufferDesc {
    uint32_t word[4];

    static BufferDesc read(const Wave& wave, unsigned sgpr) {
        return {{wave.read_scalar(sgpr), wave.read_scalar(sgpr + 1), wave.read_scalar(sgpr + 2), wave.read_scalar(sgpr + 3)}};
    }

    uint64_t base() const { return make64(word[0], word[1] & 0xffff); }
    bool swizzle() const { return bit(word[1], 31); }
    uint32_t num_records() const { return word[2]; }
    uint32_t dst_sel(unsigned component) const { return bits(word[3], 3 * component, 3); }
    uint32_t num_format() const { return bits(word[3], 12, 3); }
    uint32_t data_format() const { return bits(word[3], 15, 4); }
    uint32_t index_stride() const { return 8u << bits(word[3], 21, 2); }
    bool add_tid() const { return bit(word[3], 23); }

    /// Bytes between records. With ADD_TID the data format field gives bits 17:14 of it.
    uint32_t stride() const {
        const uint32_t low = bits(word[1], 16, 14);
        return add_tid() ? low | (data_format() << 14) : low;
    }

    /// Size as scalar loads see it: records of the stride, or bytes without one.
    uint64_t scalar_bytes() const {
        const uint32_t step = bits(word[1], 16, 14);
        return uint64_t{num_records()} * (step ? step : 1);
    }
};

}  // namespace lyra::gcn
