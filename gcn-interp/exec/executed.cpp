// SPDX-License-Identifier: MIT
// Which operations this process has executed, for the coverage report.
#include "gcn-interp/exec/executed.h"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "gcn-interp/isa/op.h"

namespace lyra::gcn {
namespace {

constexpr unsigned kSegments = 3;

class Record {
public:
    explicit Record(const char* folder) : folder_(folder ? folder : "") {}
    ~Record() {
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
        seen_[op_index(inst.op) * kSegments + inst.seg % kSegments].store(true, std::memory_order_relaxed);
    }

private:
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

Record& record() {
    static Record one(std::getenv(kExecutedVariable));
    return one;
}

}  // namespace

bool records_executed() {
    static const bool on = record().enabled();
    return on;
}

void note_executed(const Inst& inst) {
    if (records_executed()) record().note(inst);
}

std::string base_name(Op op, unsigned seg) {
    static constexpr const char* kPrefix[kSegments] = {"flat_", "scratch_", "global_"};
    std::string name = info(op).name;
    if (info(op).format == Format::FLAT) name = kPrefix[seg % kSegments] + name.substr(name.find('_') + 1);
    return name;
}

}  // namespace lyra::gcn
