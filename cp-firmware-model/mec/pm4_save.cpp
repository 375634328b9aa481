// SPDX-License-Identifier: MIT
// What a PM4 queue has in flight, as words for its MQD and back: grids and end-of-pipe actions; steps 3 and 4.
#include <algorithm>

#include "cp-firmware-model/mec/pm4.h"
#include "cp-firmware-model/mqd/mqd.h"
#include "cp-firmware-model/queue/flight.h"

namespace lyra {

namespace {

/// The words of a request, in one order for both ways. @return words used
template <class Request, class Word>
unsigned walk_request(Request& r, Word word) {
    unsigned n = 0;
    const auto all = [&](auto& values) {
        for (auto& value : values) word(n++, value);
    };
    word(n++, r.rsrc1);
    word(n++, r.rsrc2);
    word(n++, r.lds_bytes);
    word(n++, r.tmpring_size);
    all(r.user_sgprs);
    all(r.grid);
    all(r.group_size);
    all(r.group_start);
    return n;
}

void put_request(const DispatchRequest& request, uint32_t* words) {
    const unsigned n = walk_request(request, [&](unsigned i, uint32_t value) { words[i] = value; });
    words[n] = lo32(request.entry);
    words[n + 1] = hi32(request.entry);
    words[n + 2] = request.user_sgpr_count;
    static_assert(4 + 16 + 9 + 3 <= flight::kRequestWords);
}

void get_request(DispatchRequest& request, const uint32_t* words) {
    const unsigned n = walk_request(request, [&](unsigned i, uint32_t& value) { value = words[i]; });
    request.entry = static_cast<uint64_t>(sign_extend(make64(words[n], words[n + 1]), 48));
    request.user_sgpr_count = std::min<uint32_t>(words[n + 2], request.user_sgprs.size());
    request.rsrc1 = field::COMPUTE_PGM_RSRC1::PRIV::set(request.rsrc1, 0);  // PRIV is nothing that a descriptor gives
}

}  // namespace

void Pm4Processor::save_flight(Hqd& hqd) {
    auto& words = hqd.save.flight;
    words = {};
    if (hqd.pm4.dispatches.empty() && hqd.pm4.end_of_pipe.empty()) return;
    words[flight::kMagic] = flight::kMagicPm4;
    words[flight::kCount] = static_cast<uint32_t>(hqd.pm4.dispatches.size());
    for (unsigned i = 0; i < hqd.pm4.dispatches.size(); ++i) {
        const DispatchRequest* request = dispatcher_.request(hqd.pm4.dispatches[i]);
        if (request == nullptr) continue;
        words[flight::kList + i] = request->packet_index;
        LaunchPosition next;
        if (!dispatcher_.next_group(hqd.pm4.dispatches[i], next)) continue;
        words[flight::kPartial] = i + 1;
        flight::put_position(next, words);
        put_request(*request, &words[flight::kRequest]);
        words[flight::kRsrc3] = request->rsrc3;
    }
    uint32_t* word = &words[flight::kAction];
    for (const EndOfPipe& action : hqd.pm4.end_of_pipe) {
        const auto after = std::upper_bound(hqd.pm4.dispatches.begin(), hqd.pm4.dispatches.end(), action.after_dispatch);
        const uint32_t saved[flight::kActionWords] = {static_cast<uint32_t>(after - hqd.pm4.dispatches.begin()),
                                                      lo32(action.address),
                                                      hi32(action.address),
                                                      lo32(action.data),
                                                      hi32(action.data),
                                                      action.context_id,
                                                      uint32_t{action.data_sel} | uint32_t{action.int_sel} << 8 |
                                                          uint32_t{action.write_back} << 16 |
                                                          uint32_t{action.invalidate} << 17};
        word = std::copy(std::begin(saved), std::end(saved), word);
        ++words[flight::kActions];
    }
}

bool Pm4Processor::resume_flight(Hqd& hqd) {
    const auto& words = hqd.save.flight;
    if (words[flight::kMagic] == 0) return true;
    if (words[flight::kMagic] != flight::kMagicPm4 || words[flight::kCount] > flight::kMaxDispatches ||
        words[flight::kActions] > flight::kMaxActions) {
        return false;
    }
    hqd.pm4.dispatches.clear();
    hqd.pm4.end_of_pipe.clear();
    for (unsigned i = 0; i < words[flight::kCount]; ++i) {
        DispatchRequest request;
        take_resources(request, hqd);
        request.rsrc1 =
            hqd.compute[mqd::compute_pgm_rsrc1];  // PRIORITY of restored waves: the queue's last, as its registers have it
        request.packet_index = words[flight::kList + i];
        LaunchPosition next;
        const bool partial = words[flight::kPartial] == i + 1;
        if (partial) {
            next = flight::get_position(words);
            get_request(request, &words[flight::kRequest]);
            request.rsrc3 = words[flight::kRsrc3];
            if (dispatcher_.check(request) != Fault::None) return false;
        }
        hqd.pm4.dispatches.push_back(dispatcher_.resume(request, partial ? &next : nullptr));
    }
    for (unsigned i = 0; i < words[flight::kActions]; ++i) {
        const uint32_t* word = &words[flight::kAction + i * flight::kActionWords];
        EndOfPipe action;
        const uint32_t after = std::min(word[0], words[flight::kCount]);
        action.after_dispatch = after == 0 ? 0 : hqd.pm4.dispatches[after - 1];
        action.address = make64(word[1], word[2]);
        action.data = make64(word[3], word[4]);
        action.context_id = word[5];
        action.vmid = hqd.vmid();
        action.data_sel = static_cast<uint8_t>(std::min(word[6] & 0xff, 4u));
        action.int_sel = static_cast<uint8_t>(word[6] >> 8 & 7);
        action.write_back = bit(word[6], 16);
        action.invalidate = bit(word[6], 17);
        hqd.pm4.end_of_pipe.push_back(action);
    }
    return true;
}

uint64_t Pm4Processor::dispatch_of(const Hqd& hqd, uint32_t number) const {
    for (const uint64_t id : hqd.pm4.dispatches) {
        const DispatchRequest* request = dispatcher_.request(id);
        if (request != nullptr && request->packet_index == number) return id;
    }
    return 0;
}

}  // namespace lyra
