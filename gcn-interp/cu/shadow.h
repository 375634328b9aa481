// SPDX-License-Identifier: MIT
// Shadow mode (LYRA_SHADOW): generated code runs beside the interpreter, and all that they have changed is compared; step 6
// of the data flow.
#pragma once

#include <cstdint>
#include <vector>

#include "gcn-interp/cu/code_cache.h"
#include "gcn-interp/exec/observe.h"
#include "gcn-interp/exec/watch.h"

namespace lyra::gcn {

/// What one compute unit needs for it. For one host thread: each piece of a program runs twice. Where it cannot (faults,
/// registers, clocks, GWS) the interpreter's result stands. Where a processor has written what the piece has loaded, the two
/// may differ, and the second result stands.
class Shadow final : private AccessListener {
public:
    enum class Kind {
        None,
        Alone,  ///< LYRA_SHADOW=1
        /// LYRA_SHADOW=guest: processors act on what waves do to memory. Atomic operations on it are the interpreter's.
        BesideProcessors,
    };
    /// Asked of the environment once.
    static Kind kind();
    static bool wanted() { return kind() != Kind::None; }

    /// In place of Translator::run(), with the same answers. A difference is told on standard error, and ends the process.
    uint64_t run(Translator& translator, PageCode& generated, ExecContext& ctx, CodePage& page, uint64_t page_va,
                 uint64_t budget, uint64_t& stopped_at);

private:
    struct Store {
        uint64_t va;
        unsigned bytes;
        uint8_t before[16], after[16];
    };
    struct Load {
        const uint8_t* host;
        uint64_t va;
        unsigned bytes;
        uint8_t found[64];
    };
    struct State {
        Wave wave;
        std::vector<VgprRow> rows;
        std::vector<uint8_t> lds;
        void take(const ExecContext& ctx);
        void give(ExecContext& ctx) const;
    };
    void access(const uint64_t* va, uint64_t active, unsigned bytes, Access access) override;
    bool copy(uint64_t va, uint8_t* data, unsigned bytes, bool store);
    uint64_t interpret(ExecContext& ctx, CodePage& page, uint64_t page_va, uint64_t limit, uint64_t& stopped_at);
    [[noreturn]] void differ(const ExecContext& ctx, CodePage& page, uint64_t page_va, const char* what) const;
    const char* difference(const ExecContext& ctx);
    bool others_wrote() const;

    MemoryPort* port_ = nullptr;
    uint32_t vmid_ = 0;
    std::vector<Store> stores_;
    std::vector<Load> loads_;
    bool final_ = false;  ///< what the interpreter did cannot be done again
    State before_, after_;
    Watchpoints nothing_;  ///< so that handlers tell the listener
    uint64_t random_ = 1;
};

}  // namespace lyra::gcn
