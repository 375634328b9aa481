// SPDX-License-Identifier: MIT
// The sum of the squares of 200,000 integers with rocThrust, compared with the closed form.
//
//     ./lyra run --packages librocthrust-dev,librocprim-dev examples/packages/reduce_rocthrust.hip
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/sequence.h>
#include <thrust/transform_reduce.h>

#include <cstdint>
#include <cstdio>

struct Square {
    __host__ __device__ uint64_t operator()(uint64_t x) const { return x * x; }
};

int main() {
    const uint64_t n = 200000;
    thrust::device_vector<uint64_t> numbers(n);
    thrust::sequence(numbers.begin(), numbers.end(), uint64_t{1});
    const uint64_t sum =
        thrust::transform_reduce(numbers.begin(), numbers.end(), Square(), uint64_t{0}, thrust::plus<uint64_t>());
    const uint64_t expected = n * (n + 1) * (2 * n + 1) / 6;
    std::printf("rocThrust sum of %llu squares is %llu: %s\n", static_cast<unsigned long long>(n),
                static_cast<unsigned long long>(sum), sum == expected ? "PASSED" : "FAILED");
    return sum == expected ? 0 : 1;
}
