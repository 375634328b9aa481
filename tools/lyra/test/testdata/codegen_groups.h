// SPDX-License-Identifier: MIT
// Work-groups and grids, of codegen.hip: barriers, LDS, messages between work-groups, clocks, shapes.
#pragma once

#include "codegen_check.h"

namespace codegen {
namespace {

__global__ void barrier_vote_kernel(int* out) {
    const int i = threadIdx.x;
    int* row = out + 5 * global_id();
    row[0] = __syncthreads_count(mixed(i + blockIdx.x) % 3 == 0);
    row[1] = __syncthreads_and(i < 200);
    row[2] = __syncthreads_and(i < static_cast<int>(blockDim.x));
    row[3] = __syncthreads_or(i == 131);
    row[4] = __syncthreads_or(i > 1000);
}
void barrier_votes(Test& test) {
    Buffer<int> out(5 * 2 * 256);
    launch(barrier_vote_kernel, 2, 256, 0, out);
    for (int group = 0; group < 2; ++group) {
        int count = 0;
        for (int i = 0; i < 256; ++i) count += mixed(i + group) % 3 == 0;
        for (int i = 0; i < 256; ++i) {
            const int* row = &out[5 * (group * 256 + i)];
            test.equal("count", i, row[0], count);
            test.equal("and, some", i, row[1] != 0, false);
            test.equal("and, all", i, row[2] != 0, true);
            test.equal("or, one", i, row[3] != 0, true);
            test.equal("or, none", i, row[4] != 0, false);
        }
    }
}

constexpr int kTile = 16, kWidth = 48;
__global__ void transpose_kernel(const float* in, float* out) {
    __shared__ float tile[kTile][kTile + 1];
    const int x = blockIdx.x * kTile + threadIdx.x, y = blockIdx.y * kTile + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = in[y * kWidth + x];
    __syncthreads();
    out[(blockIdx.x * kTile + threadIdx.y) * kWidth + blockIdx.y * kTile + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
__global__ void reduce_kernel(const uint32_t* in, uint32_t* out) {
    __shared__ uint32_t sums[512];
    __shared__ unsigned short low[512];
    __shared__ uint8_t bytes[512];
    const unsigned i = threadIdx.x;
    sums[i] = in[blockIdx.x * 512 + i];
    low[511 - i] = static_cast<unsigned short>(sums[i]);
    bytes[i ^ 5] = static_cast<uint8_t>(sums[i] >> 3);
    __syncthreads();
    sums[i] += low[i] * bytes[i];
    for (unsigned half = 256; half > 0; half /= 2) {
        __syncthreads();
        if (i < half) sums[i] += sums[i + half] * 3;
    }
    if (i == 0) out[blockIdx.x] = sums[0];
}
void shared_memory(Test& test) {
    Buffer<float> in(kWidth * kWidth), out(kWidth * kWidth);
    for (int i = 0; i < kWidth * kWidth; ++i) in[i] = static_cast<float>(i);
    launch(transpose_kernel, dim3(3, 3), dim3(kTile, kTile), 0, in, out);
    for (int i = 0; i < kWidth * kWidth; ++i) test.equal("transposed", i, out[i], in[i % kWidth * kWidth + i / kWidth]);
    Buffer<uint32_t> numbers(1024), sums(2);
    for (unsigned i = 0; i < 1024; ++i) numbers[i] = mixed(i);
    launch(reduce_kernel, 2, 512, 0, numbers, sums);
    for (unsigned group = 0; group < 2; ++group) {
        std::vector<uint32_t> v(512);
        const uint32_t* n = &numbers[group * 512];
        for (unsigned i = 0; i < 512; ++i) v[i] = n[i] + (n[511 - i] & 0xffff) * ((n[i ^ 5] >> 3) & 0xff);
        for (unsigned half = 256; half > 0; half /= 2) {
            for (unsigned i = 0; i < half; ++i) v[i] += v[i + half] * 3;
        }
        test.equal("reduced", group, sums[group], v[0]);
    }
}

/// Doubles, then words, then bytes in the memory of the launch, behind static LDS.
__global__ void dynamic_kernel(uint64_t* out, int n) {
    extern __shared__ double dynamic[];
    __shared__ uint32_t fixed[64];
    uint32_t* words = reinterpret_cast<uint32_t*>(dynamic + n);
    uint8_t* bytes = reinterpret_cast<uint8_t*>(words + n);
    const int i = threadIdx.x;
    dynamic[i] = i * 0.5;
    words[i] = mixed(i);
    bytes[i] = static_cast<uint8_t>(i * 7);
    if (i < 64) fixed[i] = i + 1000;
    __syncthreads();
    const int k = (i * 37 + 11) % n;
    out[global_id()] =
        static_cast<uint64_t>(dynamic[k] * 2) + (static_cast<uint64_t>(words[k]) << 20) + bytes[k] + fixed[k % 64];
}
void dynamic_shared(Test& test) {
    for (const int n : {64, 250, 1000}) {
        Buffer<uint64_t> out(2 * n);
        launch(dynamic_kernel, 2, n, n * 13, out, n);
        for (int i = 0; i < 2 * n; ++i) {
            const int k = (i % n * 37 + 11) % n;
            test.equal("out", i, out[i],
                       k + (static_cast<uint64_t>(mixed(k)) << 20) + static_cast<uint8_t>(k * 7) + k % 64 + 1000);
        }
    }
}

/// All work-groups run at a time (8 of them fit), so they can wait for each other.
constexpr unsigned kGroups = 8;
__global__ void grid_barrier_kernel(unsigned* arrived, unsigned* values, unsigned* out) {
    const unsigned i = global_id(), n = gridDim.x * blockDim.x;
    for (unsigned round = 0; round < 4; ++round) {
        values[round * n + i] = round == 0 ? i : values[(round - 1) * n + (i + 77) % n] * 3 + 1;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(arrived, 1u);
            while (atomicAdd(arrived, 0u) < (round + 1) * gridDim.x) __builtin_amdgcn_s_sleep(2);
        }
        __syncthreads();
        __threadfence();
    }
    out[i] = values[3 * n + (i + 5) % n];
}
void grid_barrier(Test& test) {
    constexpr unsigned n = kGroups * 64;
    Buffer<unsigned> arrived(1), values(4 * n), out(n);
    launch(grid_barrier_kernel, kGroups, 64, 0, arrived, values, out);
    for (unsigned i = 0; i < n; ++i) {
        unsigned v = (i + 5 + 3 * 77) % n;
        for (int round = 0; round < 3; ++round) v = v * 3 + 1;
        test.equal("out", i, out[i], v);
    }
    test.equal("arrived", 0, arrived[0], 4 * kGroups);
}

/// Work-group 0 writes, then raises a flag; the others wait for it.
__global__ void message_kernel(unsigned* data, unsigned* flag, unsigned* out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = mixed(threadIdx.x);
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) __hip_atomic_store(flag, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
        return;
    }
    while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
    out[(blockIdx.x - 1) * blockDim.x + threadIdx.x] = data[threadIdx.x] + blockIdx.x;
}
void message_passing(Test& test) {
    Buffer<unsigned> data(64), flag(1), out(3 * 64);
    launch(message_kernel, 4, 64, 0, data, flag, out);
    for (unsigned i = 0; i < 3 * 64; ++i) test.equal("out", i, out[i], mixed(i % 64) + i / 64 + 1);
}

__global__ void clock_kernel(long long* cycles, unsigned long long* wall) {
    const unsigned i = global_id();
    for (int k = 0; k < 4; ++k) {
        cycles[4 * i + k] = clock64();
        wall[4 * i + k] = wall_clock64();
        __builtin_amdgcn_s_sleep(10);
    }
}
void clocks(Test& test) {
    Buffer<long long> cycles(4 * 64);
    Buffer<unsigned long long> wall(4 * 64);
    launch(clock_kernel, 1, 64, 0, cycles, wall);
    const unsigned long long last = wall[3];
    for (int i = 0; i < 64; ++i) {
        for (int k = 1; k < 4; ++k) {
            test.check("clock64 goes on", cycles[4 * i + k] > cycles[4 * i + k - 1]);
            test.check("wall_clock64 does not go back", wall[4 * i + k] >= wall[4 * i + k - 1]);
        }
    }
    launch(clock_kernel, 1, 64, 0, cycles, wall);
    test.check("wall_clock64 goes on between kernels", wall[0] > last);
}

struct Place {
    unsigned short block[3], thread[3];
};
__global__ void grid_3d_kernel(Place* out, unsigned* visits, int width, int height, int depth) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
              z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x >= width || y >= height || z >= depth) {
        atomicAdd(&visits[width * height * depth], 1u);
        return;
    }
    const int i = (z * height + y) * width + x;
    atomicAdd(&visits[i], gridDim.x * 100 + gridDim.y * 10 + gridDim.z);
    const auto narrow = [](unsigned v) { return static_cast<unsigned short>(v); };
    out[i] = {{narrow(blockIdx.x), narrow(blockIdx.y), narrow(blockIdx.z)},
              {narrow(threadIdx.x), narrow(threadIdx.y), narrow(threadIdx.z)}};
}
void grid_3d(Test& test) {
    constexpr int kWide = 13, kHigh = 10, kDeep = 7;
    constexpr dim3 grid(3, 2, 4), block(5, 6, 2);
    Buffer<Place> out(kWide * kHigh * kDeep);
    Buffer<unsigned> visits(kWide * kHigh * kDeep + 1);
    launch(grid_3d_kernel, grid, block, 0, out, visits, kWide, kHigh, kDeep);
    for (int i = 0; i < kWide * kHigh * kDeep; ++i) {
        const int at[] = {i % kWide, i / kWide % kHigh, i / kWide / kHigh}, size[] = {5, 6, 2};
        for (int d = 0; d < 3; ++d) {
            test.equal("block", i, static_cast<int>(out[i].block[d]), at[d] / size[d]);
            test.equal("thread", i, static_cast<int>(out[i].thread[d]), at[d] % size[d]);
        }
        test.equal("visits", i, visits[i], 324u);
    }
    test.equal("outside", 0, visits[kWide * kHigh * kDeep], 24u * 60 - kWide * kHigh * kDeep);
}

__global__ void size_kernel(unsigned* out) {
    __shared__ unsigned sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, threadIdx.x + 1);
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) out[blockIdx.x] = sum + blockDim.x * 1000000;
}
void group_sizes(Test& test) {
    for (const unsigned size : {1u, 2u, 63u, 64u, 65u, 127u, 192u, 777u, 1024u}) {
        Buffer<unsigned> out(5);
        launch(size_kernel, 5, size, 0, out);
        for (int i = 0; i < 5; ++i) test.equal("sum", size, out[i], size * (size + 1) / 2 + size * 1000000);
    }
    Buffer<unsigned> many(700);
    launch(size_kernel, 700, 64, 0, many);
    for (int i = 0; i < 700; ++i) test.equal("many groups", i, many[i], 64u * 65 / 2 + 64000000);
}

}  // namespace
}  // namespace codegen
