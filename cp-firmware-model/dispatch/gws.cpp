// SPDX-License-Identifier: MIT
// Global wave sync instructions on their resource: count, queue, release; step 6 of the data flow.
#include "cp-firmware-model/dispatch/gws.h"

#include "gcn-interp/cu/group.h"

namespace lyra {

bool Gws::execute(gcn::GwsOp op, unsigned number, uint32_t value, Waiter asking, Waiters& released) {
    Resource& r = resources_[number % kGwsResources];
    value &= kMaxCount;
    bool done = true;
    switch (op) {
        case gcn::GwsOp::Init:
            r.counter = value;
            r.flag = false;
            break;
        case gcn::GwsOp::SemaV:
            r.semaphore = true;
            add(r, 1);
            break;
        case gcn::GwsOp::SemaBr:
            r.semaphore = true;
            add(r, value);
            break;
        case gcn::GwsOp::SemaP:
            r.semaphore = true;
            done = r.counter != 0;
            if (done) --r.counter;
            break;
        case gcn::GwsOp::SemaReleaseAll:
            r.semaphore = true;
            released.insert(released.end(), r.queue.begin(), r.queue.end());
            r.queue.clear();
            break;
        case gcn::GwsOp::Barrier:
            r.semaphore = false;
            asking.barrier = true;
            asking.flag = r.flag;
            done = r.counter == 0;
            if (done) {
                // The last one: it opens the barrier and says how many may come to the next.
                r.flag = !r.flag;
                r.counter = value;
            } else {
                --r.counter;
            }
            break;
    }
    if (!done) r.queue.push_back(asking);
    release(r, released);
    return done;
}

void Gws::release(Resource& r, Waiters& released) {
    std::erase_if(r.queue, [&](const Waiter& waiter) {
        if (waiter.barrier ? waiter.flag == r.flag : r.counter == 0) return false;
        if (!waiter.barrier) --r.counter;
        released.push_back(waiter);
        return true;
    });
}

/// Who leaves a barrier has not arrived.
void Gws::withdraw(Resource& r, const Waiter& waiter) {
    if (waiter.barrier) add(r, 1);
}

void Gws::leave(unsigned cu, unsigned slot) {
    for (Resource& r : resources_) {
        std::erase_if(r.queue, [&](const Waiter& waiter) {
            if (waiter.cu != cu || waiter.slot != slot) return false;
            withdraw(r, waiter);
            return true;
        });
    }
}

Gws::Waiters Gws::evict(GwsRange range) {
    Waiters waiters;
    for (unsigned n = 0; n < range.size; ++n) {
        Resource& r = resources_[(range.base + n) % kGwsResources];
        for (const Waiter& waiter : r.queue) withdraw(r, waiter);
        waiters.insert(waiters.end(), r.queue.begin(), r.queue.end());
        r.queue.clear();
    }
    return waiters;
}

void Gws::load(GwsRange range, const GwsWords& words) {
    for (unsigned n = 0; n < range.size; ++n) {
        const uint32_t word = words[n / 2] >> n % 2 * 16;
        Resource& r = resources_[(range.base + n) % kGwsResources];
        namespace resource = field::GDS_GWS_RESOURCE;
        r.flag = resource::FLAG::get(word);
        r.counter = resource::COUNTER::get(word);
        r.semaphore = resource::TYPE::get(word);
    }
}

void Gws::store(GwsRange range, GwsWords& words) const {
    words = {};
    for (unsigned n = 0; n < range.size; ++n) {
        words[n / 2] |= word(resources_[(range.base + n) % kGwsResources]) << n % 2 * 16;
    }
}

void Gws::Waiter::visit(StateVisitor& v) {
    v("cu", cu);
    v("slot", slot, gcn::kWaveSlots - 1);
    v("barrier", barrier);
    v("flag", flag);
}

void Gws::Resource::visit(StateVisitor& v) {
    v("counter", counter, kMaxCount);
    v("flag", flag);
    v("semaphore", semaphore);
    v.list("queue", queue, size_t{64} * gcn::kWaveSlots);
}

void Gws::visit(StateVisitor& v, unsigned cus) {
    v("resources", resources_);
    for (const Resource& resource : resources_)
        for (const Waiter& waiter : resource.queue) v.require(waiter.cu < cus, "a wave waits on no compute unit");
}

}  // namespace lyra
