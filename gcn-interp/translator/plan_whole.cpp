// SPDX-License-Identifier: MIT
// What code for waves of which all lanes are on is made of, before it is emitted: which steps go together, what loops keep in
// registers, and for which affine VGPRs a block has a version; step 6 of the data flow.
#include <algorithm>
#include <functional>
#include <set>

#include "gcn-interp/isa/op.h"
#include "gcn-interp/translator/emit_whole.h"

namespace lyra::gcn {
namespace {

/// VGPRs that a loop keeps: four registers each, or one each of those that are affine. The others are for what instructions
/// need in between.
constexpr unsigned kLoopVgprs = 7, kLoopAffine = 10;
/// Versions of one block.
constexpr size_t kVersions = 3;
/// A calculation with more VGPRs than stay in registers, and so long that it pays to write them before and read them after,
/// is done strip by strip.
constexpr unsigned kManyVgprs = 7, kLongCalculation = 12;

void note(VectorSet& set, unsigned first, unsigned count) {
    for (unsigned n = first; n < first + count; ++n) set.set(n);
}

}  // namespace

/// Steps from `first` on that calculate, without memory, addresses or functions of the interpreter. @return the first one that
/// does not
size_t Emitter::calculation_end(const BasicBlock& block, size_t first) const {
    size_t i = first;
    for (; i < block.steps.size(); ++i) {
        const Step& step = block.steps[i];
        if (has_no_effect(step.inst)) continue;
        const StepPlan& plan = plan_of(block, i);
        if (plan.feeds_address) break;
        if (step.writes_exec || (plan.vector.emit == nullptr && plan.scalar.emit == nullptr)) break;
    }
    return i;
}

Emitter::StepPlan Emitter::plan_step(const Step& step) const {
    const Inst& inst = step.inst;
    StepPlan plan{.vector = plan_vector(inst), .scalar = {}, .move = {}, .scalar_load = false, .writes = {}};
    if (plan.vector.emit != nullptr) {
        if (inst.format != Format::VOPC && inst.dst != kNoOperand) note(plan.writes, inst.dst, info(inst.op).dst_dwords());
        return plan;
    }
    plan.vector.inst = &inst;
    plan.scalar = scalar_op(inst, config_);
    plan.scalar_load = is_plain_scalar_load(inst);
    plan.move = plain_move(inst);
    if (plan.move) {
        const Routine& kind = plan.move->routine;
        note(plan.vector.uses.vector_reads, inst.vaddr, kind.high ? 2 : 1);
        for (unsigned element = 0; element < kind.elements; ++element)
            note(kind.loads ? plan.writes : plan.vector.uses.vector_reads, plan.move->rows[element], kind.words);
    }
    return plan;
}

/// Nothing in the block wants all rows to be written.
bool Emitter::stays_whole(const BasicBlock& block) const {
    for (size_t i = 0; i < block.steps.size(); ++i) {
        const size_t end = calculation_end(block, i);
        if (end != i) {
            if (is_long_calculation(block, i, end)) return false;
            i = end - 1;
            continue;
        }
        const StepPlan& plan = plan_of(block, i);
        if (plan.scalar.emit == nullptr && !plan.move && !plan.scalar_load && !plan.feeds_address) return false;
    }
    return true;
}

bool Emitter::is_long_calculation(const BasicBlock& block, size_t first, size_t end) const {
    VectorSet all;
    size_t instructions = 0;
    for (size_t i = first; i < end; ++i) {
        const VectorSet own = plan_of(block, i).vectors();
        all |= own;
        instructions += own.any();
    }
    return all.count() > kManyVgprs && instructions >= kLongCalculation;
}

/// A long calculation from `first` on, with the functions of rows in it. @return its end; `first` if there is none
size_t Emitter::long_calculation_end(const BasicBlock& block, size_t first) const {
    size_t end = calculation_end(block, first);
    while (end != first && end < block.steps.size() && row_function(block.steps[end].inst.op) != nullptr)
        end = calculation_end(block, end + 1);
    return is_long_calculation(block, first, end) ? end : first;
}

/// Most vector instructions are in long calculations, so that code for all lanes gains nothing: rows are written before each of
/// them and read behind it. It gains where there is one, once, and other instructions around it: addresses, above all.
bool Emitter::is_mostly_calculation(const BasicBlock& block, bool in_loop) const {
    size_t all = 0, in_long = 0, long_ones = 0;
    for (size_t i = 0; i < block.steps.size();) {
        const size_t long_end = long_calculation_end(block, i), end = std::max({long_end, calculation_end(block, i), i + 1});
        const bool is_long = long_end != i;
        long_ones += is_long;
        for (; i < end; ++i) {
            const bool vector = plan_of(block, i).vectors().any();
            all += vector;
            in_long += vector && is_long;
        }
    }
    return 2 * in_long > all && (in_loop || long_ones > 1 || in_long == all);
}

/// What a loop had better keep in registers: what goes from one iteration to the next is loaded and written in each otherwise,
/// what each computes anew is only written.
void Emitter::keep_in_loop(WholeBlock& head, const std::map<int32_t, const BasicBlock*>& blocks) {
    struct Use {
        unsigned vgpr = 0, uses = 0;
        bool from_before = false, written = false;
        unsigned worth() const { return written ? from_before ? 3 : 2 : 1; }
    };
    std::map<unsigned, Use> all;
    for (const int32_t each : head.loop) {
        for (const StepPlan& plan : plans_[blocks.at(each)]) {
            const VectorSet both = plan.vectors(), &reads = plan.vector.uses.vector_reads;
            if (!plan.feeds_address && !plan.move) head.lanes_read |= reads;
            for (size_t n = both._Find_first(); n < both.size(); n = both._Find_next(n)) {
                Use& use = all[static_cast<unsigned>(n)];
                use.vgpr = static_cast<unsigned>(n);
                use.from_before |= reads.test(n) && !use.written;
                use.written |= plan.writes.test(n);
                ++use.uses;
            }
        }
    }
    std::vector<Use> best;
    for (const auto& [vgpr, use] : all) best.push_back(use);
    std::ranges::stable_sort(best, std::greater{}, [](const Use& use) { return std::pair(use.worth(), use.uses); });
    for (const Use& use : best) head.keeps.push_back(use.vgpr);
}

/// Which blocks begin loops, and what those keep in registers.
void Emitter::plan_loops(const Region& region) {
    std::map<int32_t, const BasicBlock*> blocks;
    for (const BasicBlock& each : region.blocks) blocks[static_cast<int32_t>(each.offset)] = &each;
    for (const BasicBlock& each : region.blocks) {
        WholeBlock& whole = whole_blocks_[static_cast<int32_t>(each.offset)];
        whole.block = &each;
        whole.versions.emplace_back();
    }
    const auto next_of = [&](const BasicBlock& block) {
        std::vector<int32_t> next;
        if (block.end == BlockEnd::Next || block.end == BlockEnd::Choice) next.push_back(block.next);
        if (block.end == BlockEnd::Branch || block.end == BlockEnd::Choice) next.push_back(block.target);
        std::erase_if(next, [&](int32_t offset) { return !blocks.contains(offset); });
        return next;
    };
    // Depth first: a jump to a block that is not finished closes a loop.
    enum class Seen : uint8_t { No, Open, Done };
    std::map<int32_t, Seen> seen;
    std::vector<const BasicBlock*> finished;
    std::vector<std::pair<int32_t, int32_t>> back;  ///< from, to
    std::map<int32_t, std::vector<int32_t>> before;
    struct Visit {
        const BasicBlock* block;
        std::vector<int32_t> next;
    };
    for (const BasicBlock& root : region.blocks) {
        if (seen[static_cast<int32_t>(root.offset)] != Seen::No) continue;
        std::vector<Visit> open{{&root, next_of(root)}};
        seen[static_cast<int32_t>(root.offset)] = Seen::Open;
        while (!open.empty()) {
            Visit& now = open.back();
            const auto at = static_cast<int32_t>(now.block->offset);
            if (now.next.empty()) {
                seen[at] = Seen::Done;
                finished.push_back(now.block);
                open.pop_back();
                continue;
            }
            const int32_t next = now.next.back();
            now.next.pop_back();
            before[next].push_back(at);
            if (seen[next] == Seen::Open) back.emplace_back(at, next);
            if (seen[next] != Seen::No) continue;
            seen[next] = Seen::Open;
            open.push_back({blocks[next], next_of(*blocks[next])});
        }
    }
    for (const auto& [from, to] : back) {
        WholeBlock& head = whole_blocks_[to];
        head.begins_loop = true;
        std::vector<int32_t> todo{from};
        head.loop.insert(to);
        while (!todo.empty()) {
            const int32_t at = todo.back();
            todo.pop_back();
            if (!head.loop.insert(at).second) continue;
            for (const int32_t each : before[at]) todo.push_back(each);
        }
    }
    std::set<int32_t> in_loops;
    for (auto& [offset, head] : whole_blocks_) {
        if (!head.begins_loop) continue;
        in_loops.insert(head.loop.begin(), head.loop.end());
        if (std::ranges::all_of(head.loop, [&](int32_t each) { return stays_whole(*blocks[each]); }))
            keep_in_loop(head, blocks);
    }
    for (auto& [offset, whole] : whole_blocks_)
        whole.any_lanes = is_mostly_calculation(*whole.block, in_loops.contains(offset));
    for (size_t i = 0; i < finished.size(); ++i)
        whole_blocks_[static_cast<int32_t>(finished[i]->offset)].order = finished.size() - i;
}

void Emitter::plan_whole(const Region& region) {
    plan_loops(region);
    WholeBlock& entry = whole_blocks_[entered_at_];
    if (const Affine affine = affine_rows(); !affine.empty() && !entry.any_lanes) {
        Version& version = add_version(entry, affine);
        held_ = {};
        version.begins_with = loop_registers(entry, affine);
    }
    whole_versions();
}

/// Emits all versions, and those that they jump to.
void Emitter::whole_versions() {
    while (true) {
        WholeBlock* first = nullptr;
        Version* version = nullptr;
        for (auto& [offset, whole] : whole_blocks_) {
            if (whole.any_lanes || (first != nullptr && whole.order >= first->order)) continue;
            const auto next = std::ranges::find(whole.versions, false, &Version::emitted);
            if (next != whole.versions.end()) first = &whole, version = &*next;
        }
        if (first == nullptr) return;
        version->emitted = true;
        emit_version(*first->block, *version);
    }
}

Emitter::Version& Emitter::add_version(WholeBlock& to, const Affine& affine) {
    Version& version = to.versions.emplace_back();
    version.affine = affine;
    return version;
}

/// The version of a block to jump to with these affine VGPRs: made where there is none, unless there are many already.
Emitter::Version& Emitter::version_for(WholeBlock& to, const Affine& affine) {
    if (const auto same = std::ranges::find(to.versions, affine, &Version::affine); same != to.versions.end()) return *same;
    if (to.versions.size() < kVersions) return add_version(to, affine);
    Version* best = &to.versions.front();
    for (Version& each : to.versions) {
        const bool are_here = std::ranges::includes(affine, each.affine);
        if (are_here && each.affine.size() > best->affine.size()) best = &each;
    }
    return *best;
}

/// What registers hold where a loop begins: what is there already stays where it is.
Emitter::Registers Emitter::loop_registers(const WholeBlock& head, const Affine& affine) const {
    Registers wanted{};
    std::vector<Held> missing;
    const auto want = [&](unsigned vgpr, unsigned strip, uint32_t distance, bool may_differ) {
        const auto same = [&](const Held& held) { return held.kind == Kind::Vgpr && held.key == vgpr && held.strip == strip; };
        const auto found = std::ranges::find_if(held_, same);
        const Held held{Kind::Vgpr, may_differ, false, vgpr, strip, distance};
        found == held_.end() ? missing.push_back(held) : void(wanted[static_cast<size_t>(found - held_.begin())] = held);
    };
    unsigned first_lanes = 0, vgprs = 0;
    for (const auto& [vgpr, distance] : affine) {
        if (first_lanes++ < kLoopAffine) want(vgpr, kFirstLanes, distance, true);
    }
    const unsigned room = (kLoopVgprs * kStrips - std::min(first_lanes, kLoopAffine)) / kStrips;
    for (const unsigned vgpr : head.keeps) {
        const bool is_affine = affine.contains(vgpr);
        if ((is_affine && !head.lanes_read.test(vgpr)) || vgprs++ >= room) continue;
        for (unsigned strip = 0; strip < kStrips; ++strip) want(vgpr, strip, 0, !is_affine);
    }
    for (const Held& held : missing) *std::ranges::find(wanted, Kind::None, &Held::kind) = held;
    return wanted;
}

}  // namespace lyra::gcn
