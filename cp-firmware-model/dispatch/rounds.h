// SPDX-License-Identifier: MIT
// Compute units on several host threads: rounds in which each thread takes one compute unit after the other; step 5 of the data
// flow.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "cp-firmware-model/dispatch/dispatcher.h"
#include "cp-firmware-model/dispatch/worker_pool.h"

namespace lyra {

/// The dispatcher's own thread is one of the threads, and between rounds it has everything to itself. In a round a compute unit
/// belongs to the thread that runs it; all else, from the queues to the registers and page tables, is used under one lock.
class Dispatcher::Rounds {
public:
    Rounds(Dispatcher& dispatcher, unsigned threads);
    ~Rounds();

    /// What a compute unit is made with in place of the dispatcher and its memory.
    gcn::CuServices& services(unsigned cu);
    MemoryPort& memory(unsigned cu);

    /// Run waves for about so many instructions over all compute units, and launch the next groups where others have ended.
    /// @return instructions, and what launches cost; 0: nothing can run
    uint64_t run(uint64_t budget);

    /// The next groups are left to rounds, which launch them where they run: one queue alone waits, and its grid has more than
    /// all compute units hold.
    bool launches() const;

    /// Groups for the places that hardware would have filled, which rounds leave until somebody looks or something else wants
    /// them: a group that is launched when it can run finds its registers where the last one had them.
    void fill_places();
    /// Compute units that have waves, or would have with fill_places().
    uint32_t units_in_use() const;

    /// A wave that need not wait any more is told so by the thread that runs its compute unit, or when the round is over.
    bool later(const Gws::Waiter& waiter);

    /// What compute units have had more or less than their shares.
    void visit(StateVisitor& v);

private:
    class Link;

    void take_pieces(unsigned thread);
    uint64_t waves_of_round() const;
    void deal(bool to_threads);
    unsigned first_of_next();
    uint64_t take_turn(unsigned cu, uint64_t budget);
    uint64_t run_share(unsigned cu, uint64_t share, bool ahead = false);
    void go_ahead(unsigned thread);
    void fill(unsigned cu);
    void tell(unsigned cu);
    bool others_wait(uint64_t used, uint64_t share) const;
    uint64_t refill(unsigned cu, uint64_t budget);
    unsigned claim(unsigned cu, unsigned places);
    unsigned claim_of(unsigned cu, unsigned part, unsigned most);
    unsigned claim_next(unsigned cu, unsigned most);
    GridDeal claims() const;
    bool far_ahead(unsigned cu);
    const Grid* begin_launches();
    void end_launches();
    void share_grid();
    void count_claims();
    void settle(unsigned cu);
    uint32_t only_waiting_queue() const;
    bool worth_a_visit(unsigned cu, const Grid* grid) const;
    std::unique_lock<std::mutex> hold(unsigned cu);

    Dispatcher& d_;
    const unsigned threads_;
    std::vector<std::unique_ptr<Link>> links_;
    // Each of these is alone on its cache line: some because every thread writes them, the rest because a round only reads
    // them.
    alignas(64) std::mutex lock_;
    alignas(64) bool parallel_ = false;  ///< a round with helpers is going on
    uint64_t warm_ = 0;  ///< instructions since nothing could run
    bool fills_ = true;  ///< at its end waves are in every place that hardware would have filled, unless they are owed
    bool owes_places_ = false;
    uint32_t refill_ = kQueueIds;  ///< queue whose groups take the place of those that end; kQueueIds: placement has to decide
    std::vector<unsigned> todo_;  ///< compute units of this round
    /// Those of them that one thread takes before it takes those of others. They are the same in each round, so that their
    /// registers, LDS and translations stay in the caches next to it.
    struct alignas(64) Part {
        std::vector<unsigned> todo;
        std::vector<unsigned> took;  ///< by the thread with its number, of any part
        std::atomic<size_t> next{0};  ///< in todo
        size_t taken() const { return std::min(next.load(), todo.size()); }
    };
    std::vector<Part> parts_;
    unsigned first_part_ = 0;  ///< of the dispatcher's own thread
    bool goes_ahead_ = false;  ///< a thread that has no compute unit left does something meanwhile
    uint64_t share_ = 0, budget_ = 0;  ///< of one compute unit, of all
    /// The grid of which groups are claimed without the lock; id 0: of none. Each thread's compute units have a part of it, so
    /// that threads have no line in common. What has been claimed is counted in the grid, and its walk goes on, before an end
    /// of any of it is told.
    struct {
        uint64_t id = 0;
        GridDeal deal;  ///< as the round began
        GridWalk walk;
        uint64_t lag = 0;  ///< groups that a part may be ahead of another
        std::array<uint64_t, GridDeal::kMostParts> size{};
    } shared_;
    uint64_t counted_claims_ = 0;
    struct alignas(64) Claims {
        std::atomic<uint64_t> groups{0};
    };
    std::array<Claims, GridDeal::kMostParts> claims_;  ///< of each part
    alignas(64) std::atomic<uint64_t> used_{0};
    std::atomic<unsigned> busy_{0};  ///< threads that have compute units of which the turn is not over
    std::atomic<bool> over_{false};  ///< a thread has nothing to do any more
    std::atomic<bool> short_{false};  ///< a compute unit has no waves any more
    std::vector<Gws::Waiter> released_;
    WorkerPool pool_;  ///< last: its threads end first
};

}  // namespace lyra
