// SPDX-License-Identifier: MIT
// Products of matrices for `lyra bench`: the kernels of matrix.cl, and the host's BLAS.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/bench/kernel_case.h"

namespace lyra::bench {

inline constexpr int kMatrixSize = 256;
/// Multiplications and additions of one product.
inline constexpr double kMatrixOperations = 2.0 * kMatrixSize * kMatrixSize * kMatrixSize;

/// One for each type: small whole numbers, so that every engine has the same result.
std::vector<KernelCase> matrix_cases();

/// The library that the system has as libblas.so.3, on one thread.
class Blas {
public:
    /// nullptr: there is none.
    static std::unique_ptr<Blas> open();
    ~Blas();
    Blas(const Blas&) = delete;
    Blas& operator=(const Blas&) = delete;

    const std::string& file() const { return file_; }  ///< that the name stands for
    bool has(const KernelCase& each) const;             ///< its type: f32 or f64
    void run(std::vector<std::vector<uint8_t>>& buffers, const KernelCase& each) const;

private:
    Blas() = default;
    void* library_ = nullptr;
    void* single_ = nullptr;
    void* double_ = nullptr;
    std::string file_;
};

}  // namespace lyra::bench
