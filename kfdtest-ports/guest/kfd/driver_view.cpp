// SPDX-License-Identifier: MIT
// Reads sysfs, debugfs and the kernel's log. @source Linux 6.12 kfd_debugfs.c, kfd_device_queue_manager.c, amdgpu_vram_mgr.c
#include "kfdtest-ports/guest/kfd/driver_view.h"

#include <dirent.h>
#include <errno.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "kfdtest-ports/guest/kfd/gpu.h"

namespace lyra::guest {

namespace {

constexpr const char* kDebugfs = "/sys/kernel/debug";

/// Numbers of registers in the dump of a slot, which begins with CP_MQD_BASE_ADDR.
constexpr size_t kMqd = 0, kMqdHi = 1, kActive = 2, kVmid = 3, kPqBase = 8, kPqBaseHi = 9;

void mount_debugfs() {
    if (read_file("/proc/self/mounts").find(kDebugfs) != std::string::npos) return;
    require(mount("debugfs", kDebugfs, "debugfs", 0, nullptr) == 0 || errno == EBUSY, "mount debugfs");
}

/// Entries of a folder that are not hidden.
std::vector<std::string> entries(const std::string& path) {
    std::vector<std::string> names;
    DIR* folder = opendir(path.c_str());
    if (folder == nullptr) return names;
    while (const dirent* entry = readdir(folder)) {
        if (entry->d_name[0] != '.') names.push_back(entry->d_name);
    }
    closedir(folder);
    return names;
}

std::string pci_folder() {
    for (const std::string& name : entries("/sys/bus/pci/drivers/amdgpu")) {
        if (name.find(':') != std::string::npos) return "/sys/bus/pci/drivers/amdgpu/" + name + "/";
    }
    fail("the driver has no device");
}

SlotView slot_of(const std::vector<uint32_t>& registers) {
    SlotView slot;
    if (registers.size() <= kPqBaseHi) return slot;
    slot.active = registers[kActive] & 1;
    slot.vmid = registers[kVmid] & 0xf;
    slot.ring = (uint64_t{registers[kPqBaseHi]} << 32 | registers[kPqBase]) << 8;
    slot.mqd = uint64_t{registers[kMqdHi]} << 32 | registers[kMqd];
    return slot;
}

/// A file of KFD's debugfs folder, line by line.
std::istringstream debug_file(const char* name) {
    mount_debugfs();
    return std::istringstream(read_file(std::string(kDebugfs) + "/kfd/" + name));
}

/// "offset: dword dword ...": the dwords are appended. @return false: another kind of line
bool take_dwords(const std::string& line, std::vector<uint32_t>& dwords) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) return false;
    std::istringstream values(line.substr(colon + 1));
    for (std::string value; values >> value;) dwords.push_back(static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 16)));
    return true;
}

}  // namespace

std::vector<SlotView> slots() {
    std::istringstream lines = debug_file("hqds");
    // The XCCs of a partition show the same queues.
    int first = -1;
    const auto of_first_xcc = [&](const std::string& title) {
        int xcc = 0;
        if (std::sscanf(title.c_str(), " Inst %d,", &xcc) == 1 && first < 0) first = xcc;
        return first < 0 || xcc == first;
    };
    std::vector<std::vector<uint32_t>> dumps;
    bool compute = false;
    for (std::string line; std::getline(lines, line);) {
        std::vector<uint32_t> dwords;
        if (!take_dwords(line, dwords)) {  // the title of a slot
            compute = line.find("CP Pipe") != std::string::npos && of_first_xcc(line);
            if (compute) dumps.emplace_back();
        } else if (compute) {
            dumps.back().insert(dumps.back().end(), dwords.begin(), dwords.end());
        }
    }
    std::vector<SlotView> all;
    for (const auto& dump : dumps) all.push_back(slot_of(dump));
    return all;
}

unsigned active_slots() {
    unsigned count = 0;
    for (const SlotView& slot : slots()) count += slot.active;
    return count;
}

ProcessView process_view(int pid) {
    ProcessView view;
    std::istringstream lines = debug_file("mqds");
    bool mine = false;
    for (std::string line; std::getline(lines, line);) {
        int process = 0;
        char pasid[16] = {};
        if (std::sscanf(line.c_str(), "Process %d PASID %15[0-9a-fx]:", &process, pasid) == 2) {
            mine = process == pid;
            if (mine) view = {true, pasid, {}};
        } else if (mine && line.find(" queue on device ") != std::string::npos) {
            view.mqds.emplace_back();
        } else if (mine && !view.mqds.empty()) {
            take_dwords(line, view.mqds.back());
        }
    }
    return view;
}

std::vector<uint32_t> run_list() {
    std::istringstream lines = debug_file("rls");
    std::vector<uint32_t> dwords;
    for (std::string line; std::getline(lines, line);) take_dwords(line, dwords);
    return dwords;
}

MemoryView memory_in_use() {
    const std::string folder = pci_folder();
    return {std::strtoull(read_file(folder + "mem_info_vram_used").c_str(), nullptr, 10),
            std::strtoull(read_file(folder + "mem_info_gtt_used").c_str(), nullptr, 10)};
}

unsigned processes() { return static_cast<unsigned>(entries("/sys/class/kfd/kfd/proc").size()); }

std::string find_below(const std::string& folder, const std::string& name) {
    for (const std::string& entry : entries(folder)) {
        std::string candidate = folder + entry + "/" + name;
        if (access(candidate.c_str(), F_OK) == 0) return candidate;
    }
    return {};
}

std::string debugfs_file(const std::string& name) {
    mount_debugfs();
    std::string file = find_below(std::string(kDebugfs) + "/dri/", name);
    if (file.empty()) fail("there is no " + name);
    return file;
}

unsigned log_lines(const std::string& word) {
    constexpr int kReadAll = 3, kSize = 10;  // syslog(2)
    const int size = klogctl(kSize, nullptr, 0);
    std::string text(static_cast<size_t>(size > 0 ? size : 0), '\0');
    const int got = klogctl(kReadAll, text.data(), size);
    text.resize(static_cast<size_t>(got > 0 ? got : 0));
    unsigned count = 0;
    for (size_t at = 0; (at = text.find(word, at)) != std::string::npos; at = std::min(text.find('\n', at), text.size()))
        ++count;
    return count;
}

}  // namespace lyra::guest
