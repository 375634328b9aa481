// SPDX-License-Identifier: MIT
// Lane addresses of buffer instructions and their range check; step 6 of the data flow.
#pragma once

#include "gcn-interp/exec/lane_memory.h"
#include "gcn-interp/wave/buffer_desc.h"

namespace lyra::gcn {

/// Behind the scalar offset of a buffer instruction.
struct BufferWindow {
    BufferWindow(const Wave& wave, const Inst& inst, const BufferDesc& desc);
    uint64_t base;   ///< descriptor base + scalar offset
    uint64_t limit;  ///< bytes left, where the range check counts bytes
};

/// One buffer instruction: descriptor, and index and offset of every lane.
class BufferAccess {
public:
    BufferAccess(const Wave& wave, const Inst& inst);

    const BufferDesc& desc() const { return desc_; }
    bool swizzled() const { return desc_.swizzle(); }
    uint64_t exec() const { return exec_; }

    /// Lanes whose bytes [plus, plus + size) are inside the buffer.
    uint64_t lanes_inside(unsigned plus, unsigned size) const;
    lane_memory::LaneAddresses linear(uint64_t lanes, unsigned plus) const;
    lane_memory::SwizzledAddresses swizzled_addresses(uint64_t lanes, unsigned plus) const;
    /// Address of one byte, swizzled or not.
    uint64_t byte(unsigned lane, unsigned plus) const;

private:
    uint64_t swizzled_base(unsigned lane) const;

    BufferDesc desc_;
    uint64_t exec_;
    BufferWindow window_;
    bool by_record_;     ///< the range check counts records, not bytes
    uint32_t stride_;
    uint32_t index_[kLanes];
    uint32_t offset_[kLanes];
};

}  // namespace lyra::gcn
