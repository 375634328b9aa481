#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that shellcheck finds nothing in shell scripts. Run as a CTest.

usage: shell.py SOURCE_TREE         exit status 1 and a line for each finding; 77 without shellcheck
"""
import shutil
import subprocess
import sys

import tree


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if shutil.which("shellcheck") is None:
        print("shellcheck is missing (set optional of tools/setup/packages.tsv)")
        return 77
    scripts = list(tree.shell_scripts(sys.argv[1]))
    if not scripts:
        print(f"no shell scripts found in {sys.argv[1]}")
        return 1
    done = subprocess.run(["shellcheck", "--format=gcc", "--external-sources", "--", *scripts], cwd=sys.argv[1])
    return 0 if done.returncode == 0 else 1


sys.exit(main())
