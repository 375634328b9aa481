// SPDX-License-Identifier: MIT
// printf in device code, checked by reading back what arrived on standard output.
#include <hip/hip_runtime.h>

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define CHECK(call)                                                                                            \
    do {                                                                                                       \
        const hipError_t hip_status = (call);                                                                  \
        if (hip_status != hipSuccess) {                                                                        \
            std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(hip_status)); \
            std::exit(1);                                                                                      \
        }                                                                                                      \
    } while (0)

__global__ void hello(const char* who) {
    const unsigned int group = blockIdx.x, thread = threadIdx.x;
    printf("group %u thread %u says %s, %.3f and %lld\n", group, thread, "hello", 0.125 * thread, -1000000000000ll * group);
    if (group == 0 && thread == 0) {
        printf("%s\n", who);
    }
}

int main() {
    const unsigned int groups = 2, threads = 4;
    const char text[] = "a string that lives in device memory";
    // The runtime prints to the process' standard output: let it be a file meanwhile.
    std::fflush(stdout);
    std::FILE* file = std::tmpfile();
    const int terminal = dup(STDOUT_FILENO);
    if (!file || terminal < 0 || dup2(fileno(file), STDOUT_FILENO) < 0) {
        std::perror("redirect standard output");
        return 1;
    }
    char* device_text = nullptr;
    CHECK(hipMalloc(&device_text, sizeof text));
    CHECK(hipMemcpy(device_text, text, sizeof text, hipMemcpyHostToDevice));
    hello<<<groups, threads>>>(device_text);
    CHECK(hipGetLastError());
    CHECK(hipDeviceSynchronize());
    CHECK(hipFree(device_text));
    std::fflush(stdout);
    dup2(terminal, STDOUT_FILENO);

    std::string printed;
    std::rewind(file);
    for (int c; (c = std::fgetc(file)) != EOF;) {
        printed += static_cast<char>(c);
    }
    std::printf("%s", printed.c_str());

    // Lines of different threads may come in any order; each must be there once.
    bool right = true;
    size_t length = std::strlen(text) + 1;
    right = printed.find(std::string(text) + "\n") != std::string::npos;
    for (unsigned int group = 0; group < groups; ++group) {
        for (unsigned int thread = 0; thread < threads; ++thread) {
            char line[128];
            std::snprintf(line, sizeof line, "group %u thread %u says hello, %.3f and %lld\n", group, thread, 0.125 * thread,
                          -1000000000000ll * group);
            const size_t at = printed.find(line);
            right = right && at != std::string::npos && printed.find(line, at + 1) == std::string::npos;
            length += std::strlen(line);
        }
    }
    right = right && printed.size() == length;
    std::printf("device printf: %s\n", right ? "PASSED" : "FAILED");
    return right ? 0 : 1;
}
