// SPDX-License-Identifier: MIT
// An OpenCL program: the kernel is compiled in the guest by the runtime (rocm-opencl-icd), which takes a while under TCG.
//
//     ./lyra run --packages rocm-opencl-icd,ocl-icd-opencl-dev --hipcc -lOpenCL examples/packages/opencl.cpp
#define CL_TARGET_OPENCL_VERSION 200
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

static void check(cl_int status, const char* what) {
    if (status == CL_SUCCESS) return;
    std::fprintf(stderr, "%s: OpenCL error %d\n", what, status);
    std::exit(1);
}

static const char* const kSource =
    "__kernel void scale(__global const float* x, __global float* y, float factor) {\n"
    "    const size_t i = get_global_id(0);\n"
    "    y[i] = factor * x[i];\n"
    "}\n";

int main() {
    const size_t n = 4096;
    cl_platform_id platform;
    cl_device_id device;
    cl_int status;
    check(clGetPlatformIDs(1, &platform, nullptr), "clGetPlatformIDs");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_GPU, 1, &device, nullptr), "clGetDeviceIDs");
    char name[128] = "";
    check(clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, nullptr), "clGetDeviceInfo");
    const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
    check(status, "clCreateContext");
    const cl_command_queue queue = clCreateCommandQueueWithProperties(context, device, nullptr, &status);
    check(status, "clCreateCommandQueueWithProperties");
    const char* source = kSource;
    const cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &status);
    check(status, "clCreateProgramWithSource");
    if (clBuildProgram(program, 1, &device, "", nullptr, nullptr) != CL_SUCCESS) {
        char log[4096] = "";
        clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, nullptr);
        std::fprintf(stderr, "clBuildProgram: %s\n", log);
        return 1;
    }
    const cl_kernel kernel = clCreateKernel(program, "scale", &status);
    check(status, "clCreateKernel");
    std::vector<float> x(n), y(n, -1.0f);
    for (size_t i = 0; i < n; ++i) x[i] = 0.25f * static_cast<float>(i);
    cl_mem in = clCreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, n * sizeof(float), x.data(), &status);
    check(status, "clCreateBuffer");
    cl_mem out = clCreateBuffer(context, CL_MEM_WRITE_ONLY, n * sizeof(float), nullptr, &status);
    check(status, "clCreateBuffer");
    const float factor = 3.0f;
    check(clSetKernelArg(kernel, 0, sizeof in, &in), "clSetKernelArg");
    check(clSetKernelArg(kernel, 1, sizeof out, &out), "clSetKernelArg");
    check(clSetKernelArg(kernel, 2, sizeof factor, &factor), "clSetKernelArg");
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &n, nullptr, 0, nullptr, nullptr), "clEnqueueNDRangeKernel");
    check(clEnqueueReadBuffer(queue, out, CL_TRUE, 0, n * sizeof(float), y.data(), 0, nullptr, nullptr), "clEnqueueReadBuffer");
    int wrong = 0;
    for (size_t i = 0; i < n; ++i) wrong += y[i] != factor * x[i];
    const bool good = wrong == 0 && std::strncmp(name, "gfx900", 6) == 0;
    std::printf("OpenCL on %s, %d of %zu elements wrong: %s\n", name, wrong, n, good ? "PASSED" : "FAILED");
    return good ? 0 : 1;
}
