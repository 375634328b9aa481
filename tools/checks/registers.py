#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the offsets and fields of facts/registers/*.def against the register headers of Linux.

usage: registers.py SOURCE_TREE LINUX        exit status 1 and a line for each row that differs or that no header has
LINUX is a kernel tree of 6.12 or later; only drivers/gpu/drm/amd/include/asic_reg is read. Reset values are not compared:
the headers' are those of a chip that no firmware has touched.
"""
import os
import re
import sys

# Header of a block, the bases of its IP in dwords, as qemu-hw/soc/discovery.cpp gives them to the driver, and the header of a
# later version that has what the first one lacks.
BLOCKS = {
    "NBIO": ("nbio/nbio_7_4", [0, 0x14, 0xd20, 0x10400], "nbio/nbio_7_9_0"),
    "GC": ("gc/gc_9_0", [0x2000, 0xa000], "gc/gc_9_4_2", "gc/gc_9_4_3"),
    "MMHUB": ("mmhub/mmhub_1_0", [0x1a000]),
    "ATHUB": ("athub/athub_1_0", [0xc20]),
    "HDP": ("hdp/hdp_4_0", [0xf20]),
    "OSSSYS": ("oss/osssys_4_0", [0x10a0]),
    "SDMA0": ("sdma0/sdma0_4_0", [0x1260]),
    "SDMA1": ("sdma1/sdma1_4_0", [0x1860]),
    "MP0": ("mp/mp_11_0", [0x16000]),
    "MP1": ("mp/mp_11_0", [0x16000]),
    "SMUIO": ("smuio/smuio_11_0_0", [0x16800, 0x16a00], "smuio/smuio_13_0_2"),
}
# The same for chips with rows in moves.def, whose registers have to be where these headers have them.
MOVED = {
    "gfx942": {
        "NBIO": ("nbio/nbio_7_9_0", [0, 0x14, 0xd20, 0x10400]),
        "GC": ("gc/gc_9_4_3", [0x2000, 0xa000]),
        "MMHUB": ("mmhub/mmhub_1_0", [0x14000]),
        "SDMA0": ("sdma/sdma_4_4_2", [0x1260]),
        "SDMA1": ("sdma/sdma_4_4_2", [0x1860]),
        "SMUIO": ("smuio/smuio_13_0_3", [0x16800, 0x16a00]),
    },
}
# Rows that no header has, with the reason.
WITHOUT = {
    "BIOS_SCRATCH_PRE_ATOM": "what the driver makes of BIOS_SCRATCH_7 before it knows where that is",
    "REMAPPED_HDP_MEM_FLUSH": "where the driver maps it",
    "REMAPPED_HDP_REG_FLUSH": "where the driver maps it",
    "CP_HQD_PQ_RESERVED": "hole between two registers of a queue",
}
RINGS = {"GFX": 0x80, "PAGE": 0xe0, "RLC0": 0x140, "RLC1": 0x1a0}
ROW = re.compile(r"^(\w+)\((.*)\)$")
DEFINE = re.compile(r"^#define\s+(?:mm|reg)(\w+)\s+(0x[0-9a-fA-F]+|\d+)\s*$", re.M)
FIELD = re.compile(r"^#define\s+(\w+?)__(\w+?)(__SHIFT|_MASK)\s+(0x[0-9a-fA-F]+|\d+)L?\s*$", re.M)


def text_of(linux, name):
    with open(os.path.join(linux, "drivers/gpu/drm/amd/include/asic_reg", name), encoding="utf-8") as file:
        return file.read()


def header(linux, block, blocks=None):
    """Byte offsets in BAR5 by name."""
    first, bases, *later = (blocks or BLOCKS)[block]
    offsets = {}
    for name in [first] + later:
        values = {match[1]: int(match[2], 0) for match in DEFINE.finditer(text_of(linux, name + "_offset.h"))}
        for register, value in values.items():
            index = values.get(register + "_BASE_IDX", 0)
            if index < len(bases):
                offsets.setdefault(register, (bases[index] + value) * 4)
    return offsets


def field_header(linux, block):
    """(shift, mask) by register and field."""
    first, _, *later = BLOCKS[block]
    found = {}
    for name in later + [first]:
        for match in FIELD.finditer(text_of(linux, name + "_sh_mask.h")):
            found.setdefault((match[1], match[2]), {})[match[3]] = int(match[4], 0)
    return {key: (parts.get("__SHIFT"), parts.get("_MASK")) for key, parts in found.items()}


def rows(path):
    """(name in fields.def, block, name in the header, byte offset) of each row."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            match = ROW.match(line.strip())
            if not match:
                continue
            kind, cells = match[1], [cell.strip() for cell in match[2].split(",")]
            if kind == "REG":
                yield cells[1], cells[0], cells[1], int(cells[2], 0)
            elif kind == "REG_ARRAY":
                yield cells[1], cells[0], cells[2], int(cells[3], 0)
            elif kind in ("HUB_REG", "HUB_ARRAY"):
                name, at = (cells[0], 1) if kind == "HUB_REG" else (cells[1], 2)
                yield cells[0], "GC", name, int(cells[at], 0)
                yield cells[0], "MMHUB", name, int(cells[at + 1], 0)
            elif kind in ("CPREG", "HQDREG"):
                yield cells[0], "GC", cells[0], int(cells[1], 0)
            elif kind in ("SDMA_REG", "SDMA_RING_REG"):
                for block in ("SDMA0", "SDMA1"):
                    base, offset = BLOCKS[block][1][0], int(cells[1], 0)
                    if kind == "SDMA_REG":
                        yield f"SDMA_{cells[0]}", block, f"{block}_{cells[0]}", (base + offset) * 4
                    else:
                        for ring, first in RINGS.items():
                            if ring == "GFX" or cells[0] != "CONTEXT_CNTL":  # only that ring has one
                                yield (f"SDMA_RING_{cells[0]}", block, f"{block}_{ring}_{cells[0]}",
                                       (base + first + offset) * 4)
            else:
                sys.exit(f"{path}: a row that this script does not know: {line.strip()}")


def moves(path):
    """(chip, first byte offset there, bytes, byte offset in the other tables) of each row."""
    with open(path, encoding="utf-8") as file:
        for kind, inside in (match.groups() for match in map(ROW.match, file) if match):
            chip, *cells = [cell.strip() for cell in inside.split(",")]
            first, count, to = [int(cell, 0) for cell in cells]
            for base in [0x1260, 0x1860] if kind == "SDMA_MOVE" else [0]:
                yield re.sub(r".*::(\w+)\)", r"\1", chip), (base + first) * 4, count * 4, (base + to) * 4


def move_problems(linux, folder, registers):
    """@param registers  (block, name in the header, byte offset). @return number compared, lines"""
    rows_of = list(moves(os.path.join(folder, "moves.def")))
    compared, problems = 0, []
    for chip, blocks in MOVED.items():
        headers = {block: header(linux, block, blocks) for block in blocks}
        for block, register, offset in registers:
            # One header for both engines; an offset is a register's only when its name is, too.
            name = re.sub(r"^SDMA[01]_", "SDMA_", register)
            known = headers.get(block, {}).get(name)
            if known is None:
                continue
            here = [first + offset - to for of, first, count, to in rows_of if of == chip and to <= offset < to + count]
            compared += 1
            if known != (here[0] if here else offset):
                ours = here[0] if here else offset
                problems.append(f"moves.def: {chip}: {block} {register} is at {ours:#x}; in Linux's headers: {known:#x}")
    return compared, problems


def field_rows(path):
    """Register -> [(field, low bit, width)], with LIKE applied."""
    fields = {}
    with open(path, encoding="utf-8") as file:
        for kind, inside in (match.groups() for match in map(ROW.match, file) if match):
            cells = [cell.strip() for cell in inside.split(",")]
            if kind == "LIKE":
                fields[cells[0]] = fields[cells[1]]
            else:
                fields.setdefault(cells[0], []).append((cells[1], int(cells[2]), int(cells[3])))
    return fields


def field_problems(linux, fields, places):
    """@param places  register -> [(block, name in the header)]. @return number compared, lines"""
    headers = {block: field_header(linux, block) for block in BLOCKS}
    compared, problems = 0, []
    for register, rows_of_it in fields.items():
        for block, name in places.get(register, []):
            for field, low, width in rows_of_it:
                compared += 1
                known = headers[block].get((name, field))
                if known != (low, (1 << width) - 1 << low):
                    theirs = f"shift {known[0]}, mask {known[1]:#x}" if known else "no such field"
                    problems.append(f"fields.def: {name}.{field} is {width} bits at {low}; in Linux's headers: {theirs}")
        if register not in places:
            problems.append(f"fields.def: there is no register {register}")
    return compared, problems


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tree, linux = sys.argv[1:]
    headers = {block: header(linux, block) for block in BLOCKS}
    folder = os.path.join(tree, "facts/registers")
    compared, problems, places, registers = 0, [], {}, []
    for name in sorted(os.listdir(folder)):
        if name in ("fields.def", "moves.def"):
            continue
        for key, block, register, offset in rows(os.path.join(folder, name)):
            if block == "LYRA" or register in WITHOUT:
                continue
            compared += 1
            places.setdefault(key, []).append((block, register))
            registers.append((block, register, offset))
            known = headers[block].get(register)
            if known != offset:
                theirs = "no such register" if known is None else f"{known:#x}"
                problems.append(f"{name}: {block} {register} is at {offset:#x}; in Linux's headers: {theirs}")
    fields, more = field_problems(linux, field_rows(os.path.join(folder, "fields.def")), places)
    problems += more
    moved, more = move_problems(linux, folder, registers)
    problems += more
    for problem in problems:
        print(problem)
    if compared < 900 or fields < 600 or moved < 900:
        problems.append("rows")
        print("that are too few")
    print(f"{compared} registers and {fields} fields compared, {moved} of other chips, {len(problems)} differ")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
