// SPDX-License-Identifier: MIT
// Atomic operations on device, LDS and host memory, of codegen.hip: many work-items on few words, so that the final values are
// the same in any order and the returned ones can be told from lost updates.
#pragma once

#include <algorithm>
#include <limits>

#include "codegen_check.h"

namespace codegen {
namespace {

/// One word for each operation.
template <class T>
struct Words {
    T added, subtracted, smallest, largest, conjunction, disjunction, parity, exchanged, swapped, last_ticket;
};
struct Counters {
    unsigned incremented, decremented;
};

template <class T>
__host__ __device__ inline T contribution(unsigned i) {
    return static_cast<T>(mixed64(i) >> (i % 3 ? 40 : 0));
}

template <class T>
__device__ inline void apply(Words<T>& w, unsigned i) {
    const T v = contribution<T>(i);
    atomicAdd(&w.added, v);
    atomicAdd(&w.subtracted, T(0) - v);
    atomicMin(&w.smallest, v);
    atomicMax(&w.largest, v);
    atomicAnd(&w.conjunction, v | T(0xff00ff));
    atomicOr(&w.disjunction, v & T(0xff00ff));
    atomicXor(&w.parity, v);
    atomicExch(&w.exchanged, v);
    T seen = w.swapped, before;
    do {
        before = seen;
        seen = atomicCAS(&w.swapped, before, static_cast<T>(before + 2));
    } while (seen != before);
}

template <class T>
inline Words<T> initial_words() {
    Words<T> w{};
    w.smallest = std::numeric_limits<T>::max();
    w.largest = std::numeric_limits<T>::min();
    w.conjunction = static_cast<T>(~T(0));
    return w;
}
template <class T>
inline Words<T> expected_words(unsigned n) {
    Words<T> w = initial_words<T>();
    for (unsigned i = 0; i < n; ++i) {
        const T v = contribution<T>(i);
        w.added = static_cast<T>(static_cast<unsigned long long>(w.added) + static_cast<unsigned long long>(v));
        w.smallest = v < w.smallest ? v : w.smallest;
        w.largest = v > w.largest ? v : w.largest;
        w.conjunction &= v | T(0xff00ff);
        w.disjunction |= v & T(0xff00ff);
        w.parity ^= v;
    }
    w.subtracted = static_cast<T>(0ull - static_cast<unsigned long long>(w.added));
    w.swapped = static_cast<T>(2 * n);
    w.last_ticket = static_cast<T>(n);
    return w;
}
template <class T>
inline void compare_words(Test& test, const Words<T>& got, unsigned n) {
    const Words<T> want = expected_words<T>(n);
    test.equal("add", 0, got.added, want.added);
    test.equal("sub", 0, got.subtracted, want.subtracted);
    test.equal("min", 0, got.smallest, want.smallest);
    test.equal("max", 0, got.largest, want.largest);
    test.equal("and", 0, got.conjunction, want.conjunction);
    test.equal("or", 0, got.disjunction, want.disjunction);
    test.equal("xor", 0, got.parity, want.parity);
    test.equal("cas", 0, got.swapped, want.swapped);
    test.equal("tickets", 0, got.last_ticket, want.last_ticket);
    bool found = false;
    for (unsigned i = 0; i < n; ++i) found |= contribution<T>(i) == got.exchanged;
    test.check("exch left a value of somebody", found);
}

/// Each ticket is drawn once: tickets[old value] counts.
template <class T>
__global__ void words_kernel(Words<T>* words, unsigned* tickets, Counters* counters) {
    const unsigned i = global_id();
    apply(*words, i);
    const T ticket = atomicAdd(&words->last_ticket, T(1));
    atomicAdd(&tickets[static_cast<unsigned>(ticket)], 1u);
    atomicInc(&counters->incremented, 99u);
    atomicDec(&counters->decremented, 76u);
}
inline void compare_counters(Test& test, const Counters& got, unsigned n) {
    unsigned down = 1000;  // above the limit: the first one sets it to the limit
    for (unsigned i = 0; i < n; ++i) down = down == 0 || down > 76 ? 76 : down - 1;
    test.equal("inc", 0, got.incremented, n % 100);
    test.equal("dec", 0, got.decremented, down);
}
template <class T>
inline void words_on_device(Test& test) {
    constexpr unsigned kItems = 512;
    Buffer<Words<T>> words(1, initial_words<T>());
    Buffer<unsigned> tickets(kItems);
    Buffer<Counters> counters(1, {0, 1000});
    launch(words_kernel<T>, 4, 128, 0, words, tickets, counters);
    compare_words(test, words[0], kItems);
    compare_counters(test, counters[0], kItems);
    for (unsigned i = 0; i < kItems; ++i) test.equal("ticket", i, tickets[i], 1u);
}
void atomics_global(Test& test) {
    words_on_device<int>(test);
    words_on_device<unsigned>(test);
    words_on_device<unsigned long long>(test);
}

template <class T>
__global__ void shared_words_kernel(Words<T> start, Words<T>* out, Counters* counters) {
    __shared__ Words<T> words;
    __shared__ Counters local;
    if (threadIdx.x == 0) {
        words = start;
        local = {0, 1000};
    }
    __syncthreads();
    apply(words, threadIdx.x);
    atomicAdd(&words.last_ticket, T(1));
    atomicInc(&local.incremented, 99u);
    atomicDec(&local.decremented, 76u);
    __syncthreads();
    if (threadIdx.x == 0) {
        out[blockIdx.x] = words;
        counters[blockIdx.x] = local;
    }
}
template <class T>
inline void words_in_lds(Test& test) {
    Buffer<Words<T>> out(3);
    Buffer<Counters> counters(3);
    launch(shared_words_kernel<T>, 3, 256, 0, initial_words<T>(), out, counters);
    for (int i = 0; i < 3; ++i) {
        compare_words(test, out[i], 256);
        compare_counters(test, counters[i], 256);
    }
}
void atomics_shared(Test& test) {
    words_in_lds<int>(test);
    words_in_lds<unsigned>(test);
    words_in_lds<unsigned long long>(test);
}

/// Small whole numbers, so that every order gives the same sum.
template <class T>
__global__ void float_kernel(T* sum, T* low, T* high, T* partial) {
    __shared__ T local;
    const unsigned i = global_id();
    if (threadIdx.x == 0) local = 0;
    __syncthreads();
    const T v = static_cast<T>(static_cast<int>(mixed(i) % 2001) - 1000) / 4;
    atomicAdd(sum, v);
    atomicMin(low, v);
    atomicMax(high, v);
    atomicAdd(&local, v);
    __syncthreads();
    if (threadIdx.x == 0) partial[blockIdx.x] = local;
}
template <class T>
inline void floats(Test& test) {
    Buffer<T> sum(1), low(1, T(1e9)), high(1, T(-1e9)), partial(4);
    launch(float_kernel<T>, 4, 64, 0, sum, low, high, partial);
    T want = 0, smallest = T(1e9), largest = T(-1e9);
    for (unsigned group = 0; group < 4; ++group) {
        T local = 0;
        for (unsigned i = group * 64; i < group * 64 + 64; ++i) {
            const T v = static_cast<T>(static_cast<int>(mixed(i) % 2001) - 1000) / 4;
            local += v;
            smallest = v < smallest ? v : smallest;
            largest = v > largest ? v : largest;
        }
        test.equal("sum in LDS", group, partial[group], local);
        want += local;
    }
    test.equal("sum", 0, sum[0], want);
    test.equal("min", 0, low[0], smallest);
    test.equal("max", 0, high[0], largest);
}
void atomics_float(Test& test) {
    floats<float>(test);
    floats<double>(test);
}

/// On memory of the host, seen by both.
__global__ void system_kernel(unsigned* sum, unsigned long long* wide, int* high, double* real) {
    const unsigned i = global_id();
    atomicAdd_system(sum, i);
    atomicAdd_system(wide, static_cast<unsigned long long>(i) << 32);
    atomicMax_system(high, static_cast<int>(mixed(i) >> 1));
    atomicAdd_system(real, 0.5);
    unsigned seen = sum[1], before;
    do {
        before = seen;
        seen = atomicCAS_system(&sum[1], before, before + 3);
    } while (seen != before);
}
void atomics_system(Test& test) {
    struct Shared {
        unsigned sum[2];
        int high;
        unsigned long long wide;
        double real;
    };
    Shared* shared = nullptr;
    require(hipHostMalloc(reinterpret_cast<void**>(&shared), sizeof(Shared), hipHostMallocCoherent), "hipHostMalloc");
    *shared = {};
    launch(system_kernel, 2, 128, 0, &shared->sum[0], &shared->wide, &shared->high, &shared->real);
    int high = 0;
    for (unsigned i = 0; i < 256; ++i) high = std::max(high, static_cast<int>(mixed(i) >> 1));
    test.equal("sum", 0, shared->sum[0], 255u * 128);
    test.equal("cas", 0, shared->sum[1], 3u * 256);
    test.equal("wide", 0, shared->wide, 255ull * 128 << 32);
    test.equal("high", 0, shared->high, high);
    test.equal("real", 0, shared->real, 128.0);
    require(hipHostFree(shared), "hipHostFree");
}

}  // namespace
}  // namespace codegen
