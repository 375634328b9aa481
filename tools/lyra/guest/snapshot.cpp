// SPDX-License-Identifier: MIT
// Makes and keeps saved machines: memory files that QEMU maps, and the rest of its state.
#include "tools/lyra/guest/snapshot.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include <nlohmann/json.hpp>

#include "common/hash.h"
#include "tools/lyra/cli/cli.h"
#include "tools/lyra/cli/process.h"
#include "tools/lyra/cli/work_dir.h"

namespace lyra::cli {

namespace fs = std::filesystem;

namespace {

/// Memory that is in a shared file is not in the state as well. @source QEMU docs/devel/migration, ignore-shared
const nlohmann::json kIgnoreShared = {
    {"execute", "migrate-set-capabilities"},
    {"arguments", {{"capabilities", nlohmann::json::array({{{"capability", "x-ignore-shared"}, {"state", true}}})}}}};

const nlohmann::json kCapabilities = {{"execute", "qmp_capabilities"}};

void say(int monitor, const nlohmann::json& message) {
    const std::string text = message.dump();
    (void)!send(monitor, text.data(), text.size(), MSG_NOSIGNAL);
}

constexpr size_t kLongestLine = size_t{1} << 20;
constexpr size_t kKept = 6;  ///< saved machines; each takes some hundred MB

fs::path folder_of_all() {
    const fs::path folder = cache_dir() / "snapshots";
    fs::create_directories(folder);
    return folder;
}

/// The least recently used ones go. One that a guest runs from keeps its memory until that has ended.
void prune(const fs::path& kept) {
    std::vector<fs::path> all;
    for (const auto& entry : fs::directory_iterator(folder_of_all()))
        if (fs::exists(entry.path() / "recipe") && entry.path() != kept) all.push_back(entry.path());
    std::error_code error;
    std::sort(all.begin(), all.end(), [&](const fs::path& a, const fs::path& b) {
        return fs::last_write_time(a / "recipe", error) > fs::last_write_time(b / "recipe", error);
    });
    for (size_t i = kKept - 1; i < all.size(); ++i) fs::remove_all(all[i], error);
}

/// What a machine says while it boots and is saved.
class Talk {
public:
    /// @param control  -1: the machine stops itself
    Talk(int control, int monitor) : control_(control), monitor_(monitor) { say(monitor_, kCapabilities); }

    /// @return why the machine was not saved; empty when it was
    std::string run(Child& child, const fs::path& state, double seconds) {
        const auto start = std::chrono::steady_clock::now();
        while (!saved_) {
            if (interrupted) throw Interrupted();
            const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
            if (seconds > 0 && taken.count() > seconds) return "it takes too long";
            if (child.ended()) return "the machine has ended";
            if (!error_.empty()) return error_;
            pollfd wait_for[2] = {{control_, POLLIN, 0}, {monitor_, POLLIN, 0}};
            if (poll(wait_for, 2, 50) > 0) {
                if (wait_for[0].revents)
                    take_lines(control_, control_text_, [&](const std::string& line) { control(line, state); });
                if (wait_for[1].revents)
                    take_lines(monitor_, monitor_text_, [&](const std::string& line) { answer(line, state); });
            } else if (saving_) {
                say(monitor_, {{"execute", "query-migrate"}});
            }
        }
        say(monitor_, {{"execute", "quit"}});
        return child.wait(10) ? "" : "the machine does not end";
    }

private:
    template <class Take>
    void take_lines(int descriptor, std::string& text, Take take) {
        char chunk[4096];
        const ssize_t got = read(descriptor, chunk, sizeof chunk);
        if (got <= 0) {
            poll(nullptr, 0, 50);
            return;
        }
        text.append(chunk, static_cast<size_t>(got));
        if (text.size() > kLongestLine) error_ = "it says more than it should";
        for (size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) take(text.substr(0, end));
    }
    void control(const std::string& line, const fs::path& state) {
        if (line.starts_with("error ")) error_ = line.substr(6);
        // Not stopped before: it would be saved as one that is.
        if (line == "ready") save(state);
    }
    void save(const fs::path& state) {
        if (saving_) return;
        say(monitor_, kIgnoreShared);
        say(monitor_, {{"execute", "migrate"}, {"arguments", {{"uri", "file:" + state.string()}}}});
        saving_ = true;
    }
    void answer(const std::string& line, const fs::path& state) {
        const nlohmann::json message = nlohmann::json::parse(line, nullptr, false);
        if (!message.is_object()) return;
        if (message.value("event", "") == "GUEST_PANICKED") save(state);
        if (message.contains("error")) error_ = message["error"].value("desc", line);
        if (!message.contains("return") || !message["return"].is_object()) return;
        const std::string status = message["return"].value("status", "");
        saved_ |= status == "completed";
        if (status == "failed") error_ = message["return"].value("error-desc", "it cannot be saved");
    }

    int control_, monitor_;
    std::string control_text_, monitor_text_, error_;
    bool saving_ = false, saved_ = false;
};

}  // namespace

std::vector<std::string> MemoryFiles::words(const std::string& mem, const std::string& vram_size) const {
    const auto backend = [&](const char* id, const std::string& size, const fs::path& file) {
        // QEMU need not be able to write what other guests go on from.
        return fmt::format("memory-backend-file,id={},size={},mem-path={},{}", id, size, comma_safe(file.string()),
                           goes_on ? "share=off,reserve=off,readonly=on,rom=off" : "share=on");
    };
    std::vector<std::string> argv{"-object", backend("ram", mem, ram()), "-object", backend("vram", vram_size, vram())};
    if (goes_on) argv.insert(argv.end(), {"-incoming", "defer"});
    return argv;
}

GoOn::GoOn(int monitor, const MemoryFiles& memory, bool stopped) : monitor_(monitor), stopped_(stopped) {
    say(monitor_, kCapabilities);
    say(monitor_, kIgnoreShared);
    say(monitor_, {{"execute", "migrate-set-capabilities"},
                   {"arguments", {{"capabilities", nlohmann::json::array({{{"capability", "events"}, {"state", true}}})}}}});
    say(monitor_, {{"execute", "migrate-incoming"}, {"arguments", {{"uri", "file:" + memory.state().string()}}}});
}

void GoOn::feed(const char* data, size_t bytes) {
    if (!stopped_) return;
    text_.append(data, bytes);
    for (size_t end; (end = text_.find('\n')) != std::string::npos; text_.erase(0, end + 1)) {
        const nlohmann::json message = nlohmann::json::parse(text_.substr(0, end), nullptr, false);
        if (!message.is_object() || message.value("event", "") != "MIGRATION" ||
            message.value("data", nlohmann::json::object()).value("status", "") != "completed")
            continue;
        say(monitor_, {{"execute", "cont"}});
        stopped_ = false;
        return;
    }
    if (text_.size() > kLongestLine) text_.clear();
}

GuestSnapshot::GuestSnapshot(std::string recipe)
    : recipe_(std::move(recipe)), folder_(folder_of_all() / fmt::format("{:016x}", hash_text(recipe_))) {}

bool GuestSnapshot::there() const {
    if (read_text(folder_ / "recipe") != recipe_) return false;
    std::error_code error;
    fs::last_write_time(folder_ / "recipe", fs::file_time_type::clock::now(), error);
    return true;
}

void GuestSnapshot::remove() const {
    std::error_code error;
    fs::remove_all(folder_, error);
}

GuestSnapshot::Making::Making(const GuestSnapshot& snapshot) : snapshot_(snapshot), folder_(snapshot.folder_) {
    folder_ += ".new";
    const fs::path lock = fs::path(snapshot.folder_) += ".lock";
    lock_ = open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_ < 0) throw EnvironmentError(fmt::format("cannot write {}", lock.string()));
    while (flock(lock_, LOCK_EX | LOCK_NB) != 0) {
        if (interrupted) throw Interrupted();
        usleep(100'000);
    }
    needless_ = snapshot.there();
    if (needless_) return;
    snapshot.remove();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
}

GuestSnapshot::Making::~Making() {
    std::error_code error;
    if (!needless_) fs::remove_all(folder_, error);
    close(lock_);
}

std::string GuestSnapshot::Making::keep(std::vector<std::string> argv, double seconds, bool stops_itself) {
    const auto [control, control_theirs] = stops_itself ? std::pair(-1, -1) : stream_pair();
    const auto [monitor, monitor_theirs] = stream_pair();
    Command command;
    command.argv = std::move(argv);
    for (const auto& [id, descriptor] : {std::pair("control", control_theirs), std::pair("monitor", monitor_theirs)}) {
        if (descriptor < 0) continue;
        command.argv.insert(command.argv.end(), {"-chardev", fmt::format("socket,id={},fd={}", id, descriptor)});
        command.keep.push_back(descriptor);
    }
    command.argv.insert(command.argv.end(), {"-mon", "chardev=monitor,mode=control"});
    command.environment = {{"LD_LIBRARY_PATH", library_dir().string()}};
    command.err = open((folder_ / "qemu").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    command.out = command.err;
    std::string wrong;
    {
        Child child(command);
        for (const int descriptor : {control_theirs, monitor_theirs, command.err})
            if (descriptor >= 0) close(descriptor);
        wrong = Talk(control, monitor).run(child, files().state(), seconds);
        child.stop();
    }
    if (control >= 0) close(control);
    close(monitor);
    if (!wrong.empty()) {
        const std::string said = read_text(folder_ / "qemu");
        return said.empty() ? wrong : wrong + ": " + said;
    }
    write_text(folder_ / "recipe", snapshot_.recipe_);
    std::error_code error;
    fs::rename(folder_, snapshot_.folder_, error);
    if (error) return error.message();
    prune(snapshot_.folder_);
    return "";
}

}  // namespace lyra::cli
