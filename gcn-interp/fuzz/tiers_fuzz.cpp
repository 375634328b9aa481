// SPDX-License-Identifier: MIT
// libFuzzer: random programs in random states on two compute units, one of which runs generated code. After every slice both
// have executed as much, and every register and every byte of memory is the same.
#include <array>
#include <memory>
#include <vector>

#include "gcn-interp/fuzz/random_machine.h"
#include "gcn-interp/translator/translator.h"

using namespace lyra::gcn;
using namespace lyra::gcn::fuzz;

namespace {

constexpr int kNotRun = 77;  ///< SKIP_RETURN_CODE of the test

/// Every block is generated when it is first entered.
std::unique_ptr<Translator> eager(lyra::Chip chip, Backend backend) {
    return std::make_unique<Translator>(chip, Translator::Options{size_t{4} << 20, 0, false, false, backend});
}
/// For the widest back end that the host has, and for AVX2.
using Translators = std::array<std::unique_ptr<Translator>, 2>;
Translators eager(lyra::Chip chip) {
    return {eager(chip, Translator::host().value_or(Backend::Avx2)), eager(chip, Backend::Avx2)};
}

/// Two machines of a chip, and what one of them generates code with.
struct Tiers {
    explicit Tiers(lyra::Chip chip)
        : interpreted(std::make_unique<Machine>(chip, false)), generated(std::make_unique<Machine>(chip, false)),
          translators(eager(chip)) {}
    std::unique_ptr<Machine> interpreted, generated;
    Translators translators;
};

void require_same(const Machine& a, const Machine& b) {
    for (unsigned slot = 0; slot < kWaveSlots; ++slot) {
        const Wave &x = a.cu->wave(slot), &y = b.cu->wave(slot);
        require(x.state == y.state, "the tiers differ: state of a wave");
        if (x.state == WaveState::Free) continue;
        require(x.pc == y.pc && x.instructions == y.instructions, "the tiers differ: PC or instructions");
        require(x.exec == y.exec && x.scc == y.scc && x.m0 == y.m0, "the tiers differ: EXEC, SCC or M0");
        require(x.mode == y.mode && x.status == y.status && x.trapsts == y.trapsts && x.ib_sts == y.ib_sts,
                "the tiers differ: MODE, STATUS, TRAPSTS or IB_STS");
        require(x.sgpr == y.sgpr && x.ttmp == y.ttmp, "the tiers differ: scalar registers");
        require(std::memcmp(x.vgpr, y.vgpr, x.vgpr_count * sizeof(VgprRow)) == 0, "the tiers differ: vector registers");
    }
    require(a.memory.same_content(b.memory), "the tiers differ: memory");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
    if (!Translator::supported()) {
        std::puts("not run: this host cannot run generated code");
        std::exit(kNotRun);
    }
    static std::vector<Tiers> chips(lyra::kAllChips.begin(), lyra::kAllChips.end());
    Bytes first(data, size), second(data, size);
    Tiers& tiers = chips[first.below(static_cast<unsigned>(chips.size()))];
    second.below(static_cast<unsigned>(chips.size()));
    const unsigned backend = first.below(2);
    second.below(2);
    Machine &a = *tiers.interpreted, &b = *tiers.generated;
    b.cu->set_translator(tiers.translators[backend].get());
    prepare(first, a);
    prepare(second, b);
    uint64_t done = 0;
    for (unsigned n = 0; n < kSlices && done < kBudget && a.cu->waves_live() != 0; ++n) {
        const uint64_t ran = run_slice(first, a);
        require(run_slice(second, b) == ran, "the tiers differ: instructions of a slice");
        require_same(a, b);
        done += ran;
        disturb(first, a);
        disturb(second, b);
    }
    finish(a);
    finish(b);
    return 0;
}
