#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that what documents and comments name is there: links between documents with their anchors, and names of files.
Run as a CTest.

usage: links.py SOURCE_TREE         exit status 1 and a line for each that leads nowhere

A name with folders is looked for from the top of the tree, from the folder of who names it, and as the end of a path. One
without folders may lie anywhere.
"""
import os
import re
import sys

import tree

# Files of others: the Linux kernel, LLVM, ROCm, QEMU.
FOREIGN = re.compile(
    r"(amd|amdgpu|amdkfd|aqua_vanjaram|asic_reg|athub|atom|autoconf|cik|cikd|gc_|gfx|gfxhub|gmc|hdp_|hsa|hw/pci/|inc/pmfw_if|include/|ivsrcid|"
    r"kfd_|mmhub|mp_|nbio|osssys|psp_|rocblas-|sdma|smu|soc15|swsmu|v9_structs|vega10)\w*[\w./-]*\.[ch]$"
    r"|(Utils/)?(SI|AMDGPU|[A-Z]+\d?P?Instructions)\w*\.(cpp|h|td)$"
    r"|drivers/gpu/drm/[\w/]+\.[ch]$"
    r"|(src/)?(amd_aql_queue|architecture|Assemble|BaseDebug|llvm-objdump|queue|wave)\.cpp$"
    r"|ELF\.h$|(src/)?queues\.c$|trap_handler\.s$")
# Made when something is built, names to be filled in, and a pattern for "MQD's".
MADE = re.compile(r"(.*/)?(code\.h|(NAME|PAGE|PROGRAM|SPEC)\.\w+)$|MQD\.s$")

NAME = re.compile(r"(?<![\w/.~$<>*{}:=@-])[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)*"
                  r"\.(?:md|cpp|h|c|def|py|sh|hip|toml|s|inc|cl|proto)"
                  r"(?![\w(*/-]|\.\w)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.M | re.S)
SPAN = re.compile(r"`([^`]+)`")
COMMENTS = (
    (re.compile(r"\.(c|h|cpp|def|inc|hip|cl|s|proto)$"), re.compile(r"//[^\n]*|/\*.*?\*/|;[^\n\"]*$", re.S | re.M)),
    (re.compile(r"(\.(py|sh|toml|txt|cmake)|^lyra)$"), re.compile(r"(?<![\w$&{])#[^\n]*|\"\"\".*?\"\"\"", re.S)),
)


def anchors(text):
    """What a link may name behind #: headings as GitHub and others spell them."""
    found = set()
    for heading in re.findall(r"^#+ +(.*?)\s*#*$", FENCE.sub("", text), re.M):
        slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        n, unique = 0, slug
        while unique in found:
            n += 1
            unique = f"{slug}-{n}"
        found.add(unique)
    return found


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = set(tree.files(root))
        self.ends = {path.split("/", n)[-1] for path in self.files for n in range(path.count("/") + 1)}

    def read(self, path):
        return "\n".join(tree.read_lines(self.root, path))

    def has(self, name, path):
        beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
        return name in self.ends or beside in self.files

    def leads_nowhere(self, name, path):
        """Why, or None."""
        if self.has(name, path) or FOREIGN.match(name) or MADE.match(name):
            return None
        return f"there is no file {name}"


def links_of(all_files, path, text):
    """(place in the text, what is wrong) for each link that leads nowhere."""
    for match in LINK.finditer(text):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not os.path.exists(os.path.join(all_files.root, to)):
            yield match.start(), f"link to {target}, which is not there"
        elif anchor and to.endswith(".md") and anchor not in anchors(all_files.read(to)):
            yield match.start(), f"link to {to}, which has no heading #{anchor}"


def names_of(path, text):
    """(place in the text, name) for each name of a file in a document's code spans or in comments."""
    if path.endswith(".md"):
        parts = list(SPAN.finditer(FENCE.sub(lambda fence: re.sub(r"[^\n]", " ", fence.group()), text)))
    else:
        parts = [match for files, comment in COMMENTS if files.search(path) for match in comment.finditer(text)]
    for part in parts:
        for match in NAME.finditer(part.group()):
            yield part.start() + match.start(), match.group()


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    all_files = Tree(sys.argv[1])
    problems, checked = [], 0
    for path in sorted(all_files.files):
        if not (path.endswith(".md") or any(files.search(path) for files, _ in COMMENTS)):
            continue
        text = all_files.read(path)
        # What was there once has its name in the list of changes.
        names = [] if path == "CHANGELOG.md" else names_of(path, text)
        found = [(at, all_files.leads_nowhere(name, path)) for at, name in names]
        if path.endswith(".md"):
            checked += 1
            found += links_of(all_files, path, text)
        problems += [f"{path}:{text.count(chr(10), 0, at) + 1}: {why}" for at, why in sorted(found, key=lambda f: f[0]) if why]
    print("\n".join(problems))
    if checked == 0:
        print(f"no documents found in {sys.argv[1]}")
    return 1 if problems or checked == 0 else 0


sys.exit(main())
