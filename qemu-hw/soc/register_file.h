// SPDX-License-Identifier: MIT
// BAR5: every dword register, who owns it, and what the guest touched that nobody models; step 2 of the data flow.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "common/env.h"
#include "common/snapshot.h"
#include "facts/registers.h"

namespace lyra {

inline constexpr uint32_t kRegisterBarBytes = 512 * 1024;  ///< with two XCCs at most
inline constexpr uint32_t kRegisterCount = kRegisterBarBytes / 4;

/// A hardware block with registers of its own. dw is the dword number in BAR5 (byte offset / 4).
class RegisterBlock {
public:
    virtual ~RegisterBlock() = default;
    virtual uint32_t read(uint32_t dw) = 0;
    virtual void write(uint32_t dw, uint32_t value) = 0;
};

class RegisterFile {
public:
    /// @param chip  where it has registers elsewhere, dw is as on this chip for read(), write() and the guest, and as in
    ///              facts/registers.h for everything else
    explicit RegisterFile(Env& env, Chip chip = Chip::gfx900);

    /// The registers of another XCC, which has a file of its own. Its numbers there are those of the first XCC.
    void add_xcc(RegisterFile& file);
    /// Of BAR5, which every XCC makes longer from the third on.
    uint32_t bytes() const { return count_ * 4; }

    /// Route the registers that facts/registers.h gives to an owner to this block. Without one they are plain storage, as are
    /// those that nobody owns.
    void attach(regs::Owner owner, RegisterBlock& block) { blocks_[static_cast<unsigned>(owner)] = &block; }

    /// With all side effects. dw past the BAR reads ones and is counted.
    uint32_t read(uint32_t dw);
    void write(uint32_t dw, uint32_t value);

    /// The storage behind a register that is not another XCC's, without side effects.
    uint32_t stored(uint32_t dw) const { return storage_[dw]; }
    void store(uint32_t dw, uint32_t value) { storage_[dw] = value; }

    /// Until then the guest's reads give ones and its writes are lost; both are counted.
    void silence(uint64_t until_ns) { silent_until_ns_ = until_ns; }

    /// Guest read, watched: a register that is polled long without change is named once in the log.
    uint32_t guest_read(uint32_t dw);
    void guest_write(uint32_t dw, uint32_t value);

    /// Every register has the value of its row, or 0.
    void reset();
    /// What was touched, and how often, is left out: it is what the log is about.
    void visit(StateVisitor& v);

    /// The number on this chip of a register of facts/registers.h.
    uint32_t on_chip(uint32_t dw) const;

    /// "CP_HQD_ACTIVE (0xc91c)", or "0x12345" for a register without a row.
    static std::string name(uint32_t dw);

private:
    /// dw of facts/registers.h; kNowhere: the chip has no such register.
    struct Place {
        RegisterFile* file;
        uint32_t dw;
    };
    static constexpr uint32_t kNowhere = ~0u;
    Place place(uint32_t dw);
    bool past_the_end(uint32_t dw, bool write);
    uint32_t read_here(uint32_t dw);
    void write_here(uint32_t dw, uint32_t value);
    bool is_silent(uint32_t dw, bool write);
    void note_touch(const Place& at, uint32_t dw, bool write);
    void watch_poll(uint32_t dw, uint32_t value);

    Env& env_;
    std::vector<RegisterFile*> xccs_;  ///< from the second on
    uint32_t count_ = kRegisterCount;  ///< with those of all XCCs
    std::vector<uint32_t> place_;  ///< by number on the chip; empty: the same everywhere
    std::vector<uint32_t> storage_;
    std::vector<regs::Owner> owner_;
    std::array<RegisterBlock*, regs::kOwners> blocks_{};  ///< by owner; nullptr: storage
    std::vector<bool> touched_;  ///< by number on the chip where it has no row
    std::vector<bool> poll_reported_;
    uint32_t polled_dw_ = ~0u, polled_value_ = 0;
    uint64_t poll_count_ = 0, poll_since_ns_ = 0;
    uint64_t silent_until_ns_ = 0;
};

}  // namespace lyra
