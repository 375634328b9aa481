// SPDX-License-Identifier: MIT
// A process in which HIP has been initialized, and then becomes a program: a shared object that has main(). HIP compiles
// kernels of its own for copies and fills when a process first needs them, which is most of a short program's time under
// emulation.
//
//   warm READY GO    READY is made when HIP is up; then a line of GO, a FIFO, is waited for: the file for standard input.
//                    Standard output and error are the FIFOs /run/out and /run/err, the program is /job/program.so with the
//                    arguments of /job/arguments (each ends with a 0 byte).
//   warm --now       The program at once: nothing was initialized, and the standard streams are what they are.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <hip/hip_runtime.h>

namespace {

/// All ways that a program's data goes: pageable memory in both directions, small and large, and a fill.
bool warm_up() {
    constexpr size_t kBytes = 4 << 20;
    std::vector<char> host(kBytes, 1);
    void* device = nullptr;
    if (hipMalloc(&device, kBytes) != hipSuccess) return false;
    bool good = true;
    for (const size_t bytes : {size_t{64}, kBytes}) {
        good &= hipMemcpy(device, host.data(), bytes, hipMemcpyHostToDevice) == hipSuccess;
        good &= hipMemset(device, 2, bytes) == hipSuccess;
        good &= hipMemcpy(host.data(), device, bytes, hipMemcpyDeviceToHost) == hipSuccess;
    }
    good &= hipDeviceSynchronize() == hipSuccess && host.front() == 2 && host.back() == 2;
    return hipFree(device) == hipSuccess && good;
}

void replace(int descriptor, const char* file, int flags) {
    const int opened = open(file, flags);
    if (opened < 0 || dup2(opened, descriptor) < 0) _exit(70);
    close(opened);
}

}  // namespace

int main(int argc, char** argv) {
    const bool now = argc == 2 && std::string(argv[1]) == "--now";
    if (!now) {
        if (argc != 3 || !warm_up()) return 70;
        std::ofstream(argv[1]) << "ready\n";
        std::ifstream go(argv[2]);
        std::string input;
        std::getline(go, input);
        replace(STDIN_FILENO, input.c_str(), O_RDONLY);
        replace(STDOUT_FILENO, "/run/out", O_WRONLY);
        replace(STDERR_FILENO, "/run/err", O_WRONLY);
    }
    if (chdir("/job") != 0) return 70;
    static std::string words = [] {
        std::ifstream file("arguments", std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    }();
    static std::vector<char*> arguments;
    for (size_t at = 0; at < words.size(); at = words.find('\0', at) + 1) arguments.push_back(&words[at]);
    const int count = static_cast<int>(arguments.size());
    arguments.push_back(nullptr);
    void* const program = dlopen("/job/program.so", RTLD_NOW | RTLD_GLOBAL);
    if (program == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 127;
    }
    using Main = int (*)(int, char**, char**);
    const auto start = reinterpret_cast<Main>(dlsym(program, "main"));
    if (start == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 127;
    }
    exit(start(count, arguments.data(), environ));
}
