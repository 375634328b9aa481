// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/monitor.h"

#include <sys/socket.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace lyra::cli {

std::vector<std::string> GuestMonitor::words(int theirs) {
    return {"-device",  "pvpanic-pci",
            "-device",  "vmcoreinfo",
            "-action",  "panic=pause",
            "-chardev", fmt::format("socket,id=monitor,fd={}", theirs),
            "-mon",     "chardev=monitor,mode=control"};
}

void GuestMonitor::feed(const char* data, size_t bytes) {
    buffer_.append(data, bytes);
    for (size_t end; (end = buffer_.find('\n')) != std::string::npos;) {
        take(buffer_.substr(0, end));
        buffer_.erase(0, end + 1);
    }
}

void GuestMonitor::say(const std::string& text) const {
    // QEMU has ended when this fails, and the reader of the socket will see it.
    (void)!send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
}

void GuestMonitor::take(const std::string& line) {
    const nlohmann::json message = nlohmann::json::parse(line, nullptr, false);
    if (!message.is_object()) return;
    if (message.contains("QMP")) say(R"({"execute": "qmp_capabilities"})");
    const auto is = [&](const char* key, const char* value) { return message.contains(key) && message[key] == value; };
    if (is("event", "GUEST_PANICKED") && !panicked_) {
        panicked_ = true;
        const nlohmann::json dump = {
            {"execute", "dump-guest-memory"},
            {"id", "dump"},
            {"arguments", {{"paging", false}, {"protocol", "file:" + vmcore_.string()}, {"format", "kdump-zlib"}}}};
        say(dump.dump());
    }
    if (!is("id", "dump")) return;
    has_vmcore_ = message.contains("return");
    if (!has_vmcore_) error_ = message.contains("error") ? message["error"].value("desc", line) : line;
    say(R"({"execute": "quit"})");
}

}  // namespace lyra::cli
