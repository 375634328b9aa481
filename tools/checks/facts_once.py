#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that no fact of the hardware is in two places: registers, opcodes of packets, dwords of MQDs, chips. Run as a CTest.

usage: facts_once.py SOURCE_TREE        exit status 1 and a line for each fact that is in two tables, or a number in the code

Numbers are looked for in the code of cp-firmware-model/, cwsr/ and qemu-hw/ without tests and fuzzers, which may say what they
expect. Comments do not count. A number is a register's when it is its dword or its offset in bytes and is not round. Headers of
packets are taken apart in cp-firmware-model/packets/ only, also by tools/.
"""
import os
import re
import sys

import registers
import tree

FOLDERS = ("cp-firmware-model/", "cwsr/", "qemu-hw/")
# May have numbers of their own.
NOT_PRODUCT = re.compile(r"_(test|fuzz)\.cpp$|/(testing|fuzz|test)/|_rig\.h$|/patches/")
CODE = re.compile(r"\.(c|h|cpp)$")
# Numbers that are a fact, and why they are there nevertheless.
ALLOWED = {
    ("qemu-hw/include/lyra.h", "0x7fff0u"): "for programs in C; soc.cpp compares it with the row",
    ("qemu-hw/include/lyra.h", "0x1002u"): "the definition",
    ("qemu-hw/include/lyra.h", "0x9a00u"): "the definition",
}
ROW = re.compile(r"^(\w+)\((.*)\)\s*(?://.*)?$", re.M)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.S)
NUMBER = re.compile(r"(?<![\w.])0x[0-9a-fA-F']+[uUlL]*\b")
# Where a number can only be a fact.
INDEX = re.compile(r"\b(?:compute|image|mqd)\[(?:0x)?\d+\b|\bmqd\w*(?:\(\))? *\+ *(?:0x)?\d+\b")
REGISTER_CALL = re.compile(r"\b(?:read|write)_register\((?:4 \* )?(?:0x)?\d\w*")
OPCODE = re.compile(r"\bopcode(?:\(\w*\))? *[=!]= *(?:0x)?\d\w*")
# Bits of a packet header: by their places in PM4, or of a word that is called a header or is the first.
HEADER = re.compile(r"\bbits\([^,;]+, *(?:30, *2|16, *14|8, *8)\)|\bBits<(?:30, *2|16, *14)>|>> *16\)? *& *0x3fff\b|"
                    r"\b\w*header(?:\[0\]|\(\w*\))? *(?:>>|& *(?:0x|\d|k[A-Z]))|\bwords?\[0\] *(?:>>|& *(?:0x|\d))", re.I)
HEADER_FOLDERS = FOLDERS + ("tools/",)
HEADER_HOME = ("cp-firmware-model/packets/", "facts/")
# What HEADER has to find, and what not.
IS_HEADER = ("bits(header, 30, 2)", "bits(words[n], 16, 14) + 1", "header >> 8 & 0xff", "(list[at] >> 16 & 0x3fff) + 2",
             "packet.words[0] & 0xff", "aql::any::header(p) & 0xff", "header & kHeaderMask", "using Count = Bits<16, 14>;")
NO_HEADER = ("words[0] & ~3u", "bits(control, 8, 4)", "pm4::opcode(header)", "header && whole", "size >> 30")
CHIP = re.compile(r"\"gfx\d\w+\"")


def rows(path):
    """(line, macro, cells) of each row of a table; not of the definitions of its macros."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = ROW.match(line.strip())
            if match:
                yield number, match[1], [cell.strip() for cell in match[2].split(",")]


class Once:
    """Facts by what they are about, and which were there before."""

    def __init__(self):
        self.known, self.problems = {}, []

    def add(self, kind, key, place):
        before = self.known.setdefault((kind, key), place)
        if before != place:
            shown = hex(key) if isinstance(key, int) and kind != "dword of an MQD" else key
            self.problems.append(f"{place}: {kind} {shown} is also in {before}")


def read_tables(root):
    """@return Once, and names of registers by number"""
    once, numbers = Once(), {}
    folder = os.path.join(root, "facts/registers")
    for name in sorted(os.listdir(folder)):
        if name in ("fields.def", "moves.def"):
            continue
        for _, block, register, offset in registers.rows(os.path.join(folder, name)):
            place = f"facts/registers/{name} {block}.{register}"
            once.add("register", offset, place)
            once.add("name of a register", f"{block}.{register}", place)
            numbers.setdefault(offset, register)
            numbers.setdefault(offset // 4, register)
    for line, macro, cells in rows(os.path.join(root, "facts/registers/fields.def")):
        if macro == "FIELD":
            once.add("field", f"{cells[0]}.{cells[1]}", f"facts/registers/fields.def:{line}")
    for line, macro, cells in rows(os.path.join(root, "facts/packets/pm4.def")):
        if macro == "PM4" and cells[0] != "name":
            once.add("opcode of PM4", int(cells[1], 0), f"facts/packets/pm4.def:{line}")
    for line, macro, cells in rows(os.path.join(root, "facts/packets/sdma.def")):
        if macro == "SDMA_PACKET":
            once.add("operation of SDMA", " ".join(cells[1:4]), f"facts/packets/sdma.def:{line}")
    for name in ("pm4_fields.def", "sdma_fields.def"):
        for line, _, cells in rows(os.path.join(root, "facts/packets", name)):
            once.add("field", f"{name} {cells[0]}.{cells[1]}", f"facts/packets/{name}:{line}")
    for name in ("v9_mqd.def", "v9_sdma_mqd.def"):
        for line, macro, cells in rows(os.path.join(root, "facts/mqd", name)):
            count = int(cells[2]) if macro != "SDMA_MQD" else 1
            for dword in range(int(cells[1]), int(cells[1]) + count):
                once.add("dword of an MQD", f"{name} {dword}", f"facts/mqd/{name}:{line}")
    with open(os.path.join(root, "facts/chips.def"), encoding="utf-8") as file:
        for chip in re.findall(r"^CHIP\((\w+)", file.read(), re.M):  # a row takes more than a line
            once.add("chip", chip, f"facts/chips.def {chip}")
    return once, numbers


def is_round(value):
    return value < 0x800 or value & (value - 1) == 0 or value & (value + 1) == 0 or value % 0x1000 == 0


def raw_facts(text, numbers, opcodes, chips, ids):
    """(position, what it says) of each fact that is a number in the code."""
    blank = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in NUMBER.finditer(blank):
        value = int(match[0].rstrip("uUlL").replace("'", ""), 16)
        if value >> 30 == 3 and value & 0xff == 0 and value >> 8 & 0xff in opcodes:
            yield match.start(), f"{match[0]} is a header of opcode {value >> 8 & 0xff:#x}"
        elif value in ids:
            yield match.start(), f"{match[0]} is an id of the PCI device"
        elif not is_round(value) and value in numbers:
            yield match.start(), f"{match[0]} is register {numbers[value]}"
    for pattern, what in ((INDEX, "a dword of an MQD"), (REGISTER_CALL, "a register"), (OPCODE, "an opcode")):
        for match in pattern.finditer(blank):
            yield match.start(), f"{match[0]}: {what} as a number"
    without_comments = COMMENT.sub(lambda match: match[0] if match[0][0] in "\"'" else re.sub(r"[^\n]", " ", match[0]), text)
    for match in CHIP.finditer(without_comments):
        if match[0].strip('"') in chips:
            yield match.start(), f"{match[0]} is a chip"


def taken_apart(text):
    """(position, what it says) of each place that takes a packet header apart."""
    blank = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
    for match in HEADER.finditer(blank):
        yield match.start(), f"{match[0]}: a packet header is taken apart; packets/ has frame(), opcode(), aql::type()"


def main():
    root = sys.argv[1]
    assert all(HEADER.search(text) for text in IS_HEADER) and not any(HEADER.search(text) for text in NO_HEADER)
    once, numbers = read_tables(root)
    opcodes = {key for kind, key in once.known if kind == "opcode of PM4"}
    chips = {key for kind, key in once.known if kind == "chip"}
    with open(os.path.join(root, "qemu-hw/include/lyra.h"), encoding="utf-8") as file:
        ids = {int(value, 16) for value in re.findall(r"#define LYRA_PCI_\w+ (0x\w+?)u", file.read())}
    problems, files = list(once.problems), 0
    for path in tree.files(root):
        if not path.startswith(HEADER_FOLDERS) or not CODE.search(path) or NOT_PRODUCT.search(path):
            continue
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        found = [] if path.startswith(HEADER_HOME) else list(taken_apart(text))
        if path.startswith(FOLDERS):
            files += 1
            found += raw_facts(text, numbers, opcodes, chips, ids)
        for position, what in found:
            if ALLOWED.pop((path, what.split()[0]), None) is None:
                problems.append(f"{path}:{text.count(chr(10), 0, position) + 1}: {what}")
    problems += [f"{path}: {number} is allowed, but not there" for path, number in ALLOWED]
    print("\n".join(problems + [f"{len(once.known)} facts in tables, {files} files of code, {len(problems)} of them twice"]))
    sys.exit(1 if problems or len(once.known) < 2000 or files < 100 or len(ids) != 2 else 0)


if __name__ == "__main__":
    main()
