#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that lines have at most 128 columns. Run as a CTest.

usage: columns.py SOURCE_TREE [--fix]       exit status 1 and a line for each that is longer

--fix breaks comments and the text of documents. Code is left to format.py or to you. Not checked: rows of tables (.def, .tsv,
Markdown), patches, JSON, what has no place to break.
"""
import os
import re
import sys

import tree

LIMIT = 128
TEXT = re.compile(r"(\.(c|h|cpp|hip|cl|def|inc|proto|py|sh|s|md|txt|cmake|toml|mak|build)"
                  r"|/(lyra|run|Kconfig|lyra_init|initramfs_init))$")
HASH = re.compile(r"(\.(py|sh|toml|txt|cmake|mak)|/(lyra|run|Kconfig|lyra_init|initramfs_init))$")
# Lines of code that are longer still, at most so many in a file.
STILL = {
    "CMakeLists.txt": 1,
    "kfdtest-ports/CMakeLists.txt": 2,
    "kfdtest-ports/guest/build_kfdtest.sh": 3,
    "kfdtest-ports/guest/build_programs.sh": 1,
    "qemu-hw/soc/CMakeLists.txt": 1,
    "scheduler/CMakeLists.txt": 2,
    "tools/CMakeLists.txt": 15,
    "tools/bench/classes.cl": 6,
    "tools/bench/kernels.cl": 3,
    "tools/bench/run_bench.sh": 1,
    "tools/checks/cli_exec.py": 6,
    "tools/checks/cli_results.py": 15,
    "tools/checks/report_browser.py": 11,
    "tools/checks/session.py": 7,
    "tools/checks/setup.py": 16,
    "tools/checks/sweep_engines.py": 5,
    "tools/guest/apt_private.sh": 1,
    "tools/guest/boot.sh": 2,
    "tools/guest/build_image.sh": 5,
    "tools/guest/build_kfd.sh": 8,
    "tools/guest/build_kunit.sh": 1,
    "tools/guest/build_libraries.sh": 2,
    "tools/guest/build_qemu.sh": 2,
    "tools/guest/in_root.sh": 1,
    "tools/guest/trap_handler.sh": 1,
    "tools/isa/ocml.cl": 6,
    "tools/isa/programs/arithmetic.cl": 2,
    "tools/isa/programs/control.cl": 3,
    "tools/setup/cache.sh": 4,
    "tools/setup/doctor.sh": 16,
    "tools/setup/packages.sh": 3,
}
# Before the text of a comment; in a document, before the text of an item.
COMMENT_HASH = re.compile(r"^\s*#(?!!) ")
COMMENT_SLASH = re.compile(r"^\s*(?://[/!]?|\*|;) ")
ITEM = re.compile(r"^(\s*(?:[-*+]|\d+[.)]) +)(?=\S)")
# What would begin an item, a table, a heading or a quotation if a line began with it.
MARKUP = re.compile(r"(?:[-*+#>]|#{2,}|\d+[.)])$|\|")


def columns(line):
    return len(line.expandtabs(8))


def has_no_break(line):
    """One word, as an address or a path, behind what begins the line."""
    return len(line.split()) <= 2


class Document:
    """Markdown: text, but not code, tables or headings."""

    def __init__(self, lines):
        self.code = set()
        inside = False
        for n, line in enumerate(lines):
            fence = line.lstrip().startswith("```")
            if inside or fence:
                self.code.add(n)
            inside ^= fence
        # Indented by four without an item before it.
        item = False
        for n, line in enumerate(lines):
            if ITEM.match(line):
                item = True
            elif line.strip() and not line.startswith(" "):
                item = False
            if line.startswith("    ") and not item:
                self.code.add(n)

    def prefix(self, lines, n):
        line = lines[n]
        if n in self.code or line.startswith("#") or line.lstrip().startswith("|"):
            return None
        item = ITEM.match(line)
        return " " * (len(item.group(1)) if item else len(line) - len(line.lstrip()))

    def goes_on(self, lines, n, prefix):
        line = lines[n] if n < len(lines) else ""
        return line.strip() and not ITEM.match(line) and self.prefix(lines, n) == prefix


class Comments:
    """Lines that are a comment and nothing else."""

    def __init__(self, begin):
        self.begin = begin

    def prefix(self, lines, n):
        found = self.begin.match(lines[n])
        if not found:
            return None
        text = lines[n][found.end():]
        item = ITEM.match(text)
        return found.group() + " " * (len(item.group(1)) if item else len(text) - len(text.lstrip()))

    def goes_on(self, lines, n, prefix):
        if n >= len(lines) or self.prefix(lines, n) != prefix or not lines[n].startswith(prefix):
            return False
        text = lines[n][len(prefix):]
        return not text.startswith(("@", "shellcheck ", "usage:")) and not ITEM.match(text)


def kind_of(path, lines):
    if path.endswith(".md"):
        return Document(lines)
    return Comments(COMMENT_HASH if HASH.search("/" + path) else COMMENT_SLASH)


def break_line(line, least):
    """The line and what does not fit, or the line alone when there is no place."""
    at = LIMIT
    while (at := line.rfind(" ", least, at + 1)) > least:
        if not MARKUP.match(line[at + 1:].split()[0]) and line.count("`", 0, at) % 2 == 0:
            return line[:at], line[at + 1:]
        at -= 1
    return line, None


def fix(path, lines):
    kind = kind_of(path, lines)
    n = 0
    while n < len(lines):
        prefix = kind.prefix(lines, n) if columns(lines[n]) > LIMIT else None
        if prefix is not None:
            kept, rest = break_line(lines[n], len(prefix) + 1)
            if rest is not None:
                if kind.goes_on(lines, n + 1, prefix):
                    lines[n + 1] = prefix + rest + " " + lines[n + 1][len(prefix):]
                    lines[n] = kept
                else:
                    lines[n:n + 1] = [kept, prefix + rest]
                    kind = kind_of(path, lines)
        n += 1
    return lines


def exempt(path, line):
    if path.endswith(".md"):
        return line.lstrip().startswith("|") or has_no_break(line)
    if path.endswith(".def"):
        return not line.lstrip().startswith("//")
    return has_no_break(line)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--fix"]
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    root, count, problems = arguments[0], 0, []
    for path in tree.files(root):
        if not TEXT.search("/" + path):
            continue
        count += 1
        lines = tree.read_lines(root, path)
        if "--fix" in sys.argv and any(columns(line) > LIMIT and not exempt(path, line) for line in lines):
            before = list(lines)
            if fix(path, lines) != before:
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write("\n".join(lines))
        long = [f"{path}:{number}: {columns(line)} columns" for number, line in enumerate(lines, 1)
                if columns(line) > LIMIT and not exempt(path, line)]
        if len(long) > STILL.get(path, 0):
            problems += long
    print("\n".join(problems))
    if count == 0:
        print(f"no text files found in {root}")
    elif problems:
        print(f"{len(problems)} lines of more than {LIMIT} columns; --fix breaks comments and documents")
    return 1 if problems or count == 0 else 0


sys.exit(main())
