// SPDX-License-Identifier: MIT
// What a compiler makes of ordinary programs, test by test: calls, stacks, control flow, memory, atomics, waves, work-groups,
// each compared with the same computation on the host. codegen [NAME]
#include <hip/hip_runtime.h>

#include <cmath>

#include "codegen_check.h"

#include "codegen_atomics.h"
#include "codegen_groups.h"
#include "codegen_waves.h"

namespace codegen {
namespace {

// Calls -----------------------------------------------------------------------------------------------------------------------

struct Mixed {
    signed char a;
    short b;
    int c;
    double d;
    float e[5];
    char4 f;
    long long g;
    bool h;
    unsigned bits : 5, more_bits : 17, rest : 10;
};
__host__ __device__ __attribute__((noinline)) Mixed transformed(Mixed m, int by) {
    m.a += by;
    m.b *= by;
    m.c ^= by << 3;
    m.d = m.d * 0.5 + by;
    for (int i = 0; i < 5; ++i) m.e[i] += static_cast<float>(i * by);
    m.f.x += m.f.w;
    m.f.w = static_cast<signed char>(by);
    m.g -= 0x123456789abLL * by;
    m.h = !m.h;
    m.bits += by;
    m.more_bits ^= 0x15555;
    m.rest -= 3;
    return m;
}
__global__ void struct_kernel(Mixed value, Mixed* out) {
    const int i = global_id();
    out[i] = transformed(transformed(value, i), 2 * i + 1);
}
void structs_by_value(Test& test) {
    Buffer<Mixed> out(128);
    Mixed value;
    std::memset(static_cast<void*>(&value), 0, sizeof value);
    value = {-3, 1234, 0x55aa, 3.25, {1, 2, 3, 4, 5}, make_char4(1, 2, 3, 4), -77, true, 9, 70000, 513};
    launch(struct_kernel, 2, 64, 0, value, out);
    for (int i = 0; i < 128; ++i) {
        const Mixed want = transformed(transformed(value, i), 2 * i + 1), got = out[i];
        test.equal("a b c", i, got.a * 0x1000000LL + got.b * 0x100LL + got.c, want.a * 0x1000000LL + want.b * 0x100LL + want.c);
        test.equal("d", i, got.d, want.d);
        for (int k = 0; k < 5; ++k) test.equal("e", i, got.e[k], want.e[k]);
        test.equal("f", i, got.f, want.f);
        test.equal("g", i, got.g, want.g);
        test.check("h", got.h == want.h);
        test.equal("bits", i, got.bits | got.more_bits << 5 | got.rest << 22,
                   want.bits | want.more_bits << 5 | want.rest << 22);
    }
}

__host__ __device__ __attribute__((noinline)) uint32_t ackermann(uint32_t m, uint32_t n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}
__host__ __device__ __attribute__((noinline)) uint32_t tree_sum(const uint32_t* values, int from, int to) {
    uint32_t local[4] = {values[from], 1, 2, 3};  // keeps a frame on the stack
    if (to - from == 1) return local[from & 0];
    const int middle = (from + to) / 2;
    local[from & 3] = tree_sum(values, from, middle);
    return local[from & 3] * 3 + tree_sum(values, middle, to);
}
__global__ void recursion_kernel(const uint32_t* values, uint32_t* out) {
    const int i = global_id();
    out[2 * i] = ackermann(i % 3, i % 5);
    out[2 * i + 1] = tree_sum(values, i % 16, i % 16 + 1 + i % 29);
}
void recursion(Test& test) {
    Buffer<uint32_t> values(64), out(256);
    for (int i = 0; i < 64; ++i) values[i] = mixed(i);
    launch(recursion_kernel, 2, 64, 0, values, out);
    for (int i = 0; i < 128; ++i) {
        test.equal("ackermann", i, out[2 * i], ackermann(i % 3, i % 5));
        test.equal("tree", i, out[2 * i + 1], tree_sum(values.host.data(), i % 16, i % 16 + 1 + i % 29));
    }
}

using Operation = double (*)(double, int);
__host__ __device__ __attribute__((noinline)) double op_add(double x, int i) { return x + i; }
__host__ __device__ __attribute__((noinline)) double op_scale(double x, int i) { return x * (i + 0.5); }
__host__ __device__ __attribute__((noinline)) double op_negate(double x, int) { return -x; }
__host__ __device__ __attribute__((noinline)) double op_loop(double x, int i) {
    for (int k = 0; k < i % 7; ++k) x = x * 0.75 + k;
    return x;
}
__device__ Operation const device_operations[] = {op_add, op_scale, op_negate, op_loop};
__global__ void pointer_kernel(double* out) {
    const int i = global_id();
    double x = 1.0;
    for (int step = 0; step < 6; ++step) x = device_operations[mixed(i * 8 + step) & 3](x, i);
    out[i] = x;
}
void function_pointers(Test& test) {
    static Operation const operations[] = {op_add, op_scale, op_negate, op_loop};
    Buffer<double> out(128);
    launch(pointer_kernel, 2, 64, 0, out);
    for (int i = 0; i < 128; ++i) {
        double x = 1.0;
        for (int step = 0; step < 6; ++step) x = operations[mixed(i * 8 + step) & 3](x, i);
        test.check("called through a pointer", std::abs(out[i] - x) <= 1e-12 * std::abs(x));  // the device may fuse
    }
}

struct Shape {
    __host__ __device__ virtual ~Shape() {}
    __host__ __device__ virtual int area() const = 0;
    __host__ __device__ virtual int scaled(int by) const { return area() * by; }
};
struct Square : Shape {
    int side;
    __host__ __device__ explicit Square(int s) : side(s) {}
    __host__ __device__ int area() const override { return side * side; }
};
struct Box : Square {
    int other;
    __host__ __device__ Box(int s, int o) : Square(s), other(o) {}
    __host__ __device__ int area() const override { return side * other; }
    __host__ __device__ int scaled(int by) const override { return Square::scaled(by) + 1; }
};
__host__ __device__ inline int shape_result(int i) {
    const Square square(i);
    const Box box(i, 3);
    const Shape* shape = mixed(i) & 1 ? static_cast<const Shape*>(&square) : &box;
    return shape->scaled(i + 1) * 10 + shape->area();
}
__global__ void virtual_kernel(int* out) { out[global_id()] = shape_result(global_id()); }
void virtual_calls(Test& test) {
    Buffer<int> out(128);
    launch(virtual_kernel, 2, 64, 0, out);
    for (int i = 0; i < 128; ++i) test.equal("virtual", i, out[i], shape_result(i));
}

// Private memory --------------------------------------------------------------------------------------------------------------

__host__ __device__ inline uint64_t private_arrays(uint32_t seed) {
    uint32_t words[150];
    unsigned char bytes[300];
    double numbers[24];
    short shorts[64] = {};
    for (int i = 0; i < 150; ++i) words[i] = mixed(seed + i);
    for (int i = 0; i < 300; ++i) bytes[i] = static_cast<unsigned char>(words[i / 2] >> (8 * (i & 3)));
    for (int i = 0; i < 24; ++i) numbers[i] = i;
    for (int i = 0; i < 150; ++i) {
        const uint32_t k = words[i] % 150;
        const uint32_t t = words[i];
        words[i] = words[k] + bytes[words[k] % 300];
        words[k] = t;
        numbers[t % 24] += bytes[t % 300];
        shorts[t % 64] -= static_cast<short>(t);
        const unsigned char b = bytes[t % 300];
        bytes[t % 300] = bytes[k];
        bytes[k] = b;
    }
    uint64_t sum = 0;
    for (int i = 0; i < 150; ++i) sum = sum * 31 + words[i];
    for (int i = 0; i < 300; ++i) sum = sum * 31 + bytes[i];
    for (int i = 0; i < 24; ++i) sum = sum * 31 + static_cast<uint64_t>(numbers[i]);
    for (int i = 0; i < 64; ++i) sum = sum * 31 + static_cast<uint64_t>(shorts[i]);
    return sum;
}
__global__ void private_kernel(uint64_t* out) { out[global_id()] = private_arrays(mixed(global_id() + 5)); }
void private_memory(Test& test) {
    Buffer<uint64_t> out(128);
    launch(private_kernel, 1, 128, 0, out);
    for (int i = 0; i < 128; ++i) test.equal("private arrays", i, out[i], private_arrays(mixed(i + 5)));
}

/// More live values than there are vector registers at this block size.
template <int kValues>
__host__ __device__ inline uint32_t many_values(uint32_t seed) {
    uint32_t v[kValues];
#pragma unroll
    for (int i = 0; i < kValues; ++i) v[i] = mixed(seed + i * 77);
    for (int round = 0; round < 3; ++round) {
#pragma unroll
        for (int i = 0; i < kValues; ++i) v[i] = v[i] * 5 + (v[(i + 17) % kValues] ^ v[(i * 3 + 1) % kValues]);
    }
    uint32_t sum = 0;
#pragma unroll
    for (int i = 0; i < kValues; ++i) sum ^= v[i] + i;
    return sum;
}
__global__ __launch_bounds__(1024) void pressure_kernel(uint32_t* out) { out[global_id()] = many_values<96>(global_id()); }
void register_pressure(Test& test) {
    Buffer<uint32_t> out(1024);
    launch(pressure_kernel, 1, 1024, 0, out);
    for (int i = 0; i < 1024; ++i) test.equal("values", i, out[i], many_values<96>(i));
}

// Control flow ----------------------------------------------------------------------------------------------------------------

__host__ __device__ inline int switched(int v) {
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
__global__ void switch_kernel(int* out) {
    const int i = global_id();
    out[i] = switched(i % 13) + 3 * switched(i % 2 ? 100 : -1000) + switched(i);
}
void switches(Test& test) {
    Buffer<int> out(192);
    launch(switch_kernel, 3, 64, 0, out);
    for (int i = 0; i < 192; ++i) {
        test.equal("switch", i, out[i], switched(i % 13) + 3 * switched(i % 2 ? 100 : -1000) + switched(i));
    }
}

__host__ __device__ inline uint32_t tangled(uint32_t seed) {
    uint32_t state = mixed(seed), sum = 0;
    for (int i = 0;; ++i) {
        state = state * 1664525 + 1013904223;
        if ((state >> 28) == 3) continue;
        if ((state >> 24) == 200 || i > 60) break;
        int inner = static_cast<int>(state >> 29);
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
__global__ void tangled_kernel(uint32_t* out) { out[global_id()] = tangled(global_id()); }
void divergent_loops(Test& test) {
    Buffer<uint32_t> out(512);
    launch(tangled_kernel, 4, 128, 0, out);
    for (int i = 0; i < 512; ++i) test.equal("loops", i, out[i], tangled(i));
}

__global__ void early_exit_kernel(uint32_t* out, int n) {
    const int i = global_id();
    if (i >= n) return;
    for (int k = 0; k < 100; ++k) {
        if (k == i % 50) {
            out[i] = k * 1000 + i;
            if (i % 3 == 0) return;
        }
    }
    out[i] += 1;
}
void early_exits(Test& test) {
    Buffer<uint32_t> out(200, 5);
    launch(early_exit_kernel, 2, 128, 0, out, 150);
    for (uint32_t i = 0; i < 200; ++i) test.equal("out", i, out[i], i < 150 ? i % 50 * 1000 + i + (i % 3 != 0) : 5u);
}

// Data ------------------------------------------------------------------------------------------------------------------------

template <class T>
__host__ __device__ inline uint64_t arithmetic(uint64_t a, uint64_t b) {
    const T x = static_cast<T>(a), y = static_cast<T>(b), z = static_cast<T>(b >> 7);
    const unsigned shift = b % (sizeof(T) * 8);
    T r = static_cast<T>(x + y);
    r = static_cast<T>(r * x - static_cast<T>(y ^ z));
    r = static_cast<T>(r ^ static_cast<T>(x << shift) ^ static_cast<T>(y >> shift));
    r = static_cast<T>(r + (x < y) + 2 * (y <= z) + 4 * (x == z));
    r = static_cast<T>(r - static_cast<T>(~x & y) + static_cast<T>(x | z) + static_cast<T>(-y));
    return static_cast<uint64_t>(r) + static_cast<uint64_t>(x > y ? x : y) * 3;
}
__host__ __device__ inline unsigned __int128 wide(uint64_t a, uint64_t b) {
    const unsigned __int128 x = static_cast<unsigned __int128>(a) << 64 | b;
    return x * (a | 1) + (x >> (b % 127)) - (static_cast<unsigned __int128>(b) << (a % 127));
}
#define INTEGER_TYPES(X) \
    X(0, int8_t) X(1, uint8_t) X(2, int16_t) X(3, uint16_t) X(4, int32_t) X(5, uint32_t) X(6, int64_t) X(7, uint64_t)
__global__ void integer_kernel(uint64_t* out) {
    const unsigned i = global_id();
    const uint64_t a = mixed64(i), b = mixed64(i + 1000);
#define ROW(k, T) out[10 * i + k] = arithmetic<T>(a, b);
    INTEGER_TYPES(ROW)
#undef ROW
    out[10 * i + 8] = static_cast<uint64_t>(wide(a, b));
    out[10 * i + 9] = static_cast<uint64_t>(wide(a, b) >> 64);
}
void integers(Test& test) {
    Buffer<uint64_t> out(10 * 256);
    launch(integer_kernel, 4, 64, 0, out);
    for (unsigned i = 0; i < 256; ++i) {
        const uint64_t a = mixed64(i), b = mixed64(i + 1000);
#define ROW(k, T) test.equal(#T, i, out[10 * i + k], arithmetic<T>(a, b));
        INTEGER_TYPES(ROW)
#undef ROW
        test.equal("128 bits, low", i, out[10 * i + 8], static_cast<uint64_t>(wide(a, b)));
        test.equal("128 bits, high", i, out[10 * i + 9], static_cast<uint64_t>(wide(a, b) >> 64));
    }
}

struct __attribute__((packed)) Packed {
    unsigned char tag;
    uint32_t word;
    uint16_t half;
    uint64_t wide;
    signed char small;
};
struct Memory {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    float4 f4;
    double2 d2;
    char4 c4;
    ushort4 s4;
    int3 i3;
    Packed packed[3];
};
__host__ __device__ inline void churn(Memory& m, uint32_t i) {
    m.i8 = static_cast<int8_t>(m.i8 * 3 + i);
    m.u8 += m.i8 >> 1;
    m.i16 = static_cast<int16_t>(m.i16 - m.u8);
    m.u16 = static_cast<uint16_t>(m.u16 * m.i16);
    m.f4 = make_float4(m.f4.y + 1, m.f4.z * 2, m.f4.w - m.f4.x, static_cast<float>(m.u16));
    m.d2 = make_double2(m.d2.y * 0.25, m.d2.x + m.i16);
    m.c4 = make_char4(m.c4.w, m.c4.x + 1, m.c4.y ^ 0x33, m.c4.z - m.i8);
    m.s4.x += m.s4.w;
    m.s4.z = m.u16;
    m.i3 = make_int3(m.i3.z, m.i3.x * 7, m.i3.y - 1);
    Packed& p = m.packed[i % 3];
    p.word = p.word * 17 + p.tag;
    p.half ^= static_cast<uint16_t>(p.word >> 5);
    p.wide += static_cast<uint64_t>(p.half) << 40;
    p.small = static_cast<signed char>(p.wide >> 33);
    p.tag++;
}
__global__ void memory_kernel(Memory* m) {
    const int i = global_id();
    churn(m[i], i);
    churn(m[i], i + 1);
}
void memory_types(Test& test) {
    Buffer<Memory> m(128);
    for (size_t i = 0; i < m.size(); ++i) {
        unsigned char* bytes = reinterpret_cast<unsigned char*>(&m[i]);
        for (size_t k = 0; k < sizeof(Memory); ++k) bytes[k] = static_cast<unsigned char>(mixed(i * 1000 + k));
        m[i].f4 = make_float4(1, 2, 3, static_cast<float>(i));
        m[i].d2 = make_double2(i * 0.5, 8);
    }
    std::vector<Memory> want = m.host;
    launch(memory_kernel, 2, 64, 0, m);
    for (size_t i = 0; i < want.size(); ++i) {
        churn(want[i], i);
        churn(want[i], i + 1);
        const unsigned char *got = reinterpret_cast<unsigned char*>(&m[i]),
                            *expected = reinterpret_cast<unsigned char*>(&want[i]);
        for (size_t k = 0; k < sizeof(Memory); ++k) test.equal("byte", i * 1000 + k, got[k], expected[k]);
    }
}

__constant__ uint32_t constants[64];
__device__ uint32_t device_variable = 41;
__device__ uint8_t device_table[] = {3, 1, 4, 1, 5, 9, 2, 6};
__global__ void globals_kernel(uint32_t* out) {
    const unsigned i = global_id();
    out[i] = constants[i % 64] + device_table[i % 8] * constants[(i * 7) % 64] + device_variable;
}
__global__ void set_variable_kernel(uint32_t v) { device_variable = v; }
void globals(Test& test) {
    uint32_t values[64];
    for (uint32_t i = 0; i < 64; ++i) values[i] = mixed(i);
    static const uint8_t table[] = {3, 1, 4, 1, 5, 9, 2, 6};
    require(hipMemcpyToSymbol(HIP_SYMBOL(constants), values, sizeof values), "copy to a symbol");
    Buffer<uint32_t> out(128);
    for (const uint32_t variable : {41u, 1234567u}) {
        if (variable != 41) launch(set_variable_kernel, 1, 1, 0, variable);
        launch(globals_kernel, 2, 64, 0, out);
        for (unsigned i = 0; i < 128; ++i) {
            test.equal("out", i, out[i], values[i % 64] + table[i % 8] * values[(i * 7) % 64] + variable);
        }
    }
}

// All -------------------------------------------------------------------------------------------------------------------------

/// LLVM before 18 at -O0: where divergent control flow joins, spilled vector registers are reloaded before EXEC has all lanes
/// again, so that lanes of the other path keep what they had. (llvm-project pull requests 69923 and 69924 correct it.) These
/// tests are nothing but divergence, or use functions of HIP with such code.
inline bool miscompiled([[maybe_unused]] const char* name) {
#if !defined(__OPTIMIZE__) && __clang_major__ < 18
    for (const char* each : {"recursion", "function_pointers", "virtual_calls", "switches", "divergent_loops", "early_exits",
                             "integers", "atomics_global", "atomics_shared", "atomics_float", "atomics_system", "shuffles",
                             "votes", "grid_barrier", "message_passing", "grid_3d"}) {
        if (std::strcmp(each, name) == 0) return true;
    }
#endif
    return false;
}

struct Row {
    const char* name;
    void (*run)(Test&);
};
constexpr Row kTests[] = {
    {"structs_by_value", structs_by_value},
    {"recursion", recursion},
    {"function_pointers", function_pointers},
    {"virtual_calls", virtual_calls},
    {"private_memory", private_memory},
    {"register_pressure", register_pressure},
    {"switches", switches},
    {"divergent_loops", divergent_loops},
    {"early_exits", early_exits},
    {"integers", integers},
    {"memory_types", memory_types},
    {"globals", globals},
    {"atomics_global", atomics_global},
    {"atomics_shared", atomics_shared},
    {"atomics_float", atomics_float},
    {"atomics_system", atomics_system},
    {"shuffles", shuffles},
    {"votes", votes},
    {"cross_lane", cross_lane},
    {"barrier_votes", barrier_votes},
    {"shared_memory", shared_memory},
    {"dynamic_shared", dynamic_shared},
    {"grid_barrier", grid_barrier},
    {"message_passing", message_passing},
    {"clocks", clocks},
    {"grid_3d", grid_3d},
    {"group_sizes", group_sizes},
};

}  // namespace
}  // namespace codegen

int main(int argc, char** argv) {
    using namespace codegen;
    unsigned passed = 0, run = 0;
    for (const Row& row : kTests) {
        if (argc > 1 && std::strcmp(argv[1], row.name) != 0) continue;
        if (miscompiled(row.name)) {
            std::printf("%-20s not run: miscompiled at -O0\n", row.name);
            continue;
        }
        Test test(row.name);
        row.run(test);
        passed += test.finish();
        ++run;
    }
    const bool good = run > 0 && passed == run;
    std::printf("codegen: %u of %u tests right: %s\n", passed, run, good ? "PASSED" : "FAILED");
    return good ? 0 : 1;
}
