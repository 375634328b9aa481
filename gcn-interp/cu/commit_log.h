// SPDX-License-Identifier: MIT
// Commit log: one line of text for every wave instruction, with all that it changed, so that two runs can be compared.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gcn-interp/exec/observe.h"

namespace lyra::gcn {

/// A line: dispatch (group id).wave #instruction pc exec=MASK text | changes. Numbers are hexadecimal but for ids and lanes:
///   1 (0,0,0).0 #6 7f0000001f24 exec=ffffffffffffffff v_add_u32_e32 v0, s6, v0 | v0{0-3:00000040 4:00000041}
/// Changes: scalar registers s4=, vcc=, exec=, m0=, scc=, mode=, status=, trapsts=, ttmp3=, pc= where it does not go on to the
/// next instruction; vector registers by lane, equal neighbours together; [address]= of every store and atomic, dwords as they
/// are afterwards, in lane order; lds[offset]= of the work-group's LDS, dwords that changed; fault=NAME.
class CommitLog final : public ExecObserver, private AccessListener {
public:
    /// @param to     stays open until the log is destroyed, and is closed then
    /// @param next   another observer that wants to see the same; nullptr: none
    explicit CommitLog(std::FILE* to, ExecObserver* next = nullptr);
    ~CommitLog() override;
    void execute(ExecContext& ctx, const Inst& inst, ExecFn handler) override;

private:
    struct Touched {
        uint64_t va;
        unsigned bytes;
    };
    void access(const uint64_t* va, uint64_t active, unsigned bytes, Access access) override;
    void note_scalars(const Wave& now);
    void note_vectors(const Wave& now);
    void note_memory(ExecContext& ctx);
    void note_lds(const ExecContext& ctx);
    void write(ExecContext& ctx);
    template <class... Args>
    void put(fmt::format_string<Args...> format, Args&&... args) {
        fmt::format_to(std::back_inserter(line_), format, std::forward<Args>(args)...);
    }

    std::FILE* to_;
    ExecObserver* next_;
    bool failed_ = false;
    std::unique_ptr<Wave> before_;
    std::vector<VgprRow> vgprs_;
    std::vector<uint8_t> lds_;
    std::vector<Touched> touched_;
    fmt::memory_buffer line_;
};

}  // namespace lyra::gcn
