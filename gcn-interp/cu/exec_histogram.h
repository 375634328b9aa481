// SPDX-License-Identifier: MIT
// How often each operation was executed in each encoding.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "gcn-interp/exec/observe.h"
#include "gcn-interp/isa/base_name.h"
#include "gcn-interp/isa/format_names.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

class ExecHistogram final : public ExecObserver {
public:
    void execute(ExecContext& ctx, const Inst& inst, ExecFn handler) override {
        ++(*counts_)[(op_index(inst.op) * kFormatCount + static_cast<size_t>(inst.format)) * kSegments + inst.seg % kSegments];
        handler(ctx, inst);
    }
    /// visit(mnemonic, format, count) for each that is not zero.
    template <class Visit>
    void each(Visit visit) const {
        for (size_t i = 0; i < counts_->size(); ++i) {
            if ((*counts_)[i] == 0) continue;
            const size_t format = i / kSegments % kFormatCount;
            visit(base_name(static_cast<Op>(i / kSegments / kFormatCount), i % kSegments), kFormatNames[format], (*counts_)[i]);
        }
    }

private:
    static constexpr size_t kFormatCount = static_cast<size_t>(Format::Invalid), kSegments = 3;
    using Counts = std::array<uint64_t, kOpCount * kFormatCount * kSegments>;
    std::unique_ptr<Counts> counts_ = std::make_unique<Counts>();
};

}  // namespace lyra::gcn
