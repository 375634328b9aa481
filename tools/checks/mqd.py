#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the dwords of facts/mqd/*.def against the driver's structures.

usage: mqd.py SOURCE_TREE LINUX          exit status 1 and a line for each row that differs
LINUX is a kernel tree of 6.12 or later; only include/v9_structs.h is read. Rows of the model's own must be reserved there.
"""
import os
import re
import sys

HEADER = "drivers/gpu/drm/amd/include/v9_structs.h"
ROW = re.compile(r"^(\w+)\((.*)\)$", re.M)
# A union has two views of the same dwords: the first one is that of chips with one XCC, the second that of others.
UNION = re.compile(r"union \{\s*struct \{(.*?)\};\s*struct \{(.*?)\};\s*\};", re.S)


def names(text, struct, view):
    """The name of each dword of a structure, in one of the views of its unions."""
    body = re.search(r"struct " + struct + r" \{(.*?)\n\};", text, re.S)[1]
    body = UNION.sub(lambda match: match[view], re.sub(r"/\*.*?\*/", "", body, flags=re.S))
    found = []
    for name, count in re.findall(r"uint32_t (\w+)(?:\[(\d+)\])?;", body):
        found += [name] * int(count or 1)
    return found


def rows(tree, name):
    """(macro, name, dword, dwords) of each row of a table."""
    with open(os.path.join(tree, "facts/mqd", name), encoding="utf-8") as file:
        for macro, inside in ROW.findall(file.read()):
            cells = [cell.strip() for cell in inside.split(",")]
            if macro == "SDMA_MQD":
                yield macro, "sdmax_rlcx_" + cells[0], int(cells[1]), 1
            else:
                yield macro, cells[0], int(cells[1]), int(cells[2])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tree, linux = sys.argv[1:]
    with open(os.path.join(linux, HEADER), encoding="utf-8") as file:
        text = file.read()
    compared, problems = 0, []
    for struct in ("v9_mqd", "v9_sdma_mqd"):
        views = [names(text, struct, view) for view in (1, 2)]
        for macro, name, first, count in rows(tree, struct + ".def"):
            compared += 1
            theirs, others = (known[first:first + count] for known in views)
            if others and others[0] == name:
                theirs = others
            if macro == "MQD_OWN":
                right = len(theirs) == count and all(each.startswith("reserved_") for each in theirs)
            else:
                # The last of several has the number of the first and so many more.
                last = re.sub(r"\d+$", lambda match: str(int(match[0]) + count - 1), name) if count > 1 else name
                right = len(theirs) == count and theirs[0] == name and theirs[-1] == last
            if not right:
                ends = " to ".join(dict.fromkeys(theirs[:1] + theirs[-1:]))
                problems.append(f"{struct}: dword {first} is {name}; in Linux's header: {ends}")
    print("\n".join(problems + [f"{compared} rows of MQDs compared, {len(problems)} differ"]))
    sys.exit(1 if problems or compared < 120 else 0)


if __name__ == "__main__":
    main()
