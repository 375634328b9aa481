// SPDX-License-Identifier: MIT
// Appends files to a cpio archive. The kernel takes several archives one behind the other, each at a multiple of 4 bytes.
// @source Linux Documentation/driver-api/early-userspace/buffer-format.rst
#include "tools/lyra/guest/initrd.h"

#include <fstream>

#include "tools/lyra/cli/cli.h"

namespace lyra::cli {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t kAlignment = 4;
constexpr unsigned kRegularFile = 0100444;

class Archive {
public:
    explicit Archive(const fs::path& path) : path_(path), file_(path, std::ios::binary) {}

    void add(const std::string& name, const fs::path& content) {
        const uint64_t bytes = fs::file_size(content);
        header(name, bytes);
        copy(content);
    }
    void end() { header("TRAILER!!!", 0); }
    void copy(const fs::path& from) {
        std::ifstream in(from, std::ios::binary);
        if (fs::file_size(from) != 0) file_ << in.rdbuf();
        if (!in || !file_) throw EnvironmentError(fmt::format("cannot copy {} to {}", from.string(), path_.string()));
        align();
    }
    void close() {
        file_.close();
        if (!file_) throw EnvironmentError(fmt::format("cannot write {}", path_.string()));
    }

private:
    void align() {
        while (static_cast<uint64_t>(file_.tellp()) % kAlignment != 0) file_.put('\0');
    }
    void header(const std::string& name, uint64_t bytes) {
        if (bytes >> 32) throw EnvironmentError(fmt::format("{} is too large for an initial RAM file system", name));
        // ino, mode, uid, gid, nlink, mtime, filesize, four device numbers, namesize, check
        file_ << fmt::format("070701{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}{:08x}", ++inode_,
                             bytes ? kRegularFile : 0, 0, 0, 1, 0, bytes, 0, 0, 0, 0, name.size() + 1, 0)
              << name << '\0';
        align();
    }

    fs::path path_;
    std::ofstream file_;
    unsigned inode_ = 0x10000;
};

}  // namespace

void write_guest_initrd(const fs::path& initramfs, const fs::path& root, const fs::path& job, const fs::path& to) {
    Archive archive(to);
    archive.copy(initramfs);
    archive.add("root.erofs", root);
    archive.add("job.tar", job);
    archive.end();
    archive.close();
}

}  // namespace lyra::cli
