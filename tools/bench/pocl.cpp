// SPDX-License-Identifier: MIT
// PoCL through dlopen(): the calls and nothing else.
#define CL_TARGET_OPENCL_VERSION 120
#include "tools/bench/pocl.h"

#include <CL/cl.h>
#include <dlfcn.h>

#include <cstdlib>

#include <fmt/format.h>

namespace lyra::bench {

struct Pocl::State {
    void* library = nullptr;
    bool complete = true;
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    cl_context context = nullptr;
    cl_command_queue queue = nullptr;
    cl_program program = nullptr;
    cl_kernel kernel = nullptr;
    std::vector<cl_mem> buffers;
    cl_uint dimensions = 3;
    size_t global[3] = {}, local[3] = {};

#define CALL(name) decltype(&::name) name = nullptr
    CALL(clGetPlatformIDs);
    CALL(clGetPlatformInfo);
    CALL(clGetDeviceIDs);
    CALL(clCreateContext);
    CALL(clCreateCommandQueue);
    CALL(clCreateProgramWithSource);
    CALL(clBuildProgram);
    CALL(clGetProgramBuildInfo);
    CALL(clCreateKernel);
    CALL(clCreateBuffer);
    CALL(clSetKernelArg);
    CALL(clEnqueueNDRangeKernel);
    CALL(clEnqueueReadBuffer);
    CALL(clFinish);
    CALL(clReleaseMemObject);
    CALL(clReleaseKernel);
#undef CALL

    template <typename F>
    void find(F& function, const char* name) {
        function = reinterpret_cast<F>(dlsym(library, name));
        if (!function) complete = false;
    }
    void find_all() {
#define FIND(name) find(name, #name)
        FIND(clGetPlatformIDs);
        FIND(clGetPlatformInfo);
        FIND(clGetDeviceIDs);
        FIND(clCreateContext);
        FIND(clCreateCommandQueue);
        FIND(clCreateProgramWithSource);
        FIND(clBuildProgram);
        FIND(clGetProgramBuildInfo);
        FIND(clCreateKernel);
        FIND(clCreateBuffer);
        FIND(clSetKernelArg);
        FIND(clEnqueueNDRangeKernel);
        FIND(clEnqueueReadBuffer);
        FIND(clFinish);
        FIND(clReleaseMemObject);
        FIND(clReleaseKernel);
#undef FIND
    }
    std::string text(cl_platform_id of, cl_platform_info what) const {
        char words[256] = "";
        clGetPlatformInfo(of, what, sizeof words - 1, words, nullptr);
        return words;
    }
    bool find_platform() {
        cl_platform_id all[16];
        cl_uint count = 0;
        if (clGetPlatformIDs(16, all, &count) != CL_SUCCESS) return false;
        for (cl_uint i = 0; i < count && i < 16; ++i) {
            if (text(all[i], CL_PLATFORM_NAME) == "Portable Computing Language") platform = all[i];
        }
        return platform && clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr) == CL_SUCCESS;
    }
    void release() {
        for (cl_mem each : buffers) clReleaseMemObject(each);
        buffers.clear();
        if (kernel) clReleaseKernel(kernel);
        kernel = nullptr;
    }
};

Pocl::Pocl() : state_(std::make_unique<State>()) {}
Pocl::~Pocl() {
    if (state_->complete) state_->release();
}

std::unique_ptr<Pocl> Pocl::open(std::string& error) {
    // Read when the device is made; the second name is that of newer versions. An answer of the user's own stays.
    setenv("POCL_DEVICES", "pthread", 0);
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 1);
    setenv("POCL_CPU_MAX_CU_COUNT", "1", 1);
    std::unique_ptr<Pocl> made(new Pocl);
    State& s = *made->state_;
    const char* const missing =
        "PoCL is missing, and without it there is nothing to compare with; as root: apt-get install --no-install-recommends "
        "pocl-opencl-icd ocl-icd-libopencl1";
    s.library = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL);
    s.complete = s.library != nullptr;
    if (s.complete) s.find_all();
    if (!s.complete || !s.find_platform()) {
        s.complete = false;
        error = missing;
        return nullptr;
    }
    cl_int status = CL_SUCCESS;
    s.context = s.clCreateContext(nullptr, 1, &s.device, nullptr, nullptr, &status);
    if (status == CL_SUCCESS) s.queue = s.clCreateCommandQueue(s.context, s.device, 0, &status);
    if (status != CL_SUCCESS) {
        error = fmt::format("PoCL makes no queue: error {}", status);
        return nullptr;
    }
    return made;
}

std::string Pocl::version() const { return state_->text(state_->platform, CL_PLATFORM_VERSION); }

bool Pocl::build(const std::string& source, std::string& error) {
    State& s = *state_;
    const char* words = source.c_str();
    cl_int status = CL_SUCCESS;
    s.program = s.clCreateProgramWithSource(s.context, 1, &words, nullptr, &status);
    if (status == CL_SUCCESS) status = s.clBuildProgram(s.program, 1, &s.device, "-cl-std=CL1.2", nullptr, nullptr);
    if (status == CL_SUCCESS) return true;
    std::string log(16384, '\0');
    s.clGetProgramBuildInfo(s.program, s.device, CL_PROGRAM_BUILD_LOG, log.size() - 1, log.data(), nullptr);
    error = fmt::format("PoCL does not compile the kernels: {}", log.c_str());
    return false;
}

bool Pocl::prepare(const KernelCase& each, std::string& error) {
    State& s = *state_;
    s.release();
    cl_int status = CL_SUCCESS;
    s.kernel = s.clCreateKernel(s.program, each.name.c_str(), &status);
    for (const auto& content : each.buffers) {
        if (status != CL_SUCCESS) break;
        auto* data = const_cast<uint8_t*>(content.data());
        s.buffers.push_back(
            s.clCreateBuffer(s.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, content.size(), data, &status));
    }
    for (cl_uint i = 0; i < each.arguments.size() && status == CL_SUCCESS; ++i) {
        const Argument& argument = each.arguments[i];
        status = argument.buffer >= 0
                     ? s.clSetKernelArg(s.kernel, i, sizeof(cl_mem), &s.buffers[static_cast<unsigned>(argument.buffer)])
                     : s.clSetKernelArg(s.kernel, i, argument.value.size(), argument.value.data());
    }
    for (unsigned axis = 0; axis < 3; ++axis) {
        s.global[axis] = each.global[axis];
        s.local[axis] = each.local[axis];
    }
    if (status != CL_SUCCESS) error = fmt::format("PoCL: error {}", status);
    return status == CL_SUCCESS;
}

bool Pocl::run() {
    State& s = *state_;
    return s.clEnqueueNDRangeKernel(s.queue, s.kernel, s.dimensions, nullptr, s.global, s.local, 0, nullptr, nullptr) ==
               CL_SUCCESS &&
           s.clFinish(s.queue) == CL_SUCCESS;
}

std::vector<uint8_t> Pocl::result(const KernelCase& each) {
    State& s = *state_;
    std::vector<uint8_t> bytes(each.buffers[each.output].size());
    if (s.clEnqueueReadBuffer(s.queue, s.buffers[each.output], CL_TRUE, 0, bytes.size(), bytes.data(), 0, nullptr, nullptr))
        return {};
    return bytes;
}

}  // namespace lyra::bench
