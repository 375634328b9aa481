// SPDX-License-Identifier: MIT
// What the kernel driver shows of the GPU in sysfs and debugfs: memory in use, processes, queue slots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lyra::guest {

/// A compute queue slot of the GPU, from the registers that debugfs dumps.
struct SlotView {
    bool active = false;   ///< CP_HQD_ACTIVE
    uint32_t vmid = 0;     ///< CP_HQD_VMID
    uint64_t ring = 0;     ///< CP_HQD_PQ_BASE
    uint64_t mqd = 0;      ///< CP_MQD_BASE_ADDR
};

/// The slots that user queues may have.
std::vector<SlotView> slots();
unsigned active_slots();

/// What debugfs shows of a process, with the dwords of its queues' MQDs.
struct ProcessView {
    bool found = false;
    std::string pasid;  ///< hexadecimal, with 0x; since Linux 7.2 the number of the process, decimal
    std::vector<std::vector<uint32_t>> mqds;
};
ProcessView process_view(int pid);

/// The dwords of the run list that the driver sent last.
std::vector<uint32_t> run_list();

struct MemoryView {
    uint64_t vram_bytes = 0, gtt_bytes = 0;  ///< in use
};
MemoryView memory_in_use();

/// Processes that the driver still knows.
unsigned processes();

/// A file in one of a folder's folders. @return its path, nothing when there is none
std::string find_below(const std::string& folder, const std::string& name);
/// A file that the graphics driver has in debugfs, such as amdgpu_gpu_recover; reading that one resets the GPU.
std::string debugfs_file(const std::string& name);

/// Lines of the kernel's log since it started that contain a word.
unsigned log_lines(const std::string& word);

}  // namespace lyra::guest
