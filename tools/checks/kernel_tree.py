#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/user/kernel_tree.md at work: Debian's 6.12 with the patches of kfd-patches/, as a tree of the user's own.

    kernel_tree.py PROGRAM CHECKOUT

The tree and its objects stay in the cache for the next time. A line "passed: NAME" or "FAILED: NAME: WHY" for each check; exit
status 1 when one failed.
"""
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time

PROGRAM, CHECKOUT = (os.path.realpath(path) for path in sys.argv[1:3])
CACHE = os.environ.get("LYRA_CACHE") or os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "lyra")
TREE = os.path.join(CACHE, "test-tree")
KFD = "drivers/gpu/drm/amd/amdkfd"
DEBUG = ["--debug", "lockdep,kasan"]
DOCUMENT = "docs/user/kernel_tree.md"
GIT = ["git", "-c", "user.name=check", "-c", "user.email=check@localhost", "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"]

# Two locks, taken in both orders.
INVERSION = (f"{KFD}/kfd_chardev.c", """	args->minor_version = KFD_IOCTL_MINOR_VERSION;
""", """	args->minor_version = KFD_IOCTL_MINOR_VERSION;
	{
		static DEFINE_MUTEX(first);
		static DEFINE_MUTEX(second);

		mutex_lock(&first);
		mutex_lock(&second);
		mutex_unlock(&second);
		mutex_unlock(&first);
		mutex_lock(&second);
		mutex_lock(&first);
		mutex_unlock(&first);
		mutex_unlock(&second);
	}
""")
# Memory that is used after it was freed.
USE_AFTER_FREE = (f"{KFD}/kfd_chardev.c", """	args->minor_version = KFD_IOCTL_MINOR_VERSION;
""", """	{
		u32 *freed = kmalloc(64, GFP_KERNEL);

		kfree(freed);
		args->minor_version = READ_ONCE(*freed);
	}
	args->minor_version = KFD_IOCTL_MINOR_VERSION;
""")
# A queue is destroyed, and its owner is told that it was not.
BUG = (f"{KFD}/kfd_chardev.c", """	retval = pqm_destroy_queue(&p->pqm, args->queue_id);
""", """	retval = pqm_destroy_queue(&p->pqm, args->queue_id) ?: -EINVAL;
""")
HEADER = ("include/uapi/linux/kfd_ioctl.h", "#define KFD_IOCTL_MINOR_VERSION ",
          "#define KFD_OF_THIS_TREE 77\n#define KFD_IOCTL_MINOR_VERSION ")
good = True


def check(name, right, why=""):
    global good
    good = good and bool(right)
    print(f"passed: {name}" if right else f"FAILED: {name}: {why}", flush=True)


def run(*words, cwd=TREE, **options):
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, errors="replace", check=False, **options)


def must(*words, **options):
    done = run(*words, **options)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout.strip()


def lyra(verb, *words):
    return run(PROGRAM, verb, "--timeout", "1800", "--kernel-tree", TREE, *words)


def words_of(done):
    return f"status {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-6000:]}"


def make_tree():
    """Hard links to Debian's source; git and the patches write new files. Git has the folder of KFD only."""
    source = must(f"{CHECKOUT}/tools/guest/build_source.sh", "--cache", CACHE, "--kernel", "6.12", cwd="/").splitlines()[-1]
    patches = f"{CHECKOUT}/kfd-patches/linux-6.12"
    inputs = [os.path.join(patches, name) for name in os.listdir(patches)]
    inputs += [os.path.join(f"{CHECKOUT}/scheduler/core", name) for name in os.listdir(f"{CHECKOUT}/scheduler/core")]
    digest = hashlib.sha256(source.encode())
    for path in sorted(inputs):
        with open(path, "rb") as file:
            digest.update(file.read())
    stamp = os.path.join(TREE, ".git", "lyra-inputs")
    if os.path.exists(stamp) and open(stamp, encoding="ascii").read() == digest.hexdigest():
        run(*GIT, "bisect", "reset")
        must(*GIT, "checkout", "-q", "-f", "main")
        must(*GIT, "reset", "-q", "--hard", "good")
        return
    shutil.rmtree(TREE, ignore_errors=True)
    must("cp", "-al", source, TREE, cwd="/")
    must(f"{CHECKOUT}/kfd-patches/apply.sh", "6.12", TREE, cwd="/")
    must(*GIT, "init", "-q", "-b", "main")
    must(*GIT, "add", "-f", KFD, "include/uapi/linux/kfd_ioctl.h")
    must(*GIT, "commit", "-q", "-m", "Linux with the patches")
    must(*GIT, "tag", "good")
    with open(stamp, "w", encoding="ascii") as file:
        file.write(digest.hexdigest())


def change(edit):
    path, old, new = edit
    file = os.path.join(TREE, path)
    with open(file, encoding="utf-8") as stream:
        text = stream.read()
    if text.count(old) != 1:
        raise RuntimeError(f"{path}: {old!r} is there {text.count(old)} times")
    os.unlink(file)  # it may be a link
    with open(file, "w", encoding="utf-8") as stream:
        stream.write(text.replace(old, new))


def back():
    must(*GIT, "checkout", "-q", "-f", "good", "--", ".")
    must(*GIT, "reset", "-q", "--hard")


def planted(name, edit, texts):
    change(edit)
    done = lyra("kfdtest", *DEBUG, "--filter", "KFDOpenCloseKFDTest.OpenCloseKFD")
    check(name, done.returncode == 1 and all(text in done.stdout for text in texts), words_of(done))
    back()


def panic(work):
    script = os.path.join(work, "panic.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho c >/proc/sysrq-trigger\n")
    done = lyra("run", *DEBUG, script)
    found = re.search(r"the kernel's memory: (\S+)", done.stderr)
    magic = b""
    if found:
        with open(found[1], "rb") as file:
            magic = file.read(12)
    check("a panic leaves a vmcore", done.returncode == 1 and magic in (b"makedumpfile", b"KDUMP   \x06\x00\x00\x00")
          and "sysrq triggered crash" in done.stderr and "crash '" in done.stderr, f"{magic} {words_of(done)}")


def debugger(work):
    script = os.path.join(work, "open.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n: </dev/kfd\n")
    words = [PROGRAM, "run", "--timeout", "600", "--kernel-tree", TREE, *DEBUG, "--gdb", script]
    with open(os.path.join(work, "err"), "w+", encoding="utf-8") as err, \
            subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=err) as guest:
        found = None
        for _ in range(3000):
            with open(os.path.join(work, "err"), encoding="utf-8") as seen:
                found = re.search(r"the guest waits for: (.*)\n", seen.read())
            if found or guest.poll() is not None:
                break
            time.sleep(0.1)
        # gdb ends the guest when it leaves it.
        inside = [f"-ex '{text}'" for text in ("set breakpoint pending on", "break kfd_open", "continue", "bt 3", "kill")]
        said = run("sh", "-c", found[1] + " -batch " + " ".join(inside), timeout=600).stdout if found else "no command"
        guest.terminate()
    check("gdb stops in the driver", re.search(r"hit Breakpoint \d+, kfd_open .*#1 .* chrdev_open", said, re.S),
          said[-3000:])


def bisect():
    """The document's command, with this program and one more option."""
    for number in range(1, 7):
        if number == 4:
            change(BUG)
        else:
            change((f"{KFD}/kfd_queue.c", "#include <linux/slab.h>\n", f"#include <linux/slab.h>\n/* {number} */\n")
                   if number == 1 else (f"{KFD}/kfd_queue.c", f"/* {number - 1 - (number == 5)} */\n", f"/* {number} */\n"))
        must(*GIT, "commit", "-q", "-a", "-m", f"change {number}")
    with open(f"{CHECKOUT}/{DOCUMENT}", encoding="utf-8") as file:
        command = re.search(r"^git bisect run sh -c '(.*)'$", file.read(), re.M)[1]
    command = command.replace("lyra kfdtest", f"'{PROGRAM}' kfdtest " + " ".join(DEBUG))
    must(*GIT, "bisect", "start", "HEAD", "good")
    done = run(*GIT, "bisect", "run", "sh", "-c", command)
    check("git bisect finds the planted bug", re.search(r"is the first bad commit(.|\n)*change 4", done.stdout), words_of(done))
    run(*GIT, "bisect", "reset")
    must(*GIT, "reset", "-q", "--hard", "good")


def header(work):
    program = os.path.join(work, "header.hip")
    with open(program, "w", encoding="ascii") as file:
        file.write('#include <linux/kfd_ioctl.h>\n#include <cstdio>\nint main() { std::printf("%d\\n", KFD_OF_THIS_TREE); }\n')
    change(HEADER)
    done = lyra("run", *DEBUG, program)
    check("programs see the tree's headers", done.returncode == 0 and done.stdout == "77\n", words_of(done))
    back()


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    make_tree()
    done = lyra("kfdtest", *DEBUG, "--smp", "4", "--watchdog", "900")
    counts = re.search(r"(\d+) bodies executed: (\d+) passed, (\d+) failed", done.stdout)
    check(f"kfdtest without a splat under lockdep and KASAN: {counts[0] if counts else 'no result'}",
          done.returncode == 0 and counts and int(counts[1]) > 80 and counts[1] == counts[2], words_of(done))
    work = os.path.join(TREE, ".git", "work")
    os.makedirs(work, exist_ok=True)
    planted("a planted inversion of locks fails a case", INVERSION, ["possible circular locking dependency detected", "FAILED"])
    planted("a planted use after free fails a case", USE_AFTER_FREE, ["KASAN: slab-use-after-free", "FAILED"])
    change((BUG[0], BUG[1], "	this does not compile;\n"))
    done = lyra("run", *DEBUG, f"{CHECKOUT}/examples/vector_add.hip")
    check("a tree that does not compile is the user's", done.returncode == 2 and "error:" in done.stderr, words_of(done))
    back()
    header(work)
    panic(work)
    debugger(work)
    bisect()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
