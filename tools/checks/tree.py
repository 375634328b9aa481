# SPDX-License-Identifier: MIT
"""The files of a checkout, as the checks of this folder see them."""
import os
import re

# Sources that clang-format lays out. OpenCL kernels are not among them: it does not understand their attributes.
FORMATTED = re.compile(r"\.(c|h|cpp|hip)$")


def files(tree):
    """Paths of all files below the tree, sorted, without those of Git and of builds."""
    for base, dirs, names in os.walk(tree):
        dirs[:] = sorted(d for d in dirs if d not in (".git", "__pycache__") and not d.startswith("build"))
        for name in sorted(names):
            path = os.path.join(base, name)
            if not os.path.islink(path):
                yield os.path.relpath(path, tree)


def read_lines(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        return file.read().split("\n")


SHELL = re.compile(r"^#!\S*(?:/sh|/bash|/busybox sh|/env (?:sh|bash))\b|^# shellcheck shell=")


def shell_scripts(tree):
    """Paths of what a shell interprets, by name or first line."""
    for path in files(tree):
        if path.endswith(".sh"):
            yield path
        elif "." not in os.path.basename(path):
            with open(os.path.join(tree, path), "rb") as file:
                if SHELL.match(file.readline(200).decode(errors="replace")):
                    yield path
