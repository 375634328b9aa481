// SPDX-License-Identifier: MIT
// Programs of lyra_isa_compilers: divergent control flow, calls, private memory, LDS, barriers, atomics, generic pointers. The
// host compiles this file too.
#include "portable.h"

uint mixed(uint v) {
    v = (v ^ (v >> 16)) * 0x7feb352du;
    v = (v ^ (v >> 15)) * 0x846ca68bu;
    return v ^ (v >> 16);
}

// Control flow
// -------------------------------------------------------------------------------------------------------------------

int switched(int v) {
    int r = 1;
    switch (v) {
    case 0: r = 100; break;
    case 1: r = 7;  // falls through
    case 2: r += 20; break;
    case 3:
    case 4:
    case 5: r = v * v; break;
    case 6: return -6;
    case 7: r ^= 0x55; break;
    case 8: r = ~v; break;
    case 9: r = v << 9; break;
    case 100: r = 1000; break;
    case -1000: r = 2000; break;
    default: r = v % 5 == 0 ? 5 : v % 3;
    }
    return r + 1;
}
PROGRAM(switches) {
    const int i = (int)get_global_id(0);
    OUT(0, (uint)switched(i % 13));
    OUT(1, (uint)switched(i % 2 ? 100 : -1000));
    OUT(2, (uint)switched((int)IN(0)) + (ulong)(uint)switched((int)(IN(1) & 15)) * 3);
    const long wide = (long)(IN(2) & 7) * 0x123456789l;
    switch (wide) {
    case 0x123456789l: OUT(3, 1); break;
    case 0x2468acf12l: OUT(3, 22); break;
    case 0x7f6e5d4bfl: OUT(3, 333); break;
    default: OUT(3, wide);
    }
}

uint tangled(uint seed) {
    uint state = mixed(seed), sum = 0;
    for (int i = 0;; ++i) {
        state = state * 1664525 + 1013904223;
        if ((state >> 28) == 3) continue;
        if ((state >> 24) == 200 || i > 60) break;
        int inner = (int)(state >> 29);
        while (inner-- > 0) {
            if ((sum & 7) == 5) {
                sum += 3;
                if (state & 0x1000) goto next;
                continue;
            }
            int turns = 0;
            do {
                sum += inner * i + 1;
                if (sum % 11 == 0) break;
            } while (sum % 3 != 0 && ++turns < 9);
            if (sum % 101 == 0) return sum ^ 0xdead;
        }
        sum = (state & 1) && (sum & 2) ? sum * 3 : (state & 4) || (sum & 8) ? sum + 7 : sum - i;
    next:
        sum ^= i;
    }
    return sum;
}
PROGRAM(divergent_loops) {
    OUT(0, tangled((uint)get_global_id(0)));
    OUT(1, tangled((uint)IN(0)));
    // A loop whose body ends lanes one by one, nested in another.
    ulong a = IN(1) | 1, steps = 0;
    for (uint outer = 0; outer < 4; ++outer) {
        ulong n = (a >> (outer * 13)) & 0xfff;
        while (n > 1 && steps < 2000) {
            n = n & 1 ? 3 * n + 1 : n / 2;
            ++steps;
            if (n == 16 && (outer & 1)) break;
        }
        if (steps > 150 + (IN(2) & 127)) break;
        a += steps;
    }
    OUT(2, steps);
    OUT(3, a);
}

PROGRAM(early_exits) {
    const uint i = (uint)get_global_id(0);
    if (i % 7 == 3) return;
    for (uint k = 0; k < 100; ++k) {
        if (k == i % 50) {
            OUT(0, k * 1000 + i);
            if (i % 3 == 0) return;
        }
    }
    OUT(1, IN(1) + 1);
}

// Calls
// --------------------------------------------------------------------------------------------------------------------------

typedef struct {
    char tag;
    int values[5];
    double weight;
    short small[3];
} Record;
typedef struct {
    ulong sum;
    float scale;
} Pair;

NOINLINE Pair summarise(Record r, uint n) {
    Pair p;
    p.sum = (ulong)(uchar)r.tag;
    for (uint i = 0; i < n; ++i) p.sum = p.sum * 31 + (uint)r.values[i % 5] + (ushort)r.small[i % 3];
    p.scale = (float)r.weight + 0.5f;
    return p;
}
NOINLINE uint weigh(const uint* p, int n) {
    uint s = 0;
    for (int i = 0; i < n; ++i) s += p[i] * (i + 1);
    return s;
}
NOINLINE double three_levels(double x, int n, int level) {
    uint words[6];
    for (int i = 0; i < 6; ++i) words[i] = (uint)(n + i) * 2654435761u;
    return x * 0.5 + weigh(words, 6) % 1000 + level;
}
NOINLINE double two_levels(double x, int n) {
    double y = x;
    for (int i = 0; i < 3; ++i) y += i == (n & 3) ? three_levels(y, n + i, i) : 1.25;
    return y;
}
NOINLINE ulong many_arguments(char a, ulong b, short c, float d, int e, double f, uchar g, uint4 h, long i, ushort j, float2 k, int l, ulong m,
                              ulong n, double o, int p) {
    return (ulong)a + b * 3 + (ulong)c + (ulong)d + (uint)e + (ulong)f + g + h.x + h.w * 7 + (ulong)i + j + (ulong)k.y + (uint)l + m - n +
           (ulong)o * (uint)p;
}
PROGRAM(calls) {
    const uint i = (uint)get_global_id(0);
    Record r;
    r.tag = (char)IN(0);
    for (int k = 0; k < 5; ++k) r.values[k] = (int)(IN(1) >> k);
    r.weight = (double)(IN(2) & 0xffff) / 16;
    for (int k = 0; k < 3; ++k) r.small[k] = (short)(IN(3) >> (16 * k));
    const Pair p = summarise(r, 4 + i % 9);
    OUT(0, p.sum);
    OUT(1, as_uint(p.scale));
    if (i & 4) {
        r.values[i % 5] ^= 0x55;
        OUT(2, summarise(r, i % 3).sum);
    } else {
        OUT(2, as_ulong(two_levels((double)(i * 7), (int)IN(4))));
    }
    OUT(3, many_arguments((char)i, IN(0), (short)IN(1), (float)(i & 63), (int)IN(2), (double)(i & 1023), (uchar)IN(3),
                          (uint4)((uint)IN(4), 2, 3, (uint)IN(5)), (long)IN(6), (ushort)IN(7), (float2)(1, (float)(i % 100)), -(int)i, IN(1), IN(2),
                          (double)(i % 77), 5));
}

// Private memory
// -----------------------------------------------------------------------------------------------------------------

PROGRAM(private_arrays) {
    const uint seed = (uint)IN(0);
    uint words[150];
    uchar bytes[300];
    double numbers[24];
    short shorts[64];
    for (int i = 0; i < 64; ++i) shorts[i] = 0;
    for (int i = 0; i < 150; ++i) words[i] = mixed(seed + i);
    for (int i = 0; i < 300; ++i) bytes[i] = (uchar)(words[i / 2] >> (8 * (i & 3)));
    for (int i = 0; i < 24; ++i) numbers[i] = i;
    for (int i = 0; i < 150; ++i) {
        const uint k = words[i] % 150, t = words[i];
        words[i] = words[k] + bytes[words[k] % 300];
        words[k] = t;
        numbers[t % 24] += bytes[t % 300];
        shorts[t % 64] -= (short)t;
        const uchar b = bytes[t % 300];
        bytes[t % 300] = bytes[k];
        bytes[k] = b;
    }
    ulong sum = 0;
    for (int i = 0; i < 150; ++i) sum = sum * 31 + words[i];
    OUT(0, sum);
    for (int i = 0; i < 300; ++i) sum = sum * 31 + bytes[i];
    OUT(1, sum);
    for (int i = 0; i < 24; ++i) sum = sum * 31 + (ulong)numbers[i];
    OUT(2, sum);
    for (int i = 0; i < 64; ++i) sum = sum * 31 + (ulong)shorts[i];
    OUT(3, sum);
}

PROGRAM(register_pressure) {
    uint v[96];
    const uint seed = (uint)IN(0);
#pragma unroll
    for (int i = 0; i < 96; ++i) v[i] = mixed(seed + i * 77);
    for (int round = 0; round < 3; ++round) {
#pragma unroll
        for (int i = 0; i < 96; ++i) v[i] = v[i] * 5 + (v[(i + 17) % 96] ^ v[(i * 3 + 1) % 96]);
    }
    uint sum = 0;
#pragma unroll
    for (int i = 0; i < 96; ++i) sum ^= v[i] + i;
    OUT(0, sum);
}

typedef struct __attribute__((packed)) {
    uchar tag;
    uint word;
    ushort half_word;
    ulong wide;
    char small;
} Packed;
typedef union {
    ulong wide;
    uint words[2];
    ushort shorts[4];
    uchar bytes[8];
    float f[2];
} Overlay;
PROGRAM(structures) {
    Packed p[3];
    for (int i = 0; i < (int)sizeof p; ++i) ((uchar*)p)[i] = (uchar)(IN(i & 3) >> (i & 31));
    for (int k = 0; k < 6; ++k) {
        Packed* q = &p[(k + (int)IN(4)) & 1 ? 0 : k % 3];
        q->word = q->word * 17 + q->tag;
        q->half_word ^= (ushort)(q->word >> 5);
        q->wide += (ulong)q->half_word << 40;
        q->small = (char)(q->wide >> 33);
        q->tag++;
    }
    ulong sum = 0;
    for (int i = 0; i < (int)sizeof p; ++i) sum = sum * 131 + ((uchar*)p)[i];
    OUT(0, sum);
    Overlay o;
    o.wide = IN(0);
    o.shorts[IN(1) & 3] ^= o.bytes[IN(2) & 7];
    o.bytes[IN(3) & 7] += 5;
    o.words[o.bytes[2] & 1] += o.shorts[1];
    OUT(1, o.wide);
}

// Work-groups
// --------------------------------------------------------------------------------------------------------------------

PROGRAM(shared_memory) {
    local uint sums[GROUP];
    local ushort low[GROUP];
    local uchar bytes[GROUP];
    local double wide[GROUP];
    const uint i = (uint)get_local_id(0);
    sums[i] = (uint)IN(0);
    low[GROUP - 1 - i] = (ushort)sums[i];
    bytes[i ^ 5] = (uchar)(sums[i] >> 3);
    wide[(i * 7) % GROUP] = (double)(int)IN(1);
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[i] += low[i] * bytes[i];
    OUT(1, as_ulong(wide[i] * 0.5 + wide[(i + 1) % GROUP]));
    for (uint half_group = GROUP / 2; half_group > 0; half_group /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (i < half_group) sums[i] += sums[i + half_group] * 3;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    OUT(0, sums[0] + i);
    // A scan, in place.
    low[i] = (ushort)IN(2);
    for (uint step = 1; step < GROUP; step *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        const ushort before = i >= step ? low[i - step] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        low[i] += before;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    OUT(2, low[i] | (uint)low[(i * 3) % GROUP] << 16);
}

constant uint kTable[8] = {3, 1, 4, 1, 5, 9, 2, 6};
constant char kText[] = "lanes and waves";
PROGRAM(generic_pointers) {
    local uint shared[GROUP];
    uint own[4];
    const uint i = (uint)get_local_id(0);
    for (int k = 0; k < 4; ++k) own[k] = (uint)IN(k);
    shared[i] = (uint)IN(4);
    barrier(CLK_LOCAL_MEM_FENCE);
    uint* p = i % 3 == 0 ? &own[i & 3] : i % 3 == 1 ? &shared[i] : (uint*)&out[get_global_id(0) * OUTPUTS + 4];
    *p += kTable[i & 7];
    *p ^= (uint)kText[i % 15] << 8;
    const uint n = weigh(i & 8 ? own : (uint*)&out[get_global_id(0) * OUTPUTS + 4], i & 8 ? 4 : 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    OUT(0, own[0] ^ own[1] * 3 ^ own[2] * 5 ^ own[3] * 7);
    OUT(1, shared[i]);
    OUT(2, n);
    uchar* bytes = (uchar*)(i & 1 ? (void*)own : (void*)shared);
    if (i & 1) bytes[i % 16]++;
    OUT(3, own[0] + own[1] + own[2] + own[3]);
}

// Every order gives the same final values; each ticket is drawn once.
PROGRAM(atomics) {
    local uint words[12];
    local int signed_words[4];
    local uint drawn[GROUP];
    const uint i = (uint)get_local_id(0);
    if (i < 12) words[i] = i == 3 || i == 5 ? 0xffffffffu : 0;
    if (i < 4) signed_words[i] = 0;
    drawn[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint v = (uint)IN(0);
    atomic_add(&words[0], v);
    atomic_sub(&words[1], v);
    atomic_or(&words[2], v & 0x0f0f0f0fu);
    atomic_and(&words[3], v | 0x00ff00ffu);
    atomic_max(&words[4], v);
    atomic_min(&words[5], v);
    atomic_xor(&words[6], v);
    atomic_inc(&words[7]);
    atomic_dec(&words[8]);
    atomic_max(&signed_words[0], (int)v);
    atomic_min(&signed_words[1], (int)v);
    drawn[atomic_inc(&words[9])] += 1;
    uint seen = 0, before;
    do {
        before = seen;
        seen = atomic_cmpxchg(&words[10], before, before * 5 + 1);
    } while (seen != before);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < 5; ++k) OUT(k, words[2 * k] | (ulong)words[2 * k + 1] << 32);
    OUT(5, words[10]);
    OUT(6, (uint)signed_words[0] | (ulong)(uint)signed_words[1] << 32);
    OUT(7, drawn[i]);
    // In memory: on the first item's words of this work-group.
    global ulong* mine = &out[(get_global_id(0) - i) * OUTPUTS];
    global uint* narrow = (global uint*)&mine[8];
    atomic_add(&narrow[0], v);
    atomic_max(&narrow[1], v);
    atomic_xor((global int*)&narrow[2], (int)v);
    if (v & 1) atomic_or(&narrow[3], v);
    ATOMIC_ADD_64(&mine[10], IN(1));
    ATOMIC_MAX_64(&mine[11], IN(1));
}

PROGRAM(group_shapes) {
    local uint where[GROUP];
    const uint i = (uint)get_local_id(0);
    where[GROUP - 1 - i] = (uint)(get_group_id(0) * 1000 + i);
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    OUT(0, where[i]);
    OUT(1, get_global_size(0) | get_local_size(0) << 20 | get_num_groups(0) << 40);
    OUT(2, get_global_id(1) + get_global_size(2) * 10 + get_local_size(1) * 100 + get_group_id(2) * 1000);
}
