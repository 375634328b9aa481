// SPDX-License-Identifier: MIT
// Lane addresses of buffer instructions and their range check; step 6 of the data flow.
// @source AMD Vega ISA document, "Buffer addressing"; Mesa radeonsi for the unit of NUM_RECORDS on gfx9 (records only when
// IDXEN is set and the stride is not zero)
#include "gcn-interp/exec/buffer_address.h"

#include "gcn-interp/exec/scalar.h"

namespace lyra::gcn {

using namespace lane_memory;

BufferWindow::BufferWindow(const Wave& wave, const Inst& inst, const BufferDesc& desc) {
    const uint64_t scalar_offset = inst.soffset == kNoOperand ? 0 : scalar::source32(wave, inst, inst.soffset);
    base = static_cast<uint64_t>(sign_extend(desc.base(), 48)) + scalar_offset;
    limit = desc.num_records() > scalar_offset ? desc.num_records() - scalar_offset : 0;
}

BufferAccess::BufferAccess(const Wave& wave, const Inst& inst)
    : desc_(BufferDesc::read(wave, inst.saddr)), exec_(wave.exec), window_(wave, inst, desc_), stride_(desc_.stride()) {
    by_record_ = inst.idxen && stride_ != 0;
    const uint32_t* index = inst.idxen ? vgpr_read_row(wave, inst.vaddr) : nullptr;
    const uint32_t* offset = inst.offen ? vgpr_read_row(wave, inst.vaddr + (inst.idxen ? 1u : 0u)) : nullptr;
    const uint32_t tid = desc_.add_tid() ? 1 : 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        index_[lane] = (index ? index[lane] : 0) + lane * tid;
        offset_[lane] = (offset ? offset[lane] : 0) + static_cast<uint32_t>(inst.imm);
    }
}

uint64_t BufferAccess::lanes_inside(unsigned plus, unsigned size) const {
    if (!by_record_ && stride_ == 0) {  // the common case by its largest offset
        uint32_t highest = 0;
        for (unsigned lane = 0; lane < kLanes; ++lane) highest = offset_[lane] > highest ? offset_[lane] : highest;
        if (uint64_t{highest} + plus + size <= window_.limit) return exec_;
    }
    uint64_t inside = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const uint64_t record = desc_.swizzle() ? 0 : uint64_t{stride_} * index_[lane];
        const bool ok = by_record_ ? index_[lane] < desc_.num_records() : record + offset_[lane] + plus + size <= window_.limit;
        inside |= uint64_t{ok} << lane;
    }
    return inside & exec_;
}

LaneAddresses BufferAccess::linear(uint64_t lanes, unsigned plus) const {
    LaneAddresses a;
    a.active = lanes;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        a.va[lane] = window_.base + uint64_t{stride_} * index_[lane] + offset_[lane] + plus;
    }
    return a;
}

uint64_t BufferAccess::swizzled_base(unsigned lane) const {
    const uint32_t group = desc_.index_stride();
    return window_.base + uint64_t{index_[lane] / group} * stride_ * group + index_[lane] % group * 4;
}

SwizzledAddresses BufferAccess::swizzled_addresses(uint64_t lanes, unsigned plus) const {
    SwizzledAddresses a;
    a.active = lanes;
    a.dword_stride = uint64_t{desc_.index_stride()} * 4;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        a.base[lane] = swizzled_base(lane);
        a.offset[lane] = offset_[lane] + plus;
    }
    return a;
}

uint64_t BufferAccess::byte(unsigned lane, unsigned plus) const {
    if (!desc_.swizzle()) return window_.base + uint64_t{stride_} * index_[lane] + offset_[lane] + plus;
    const uint32_t o = offset_[lane] + plus;
    return swizzled_base(lane) + uint64_t{o / 4} * desc_.index_stride() * 4 + o % 4;
}

}  // namespace lyra::gcn
