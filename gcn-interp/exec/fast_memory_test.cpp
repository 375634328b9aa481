// SPDX-License-Identifier: MIT
// The fast memory functions against a loop over lanes, on random addresses and EXEC; memory ends where the range does.
#include "gcn-interp/exec/fast_memory.h"

#include <sys/mman.h>

#include <bit>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "gcn-interp/exec/lane_memory.h"

namespace lyra::gcn {
namespace {

using namespace lane_memory;

constexpr uint64_t kVa = 0x7f12fffff000;  ///< of the range; 32-bit halves of addresses wrap inside
constexpr size_t kBytes = 4 * kPageBytes;

/// A range of host memory between pages that nobody may touch.
class Guarded {
public:
    Guarded() {
        all_ = static_cast<uint8_t*>(::mmap(nullptr, kBytes + 2 * kPageBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ::mprotect(bytes(), kBytes, PROT_READ | PROT_WRITE);
    }
    ~Guarded() { ::munmap(all_, kBytes + 2 * kPageBytes); }
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;
    uint8_t* bytes() { return all_ + kPageBytes; }

private:
    uint8_t* all_;
};

struct Rows {
    VgprRow row[8];  ///< 0 to 3 data, 4 and 5 address
    bool operator==(const Rows& other) const { return std::memcmp(this, &other, sizeof other) == 0; }
};

class Cases {
public:
    explicit Cases(uint32_t seed) : random_(seed) {}
    uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

    uint64_t exec() {
        switch (below(6)) {
            case 0: return 0;
            case 1: return uint64_t{1} << below(64);
            case 2: return random_() & random_();
            case 3: return ~uint64_t{0} << below(64);
            case 4: return ~uint64_t{0} >> below(64);
            default: return kAllLanes;
        }
    }
    /// Offsets in the range, most of them inside.
    void offsets(uint32_t bytes, uint64_t exec, int64_t (&at)[kLanes]) {
        const int64_t room = static_cast<int64_t>(kBytes) - bytes;
        const int64_t first = below(3) == 0 ? room - 64 * bytes : below(kBytes / 2);
        const uint32_t kind = below(8);
        for (unsigned l = 0; l < kLanes; ++l) {
            switch (kind) {
                case 0: at[l] = first; break;
                case 1: at[l] = first + l * bytes; break;
                case 2: at[l] = first + l * (bytes / 2); break;
                case 3: at[l] = below(static_cast<uint32_t>(room)); break;
                case 4: at[l] = first + l / 16 * 1024 + l % 16 * bytes; break;
                case 5: at[l] = first + l / 16 * 1024; break;
                case 6: at[l] = first + (63 - l) * bytes; break;
                default: at[l] = below(100); break;  // many overlap
            }
        }
        if (below(3) == 0) at[below(64)] = below(static_cast<uint32_t>(room));
        if (below(3) == 0) at[std::countr_zero(exec | 1)] = below(static_cast<uint32_t>(room));
        if (below(4) == 0) at[below(64)] = room + 1 + below(2000);  // not inside
        if (below(8) == 0) at[below(64)] = -1 - static_cast<int64_t>(below(2000));
        if (below(2) == 0)
            for (unsigned l = 0; l < kLanes; ++l)
                if (!bit(exec, l)) at[l] = static_cast<int64_t>(random_());  // does not matter
    }
    void fill(void* to, size_t bytes) {
        for (size_t i = 0; i < bytes; i += sizeof(uint64_t)) {
            const uint64_t word = random_();
            std::memcpy(static_cast<uint8_t*>(to) + i, &word, sizeof word);
        }
    }

private:
    std::mt19937_64 random_;
};

constexpr Shape kShapes[] = {{4},
                             {8},
                             {12},
                             {16},
                             {1},
                             {2},
                             {1, false, false, true},
                             {2, false, false, true},
                             {1, true},
                             {2, true},
                             {1, false, true},
                             {1, false, true, true},
                             {1, true, true},
                             {1, true, true, true},
                             {2, false, true},
                             {2, false, true, true}};

void load_lane(const Shape& shape, Rows& rows, unsigned lane, const uint8_t* from) {
    uint32_t words[4] = {};
    std::memcpy(words, from, shape.bytes);
    if (shape.sign) words[0] = static_cast<uint32_t>(sign_extend(words[0], shape.bytes * 8u));
    if (shape.d16) {
        const uint32_t old = rows.row[0].lane[lane];
        words[0] = shape.hi ? (old & 0xffff) | words[0] << 16 : (old & 0xffff0000) | (words[0] & 0xffff);
    }
    for (unsigned w = 0; w < shape.words(); ++w) rows.row[w].lane[lane] = words[w];
}
void store_lane(const Shape& shape, const Rows& rows, unsigned lane, uint8_t* to) {
    uint32_t words[4];
    for (unsigned w = 0; w < 4; ++w) words[w] = rows.row[w].lane[lane];
    if (shape.hi) words[0] >>= 16;
    std::memcpy(to, words, shape.bytes);
}

enum class Kind { Global, Scalar, Buffer, Lds };

class FastMemoryTest : public testing::TestWithParam<std::tuple<Kind, Backend>> {
protected:
    FastMemoryTest() {
        Cases(0).fill(memory_.bytes(), kBytes);
        const HostRange range{kVa, kBytes, memory_.bytes()};
        for (uint64_t va = kVa; va < kVa + kBytes; va += kPageBytes) tlb_.enter(va, TlbEntry::of(range, 0));
    }

    void round(const Shape& shape, Cases& cases) {
        const Kind kind = std::get<0>(GetParam());
        const FastMoves moves = fast_moves(shape, std::get<1>(GetParam()));
        ASSERT_NE(moves.load, nullptr);
        const bool store = moves.store != nullptr && cases.below(2) == 0;
        const uint64_t exec = cases.exec();
        int64_t at[kLanes];
        cases.offsets(shape.bytes, exec, at);
        Rows rows;
        cases.fill(&rows, sizeof rows);
        if (cases.below(16) == 0) cases.fill(memory_.bytes(), kBytes);
        // Lane l at kVa + at[l] by way of base, immediate and registers.
        const uint32_t plus = cases.below(4096);
        const uint64_t base = kind == Kind::Scalar ? kVa - (cases.below(2) ? 0x1000 : 0) : kind == Kind::Global ? plus : kVa;
        const unsigned address = !store && cases.below(4) == 0 ? 0 : 4;  // the load may replace its addresses
        uint32_t* low = rows.row[address].lane;
        for (unsigned l = 0; l < kLanes; ++l) {
            const uint64_t value = (kind == Kind::Lds ? 0 : kVa - base) + static_cast<uint64_t>(at[l]);
            low[l] = static_cast<uint32_t>(value) - (kind == Kind::Lds || kind == Kind::Buffer ? plus : 0);
            if (kind == Kind::Global) rows.row[5].lane[l] = static_cast<uint32_t>(value >> 32);
        }
        const uint64_t limit = cases.below(4) == 0 ? kBytes - cases.below(64) : uint64_t{kBytes};
        const uint64_t end = kind == Kind::Buffer || kind == Kind::Lds ? limit : kBytes;

        Rows expected = rows;
        std::vector<uint8_t> bytes(memory_.bytes(), memory_.bytes() + kBytes);
        bool inside = true;
        uint32_t high = 0;
        for_lanes(exec, [&](unsigned l) {
            inside &= at[l] >= 0 && static_cast<uint64_t>(at[l]) + shape.bytes <= end;
            if (l == static_cast<unsigned>(std::countr_zero(exec))) high = rows.row[5].lane[l];
            if (kind == Kind::Global) inside &= high == rows.row[5].lane[l];  // else it is not fast
        });
        if (inside) {
            for_lanes(exec, [&](unsigned l) {
                uint8_t* place = bytes.data() + at[l];
                store ? store_lane(shape, rows, l, place) : load_lane(shape, expected, l, place);
            });
        }
        const bool done = run(kind, moves, store, rows, low, plus, base, limit, exec);
        EXPECT_EQ(done, inside);
        EXPECT_TRUE(rows == expected);
        EXPECT_EQ(std::memcmp(memory_.bytes(), bytes.data(), kBytes), 0);
    }

private:
    bool run(Kind kind, const FastMoves& moves, bool store, Rows& rows, const uint32_t* low, uint32_t plus, uint64_t base,
             uint64_t limit, uint64_t exec) {
        uint32_t* data = rows.row[0].lane;
        const uint32_t* high = kind == Kind::Global ? rows.row[5].lane : nullptr;
        const auto bytes = static_cast<uint32_t>(limit);
        switch (kind) {
            case Kind::Buffer:
                return store ? moves.store_buffer(data, low, plus, limit, base, exec, tlb_)
                             : moves.load_buffer(data, low, plus, limit, base, exec, tlb_);
            case Kind::Lds:
                return store ? moves.store_lds(data, low, plus, exec, memory_.bytes(), bytes)
                             : moves.load_lds(data, low, plus, exec, memory_.bytes(), bytes);
            default:
                return store ? moves.store(data, low, high, base, exec, tlb_) : moves.load(data, low, high, base, exec, tlb_);
        }
    }
    Guarded memory_;
    Tlb tlb_;
};

TEST_P(FastMemoryTest, DoesWhatALoopOverLanesDoes) {
    for (const Shape& shape : kShapes) {
        Cases cases(shape.bytes * 8u + shape.sign * 4u + shape.d16 * 2u + shape.hi);
        for (unsigned n = 0; n < 1000; ++n) {
            round(shape, cases);
            if (HasFailure()) {
                ADD_FAILURE() << unsigned{shape.bytes} << " bytes, sign " << shape.sign << ", d16 " << shape.d16 << ", hi "
                              << shape.hi << ", round " << n;
                break;
            }
        }
    }
}

std::vector<Backend> backends() {
    std::vector<Backend> found;
    for (const Backend backend : kAllBackends)
        if (backend <= kWidest && supported(backend)) found.push_back(backend);
    return found;
}
std::string name_of(const testing::TestParamInfo<std::tuple<Kind, Backend>>& info) {
    constexpr const char* kKinds[] = {"Global", "Scalar", "Buffer", "Lds"};
    return std::string(kKinds[static_cast<unsigned>(std::get<0>(info.param))]) + "_" +
           kBackendNames[static_cast<unsigned>(std::get<1>(info.param))];
}
INSTANTIATE_TEST_SUITE_P(Kinds, FastMemoryTest,
                         testing::Combine(testing::Values(Kind::Global, Kind::Scalar, Kind::Buffer, Kind::Lds),
                                          testing::ValuesIn(backends())),
                         name_of);

TEST(FastMemory, HasNoOtherShapes) {
    EXPECT_EQ(fast_moves({3}).load, nullptr);
    EXPECT_EQ(fast_moves({2, true}).store, nullptr);
}

}  // namespace
}  // namespace lyra::gcn
