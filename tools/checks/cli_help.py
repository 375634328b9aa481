#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that manual pages and completion know every verb and option of `--help`. Run as a CTest for each part.

usage: cli_help.py PROGRAM pages|bash|zsh|fish     PROGRAM is lyra; exit status 77 when a tool is missing
"""
import glob
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM, PART = sys.argv[1:3]
failures = 0


def check(name, good, what=""):
    global failures
    print(("passed " if good else "FAILED ") + name)
    if not good:
        failures += 1
        print("   ", what)


def call(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False, **more)


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            print(f"skipped: {tool} is not there")
            sys.exit(77)


def read_help(*path):
    """Every command below path: {path: (options, sub-commands)}, from what --help prints."""
    text = call(PROGRAM, *path, "--help").stdout
    options, commands, heading = [], [], ""
    for line in text.split("\n"):
        if re.match(r"\w.*:$", line):
            heading = line
        elif heading == "Subcommands:" and (match := re.match(r"  (\S+)", line)):
            commands.append(match[1])
        elif match := re.match(r"  (-[^ ]+)", line):
            options += match[1].split(",")
        if not line and heading == "Subcommands:" and commands:
            break  # the footer
    found = {path: (options, commands)}
    for command in commands:
        found.update(read_help(*path, command))
    return found


COMMANDS = read_help()
check("--help was understood", len(COMMANDS) >= 19 and "--kernel-events" in COMMANDS[("run",)][0] and
      COMMANDS[("sweep",)][1] == ["plan", "run", "collect"] and "-j" in COMMANDS[("test",)][0], COMMANDS)


def check_pages():
    need("groff", "man")
    with tempfile.TemporaryDirectory() as folder:
        check("pages are written", call(PROGRAM, "help", "--man", folder + "/man1").returncode == 0)
        pages = {os.path.basename(path) for path in glob.glob(folder + "/man1/*")}
        verbs = {"-".join(("lyra", *path)) + ".1" for path in COMMANDS if len(path) < 2}
        check("a page for each verb and no other", pages == verbs, pages ^ verbs)
        for page in sorted(pages & verbs):
            path = os.path.join(folder, "man1", page)
            checked = call("groff", "-man", "-Tutf8", "-ww", "-z", path)
            check(f"groff has no complaint about {page}", checked.returncode == 0 and not checked.stderr, checked.stderr)
            shown = call("man", "--warnings", "-l", path,
                         env={**os.environ, "MANWIDTH": "100", "MAN_KEEP_FORMATTING": "", "LC_ALL": "C.UTF-8"})
            check(f"man has no complaint about {page}", shown.returncode == 0 and not shown.stderr, shown.stderr)
            words = set(re.findall(r"(?<![\w-])--?\w[\w-]*", shown.stdout.replace("\u2010\n", "")))
            verb = tuple(page[:-2].split("-")[1:])
            for command, (options, _) in COMMANDS.items():
                if command == verb or (verb and command[:1] == verb):
                    missing = [option for option in options if option not in words]
                    check(f"{page} has the options of lyra {' '.join(command)}", options and not missing, missing)
        with open(folder + "/man1/lyra-run.1", encoding="utf-8") as file:
            text = file.read()
        check("choices, limits and defaults", all(part in text for part in (
            "bookworm", "(1 to 64)", "a multiple of 4 up to 64 (default \\fB8\\fR)",
            "needs \\fB\\-\\-deterministic\\fR", "(default \\fB2G\\fR)")), text)
        check("help beside --man", call(PROGRAM, "help", "run", "--man", folder).returncode == 2)
    check("help of a verb", call(PROGRAM, "help", "sweep", "plan").stdout == call(PROGRAM, "sweep", "plan", "--help").stdout)
    wrong = call(PROGRAM, "help", "sweep", "nothing")
    check("help of no verb", wrong.returncode == 2 and "lyra sweep has no command nothing" in wrong.stderr, wrong.stderr)


def check_shell(complete):
    """complete(words, start) gives what a shell offers in place of start, the last word of the command line."""
    for path, (options, commands) in COMMANDS.items():
        offered = complete(path, "-")
        missing = [option for option in options if option not in offered and (PART == "bash" or option.startswith("--"))]
        check(f"options of {' '.join(('lyra', *path))}", not missing, (missing, offered))
        if commands:
            offered = complete(path, "")
            check(f"commands of {' '.join(('lyra', *path))}", set(commands) <= offered, offered)
    check("choices", complete(("run", "--accel"), "") == {"tcg", "kvm"}, complete(("run", "--accel"), ""))
    check("choices from a table of Lyra's", complete(("-q", "guest", "--release"), "b") == {"bookworm"})
    check("verbs of help", complete(("help",), "swe") == {"sweep"})
    check("the option of another verb", "--hipcc" not in complete(("exec",), "--"))
    check("an option's value is no verb", "--times" in complete(("run", "--log", "guest"), "--ti"))
    check("files", complete(("exec", "--log-commits"), "a-") == {"a-file", "a-folder/"})
    check("folders only", complete(("run", "--share"), "a-") == {"a-folder/"}, complete(("run", "--share"), "a-"))
    check("folders and words", complete(("run", "--kfd"), "l") == {"lyra"}, complete(("run", "--kfd"), "l"))
    check("files for a verb", complete(("sim",), "a-fi") == {"a-file"})
    check("nothing after a number", complete(("run", "--cus"), "") == set(), complete(("run", "--cus"), ""))


def bash(script, folder):
    def complete(words, start):
        line = " ".join(f"'{word}'" for word in ("lyra", *words, start))
        run = call("bash", "--norc", "-c", f". '{script}'; COMP_WORDS=({line}); COMP_CWORD={len(words) + 1}; _lyra; "
                   "printf '%s\\n' \"${COMPREPLY[@]}\"", cwd=folder)
        check("no message", run.returncode == 0 and not run.stderr, run.stderr)
        return {word + "/" * os.path.isdir(os.path.join(folder, word)) for word in run.stdout.split()}
    check_shell(complete)
    check("value after =", complete(("run", "--accel", "="), "k") == {"kvm"})
    check("a value with = in it", "--times" in complete(("run", "--timing", "a", "=", "b"), "--t"))
    check("a program's own arguments", complete(("run", "a-file"), "--") == set())


def fish(script, folder):
    def complete(words, start):
        line = " ".join(("lyra", *words, start))
        run = call("fish", "--no-config", "-c", f"source {script}; complete -C '{line}'", cwd=folder)
        check("no message", run.returncode == 0 and not run.stderr, run.stderr)
        return {offer.split("\t")[0] for offer in run.stdout.split("\n") if offer}
    check_shell(complete)
    check("value after =", complete(("run",), "--accel=k") == {"--accel=kvm"})


class Terminal:
    """zsh offers completions to a terminal only."""

    def __init__(self, folder, *words):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, {**os.environ, "TERM": "dumb", "LC_ALL": "C.UTF-8"})

    def read_until(self, text):
        seen, end = "", time.monotonic() + 60
        while text not in seen and time.monotonic() < end:
            if select.select([self.fd], [], [], 1)[0]:
                seen += os.read(self.fd, 65536).decode(errors="replace")
        if text not in seen:
            print("the shell did not answer:", repr(seen))
            sys.exit(1)
        return seen

    def ask(self, text, until):
        os.write(self.fd, text.encode())
        return self.read_until(until)


def zsh(script, folder):
    terminal = Terminal(folder, "zsh", "-f", "-i")
    # The widget shows what is offered between two marks, and leaves the line as it was.
    set_up = f"""
stty rows 500 cols 250; PROMPT=; unsetopt prompt_cr prompt_sp auto_menu auto_list
autoload -U compinit; compinit -u -D; source '{script}'
compadd() {{
    local -a hits dirs; local i; local flags="$*"
    [[ " $* " == *" -O "* || " $* " == *" -A "* || " $* " == *" -D "* ]] && {{ builtin compadd "$@"; return }}
    builtin compadd -O hits "$@"
    for i in $hits; do print -r -- "<$i>" >>answers; done
    builtin compadd "$@"
}}
show() {{ : >answers; zle complete-word; BUFFER=; print -r -- done >>answers }}
zle -C complete-word complete-word _main_complete; zle -N show; bindkey '^T' show
print rea''dy
"""
    with open(os.path.join(folder, "set-up"), "w", encoding="utf-8") as file:
        file.write(set_up)
    terminal.ask(". ./set-up\n", "ready")
    answers = os.path.join(folder, "answers")

    def complete(words, start):
        if os.path.exists(answers):
            os.remove(answers)
        os.write(terminal.fd, (" ".join(("lyra", *words, start)) + "\x14").encode())
        end = time.monotonic() + 60
        text = ""
        while not text.endswith("done\n"):
            if time.monotonic() > end:
                print("zsh did not answer")
                sys.exit(1)
            time.sleep(0.02)
            if os.path.exists(answers):
                with open(answers, encoding="utf-8") as file:
                    text = file.read()
        offers = {offer.rstrip("=") for offer in re.findall(r"<(.*)>", text)}
        return {word + "/" * os.path.isdir(os.path.join(folder, word)) for word in offers}
    check_shell(complete)


def main():
    if PART == "pages":
        check_pages()
        return
    need(PART)
    script = call(PROGRAM, "completion", PART)
    check("a script is printed", script.returncode == 0 and script.stdout)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script.stdout)
        work = os.path.join(folder, "work")
        os.makedirs(work + "/a-folder")
        with open(work + "/a-file", "w", encoding="utf-8"):
            pass
        syntax = call(PART, "-n", path)
        check("the shell can read it", syntax.returncode == 0 and not syntax.stderr, syntax.stderr)
        {"bash": bash, "zsh": zsh, "fish": fish}[PART](path, work)
    check("a shell that is not known", call(PROGRAM, "completion", "tcsh").returncode == 2)


main()
sys.exit(1 if failures else 0)
