// SPDX-License-Identifier: MIT
// Reads a saved image the way a debugger does, and says what is wrong with it. Independent of the code that makes images.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "facts/chips.h"

namespace lyra::cwsr {

/// What a saved wave does when it goes on.
enum class WaveStop : uint8_t {
    Runs,
    Halted,          ///< by STATUS.HALT alone
    HaltedAtLaunch,  ///< halted before its first instruction, and its trap handler has not run
    Parked,          ///< the second-level handler has reported it and keeps its PC elsewhere
};

/// One wave of an image.
struct WaveImage {
    unsigned group = 0;       ///< in the order of the control stack
    bool first = false, last = false;  ///< of its work-group
    uint64_t record = 0;      ///< bytes from the start of the save area
    unsigned vgprs = 0, sgprs = 0;  ///< AccVGPRs are among the VGPRs
    unsigned acc_first = 0;   ///< of the VGPRs the first AccVGPR; 0: the chip has none
    uint32_t lds_bytes = 0;   ///< in this record; 0 when another wave has it
    unsigned engine = 0, scratch_slot = 0;
    bool scratch_en = false;
    uint64_t pc = 0;          ///< as the hardware register has it: the one that restore goes on at
    uint64_t exec = 0, xnack_mask = 0;
    uint32_t m0 = 0, status = 0, trapsts = 0, mode = 0;
    std::array<uint32_t, 16> ttmp{};  ///< 4 to 11 and 13; the others are not kept
    uint32_t packet = 0;      ///< ttmp6 or ttmp11: slot of its packet in the ring
    std::optional<uint64_t> packet_id;  ///< monotonic number of its packet, when the queue's dispatch ids are known
    uint64_t debugger_id = 0; ///< ttmp4, ttmp5
    std::array<uint32_t, 3> group_id{};
    unsigned number = 0;      ///< position in its group
    WaveStop stop = WaveStop::Runs;
    uint64_t user_pc = 0;     ///< where the program stands: differs from pc in a parked wave
    uint64_t scratch_address = 0;  ///< of its private memory, when the queue's scratch is known
    uint32_t scratch_bytes = 0;
};

struct Image {
    std::vector<WaveImage> waves;
    std::string error;  ///< empty: nothing is wrong
};

/// Fields of the area's header. @source Linux 6.12 kfd_ioctl.h kfd_context_save_area_header
struct ImageHeader {
    uint32_t control_stack_offset = 0, control_stack_size = 0;  ///< its low end and its bytes
    uint32_t wave_state_offset = 0, wave_state_size = 0;        ///< the end of the records and their bytes
};

/// Copies bytes at an offset of the save area, or at an address of the process. @return false: not readable
using ReadArea = std::function<bool(uint64_t offset, void* data, size_t size)>;

/// What is known of the queue; a rule that needs something unknown is not checked.
struct ImageQueue {
    Chip chip = Chip::gfx900;
    uint32_t ring_bytes = 0;                       ///< AQL ring; 0: unknown, or another kind of queue
    std::optional<uint64_t> read_id, write_id;     ///< amd_queue_t: dispatches in [read, write) live
    uint32_t tmpring_size = 0;                     ///< amd_queue_t.compute_tmpring_size when the queue was suspended
    uint64_t scratch_base = 0;                     ///< amd_queue_t.scratch_backing_memory_location
    unsigned shader_engines = 4;
    std::vector<uint64_t> debugger_ids;            ///< that a debugger has given to waves
    ReadArea read_memory;                          ///< of the process: code
    uint64_t entry = 0;                            ///< of the only kernel that runs, byte address; 0: unknown
};

/// @param stack the used part of the control stack, low end first
/// @source ROCdbgapi architecture.cpp (control_stack_iterate, register_address), queue.cpp, wave.cpp;
/// docs/spec/front-end.md 6.7
Image read_image(const ImageHeader& header, std::span<const uint32_t> stack, const ReadArea& read, const ImageQueue& queue);

/// Registers of a wave as a debugger names them.
enum class ImageRegister : uint8_t {
    Vgpr,
    AccVgpr,
    Sgpr,
    Vcc,
    FlatScratch,
    XnackMask,
    M0,
    Pc,
    Exec,
    Status,
    Trapsts,
    Mode,
    Ttmp,
    Lds
};

/// Bytes from the start of the save area. @param number of a VGPR or AccVGPR (64 lanes from there on), SGPR, TTMP, half of
/// a pair, or dword of LDS. @return nothing: the wave has no such register, or another name is its only one, as VCC's for the
/// top SGPRs
std::optional<uint64_t> register_address(const WaveImage& wave, ImageRegister name, unsigned number = 0);

struct DumpOptions {
    bool registers = false;  ///< SGPRs, VGPRs and AccVGPRs
    bool lds = false;
};
/// The waves as text: one line each, and what the options ask for.
std::string dump_image(const Image& image, const ReadArea& read, const DumpOptions& options);

}  // namespace lyra::cwsr
