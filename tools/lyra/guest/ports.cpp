// SPDX-License-Identifier: MIT
#include "tools/lyra/guest/ports.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace lyra::cli {

namespace {

// Read what is there. @return false: the stream has ended
bool drain(Port& port) {
    char chunk[65536];
    const ssize_t got = read(port.ours, chunk, sizeof chunk);
    if (got > 0) port.sink(chunk, static_cast<size_t>(got));
    if (got > 0 || (got < 0 && errno == EINTR)) return true;
    close(port.ours);
    port.ours = -1;
    return false;
}

}  // namespace

GuestResult::End pump(std::vector<Port>& ports, double timeout_s, const std::function<void()>& each_second) {
    const auto start = std::chrono::steady_clock::now();
    auto last = start;
    while (true) {
        if (const auto now = std::chrono::steady_clock::now(); now - last > std::chrono::seconds(1)) {
            last = now;
            each_second();
        }
        std::vector<pollfd> wait_for;
        for (const Port& port : ports) {
            if (port.ours >= 0) wait_for.push_back({port.ours, POLLIN, 0});
        }
        if (wait_for.empty()) return GuestResult::End::Finished;
        if (interrupted) return GuestResult::End::Interrupted;
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (timeout_s > 0 && taken.count() > timeout_s) return GuestResult::End::TimedOut;
        if (poll(wait_for.data(), wait_for.size(), 100) <= 0) continue;
        for (const pollfd& each : wait_for) {
            if (!each.revents) continue;
            drain(*std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.ours == each.fd; }));
        }
    }
}

GuestResult::End pump_files(std::vector<Port>& ports, Child& child, double timeout_s) {
    const auto start = std::chrono::steady_clock::now();
    bool running = true;
    while (true) {
        running = running && !child.ended();
        pollfd monitor{-1, POLLIN, 0};
        for (Port& port : ports) {
            const bool socket = port.name == nullptr;
            char chunk[65536];
            for (ssize_t got; (got = socket ? recv(port.ours, chunk, sizeof chunk, MSG_DONTWAIT)
                                            : read(port.ours, chunk, sizeof chunk)) > 0;)
                port.sink(chunk, static_cast<size_t>(got));
            if (socket) monitor.fd = port.ours;
        }
        if (!running) return GuestResult::End::Finished;
        if (interrupted) return GuestResult::End::Interrupted;
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (timeout_s > 0 && taken.count() > timeout_s) return GuestResult::End::TimedOut;
        poll(&monitor, 1, 100);
    }
}

}  // namespace lyra::cli
