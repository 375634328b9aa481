// SPDX-License-Identifier: MIT
// Linked into kfdtest: tells whether the body of the test got to its end, and which calls of KFD it made. A program that starts
// adds lines to the file $LYRA_EVIDENCE when it ends; the processes that it forks count with it.
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>

extern "C" {
int __real_ioctl(int fd, unsigned long request, void* argument);
int __wrap_ioctl(int fd, unsigned long request, ...);
void kfdtest_body_end();
}

namespace {

constexpr unsigned kType = 'K';  // AMDKFD_IOCTL_BASE

struct Counts {
    std::atomic<unsigned long> calls[1 << _IOC_NRBITS];
    std::atomic<bool> body_end;
};

Counts* counts;
pid_t owner;

__attribute__((constructor)) void begin() {
    void* shared = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return;
    counts = new (shared) Counts{};
    owner = getpid();
}

__attribute__((destructor)) void end() {
    const char* path = std::getenv("LYRA_EVIDENCE");
    if (counts == nullptr || path == nullptr || getpid() != owner) return;
    std::FILE* file = std::fopen(path, "a");
    if (file == nullptr) return;
    for (unsigned number = 0; number < sizeof counts->calls / sizeof counts->calls[0]; ++number) {
        if (const unsigned long calls = counts->calls[number]) std::fprintf(file, "ioctl %u %lu\n", number, calls);
    }
    if (counts->body_end) std::fprintf(file, "body_end\n");
    std::fclose(file);
}

}  // namespace

// Only calls that succeed.
int __wrap_ioctl(int fd, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void* argument = va_arg(rest, void*);
    va_end(rest);
    const int result = __real_ioctl(fd, request, argument);
    if (result >= 0 && counts != nullptr && _IOC_TYPE(request) == kType) ++counts->calls[_IOC_NR(request)];
    return result;
}

// Where TEST_END is, which an early return or an exception does not reach. Children have their own ways out.
void kfdtest_body_end() {
    if (counts != nullptr && getpid() == owner) counts->body_end = true;
}
