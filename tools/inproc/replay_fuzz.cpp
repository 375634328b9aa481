// SPDX-License-Identifier: MIT
// libFuzzer target: a recording that anybody may have written, read and replayed.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tools/inproc/replayer.h"

namespace {

/// What a device is made of, so that the input is calls. gzip's reader takes a file that is not compressed as it is.
constexpr std::string_view kHead =
    "lyra recording\n\x02\x05"
    "\x04"
    "chip\x06gfx900"
    "\x0avram_bytes\x09"
    "268435456"
    "\x0d"
    "compute_units\x01"
    "4"
    "\x0ahost_clock\x01"
    "1"
    "\x04time";
constexpr std::string_view kTimes[] = {"\x07virtual", "\x04host"};

void replay(const std::string& path) {
    std::string error;
    const std::unique_ptr<lyra::RecordingReader> reader = lyra::RecordingReader::open(path, error);
    if (!reader) return;
    lyra::inproc::ReplayOptions options;
    options.most_ns_per_call = 100'000;
    options.log = [](lyra_log_level, const char*) {};
    const std::unique_ptr<lyra::inproc::Replayer> replayer = lyra::inproc::Replayer::create(*reader, options, error);
    if (!replayer) return;
    lyra::RecordedCall call;
    try {
        for (unsigned calls = 0; calls < 200 && reader->next(call); ++calls) replayer->perform(call);
    } catch (const std::runtime_error& refused) {
        if (refused.what()[0] == 0) __builtin_trap();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    static const int file = memfd_create("recording", MFD_CLOEXEC);
    static const std::string path = "/proc/self/fd/" + std::to_string(file);
    const bool whole = size != 0 && data[0] == 'l';  // the input has a head of its own
    if (ftruncate(file, 0) != 0 || lseek(file, 0, SEEK_SET) != 0) __builtin_trap();
    if (!whole && write(file, kHead.data(), kHead.size()) < 0) __builtin_trap();
    const std::string_view time = kTimes[size != 0 ? data[size - 1] % 2 : 0];
    if (!whole && write(file, time.data(), time.size()) < 0) __builtin_trap();
    if (write(file, data, size) < 0) __builtin_trap();
    replay(path);
    return 0;
}
