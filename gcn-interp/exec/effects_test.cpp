// SPDX-License-Identifier: MIT
// The effects of every operation (isa/effects.h) against what its handler does: random instructions are executed twice, the
// second time with some state changed that they are not said to read.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <string>

#include "gcn-interp/exec/exec.h"
#include "gcn-interp/exec/fp_exceptions.h"
#include "gcn-interp/exec/page_cache.h"
#include "gcn-interp/fuzz/random_program.h"
#include "gcn-interp/isa/effects.h"
#include "gcn-interp/isa/format_names.h"
#include "gcn-interp/wave/lanes.h"
#include "gcn-interp/wave/mode.h"
#include "gcn-interp/wave/services.h"

namespace lyra::gcn {
namespace {

using Random = std::mt19937_64;

constexpr uint64_t kShared = uint64_t{1} << 48, kPrivate = uint64_t{2} << 48, kPc = 0x7f0000001000;
constexpr unsigned kRows = 64, kPages = 4;

/// State that an instruction may read or write without an operand for it.
struct Piece {
    const char* name;
    uint32_t bit;
};
constexpr Piece kPieces[] = {
    {"SCC", effect::Scc},
    {"VCC", effect::Vcc},
    {"EXEC", effect::Exec},
    {"M0", effect::M0},
    {"MODE", effect::Mode},
    {"control", effect::Control},
    {"FLAT_SCRATCH", effect::FlatScratch},
    {"SGPRs", effect::Sgprs},
    {"PC", effect::Pc},
    {"LDS", effect::Lds},
    {"GDS", effect::Gds},
    {"memory", effect::Memory},
    {"clock", effect::Clock},
};
constexpr uint32_t kOutcomes = effect::Ask | effect::Fault;

std::string names_of(uint32_t set) {
    std::string text;
    for (const Piece& piece : kPieces)
        if (set & piece.bit) text += std::string(text.empty() ? "" : " ") + piece.name;
    if (set & effect::Ask) text += " request";
    if (set & effect::Fault) text += " fault";
    return text.empty() ? "nothing" : text;
}

constexpr uint32_t kModeFields = kModeMask & ~static_cast<uint32_t>(ModeBits::GprIdxEn::kMask);

/// All that an instruction can see and change.
struct State {
    Wave wave;
    std::array<VgprRow, kRows> rows;
    std::array<uint8_t, 4096> lds;
    std::array<uint8_t, 1024> gds;
    std::array<uint8_t, kPages * kPageBytes> memory;
    uint64_t clock = 0;
    GwsAnswer gws_answer = GwsAnswer::Done;
    bool gds_ordered = false;
    // Afterwards.
    Fault fault = Fault::None;
    Request request = Request::None;
    uint32_t request_arg = 0;
    bool yield = false;
    std::array<uint32_t, 4> gws{};  ///< asked, and with what

    uint32_t mode() const { return wave.mode & kModeFields; }
    std::array<uint32_t, 5> control() const {
        return {wave.mode & ~kModeFields, wave.status, wave.trapsts, wave.ib_sts, wave.user_gpr_idx};
    }
};

/// Most of the address space is these few pages; some is not there.
class Pages : public MemoryPort {
public:
    explicit Pages(uint8_t* bytes) : bytes_(bytes) {}
    uint8_t* page(uint32_t, uint64_t va, Access) override {
        const uint64_t number = va / kPageBytes;
        return number % 16 == 7 ? nullptr : bytes_ + number % kPages * kPageBytes + va % kPageBytes;
    }
    Fault read(uint32_t vmid, uint64_t va, void* data, size_t size) override {
        return each(vmid, va, size, [&](uint8_t* host, size_t i) { static_cast<uint8_t*>(data)[i] = *host; });
    }
    Fault write(uint32_t vmid, uint64_t va, const void* data, size_t size) override {
        return each(vmid, va, size, [&](uint8_t* host, size_t i) { *host = static_cast<const uint8_t*>(data)[i]; });
    }

private:
    template <class Move>
    Fault each(uint32_t vmid, uint64_t va, size_t size, Move move) {
        for (size_t i = 0; i < size; ++i)
            if (!page(vmid, va + i, Access::Read)) return Fault::PageNotPresent;
        for (size_t i = 0; i < size; ++i) move(page(vmid, va + i, Access::Read), i);
        return Fault::None;
    }
    uint8_t* bytes_;
};

class Machine : public WaveServices {
public:
    GwsAnswer gws(const Wave&, GwsOp op, uint32_t resource, uint32_t value) override {
        now.gws = {true, static_cast<uint32_t>(op), resource, value};
        return now.gws_answer;
    }
    GdsWindow gds(uint32_t) override { return {now.gds.data(), static_cast<uint32_t>(now.gds.size()), now.gds_ordered, {}}; }
    uint64_t shader_clock() override { return now.clock; }
    uint64_t reference_clock() override { return now.clock; }

    /// The state after one instruction.
    void run(const State& before, const Inst& inst, ExecFn handler, State& after) {
        now = before;
        now.wave.vgpr = now.rows.data();
        ExecContext ctx(now.wave, nullptr, &pages_, this, now.lds.data());
        ctx.pages = &cache_;
        handler(ctx, inst);
        now.fault = ctx.fault, now.request = ctx.request, now.request_arg = ctx.request_arg, now.yield = ctx.yield;
        after = now;
    }
    State now;

private:
    Pages pages_{now.memory.data()};
    PageCache cache_{pages_};
};

// ---- states ----

uint32_t random_word(Random& random) {
    // Zero; NaNs, quiet and signalling, and denormals as f32, high half of f64, and f16.
    constexpr uint32_t kCorners[] = {0,          0,          0x7fc00001, 0x7f800001, 0xffa00000, 0x7ff00001, 0x7ff80000,
                                     0x00000001, 0x80400000, 0x000fffff, 0x7c017e01, 0x7e007c01, 0x83ff0001, 0x000103ff};
    switch (random() % 7) {
        case 6: return kCorners[random() % std::size(kCorners)];
        case 0: return static_cast<uint32_t>(random() % 64);
        case 1: return static_cast<uint32_t>(random() % 4096);
        case 2: return 0x3f800000u ^ static_cast<uint32_t>(random() % 0x1000000);
        case 3: return 0x80000000u >> random() % 32;
        case 4: return static_cast<uint32_t>(random()) & 0x83ffffff;  // small as f32, f16 and integer
        default: return static_cast<uint32_t>(random());
    }
}

template <class Array>
void fill_random(Array& array, Random& random) {
    uint64_t value = random();
    for (auto& each : array) {
        value = value * 6364136223846793005u + 1442695040888963407u;
        each = static_cast<std::remove_reference_t<decltype(each)>>(value >> 40);
    }
}

/// High halves of addresses: often of an aperture.
uint32_t high_word(Random& random) {
    constexpr uint32_t kHigh[] = {0, 0, hi32(kShared), hi32(kPrivate)};
    return random() % 2 ? random_word(random) : kHigh[random() % std::size(kHigh)];
}

void randomize(State& s, Random& random) {
    s.wave = Wave{};
    s.wave.state = WaveState::Running;
    s.wave.vgpr_count = kRows;
    s.wave.sgpr_count = kMaxSgprs;
    s.wave.lds_bytes = static_cast<uint32_t>(s.lds.size());
    s.wave.private_base = kPrivate, s.wave.shared_base = kShared;
    s.wave.pc = kPc;
    for (uint32_t& each : s.wave.sgpr) each = random_word(random);
    for (uint32_t& each : s.wave.ttmp) each = random_word(random);
    for (unsigned n = 0; n < kMaxSgprs; n += 4) {
        if (random() % 2) continue;
        s.wave.sgpr[n + 1] &= 0xffff0000u | random() % 2;  // a buffer that begins in the lower half of memory
        if (random() % 2) s.wave.sgpr[n + 2] = static_cast<uint32_t>(random() % 0x10000);
    }
    for (VgprRow& row : s.rows) {
        const bool alike = random() % 3 == 0, high = random() % 3 == 0;
        const uint32_t one = high ? high_word(random) : random_word(random);
        for (uint32_t& lane : row.lane) lane = alike || high ? one : random_word(random);
    }
    s.wave.exec = random() % 4 == 0 ? kAllLanes : random() % 16 == 0 ? 0 : random();
    s.wave.set_vcc(random() % 4 == 0 ? 0 : random());
    s.wave.scc = random() % 2;
    s.wave.m0 = random() % 2 ? random_word(random) : static_cast<uint32_t>(random() % 0x200 << 16 | random() % 0x800);
    s.wave.mode = static_cast<uint32_t>(random()) & (kModeFields | static_cast<uint32_t>(ModeBits::CspBits::kMask));
    s.wave.trapsts = static_cast<uint32_t>(random()) & static_cast<uint32_t>(TrapstsBits::Excp::kMask);
    s.wave.status = StatusBits::Priv::set(static_cast<uint32_t>(random() % 4) << 20, random() % 4 == 0);
    s.lds.fill(0), s.gds.fill(0), s.memory.fill(0);
    if (random() % 4 != 0) fill_random(s.lds, random), fill_random(s.gds, random), fill_random(s.memory, random);
    s.clock = random();
    s.gws_answer = static_cast<GwsAnswer>(random() % 3);
    s.gds_ordered = random() % 4 != 0;
}

/// What makes the instruction more interesting than random registers do.
void aim(State& s, Inst& inst, Random& random) {
    if (inst.format <= Format::SMEM && random() % 2) s.wave.mode |= static_cast<uint32_t>(ModeBits::GprIdxEn::kMask);
    for (uint16_t* vgpr : {&inst.vaddr, &inst.vdata, &inst.vdata2})
        if (*vgpr != kNoOperand) *vgpr %= kRows - 4;  // registers that the wave has
    if (direction_of(info(inst.op)) == Direction::Atomic && random() % 2) {  // compares find what they look for
        s.lds.fill(0), s.gds.fill(0), s.memory.fill(0);
        for (unsigned n = 0; n < 4; ++n)
            for (const unsigned first : {inst.vdata, inst.vdata2})
                if (first + n < kRows) std::fill_n(s.rows[first + n].lane, kLanes, static_cast<uint32_t>(random() % 4));
        for (unsigned n = 0; n < 4; ++n)
            if (inst.src[0] + n < kFlatScratchLo) s.wave.sgpr[inst.src[0] + n] = static_cast<uint32_t>(random() % 4);
    }
    if (inst.format == Format::DS && random() % 4) inst.imm &= 0x3f;
    if (inst.format == Format::VOP3 && info(inst.op).has(flag::Omod) && random() % 2) inst.omod = random() % 4;
    if (inst.vaddr == kNoOperand || random() % 2) return;
    const uint64_t mask = random() % 2 ? 0xff8 : 0xfff;
    for (uint32_t& lane : s.rows[inst.vaddr].lane) lane = static_cast<uint32_t>(random() & mask);
    if (inst.format != Format::FLAT || inst.seg != 0) return;
    const uint32_t one = high_word(random);
    for (uint32_t& lane : s.rows[inst.vaddr + 1u].lane) lane = random() % 8 ? one : high_word(random);
}

// ---- what operands name ----

/// Scalar registers that operands may mean, as a mask of their numbers; many more than they do where a size is not known.
struct Named {
    std::array<bool, 512> number{};
    explicit Named(const Inst& inst) {
        for (const uint16_t n : {inst.src[0], inst.src[1], inst.src[2], inst.saddr, inst.soffset, inst.ssamp, inst.sdst})
            add(n);
        if (inst.format <= Format::SMEM) add(inst.dst);
    }
    void add(uint16_t n) {
        if (n >= kSrcVgpr0) return;
        for (unsigned i = n; i < (n < 128 ? std::min(n + 16u, 128u) : n + 1u); ++i) number[i] = true;
    }
    bool any(unsigned first, unsigned second, unsigned third = 511) const {
        return number[first] || number[second] || number[third];
    }
    /// Pieces that an operand means.
    uint32_t pieces() const {
        uint32_t set = 0;
        if (number[253]) set |= effect::Scc;
        if (any(kVccLo, kVccHi, 251)) set |= effect::Vcc;
        if (any(kExecLo, kExecHi, 252)) set |= effect::Exec;
        if (any(kM0, 254)) set |= effect::M0;
        if (number[254]) set |= effect::Lds | effect::M0;
        if (any(kFlatScratchLo, kFlatScratchHi)) set |= effect::FlatScratch;
        for (unsigned n = kTtmp0; n < kM0; ++n)
            if (number[n]) set |= effect::Control;  // STATUS.PRIV lets TTMPs be written
        return set;
    }
};

bool is_free_sgpr(const Named& named, unsigned n) {
    return !named.number[n] && (n < kFlatScratchLo || n == kXnackMaskLo || n == kXnackMaskHi);
}

/// Another value of a piece of state.
void disturb(State& s, uint32_t piece, const Named& named, Random& random) {
    Wave& w = s.wave;
    switch (piece) {
        case effect::Scc: w.scc = !w.scc; break;
        case effect::Vcc: w.set_vcc(w.vcc() != 0 && random() % 2 ? 0 : ~w.vcc()); break;
        case effect::Exec: w.exec = w.exec != 0 && random() % 4 == 0 ? 0 : w.exec ^ (random() | 1); break;
        case effect::M0:
            w.m0 ^= random() % 2 ? 4u + static_cast<uint32_t>(random() % 16) : static_cast<uint32_t>(random()) | 1;
            break;
        case effect::Mode: w.mode ^= random() % 2 ? kModeFields : static_cast<uint32_t>(random()) & kModeFields; break;
        case effect::Control:
            w.mode ^=
                static_cast<uint32_t>(random()) & static_cast<uint32_t>(ModeBits::CspBits::kMask | ModeBits::ExcpEn::kMask);
            w.status ^= static_cast<uint32_t>(random()) & ~static_cast<uint32_t>(StatusBits::Halt::kMask);
            w.trapsts ^= static_cast<uint32_t>(random());
            w.ib_sts ^= static_cast<uint32_t>(random());
            break;
        case effect::FlatScratch: w.sgpr[w.special_base()] ^= 0x1040, w.sgpr[w.special_base() + 1] ^= 1; break;
        case effect::Sgprs:
            for (unsigned n = 0; n < kVccLo; ++n)
                if (is_free_sgpr(named, n)) w.sgpr[n] ^= static_cast<uint32_t>(random()) | 1;
            break;
        case effect::Pc: w.pc += 0x40000; break;
        case effect::Lds: fill_random(s.lds, random); break;
        case effect::Gds:
            fill_random(s.gds, random), s.gws_answer = static_cast<GwsAnswer>((static_cast<unsigned>(s.gws_answer) + 1) % 3);
            break;
        case effect::Memory: fill_random(s.memory, random); break;
        case effect::Clock: s.clock += 1 + random() % 1000; break;
        default: break;
    }
}

// ---- comparing ----

/// A value of a piece in the two runs: before and after, and before and after with something changed.
template <class T>
struct Pair {
    const T &before, &after, &before2, &after2;
    bool written() const { return !(before == after) || !(before2 == after2); }
    /// What was written depends on what was there, or on something else that differed.
    bool differs() const { return written() && !(after == after2); }
};

template <class Array>
bool elements_differ(const Array& a, const Array& b, const Array& a2, const Array& b2) {
    if (std::memcmp(&a, &b, sizeof a) == 0 && std::memcmp(&a2, &b2, sizeof a) == 0) return false;
    for (size_t i = 0; i < a.size(); ++i)
        if (Pair<typename Array::value_type>{a[i], b[i], a2[i], b2[i]}.differs()) return true;
    return false;
}

/// The two runs differ in more than what was different before.
bool tells_apart(const State& a, const State& b, const State& a2, const State& b2, bool control_disturbed) {
    const auto differs = [&](auto value) {
        const auto before = value(a), after = value(b), before2 = value(a2), after2 = value(b2);
        return Pair<decltype(before)>{before, after, before2, after2}.differs();
    };
    if (b.fault != b2.fault || b.request != b2.request || b.request_arg != b2.request_arg || b.yield != b2.yield ||
        b.gws != b2.gws || b.wave.state != b2.wave.state)
        return true;
    if (differs([](const State& s) { return s.wave.scc; }) || differs([](const State& s) { return s.wave.vcc(); }) ||
        differs([](const State& s) { return s.wave.exec; }) || differs([](const State& s) { return s.wave.m0; }) ||
        differs([](const State& s) { return s.mode(); }) || differs([](const State& s) { return s.wave.pc; }) ||
        differs([](const State& s) { return s.wave.flat_scratch(); }))
        return true;
    if (!control_disturbed && b.control() != b2.control()) return true;
    if (std::memcmp(&b.rows, &b2.rows, sizeof b.rows) != 0 || b.wave.ttmp != b2.wave.ttmp) return true;
    return elements_differ(a.wave.sgpr, b.wave.sgpr, a2.wave.sgpr, b2.wave.sgpr) ||
           elements_differ(a.lds, b.lds, a2.lds, b2.lds) || elements_differ(a.gds, b.gds, a2.gds, b2.gds) ||
           elements_differ(a.memory, b.memory, a2.memory, b2.memory);
}

/// Pieces that the instruction has changed and no operand names.
uint32_t written(const State& a, const State& b, const Named& named) {
    using namespace effect;
    uint32_t set = 0;
    if (a.wave.scc != b.wave.scc) set |= Scc;
    if (a.wave.vcc() != b.wave.vcc()) set |= Vcc;
    if (a.wave.exec != b.wave.exec) set |= Exec;
    if (a.wave.m0 != b.wave.m0) set |= M0;
    if (a.mode() != b.mode()) set |= Mode;
    if (a.control() != b.control()) set |= Control;
    if (a.wave.flat_scratch() != b.wave.flat_scratch()) set |= FlatScratch;
    for (unsigned n = 0; n < kVccLo; ++n)
        if (is_free_sgpr(named, n) && a.wave.sgpr[n] != b.wave.sgpr[n]) set |= Sgprs;
    if (a.wave.pc != b.wave.pc) set |= Pc;
    if (a.lds != b.lds) set |= Lds;
    if (a.gds != b.gds || b.gws[0]) set |= Gds;
    if (a.memory != b.memory) set |= Memory;
    if (b.request != Request::None || b.yield || b.wave.state != a.wave.state) set |= Ask;
    if (b.fault != Fault::None) set |= Fault;
    return set & ~named.pieces();
}

// ---- the test ----

class EffectsTest : public ::testing::TestWithParam<Format> {
protected:
    /// @return whether a run with these pieces disturbed has another outcome
    bool matters(const Inst& inst, ExecFn handler, uint32_t pieces, const Named& named) {
        other_ = before_;
        for (const Piece& piece : kPieces)
            if (pieces & piece.bit) disturb(other_, piece.bit, named, random_);
        machine_.run(other_, inst, handler, other_after_);
        return tells_apart(before_, after_, other_, other_after_, (pieces & effect::Control) != 0);
    }

    /// One random instruction in one random state. @return false: none was found
    bool try_one(Op op, Effects& seen) {
        const InstInfo& row = info(op);
        const Chip chip = *std::find_if(kAllChips.begin(), kAllChips.end(), [&](Chip each) { return row.on(each); });
        const uint64_t seed = random_();
        fuzz::Bytes bytes(reinterpret_cast<const uint8_t*>(&seed), sizeof seed);
        Inst inst;
        for (unsigned tries = 0; tries < 50 && inst.format == Format::Invalid; ++tries) {
            uint32_t words[3];
            fuzz::try_words(bytes, row, words);
            if (row.format == Format::DS && tries % 2) words[1] &= 0xff;  // an address only
            inst = decode(words, 3, chip);
        }
        if (inst.op != op) return false;
        const ExecFn handler = exec_handler(op, inst.format);
        if (handler == nullptr) return false;
        randomize(before_, random_);
        aim(before_, inst, random_);
        machine_.run(before_, inst, handler, after_);
        check(inst, handler, seen);
        return true;
    }

    void check(const Inst& inst, ExecFn handler, Effects& seen) {
        const Named named(inst);
        const Effects declared = effects_of(inst);
        const uint32_t changed = written(before_, after_, named);
        for (const Piece& piece : kPieces)
            if (changed & ~declared.writes & piece.bit) report(inst, "writes", piece.name);
        if (changed & ~declared.writes & effect::Ask) report(inst, "writes", "request");
        if (changed & ~declared.writes & effect::Fault) report(inst, "writes", "fault");
        seen.write(changed);
        const uint32_t silent = kAll & ~declared.reads & ~named.pieces();
        const bool wrong = matters(inst, handler, silent, named);
        for (const Piece& piece : kPieces) {
            if (named.pieces() & piece.bit) continue;
            if (declared.reads & piece.bit) {
                if (!(seen.reads & piece.bit) && matters(inst, handler, piece.bit, named)) seen.read(piece.bit);
            } else if (wrong && matters(inst, handler, piece.bit, named)) {
                report(inst, "reads", piece.name);
            }
        }
    }

    /// Once for each operation.
    void report(const Inst& inst, const char* what, const char* piece) {
        wrong_.emplace(std::string(info(inst.op).name) + " " + what + " " + piece, disassemble(inst));
    }

    static constexpr uint32_t kAll = [] {
        uint32_t set = 0;
        for (const Piece& piece : kPieces) set |= piece.bit;
        return set;
    }();
    Random random_{1};
    Machine machine_;
    std::map<std::string, std::string> wrong_;  ///< what was seen, and an instruction that did it
    State before_, after_, other_, other_after_;
};

TEST_P(EffectsTest, AreWhatTheHandlerDoes) {
    constexpr unsigned kLeast = 100, kMost = 200000;
    for (size_t i = 1; i < kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        if (info(op).format != GetParam()) continue;
        // Image instructions in random states almost never have a good descriptor.
        const bool all = GetParam() != Format::MIMG;
        const Effects& declared = effects_of(op);
        const uint32_t reads = all ? declared.reads : 0, writes = all ? declared.writes & ~uint32_t{effect::Exception} : 0;
        Effects seen;
        if (std::string_view(info(op).name).starts_with("v_cmpx_t")) seen.write(effect::Exec);  // always true: it stays
        unsigned done = 0;
        for (unsigned n = 0; n < kMost; ++n) {
            done += try_one(op, seen);
            if (n >= kLeast && (done == 0 || ((reads & ~seen.reads) == 0 && (writes & ~seen.writes) == 0))) break;
        }
        if (done == 0) continue;  // the model does not have it
        EXPECT_EQ(reads & ~seen.reads, 0u) << info(op).name << " does not read " << names_of(reads & ~seen.reads);
        EXPECT_EQ(writes & ~seen.writes, 0u) << info(op).name << " does not write " << names_of(writes & ~seen.writes);
    }
    for (const auto& [text, example] : wrong_) ADD_FAILURE() << text << ": " << example;
}

/// What is tracked (exec/fp_rules.cpp) is declared.
TEST(Effects, OperationsWithARuleForExceptionsRaiseThem) {
    unsigned rules = 0;
    for (size_t i = 1; i < kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        if (fp_rule(op) == nullptr) continue;
        ++rules;
        EXPECT_TRUE(effects_of(op).writes & effect::Exception) << info(op).name;
    }
    EXPECT_GT(rules, 100u);
    for (const Op op : {Op::v_cmp_class_f32, Op::v_cndmask_b32, Op::v_cvt_f32_ubyte0, Op::v_interp_p2_f16, Op::ds_add_f32})
        EXPECT_FALSE(effects_of(op).writes & effect::Exception) << info(op).name;
}

INSTANTIATE_TEST_SUITE_P(Formats, EffectsTest,
                         testing::Values(Format::SOP1, Format::SOP2, Format::SOPC, Format::SOPK, Format::SOPP, Format::SMEM,
                                         Format::VOP1, Format::VOP2, Format::VOP3, Format::VOP3P, Format::VOPC, Format::VINTRP,
                                         Format::DS, Format::FLAT, Format::MUBUF, Format::MTBUF, Format::MIMG),
                         [](const auto& parameter) { return name_of(parameter.param); });

}  // namespace
}  // namespace lyra::gcn
