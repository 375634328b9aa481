// SPDX-License-Identifier: MIT
// The L2 as a fault of a driver or a program shows it: what waves access, apart from memory until somebody asks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "common/env.h"
#include "common/memory_port.h"
#include "common/snapshot.h"
#include "qemu-hw/soc/gmc.h"

namespace lyra {

/// Strict::l2: between the waves and their hub, the lines of every page that the page table lets them cache (MTYPE not UC).
/// Others, which do not go through the L2, see its stores after a write-back; it sees theirs after an invalidation. Hardware
/// evicts lines whenever it likes; here none is, and when kMaxPages are held, further ones are not. Atomics are executed on a
/// page as a whole: what memory had in lines that nothing else has touched is that of the moment when the page was looked up.
/// Without strictness all is passed on.
class L2 final : public MemoryPort {
public:
    L2(Env& env, Hub& hub, const HubClient& client) : env_(env), hub_(hub), port_(hub, client) { share_generation(*this, hub); }

    uint8_t* page(uint32_t vmid, uint64_t va, Access access) override;
    HostRange range(uint32_t vmid, uint64_t va, Access access) override {
        return env_.strict.l2 ? MemoryPort::range(vmid, va, access) : port_.range(vmid, va, access);
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override;
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override;
    Fault check(uint32_t vmid, uint64_t va, Access access) override { return port_.check(vmid, va, access); }
    void touch(uint8_t* host) override { port_.touch(host); }

    void write_back();
    /// After a write-back: nothing that is dirty is lost.
    void invalidate();
    /// What is dirty is lost.
    void reset();
    /// After the memory of the host is known.
    void visit(StateVisitor& v);

private:
    using Bytes = std::array<uint8_t, kPageBytes>;
    static constexpr size_t kLineBytes = 64;  ///< @source AMD GCN architecture white paper: cache line of L1 and L2
    struct Page {
        alignas(64) Bytes now{};                                        ///< what waves see
        std::array<uint64_t, kPageBytes / kLineBytes> valid{}, dirty{};  ///< by byte of each line, of loads and stores
        std::unique_ptr<Bytes> before;  ///< where atomics are, which leave no marks: as memory gave or got it last
        void fetch(const uint8_t* memory, size_t line);
        void visit(StateVisitor& v);
    };
    Page* held(uint32_t vmid, uint64_t va, Access access, uint8_t* memory);

    Env& env_;
    Hub& hub_;
    HubPort port_;
    std::unordered_map<uint8_t*, std::unique_ptr<Page>> pages_;  ///< by the host address of the page in memory
};

}  // namespace lyra
