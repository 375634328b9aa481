#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that no file names a machine's own paths or a package registry, that nothing is left marked as unfinished, and
that each source file begins with its licence. Run as a CTest.

usage: hygiene.py SOURCE_TREE         exit status 1 and a line for each finding
"""
import os
import re
import sys

TEXT = re.compile(r"(\.(c|h|cpp|hpp|def|inc|proto|py|sh|hip|cl|s|md|txt|cmake|json|yml|yaml|toml|mak|patch|build)"
                  r"|/(lyra|run|Kconfig|lyra_init|initramfs_init))$")
LICENSED = re.compile(r"(\.(c|h|cpp|hpp|def|inc|proto|py|sh|hip|cl)|^lyra)$")

# (what, expression, paths that may have it). Written in pieces where the expression would find itself.
RULES = [
    ("path of one machine", re.compile(r"(?<![\w.}$)])/(?:work|home)/\w"), ()),
    ("path of one machine", re.compile(r"(?<![\w.}$)*])/root/\.?\w"), ("tools/guest/",)),
    ("path of one machine", re.compile(r"/tmp/[a-z]"), ("tools/guest/", "kfdtest-ports/guest/")),
    ("package registry", re.compile(r"(?:deb\.debian|security\.debian|snapshot\.debian|archive\.ubuntu|pypi|"
                                    r"pythonhosted|registry\.npmjs|crates|rubygems|docker)\.(?:org|com|io)\b"), ()),
    ("mark of unfinished work", re.compile(r"\b(?:TO" r"DO|FIX" r"ME)\b"), ("qemu-hw/include/lyra.h", "qemu-hw/glue/")),
]


def check_file(tree, path):
    try:
        with open(os.path.join(tree, path), encoding="utf-8") as file:
            lines = file.read().split("\n")
    except UnicodeDecodeError:
        return [f"{path}: is not UTF-8 text"]
    problems = []
    for what, expression, exempt in RULES:
        if path.startswith(exempt) and exempt:
            continue
        for number, line in enumerate(lines, 1):
            if expression.search(line):
                problems.append(f"{path}:{number}: {what}: {line.strip()}")
    if LICENSED.search(path) and "SPDX-License-Identifier:" not in "\n".join(lines[:2]):
        problems.append(f"{path}:1: no SPDX-License-Identifier")
    return problems


def main():
    tree = sys.argv[1]
    problems, files = [], 0
    for base, dirs, names in os.walk(tree):
        dirs[:] = sorted(d for d in dirs if d not in (".git", "__pycache__") and not d.startswith("build"))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(base, name), tree)
            if TEXT.search("/" + path):
                files += 1
                problems += check_file(tree, path)
    print("\n".join(problems))
    if files == 0:
        print(f"no text files found in {tree}")
    return 1 if problems or files == 0 else 0


sys.exit(main())
