// SPDX-License-Identifier: MIT
// One initial RAM file system with root and job in it, for guests without disks.
#pragma once

#include <filesystem>

namespace lyra::cli {

/// Append root and job to an initramfs, as /root.erofs and /job.tar. Throws EnvironmentError.
/// @param initramfs cpio archive, uncompressed
void write_guest_initrd(const std::filesystem::path& initramfs, const std::filesystem::path& root,
                        const std::filesystem::path& job, const std::filesystem::path& to);

}  // namespace lyra::cli
