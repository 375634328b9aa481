// SPDX-License-Identifier: MIT
// A shell in the guest on our terminal.
#include <termios.h>
#include <unistd.h>

#include <fmt/format.h>

#include "tools/lyra/guest/machine.h"

namespace lyra::cli {

namespace fs = std::filesystem;

int GuestMachine::shell() {
    if (options_.deterministic) throw UserError("--deterministic: what is typed into a shell comes at any time");
    record_ = options_.record;
    const SavedAs as{kJobDiskBytes};
    const bool saved = can_go_on({}) && has_snapshot(snapshot_of(as), as);
    termios terminal{};
    const bool have_terminal = tcgetattr(STDIN_FILENO, &terminal) == 0;
    talk(saved ? "`exit` or Ctrl-A x ends the guest" : "the guest boots; `exit` or Ctrl-A x ends it");
    const int code = saved ? saved_shell() : booted_shell();
    if (have_terminal) tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal);
    return code;
}

int GuestMachine::saved_shell() {
    GuestJob job;
    job.terminal = true;
    job.run = "#!/bin/sh\ncd /root\nexec bash -i </dev/hvc0 >/dev/hvc0 2>&1\n";
    const auto nowhere = [](const char*, size_t) {};
    const GuestResult result = run(job, nowhere, nowhere);
    for (const std::string& error : result.errors) complain("guest: " + error);
    if (result.end == GuestResult::End::Interrupted) return kInterrupted;
    return result.end == GuestResult::End::TimedOut ? kTimedOut : kOk;
}

int GuestMachine::booted_shell() {
    WorkDir work;
    Command command;
    const fs::path log = options_.log.empty() ? work.path() / "serial" : fs::absolute(options_.log);
    command.argv = machine(work.path(), log);
    if (!driver_.empty()) {
        command.argv.insert(
            command.argv.end(),
            {"-drive", "if=none,id=job,format=raw,readonly=on,file=" + comma_safe(pack({}, work.path()).string()), "-device",
             "virtio-blk-pci,drive=job"});
    }
    command.argv.insert(command.argv.end(),
                        {"-append", kernel_words() + " lyra.driver=amdgpu lyra.mode=shell lyra.tty=hvc0", "-chardev",
                         "stdio,id=tty,mux=on,signal=off", "-device", "virtconsole,chardev=tty", "-mon", "chardev=tty"});
    command.own_group = false;  // it has to read from the terminal
    command.in = Command::kInherit;
    command.environment = {{"LD_LIBRARY_PATH", library_dir().string()}};
    int status;
    bool in_time;
    {
        Child child(command);
        in_time = child.wait(options_.timeout_s);
        child.stop();
        status = child.status();
    }
    if (!in_time) return interrupted ? kInterrupted : kTimedOut;
    return status == 0 ? kOk : kFailed;
}

}  // namespace lyra::cli
