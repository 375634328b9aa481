#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy with the checks of .clang-tidy over sources that have changed. `lyra test --group tidy` runs it. It is not
among the usual tests: one file takes 5 to 10 seconds of processor time, all of them more than half an hour.

usage: tidy.py SOURCE_TREE BUILD [--since COMMIT | --all | FILE...]

BUILD is a build tree with compile_commands.json and what the build generates. Without more, the files that differ from where
this branch left main, those that are not committed among them; for a header, the source of the same name beside it.
Exit status 1 when it finds something, 77 without clang-tidy-19.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

TOOL = "clang-tidy-19"


def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout.split()


def changed(root, since):
    if since is None:
        since = git(root, "merge-base", "HEAD", "main")[0]
    paths = set(git(root, "diff", "--name-only", since)) | set(git(root, "ls-files", "--others", "--exclude-standard"))
    return {os.path.splitext(path)[0] + ".cpp" if path.endswith(".h") else path for path in paths}


def compiled(root, build):
    """Paths in the tree of what the build compiles, with the name that it has for each. It may know the tree by a link."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        names = {entry["file"] for entry in json.load(file)}
    top = os.path.realpath(root) + os.sep
    real = {os.path.realpath(name): name for name in names}
    return {path[len(top):]: name for path, name in real.items() if path.startswith(top)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root")
    parser.add_argument("build")
    parser.add_argument("--since")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    if shutil.which(TOOL) is None:
        print(f"{TOOL} is missing (set optional of tools/setup/packages.tsv)")
        return 77
    sources = compiled(arguments.root, arguments.build)
    if arguments.all:
        chosen = set(sources)
    else:
        chosen = set(arguments.files) or changed(arguments.root, arguments.since)
        unknown = [path for path in arguments.files if path not in sources]
        if unknown:
            print(f"the build does not compile {' '.join(unknown)}", file=sys.stderr)
            return 2
    chosen = sorted(chosen & set(sources))

    def run(path):
        done = subprocess.run([TOOL, "--quiet", "-p", arguments.build, sources[path]],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    bad = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, text in pool.map(run, chosen):
            bad += status != 0
            print(text, end="", flush=True)
    print(f"{len(chosen)} files, {bad} with findings")
    return 1 if bad else 0


sys.exit(main())
