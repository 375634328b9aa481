// SPDX-License-Identifier: MIT
#include "gcn-interp/isa/base_name.h"

#include <iterator>

#include "gcn-interp/isa/op.h"

namespace lyra::gcn {

std::string base_name(Op op, unsigned seg) {
    static constexpr const char* kPrefix[] = {"flat_", "scratch_", "global_"};
    std::string name = info(op).name;
    if (info(op).format == Format::FLAT) name = kPrefix[seg % std::size(kPrefix)] + name.substr(name.find('_') + 1);
    return name;
}

}  // namespace lyra::gcn
