// SPDX-License-Identifier: MIT
// libFuzzer target: the state of the command processor as somebody has written it who wants to break out. Two processes run
// kernels; somewhere on the way their state is saved, some of its numbers are replaced, and what comes of it is loaded. It is
// refused, or goes on without harm to the host; after a reset it works again.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cp-firmware-model/fuzz/input.h"
#include "cp-firmware-model/testing/save_bench.h"

namespace {

using namespace lyra;
using fuzz::Input;
using testing::Kernel;
using testing::KernelJob;
using testing::SaveBench;

/// A stream, and where the numbers of it are.
class Numbers final : public StateWriter {
public:
    struct Place {
        size_t at;
        unsigned bytes;
    };
    std::vector<Place> places;

private:
    void word(const char* name, uint64_t& value, unsigned bytes, uint64_t most) override {
        places.push_back({written(), bytes});
        StateWriter::word(name, value, bytes, most);
    }
    size_t length(const char* name, size_t size, size_t most) override {
        places.push_back({written(), sizeof(uint64_t)});
        return StateWriter::length(name, size, most);
    }
};

uint64_t replacement(Input& in, uint64_t old) {
    switch (in.below(8)) {
        case 0: return old + 1;
        case 1: return old - 1;
        case 2: return 0;
        case 3: return old ^ uint64_t { 1 } << in.below(64);
        case 4: return ~uint64_t{0};
        case 5: return in.take<uint8_t>();
        case 6: return in.take<uint64_t>();
        default: return in.take<uint32_t>();
    }
}

class Bench : public SaveBench {
public:
    explicit Bench(Input& in) : SaveBench(LYRA_CWSR_SOURCE), in_(in) {
        static const std::vector<Kernel> kernels = [] {
            SaveBench bench(LYRA_CWSR_SOURCE);
            KernelJob job(bench, 0, true, kFirstVmid);
            std::vector<Kernel> all;
            for (const char* name : {"barrier_lds", "scratch", "state", "divergence", "traps"})
                all.push_back(bench.kernel(name, job));
            return all;
        }();
        const uint8_t shape = in_.take<uint8_t>();
        KernelJob aql(*this, 0, true, kFirstVmid), pm4(*this, 1, false, kFirstVmid + 1);
        aql.submit({{&kernels[shape % kernels.size()], 1 + in_.below(3), 1 + in_.below(4)}});
        pm4.submit({{&kernels[0], 1 + in_.below(3), 1 + in_.below(4)}});
        map({&aql, &pm4});
        for (unsigned rounds = in_.below(12); rounds != 0; --rounds) cp.run(1 + in_.below(300));
        if (shape & 0x20) submit(hiq, CpBench::unmap(3));
        for (unsigned rounds = in_.below(12); rounds != 0; --rounds) cp.run(1 + in_.below(300));
        edit();
        go_on();
        cp.reset();
        sdma0.reset();
        sdma1.reset();
        if (cp.dispatcher().waves_live_total() != 0 || cp.run(1000) != RunState::Idle) std::abort();
    }

private:
    void visit(StateVisitor& v) {
        v("cp", cp);
        v("sdma0", sdma0);
        v("sdma1", sdma1);
    }
    void edit() {
        Numbers numbers;
        visit(numbers);
        std::vector<uint8_t> bytes = numbers.take();
        for (unsigned edits = 1 + in_.below(6); edits != 0; --edits) {
            const auto& [at, size] = numbers.places[in_.take<uint32_t>() % numbers.places.size()];
            uint64_t value = 0;
            std::memcpy(&value, bytes.data() + at, size);
            value = replacement(in_, value);
            std::memcpy(bytes.data() + at, &value, size);
        }
        if (in_.below(16) == 0) bytes.resize(in_.take<uint32_t>() % (bytes.size() + 1));
        StateLoader loader(bytes);
        visit(loader);
        loader.finish();
        if (!loader.ok()) cp.reset();
    }
    /// Whatever a driver would do to queues that do not move.
    void go_on() {
        for (unsigned n = 0; n < 40; ++n) cp.run(1000);
        submit(hiq, CpBench::unmap(3));
        for (unsigned n = 0; n < 40; ++n) cp.run(1000);
        submit(hiq, CpBench::unmap(3, 1));
        for (unsigned n = 0; n < 40; ++n) cp.run(1000);
        cp.dispatcher().kill_vmid(kFirstVmid);
        cp.dispatcher().kill_vmid(kFirstVmid + 1);
        for (unsigned n = 0; n < 4; ++n) {
            cp.run(1000);
            sdma0.run();
            sdma1.run();
        }
    }

    Input& in_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input in(data, size);
    Bench bench(in);
    return 0;
}
