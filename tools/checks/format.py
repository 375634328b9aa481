#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that C, C++ and HIP sources are laid out as clang-format 19 does by the nearest .clang-format. Run as a CTest.

usage: format.py SOURCE_TREE [--fix]    exit status 1 and a line for each file that differs; 77 without clang-format-19

--fix lays them out.
"""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import tree

# Another version lays out some lines otherwise.
TOOL = "clang-format-19"


# As it says it of a place that it would change.
CHANGE = re.compile(r"^(.+?):(\d+):\d+: error: code should be clang-formatted")
BATCH = 40


def problems_of(root, paths):
    """The first place of each file that would change."""
    done = subprocess.run([TOOL, "--dry-run", "-Werror", *paths], cwd=root, capture_output=True, text=True)
    first = {}
    for line in done.stderr.splitlines():
        found = CHANGE.match(line)
        if found:
            first.setdefault(found.group(1), found.group(2))
    if done.returncode != 0 and not first:
        return [f"{TOOL}: {done.stderr.strip()}"]
    return [f"{path}:{line}: not as {TOOL} lays it out" for path, line in first.items()]


def fix(root, paths):
    # What it has laid out it sometimes lays out otherwise when it is asked again.
    for _ in range(4):
        subprocess.run([TOOL, "-i", *paths], cwd=root, check=True)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--fix"]
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = arguments[0]
    if shutil.which(TOOL) is None:
        print(f"{TOOL} is missing (set optional of tools/setup/packages.tsv)")
        return 77
    paths = [path for path in tree.files(root) if tree.FORMATTED.search(path)]
    if not paths:
        print(f"no sources found in {root}")
        return 1
    if "--fix" in sys.argv:
        fix(root, paths)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        batches = [paths[n:n + BATCH] for n in range(0, len(paths), BATCH)]
        problems = [problem for found in pool.map(lambda batch: problems_of(root, batch), batches) for problem in found]
    print("\n".join(problems))
    if problems:
        print(f"{len(problems)} of {len(paths)} files; tools/checks/format.py . --fix lays them out")
    return 1 if problems else 0


sys.exit(main())
