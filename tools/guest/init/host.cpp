// SPDX-License-Identifier: MIT
// What a guest in virtual time has in place of a port to the host: nothing here depends on when the host answers.
//
//   host stop          The machine stops at exactly this instruction (pvpanic-pci in slot 1e), for its host to save it. One
//                      that goes on from there ends the call.
//   host read NAME     The file opt/lyra/NAME of QEMU's command line (fw_cfg), to standard output.
//   host seed          Standard input becomes the seed of the kernel's random numbers.
//
// Exit status 1: the machine has no such device or file.
// @source QEMU docs/specs/pvpanic.rst, docs/specs/fw_cfg.rst; Linux include/uapi/linux/random.h
#include <fcntl.h>
#include <linux/random.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr const char* kPanic = "/sys/bus/pci/devices/0000:00:1e.0/";
constexpr uint16_t kSelect = 0x510, kData = 0x511;
constexpr uint8_t kPanicked = 1;
constexpr uint16_t kSignature = 0, kDirectory = 0x19;

struct __attribute__((packed)) File {
    uint8_t size[4], select[2], reserved[2];  // big-endian
    char name[56];
};

uint32_t number(const uint8_t* bytes, unsigned count) {
    uint32_t value = 0;
    for (unsigned n = 0; n < count; ++n) value = value << 8 | bytes[n];
    return value;
}

int stop() {
    const std::string device = kPanic;
    const int enable = open((device + "enable").c_str(), O_WRONLY);
    const int registers = open((device + "resource0").c_str(), O_RDWR);
    if (registers < 0 || write(enable, "1", 1) != 1) return 1;
    void* const page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, registers, 0);
    if (page == MAP_FAILED) return 1;
    *static_cast<volatile uint8_t*>(page) = kPanicked;
    return 0;
}

int read_file(const char* name) {
    char signature[4] = {};
    outw(kSignature, kSelect);
    insb(kData, signature, sizeof signature);
    if (std::memcmp(signature, "QEMU", 4) != 0) return 1;
    uint8_t count[4];
    outw(kDirectory, kSelect);
    insb(kData, count, sizeof count);
    const std::string_view prefix = "opt/lyra/";
    for (uint32_t left = number(count, 4); left != 0; --left) {
        File file;
        insb(kData, &file, sizeof file);
        file.name[sizeof file.name - 1] = 0;
        const std::string_view found = file.name;
        if (!found.starts_with(prefix) || found.substr(prefix.size()) != name) continue;
        std::vector<char> chunk(65536);
        outw(static_cast<uint16_t>(number(file.select, 2)), kSelect);
        for (uint32_t size = number(file.size, 4); size != 0;) {
            const uint32_t bytes = std::min<uint32_t>(size, static_cast<uint32_t>(chunk.size()));
            insb(kData, chunk.data(), bytes);
            if (std::fwrite(chunk.data(), 1, bytes, stdout) != bytes) return 1;
            size -= bytes;
        }
        return std::fflush(stdout) == 0 ? 0 : 1;
    }
    return 1;
}

int seed() {
    constexpr int kBytes = 256;  // all count, also those that are 0
    alignas(rand_pool_info) char pool[sizeof(rand_pool_info) + kBytes] = {};
    const rand_pool_info head{8 * kBytes, kBytes, {}};
    std::memcpy(pool, &head, sizeof head);
    const ssize_t got = read(STDIN_FILENO, pool + sizeof head, kBytes);
    const int random = open("/dev/urandom", O_WRONLY);
    if (got <= 0 || random < 0) return 1;
    return ioctl(random, RNDADDENTROPY, pool) == 0 && ioctl(random, RNDRESEEDCRNG) == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view verb = argc > 1 ? argv[1] : "";
    if (verb == "stop" && argc == 2) return stop();
    if (ioperm(kSelect, 2, 1) != 0) return 1;
    if (verb == "read" && argc == 3) return read_file(argv[2]);
    if (verb == "seed" && argc == 2) return seed();
    std::fprintf(stderr, "usage: host stop | read NAME | seed\n");
    return 2;
}
