// SPDX-License-Identifier: MIT
// Debugs a program with waves that wait (debug_target.hip): suspends its queues, lists the waves, changes an SGPR, a VGPR and
// the PC in the save area, and lets them go on. usage: debugger [--image FILE] PROGRAM [ARGUMENTS]
// FILE receives the save area, for `lyra waves`. Lines "wave_saved ..." on standard output are for comparison with the trace.
#include <array>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "kfdtest-ports/guest/kfd/debug_session.h"
#include "kfdtest-ports/guest/kfd/gpu.h"

using namespace lyra::guest;
using lyra::cwsr::ImageRegister;
using lyra::cwsr::WaveImage;
using lyra::cwsr::WaveRegisters;

namespace {

// What the target does: see there.
constexpr unsigned kWaves = 12, kGroupItems = 128, kScalar = 60, kLoop = 62, kVector = 40;
constexpr uint32_t kHold = 0x1234, kReleased = 0xcafe, kFlipped = 0x5a000000;
constexpr uint64_t kFirstLoopBytes = 12, kSecondLoopBytes = 8;
constexpr double kPatience = 60;

struct Stopped {
    kfd_queue_snapshot_entry queue;
    lyra::cwsr::Image image;
    std::vector<WaveRegisters> registers;
};

/// The queue with waves, suspended and read; the others run on.
bool stop(DebugSession& session, Stopped& stopped) {
    for (const kfd_queue_snapshot_entry& queue : session.queues()) {
        if (session.suspend({queue.queue_id}) != 1) fail("the queue is not suspended");
        const lyra::cwsr::ReadArea read = session.reader_of(queue);
        stopped = {queue,
                   lyra::cwsr::read_save_areas(read, first_gpu_xccs(), queue.ctx_save_restore_area_size, queue.ring_size,
                                               first_gpu_chip()),
                   {}};
        if (!stopped.image.error.empty()) fail("image: " + stopped.image.error);
        for (const WaveImage& wave : stopped.image.waves) {
            stopped.registers.emplace_back();
            if (!lyra::cwsr::read_registers(wave, read, stopped.registers.back())) fail("registers are not readable");
        }
        if (!stopped.image.waves.empty()) return true;
        if (session.resume({queue.queue_id}) != 1) fail("the queue is not resumed");
    }
    return false;
}

void go_on(DebugSession& session, const Stopped& stopped) {
    if (session.resume({stopped.queue.queue_id}) != 1) fail("the queue is not resumed");
}

uint64_t loop_of(const WaveRegisters& registers) { return uint64_t{registers.sgprs[kLoop + 1]} << 32 | registers.sgprs[kLoop]; }

/// Stop again and again until all waves are where they are expected.
void stop_in_loop(DebugSession& session, Stopped& stopped, uint64_t first, uint64_t bytes) {
    for (const double end = now_s() + kPatience;; session.serve(50)) {
        if (now_s() > end) fail("the waves do not come to their loop");
        if (!stop(session, stopped)) continue;
        unsigned there = 0;
        for (size_t n = 0; n < stopped.image.waves.size(); ++n) {
            const uint64_t loop = loop_of(stopped.registers[n]) + first;
            there += stopped.image.waves[n].pc >= loop && stopped.image.waves[n].pc < loop + bytes;
        }
        if (there == kWaves && stopped.image.waves.size() == kWaves) return;
        go_on(session, stopped);
    }
}

void check_wave(const WaveImage& wave, const WaveRegisters& registers) {
    const uint32_t group = wave.group_id[0];
    const uint64_t exec = (uint64_t{1} << (40 + group)) - 1;
    if (wave.exec != exec) fail(fmt::format("group {}: EXEC {:#x}, expected {:#x}", group, wave.exec, exec));
    if (registers.sgprs[kScalar] != kHold) fail(fmt::format("s60 is {:#x}", registers.sgprs[kScalar]));
    for (uint32_t lane = 0; lane < 40 + group; ++lane) {
        const uint32_t item = group * kGroupItems + wave.number * 64 + lane;
        if (registers.vgprs[kVector][lane] != 3 * item)
            fail(fmt::format("v40 of item {} is {:#x}", item, registers.vgprs[kVector][lane]));
    }
    if (wave.number == 0) {
        for (uint32_t item = 0; item < kGroupItems; ++item) {
            if (registers.lds[item] != item * 7)
                fail(fmt::format("LDS of group {}, dword {}: {:#x}", group, item, registers.lds[item]));
        }
    }
}

/// @param words to be written from the register on; of a VGPR: its lanes
void change(DebugSession& session, const Stopped& stopped, const WaveImage& wave, ImageRegister name, unsigned number,
            std::span<const uint32_t> words) {
    const uint64_t address = stopped.queue.ctx_save_restore_address + register_address(wave, name, number).value();
    require(session.write(address, words.data(), words.size_bytes()), "write to the save area");
}

void save_image(DebugSession& session, const Stopped& stopped, const char* path) {
    uint32_t header[4];
    if (!session.read(stopped.queue.ctx_save_restore_address, header, sizeof header)) fail("the header is not readable");
    std::vector<char> bytes(std::min(header[2], stopped.queue.ctx_save_restore_area_size));
    if (!session.read(stopped.queue.ctx_save_restore_address, bytes.data(), bytes.size()))
        fail("the save area is not readable");
    std::ofstream file(path, std::ios::binary);
    if (!file.write(bytes.data(), static_cast<std::streamsize>(bytes.size())).flush())
        fail(std::string("cannot write ") + path);
}

}  // namespace

int main(int count, char** arguments) {
    const char* image = nullptr;
    if (count > 2 && std::strcmp(arguments[1], "--image") == 0) {
        image = arguments[2];
        arguments += 2;
        count -= 2;
    }
    if (count < 2) fail("usage: debugger [--image FILE] PROGRAM [ARGUMENTS]");
    DebugSession session(arguments + 1);
    std::printf("the runtime is there%s\n", session.ttmps_are_set_up() ? ", TTMPs are set up" : "");

    Stopped stopped;
    stop_in_loop(session, stopped, 0, kFirstLoopBytes);
    const lyra::cwsr::ReadArea read = session.reader_of(stopped.queue);
    std::fputs(lyra::cwsr::dump_image(stopped.image, read, {true, false}).c_str(), stdout);
    if (image) save_image(session, stopped, image);
    for (size_t n = 0; n < kWaves; ++n) {
        const WaveImage& wave = stopped.image.waves[n];
        check_wave(wave, stopped.registers[n]);
        const lyra::cwsr::WaveDigest digest = lyra::cwsr::digest(wave, stopped.registers[n]);
        std::printf("wave_saved pc %#lx exec %#lx sgprs %#lx vgprs %#lx\n", digest.pc, digest.exec, digest.sgprs, digest.vgprs);
        change(session, stopped, wave, ImageRegister::Sgpr, kScalar, std::array{kReleased});
        std::array<uint32_t, 64> flipped = stopped.registers[n].vgprs[kVector];
        for (uint32_t& lane : flipped) lane ^= kFlipped;
        change(session, stopped, wave, ImageRegister::Vgpr, kVector, flipped);
    }
    go_on(session, stopped);

    stop_in_loop(session, stopped, kFirstLoopBytes, kSecondLoopBytes);
    for (size_t n = 0; n < kWaves; ++n) {
        const uint64_t pc = loop_of(stopped.registers[n]) + kFirstLoopBytes + kSecondLoopBytes;
        const uint32_t words[2] = {static_cast<uint32_t>(pc), static_cast<uint32_t>(pc >> 32)};
        change(session, stopped, stopped.image.waves[n], ImageRegister::Pc, 0, words);
    }
    go_on(session, stopped);

    const int status = session.finish();
    if (status != 0) fail(fmt::format("the target ends with {}", status));
    std::printf("debugger: PASSED\n");
    return 0;
}
