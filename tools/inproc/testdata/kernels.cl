// SPDX-License-Identifier: MIT
// Kernels of the in-process tests. Compiler builtins only, so that no device library is needed.
#define GROUP __builtin_amdgcn_workgroup_id_x()
#define ITEM __builtin_amdgcn_workitem_id_x()
#define SIZE __builtin_amdgcn_workgroup_size_x()

__kernel void add(__global const float* a, __global const float* b, __global float* c, int n) {
    const int i = GROUP * SIZE + ITEM;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

// Dynamic LDS and a barrier between waves.
__kernel void reverse(__global int* x, __local int* staged) {
    staged[ITEM] = x[ITEM];
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
    __builtin_amdgcn_s_barrier();
    x[ITEM] = staged[SIZE - 1 - ITEM];
}

// LDS, vector memory and scalar memory, all of them busy for some microseconds.
__kernel void busy(__global int* x, __constant int* table, __local volatile int* staged, int rounds) {
    int sum = ITEM;
    for (int i = 0; i < rounds; ++i) {
        for (int n = 0; n < 8; ++n) {
            staged[ITEM] = sum;
            sum += staged[ITEM ^ 1] + table[(i + n) & 15];
        }
        x[(GROUP * SIZE + ITEM) * 16 + (i & 15)] += sum;
    }
}

// An array indexed by a value that is not known: lives in scratch.
__kernel void through_scratch(__global int* x, int seed) {
    volatile int table[32];
    for (int i = 0; i < 32; ++i) {
        table[i] = i * seed;
    }
    const int i = GROUP * SIZE + ITEM;
    x[i] = table[x[i] & 31] + i;
}

// A pointer in a variable of the program: needs a relocation.
__constant int numbers[4] = {2, 3, 5, 7};
__constant int* __constant table_of_pointers[2] = {numbers + 1, numbers + 3};
__kernel void through_pointer(__global int* x) { x[ITEM] = *table_of_pointers[x[ITEM] & 1]; }

__kernel void store(__global int* x, ulong offset, int value) { *(__global int*)((__global char*)x + offset) = value; }

__kernel void spin(__global volatile int* x) {
    while (x[0] == 0) {
    }
}

// A lock between work-groups: only a fair scheduler lets every group in.
__kernel void locked(__global volatile int* lock, __global int* counter) {
    if (ITEM == 0) {
        while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) != 0) {
        }
        *counter += 1;
        __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
    }
}

__kernel void illegal(__global int* x) {
    __asm__ volatile(".long 0xffffffff");
    x[0] = 1;
}

// LDS as it is found.
__kernel void uninitialized(__global uint* x, __local uint* found) { x[ITEM] = found[ITEM]; }
