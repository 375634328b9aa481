// SPDX-License-Identifier: MIT
// Runs kernels of a code object on an in-process device, for tests: load once, launch many.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tools/inproc/aql_queue.h"
#include "tools/inproc/code_object.h"
#include "tools/inproc/kernarg.h"

namespace lyra::inproc {

inline Bytes read_bytes(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return Bytes(std::istreambuf_iterator<char>(file), {});
}

/// A kernel argument: any trivially copyable value.
template <typename T>
ArgumentBytes argument(const T& value) {
    ArgumentBytes bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

/// A launch in one dimension.
inline LaunchShape shape(uint32_t groups, uint32_t items) {
    LaunchShape made;
    made.grid[0] = groups * items;
    made.block[0] = items;
    return made;
}

class KernelRunner {
public:
    /// @param path  file with a code object for gfx900
    explicit KernelRunner(const std::string& path, const InProcessOptions& options = {}) {
        device_ = InProcessDevice::create(options, error_);
        if (!device_) return;
        queue_ = std::make_unique<AqlQueue>(*device_);
        if (!queue_->ok())
            error_ = "no memory for the queue";
        else if (code_.parse(extract_code_object(read_bytes(path), options.chip, error_), options.chip, error_))
            code_.load(*device_, error_);
    }

    /// Empty: ready.
    const std::string& error() const { return error_; }
    InProcessDevice& device() { return *device_; }
    AqlQueue& queue() { return *queue_; }

    /// A buffer with this content.
    template <typename T>
    GpuBuffer buffer(const std::vector<T>& content, Domain domain = Domain::Vram) {
        GpuBuffer made = device_->allocate(content.size() * sizeof(T), domain);
        if (made) std::memcpy(made.host, content.data(), content.size() * sizeof(T));
        return made;
    }
    template <typename T>
    static std::vector<T> content(const GpuBuffer& buffer) {
        std::vector<T> values(buffer.bytes / sizeof(T));
        std::memcpy(values.data(), buffer.host, buffer.bytes);
        return values;
    }

    /// The packet of a launch; error() says what is wrong.
    AqlDispatch packet(const std::string& kernel_name, const LaunchShape& shape, const std::vector<ArgumentBytes>& values) {
        AqlDispatch packet;
        const KernelInfo* kernel = code_.find(kernel_name, error_);
        if (!kernel) return packet;
        std::vector<std::string> unfilled;
        const std::vector<uint8_t> bytes = build_kernarg(*kernel, shape, values, queue_->record_va(), unfilled, error_);
        const GpuBuffer segment = buffer(bytes, Domain::System);
        for (unsigned axis = 0; axis < 3; ++axis) {
            packet.workgroup[axis] = static_cast<uint16_t>(shape.block[axis]);
            packet.grid[axis] = shape.grid[axis];
        }
        // Kernels with a dynamic stack do not say how much they need.
        packet.private_bytes = kernel->private_bytes + (kernel->dynamic_stack ? 16384 : 0);
        packet.group_bytes = kernel->group_bytes + shape.dynamic_group_bytes;
        packet.kernel_object = code_.descriptor_va(*kernel);
        packet.kernarg = segment.va;
        packet.completion_signal = queue_->make_signal(1);
        queue_->set_scratch(packet.private_bytes);
        return packet;
    }

    RunOutcome run(const AqlDispatch& packet, const RunLimits& limits = {}) {
        queue_->submit(&packet);
        return queue_->wait(packet.completion_signal, limits);
    }

private:
    std::string error_;
    std::unique_ptr<InProcessDevice> device_;
    std::unique_ptr<AqlQueue> queue_;
    CodeObject code_;
};

}  // namespace lyra::inproc
