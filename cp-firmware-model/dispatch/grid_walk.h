// SPDX-License-Identifier: MIT
// The work-groups of a grid in launch order: x fastest, partial groups at the far edges; step 5 of the data flow.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace lyra {

/// Walks group ids from start (inclusive) to ceil(grid / group_size) (exclusive). Nothing is counted ahead, so grids of
/// 2^96 groups are no problem. A dimension without groups makes the walk empty.
class GridWalk {
public:
    GridWalk() = default;
    /// @param grid, group_size work-items  @param start first group id per dimension
    GridWalk(const std::array<uint32_t, 3>& grid, const std::array<uint32_t, 3>& group_size,
             const std::array<uint32_t, 3>& start)
        : grid_(grid), size_(group_size), start_(start), id_(start), done_(false) {
        for (unsigned d = 0; d < 3; ++d) {
            count_[d] = size_[d] == 0 ? 0 : static_cast<uint32_t>((uint64_t{grid_[d]} + size_[d] - 1) / size_[d]);
            if (start_[d] >= count_[d]) done_ = true;
        }
    }

    bool done() const { return done_; }
    bool at_start() const { return !done_ && id_ == start_; }
    const std::array<uint32_t, 3>& group() const { return id_; }

    /// Work-items of the current group that exist, per dimension.
    std::array<uint32_t, 3> valid() const {
        std::array<uint32_t, 3> v{};
        for (unsigned d = 0; d < 3; ++d) {
            const uint64_t left = grid_[d] - uint64_t{id_[d]} * size_[d];
            v[d] = left < size_[d] ? static_cast<uint32_t>(left) : size_[d];
        }
        return v;
    }

    /// Go on at a group. @return false, and the walk unchanged, when it is none of the walk's
    bool go_to(const std::array<uint32_t, 3>& group) {
        for (unsigned d = 0; d < 3; ++d) {
            if (group[d] < start_[d] || group[d] >= count_[d]) return false;
        }
        id_ = group;
        done_ = false;
        return true;
    }

    /// Go on at the group of that number (index()); behind the last one the walk is done.
    void go_to_index(uint64_t index) {
        id_ = start_;
        done_ = false;
        skip(index);
    }

    void next() {
        for (unsigned d = 0; d < 3; ++d) {
            if (++id_[d] < count_[d]) return;
            id_[d] = start_[d];
        }
        done_ = true;
    }

    /// Groups that are left, the current one among them; `most` when there are more.
    uint64_t left(uint64_t most) const {
        if (done_) return 0;
        const uint64_t width = count_[0] - start_[0], plane = width * (count_[1] - start_[1]);
        const uint64_t here = count_[0] - id_[0] + width * (count_[1] - id_[1] - 1);
        uint64_t all = 0;
        if (__builtin_mul_overflow(plane, count_[2] - id_[2] - 1, &all) || __builtin_add_overflow(all, here, &all)) return most;
        return std::min(all, most);
    }

    /// Number of the current group in the order of the walk, modulo 2^64.
    uint64_t index() const {
        uint64_t index = 0;
        for (unsigned d = 3; d-- > 0;) index = index * (count_[d] - start_[d]) + (id_[d] - start_[d]);
        return index;
    }

    /// As so many next(), which are not more than left().
    void skip(uint64_t groups) {
        for (unsigned d = 0; d < 3; ++d) {
            const uint64_t at = id_[d] - start_[d] + groups, width = count_[d] - start_[d];
            groups = at < width ? 0 : at / width;
            id_[d] = start_[d] + static_cast<uint32_t>(groups == 0 ? at : at % width);
            if (groups == 0) return;
        }
        done_ = true;
    }

    /// No more groups (the dispatch was killed).
    void stop() { done_ = true; }

    /// Groups in the whole walk, 2^64 - 1 when there are more.
    uint64_t total() const {
        uint64_t product = 1;
        for (unsigned d = 0; d < 3; ++d) {
            const uint64_t n = start_[d] < count_[d] ? count_[d] - start_[d] : 0;
            if (n == 0) return 0;
            if (__builtin_mul_overflow(product, n, &product)) return ~uint64_t{0};
        }
        return product;
    }

private:
    std::array<uint32_t, 3> grid_{}, size_{}, start_{}, id_{}, count_{};
    bool done_ = true;
};

}  // namespace lyra
