// SPDX-License-Identifier: MIT
// Reads a saved image the way a debugger does, and says what is wrong with it. Independent of the code that makes images.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace lyra::cwsr {

/// One wave of an image.
struct WaveImage {
    unsigned group = 0;       ///< in the order of the control stack
    uint64_t record = 0;      ///< bytes from the start of the save area
    unsigned vgprs = 0, sgprs = 0;
    uint32_t lds_bytes = 0;   ///< in this record; 0 when another wave has it
    unsigned engine = 0, scratch_slot = 0;
    bool scratch_en = false;
    uint64_t pc = 0, exec = 0;
    uint32_t m0 = 0, status = 0, trapsts = 0, mode = 0;
    uint32_t packet = 0;      ///< ttmp6: slot of its packet in the ring
    uint64_t debugger_id = 0; ///< ttmp4, ttmp5
    std::array<uint32_t, 3> group_id{};
    unsigned number = 0;      ///< position in its group
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

/// Copies bytes at an offset of the save area. @return false: not readable
using ReadArea = std::function<bool(uint64_t offset, void* data, size_t size)>;

/// @param stack the used part of the control stack, low end first  @param ring_bytes of the AQL ring, 0 for another kind
/// @source ROCdbgapi architecture.cpp (control_stack_iterate), queue.cpp, wave.cpp; front-end.md 7.1
Image read_image(const ImageHeader& header, std::span<const uint32_t> stack, const ReadArea& read, uint64_t ring_bytes);

}  // namespace lyra::cwsr
