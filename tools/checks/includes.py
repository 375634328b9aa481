#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that includes go one way: a folder may include only what is below it. Run as a CTest.

usage: includes.py SOURCE_TREE        exit status 1 and a line for each include that goes up
"""
import os
import re
import sys

# A folder, and the folders that it may include besides itself.
ALLOWED = {
    "common": [],
    "facts": ["common"],
    "gcn-interp": ["common", "facts"],
    "cwsr": ["common", "facts", "gcn-interp"],
    "scheduler/core": [],
    "scheduler/sim": ["common", "scheduler/core"],
    "scheduler/analysis": ["common", "scheduler/core", "scheduler/sim"],
    "cp-firmware-model": ["common", "facts", "gcn-interp", "cwsr", "scheduler/core"],
    "qemu-hw/include": [],
    "qemu-hw/soc": ["common", "facts", "gcn-interp", "cwsr", "cp-firmware-model", "scheduler/core", "qemu-hw/include"],
    "qemu-hw/glue": ["qemu-hw/include"],
    "tools": ["common", "facts", "gcn-interp", "cwsr", "scheduler/core", "scheduler/sim", "cp-firmware-model",
              "qemu-hw/include", "qemu-hw/soc"],
    "kfdtest-ports": ["common", "facts", "gcn-interp", "cwsr", "qemu-hw/include", "tools"],
}
# The same among the rooms of gcn-interp. An instruction asks its compute unit by wave/services.h.
ROOMS = {
    "gcn-interp/isa": [],
    "gcn-interp/wave": ["isa"],
    "gcn-interp/exec": ["isa", "wave"],
    "gcn-interp/translator": ["isa", "wave", "exec"],
    "gcn-interp/cu": ["isa", "wave", "exec", "translator"],
    "gcn-interp/golden": ["isa", "wave"],
    "gcn-interp/proof": ["isa"],
    "gcn-interp/fuzz": ["isa", "wave", "exec", "translator", "cu"],
}
# Machines that only tests run. They may use every room.
TEST_MACHINE = re.compile(r"(_test\.cpp|_machine\.h)$")
# Tests and fuzzers may also use the in-process host.
TEST_FILE = re.compile(r"(_test|_fuzz)\.cpp$")
TEST_MAY = ["tools/inproc", "qemu-hw/include"]
# The reference model judges these, so only its tests may include them.
JUDGED = {"gcn-interp/golden/": re.compile(r"^gcn-interp/(exec/|wave/(fp|lanes|mode|operand|buffer_desc))")}

SOURCE = re.compile(r"\.(c|h|cpp|hpp|def|inc)$")
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def folder_of(path):
    """The longest key of ALLOWED that path lies in, or None."""
    found = [f for f in ALLOWED if path == f or path.startswith(f + "/")]
    return max(found, key=len) if found else None


def target_of(tree, path, name):
    """Path of the included file inside the tree, or None for a file of somebody else."""
    for candidate in (os.path.join(os.path.dirname(path), name), name):
        candidate = os.path.normpath(candidate)
        if os.path.isfile(os.path.join(tree, candidate)):
            return candidate
    return None


def room_allows(path, target):
    """Whether rooms allow this include; also when one of the two files is in none."""
    room, other = os.path.dirname(path), os.path.dirname(target)
    if room not in ROOMS or other not in ROOMS or room == other or TEST_MACHINE.search(path):
        return True
    return os.path.basename(other) in ROOMS[room]


def check_file(tree, path):
    folder = folder_of(path)
    if folder is None:
        return []
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        text = file.read()
    problems = []
    for match in INCLUDE.finditer(text):
        target = target_of(tree, path, match.group(1))
        line = text.count("\n", 0, match.start(1)) + 1
        for judge, judged in JUDGED.items():
            if target and path.startswith(judge) and judged.match(target) and not TEST_FILE.search(path):
                problems.append(f"{path}:{line}: the reference model must not include {target}, which it judges")
        if target and not room_allows(path, target):
            problems.append(f"{path}:{line}: {os.path.dirname(path)} must not include {target}")
        other = folder_of(target) if target else None
        if target is None or other == folder or (other in ALLOWED[folder]):
            continue
        if TEST_FILE.search(path) and any(target.startswith(may + "/") for may in TEST_MAY):
            continue
        problems.append(f"{path}:{line}: {folder} must not include {target}")
    return problems


def main():
    tree = sys.argv[1]
    problems, files = [], 0
    for base, dirs, names in os.walk(tree):
        dirs[:] = sorted(d for d in dirs if not d.startswith((".", "build")))
        for name in sorted(names):
            if SOURCE.search(name):
                files += 1
                problems += check_file(tree, os.path.relpath(os.path.join(base, name), tree))
    print("\n".join(problems))
    if files == 0:
        print(f"no source files found in {tree}")
    return 1 if problems or files == 0 else 0


sys.exit(main())
