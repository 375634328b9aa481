// SPDX-License-Identifier: MIT
#include "tools/bench/matrix_case.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>

#include <bit>

#include "tools/bench/case_data.h"

namespace lyra::bench {

using namespace data;

namespace {

constexpr size_t kElements = size_t{kMatrixSize} * kMatrixSize;

/// Whole numbers from -4 to 4, whose sums of products all types hold exactly.
int small(size_t i, int seed) { return static_cast<int>((i * 7 + i / 31 + static_cast<size_t>(seed)) % 9) - 4; }

uint16_t half_of(int v) {
    constexpr uint16_t kHalves[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
    return static_cast<uint16_t>(kHalves[v < 0 ? -v : v] | (v < 0 ? 0x8000 : 0));
}
uint16_t brain_of(int v) { return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(v)) >> 16); }

template <class Output>
void product(std::vector<Bytes>& b) {
    Output* const out = as<Output>(b[2]);
    for (size_t i = 0; i < kMatrixSize; ++i) {
        for (size_t j = 0; j < kMatrixSize; ++j) {
            int sum = 0;
            for (size_t k = 0; k < kMatrixSize; ++k) sum += small(i * kMatrixSize + k, 1) * small(j * kMatrixSize + k, 5);
            out[i * kMatrixSize + j] = static_cast<Output>(sum);
        }
    }
}

template <class Input, class Output>
KernelCase matrix(const char* name, Element element, Input (*of)(int)) {
    constexpr uint32_t kTiles = (kMatrixSize / 16) * (kMatrixSize / 16);
    KernelCase c = shaped(name, kTiles * 64, 1, 64, 1);
    const auto made_of = [of](int seed) { return made<Input>(kElements, [=](size_t i) { return of(small(i, seed)); }); };
    c.buffers = {made_of(1), made_of(5), empty<Output>(kElements)};
    c.output = 2;
    c.element = element;
    c.arguments = {buffer(0), buffer(1), buffer(2), value(kMatrixSize)};
    c.native = product<Output>;
    return c;
}

}  // namespace

std::vector<KernelCase> matrix_cases() {
    return {matrix<float, float>("mfma_f32", Element::F32, [](int v) { return static_cast<float>(v); }),
            matrix<double, double>("mfma_f64", Element::F64, [](int v) { return static_cast<double>(v); }),
            matrix<uint16_t, float>("mfma_f16", Element::F32, half_of),
            matrix<uint16_t, float>("mfma_bf16", Element::F32, brain_of),
            matrix<int8_t, int32_t>("mfma_i8", Element::U32, [](int v) { return static_cast<int8_t>(v); })};
}

std::unique_ptr<Blas> Blas::open() {
    // OpenBLAS and BLIS start threads when they are loaded.
    for (const char* name : {"OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"}) ::setenv(name, "1", 1);
    std::unique_ptr<Blas> blas(new Blas);
    blas->library_ = ::dlopen("libblas.so.3", RTLD_NOW | RTLD_LOCAL);
    if (blas->library_ == nullptr) return nullptr;
    blas->single_ = ::dlsym(blas->library_, "sgemm_");
    blas->double_ = ::dlsym(blas->library_, "dgemm_");
    if (blas->single_ == nullptr || blas->double_ == nullptr) return nullptr;
    Dl_info where{};
    char resolved[PATH_MAX];
    if (::dladdr(blas->single_, &where) != 0 && ::realpath(where.dli_fname, resolved) != nullptr) blas->file_ = resolved;
    return blas;
}

Blas::~Blas() {
    if (library_ != nullptr) ::dlclose(library_);
}

bool Blas::has(const KernelCase& each) const { return each.name == "mfma_f32" || each.name == "mfma_f64"; }

namespace {

/// Fortran's GEMM: columns follow one another there, so that it computes the product of the transposed matrices.
template <class T>
void gemm(void* function, std::vector<Bytes>& b) {
    using Gemm = void (*)(const char*, const char*, const int*, const int*, const int*, const T*, const T*, const int*,
                          const T*, const int*, const T*, T*, const int*);
    const int n = kMatrixSize;
    const T one = 1, zero = 0;
    reinterpret_cast<Gemm>(function)("T", "N", &n, &n, &n, &one, as<T>(b[1]), &n, as<T>(b[0]), &n, &zero, as<T>(b[2]), &n);
}

}  // namespace

void Blas::run(std::vector<std::vector<uint8_t>>& buffers, const KernelCase& each) const {
    if (each.element == Element::F32)
        gemm<float>(single_, buffers);
    else
        gemm<double>(double_, buffers);
}

}  // namespace lyra::bench
