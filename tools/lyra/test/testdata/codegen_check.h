// SPDX-License-Identifier: MIT
// What codegen.hip is made of: buffers, launches, and a test that counts how many results differ from the host's.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace codegen {

inline void require(hipError_t status, const char* what) {
    if (status == hipSuccess) return;
    std::fprintf(stderr, "%s: %s\n", what, hipGetErrorString(status));
    std::exit(1);
}

/// The same content on the host and, while a kernel runs, on the device.
template <class T>
class Buffer {
public:
    explicit Buffer(size_t count, T value = T()) : host(count, value) {
        require(hipMalloc(reinterpret_cast<void**>(&device_), count * sizeof(T)), "hipMalloc");
    }
    Buffer(const Buffer&) = delete;
    ~Buffer() { require(hipFree(device_), "hipFree"); }
    T* device() const { return device_; }
    void upload() {
        require(hipMemcpy(device_, host.data(), host.size() * sizeof(T), hipMemcpyHostToDevice), "copy to the device");
    }
    void download() {
        require(hipMemcpy(host.data(), device_, host.size() * sizeof(T), hipMemcpyDeviceToHost), "copy from the device");
    }
    T& operator[](size_t i) { return host[i]; }
    size_t size() const { return host.size(); }
    std::vector<T> host;

private:
    T* device_ = nullptr;
};

/// Runs a kernel on buffers and values: every Buffer is copied in before and out after.
template <class T>
T* argument(Buffer<T>& buffer) {
    buffer.upload();
    return buffer.device();
}
template <class T>
const T& argument(const T& value) {
    return value;
}
template <class T>
void finish(Buffer<T>& buffer) {
    buffer.download();
}
template <class T>
void finish(const T&) {}

template <class Kernel, class... Arguments>
void launch(Kernel kernel, dim3 grid, dim3 block, size_t lds, Arguments&&... arguments) {
    hipLaunchKernelGGL(kernel, grid, block, lds, 0, argument(arguments)...);
    require(hipGetLastError(), "launch");
    require(hipDeviceSynchronize(), "kernel");
    (finish(arguments), ...);
}

/// Collects what differs in one test.
class Test {
public:
    explicit Test(const char* name) : name_(name) {}
    template <class T>
    void equal(const char* what, size_t index, const T& got, const T& want) {
        ++compared_;
        if (std::memcmp(&got, &want, sizeof(T)) == 0 || wrong_++ >= 3) return;
        unsigned long long got_bits = 0, want_bits = 0;
        std::memcpy(&got_bits, &got, sizeof(T) < 8 ? sizeof(T) : 8);
        std::memcpy(&want_bits, &want, sizeof(T) < 8 ? sizeof(T) : 8);
        std::printf("    %s[%zu]: got %#llx, expected %#llx\n", what, index, got_bits, want_bits);
    }
    void check(const char* what, bool good) {
        ++compared_;
        if (!good && wrong_++ < 3) std::printf("    %s\n", what);
    }
    /// @return true when all was right, and something was compared
    bool finish() const {
        const bool good = wrong_ == 0 && compared_ > 0;
        std::printf("%-20s %u of %u wrong  %s\n", name_, wrong_, compared_, good ? "ok" : "WRONG");
        std::fflush(stdout);
        return good;
    }

private:
    const char* name_;
    unsigned wrong_ = 0, compared_ = 0;
};

/// A well mixed 32-bit number for each index; the same on both sides.
__host__ __device__ inline uint32_t mixed(uint32_t v) {
    v = (v ^ (v >> 16)) * 0x7feb352dU;
    v = (v ^ (v >> 15)) * 0x846ca68bU;
    return v ^ (v >> 16);
}
__host__ __device__ inline uint64_t mixed64(uint32_t v) {
    return static_cast<uint64_t>(mixed(v)) << 32 | mixed(v + 0x9e3779b9U);
}

__device__ inline unsigned global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }

}  // namespace codegen
