// SPDX-License-Identifier: MIT
// Which operations a test program has executed: `lyra isa --coverage` counts what they leave. Off unless the environment names
// a folder for the records.
#pragma once

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <fmt/format.h>

#include "gcn-interp/exec/observe.h"
#include "gcn-interp/isa/base_name.h"
#include "gcn-interp/isa/op.h"

namespace lyra::gcn::test {

/// Adds one file to the folder when the process ends, named after its command line.
class Executed final : public ExecObserver {
public:
    explicit Executed(const char* folder) : folder_(folder ? folder : "") {}
    ~Executed() override {
        if (!enabled()) return;
        std::string text;
        for (size_t op = 1; op < kOpCount; ++op)
            for (unsigned seg = 0; seg < kSegments; ++seg)
                if (seen_[op * kSegments + seg]) text += base_name(static_cast<Op>(op), seg) + "\n";
        if (text.empty()) return;
        std::error_code ignored;
        std::filesystem::create_directories(folder_, ignored);
        const std::filesystem::path file = std::filesystem::path(folder_) / name();
        const std::string temporary = file.string() + fmt::format(".{}", ::getpid());
        std::ofstream(temporary, std::ios::binary) << text;
        std::filesystem::rename(temporary, file, ignored);
    }
    bool enabled() const { return !folder_.empty(); }
    void note(const Inst& inst) {
        if (enabled()) seen_[op_index(inst.op) * kSegments + inst.seg % kSegments].store(true, std::memory_order_relaxed);
    }
    void execute(ExecContext& ctx, const Inst& inst, ExecFn handler) override {
        handler(ctx, inst);
        if (ctx.fault == Fault::None) note(inst);
    }
    bool sees_all() const override { return false; }  // what is tested is to run as it does without

private:
    static constexpr unsigned kSegments = 3;
    /// The same test overwrites its own record. FNV-1a of the command line.
    static std::string name() {
        std::ifstream in("/proc/self/cmdline", std::ios::binary);
        uint64_t hash = 0xcbf29ce484222325;
        for (std::istreambuf_iterator<char> at(in), end; at != end; ++at)
            hash = (hash ^ static_cast<uint8_t>(*at)) * 0x100000001b3;
        return fmt::format("{:016x}.txt", hash);
    }

    std::string folder_;
    std::array<std::atomic<bool>, kOpCount * kSegments> seen_{};
};

inline Executed& executed() {
    static Executed one(std::getenv("LYRA_ISA_EXECUTED"));
    return one;
}

/// The instruction has been executed, not by a compute unit, and raised no exception.
inline void note_executed(const Inst& inst) { executed().note(inst); }
/// For Env::observer.
inline ExecObserver* executed_observer() { return executed().enabled() ? &executed() : nullptr; }

}  // namespace lyra::gcn::test
