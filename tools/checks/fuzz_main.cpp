// SPDX-License-Identifier: MIT
// Runs a fuzz target without libFuzzer: on the files named, or on COUNT pseudo-random inputs that are the same every time.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr size_t kMaxBytes = 2048;

std::vector<uint8_t> random_input(std::mt19937_64& random) {
    std::vector<uint8_t> bytes(random() % kMaxBytes);
    // Packet fields are mostly small numbers; all-random words would rarely pass the first check.
    const bool small = random() & 1;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(small && i % 4 ? 0 : random());
    return bytes;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--random") {
        std::mt19937_64 random(1);
        const long count = std::atol(argv[2]);
        for (long n = 0; n < count; ++n) {
            const std::vector<uint8_t> input = random_input(random);
            LLVMFuzzerTestOneInput(input.data(), input.size());
        }
        std::printf("%ld inputs\n", count);
        return count > 0 ? 0 : 2;
    }
    for (int i = 1; i < argc; ++i) {
        std::ifstream file(argv[i], std::ios::binary);
        if (!file) {
            std::fprintf(stderr, "%s: cannot read\n", argv[i]);
            return 2;
        }
        const std::vector<uint8_t> input((std::istreambuf_iterator<char>(file)), {});
        LLVMFuzzerTestOneInput(input.data(), input.size());
    }
    return argc > 1 ? 0 : 2;
}
