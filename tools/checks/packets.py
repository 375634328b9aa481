#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the fields of facts/packets/pm4_fields.def and sdma_fields.def, and the rows of pm4.def and sdma.def, against the
driver's headers.

usage: packets.py SOURCE_TREE LINUX          exit status 1 and a line for each field that differs
LINUX is a kernel tree of 6.12 or later; of it are read amdkfd/kfd_pm4_headers_*.h and kfd_pm4_opcodes.h, amdgpu/soc15d.h and
vega10_sdma_pkt_open.h. Of PM4 packets that go not only to the scheduler soc15d.h has low bits, but neither widths nor ordinals;
many fields are in neither. SDMA packets are compared whole: every field of the header has a row.
"""
import os
import re
import sys

STRUCTS = {
    "SET_RESOURCES": "pm4_mes_set_resources",
    "RUN_LIST": "pm4_mes_runlist",
    "MAP_PROCESS": "pm4_mes_map_process",
    "MAP_QUEUES": "pm4_mes_map_queues",
    "UNMAP_QUEUES": "pm4_mes_unmap_queues",
    "QUERY_STATUS": "pm4_mes_query_status",
}
HEADER = "drivers/gpu/drm/amd/amdkfd/kfd_pm4_headers_ai.h"
# The long form of a packet, which begins as the short one.
LONG_HEADER = "drivers/gpu/drm/amd/amdkfd/kfd_pm4_headers_aldebaran.h"
LONG = {"MAP_PROCESS": "pm4_mes_map_process_aldebaran"}
KIQ_HEADER = "drivers/gpu/drm/amd/amdgpu/soc15d.h"
OPCODES = "drivers/gpu/drm/amd/amdkfd/kfd_pm4_opcodes.h"
ELSEWHERE = {"SET_UCONFIG_REG_INDEX"}  # only Linux's headers of later chips have it
KIQ = "_KIQ"
# Fields of other packets, and the macros of soc15d.h that shift them.
MACROS = {
    "WRITE_DATA.dst_sel": "WRITE_DATA_DST_SEL", "WRITE_DATA.one_addr": "WR_ONE_ADDR",
    "WAIT_REG_MEM.function": "WAIT_REG_MEM_FUNCTION", "WAIT_REG_MEM.mem_space": "WAIT_REG_MEM_MEM_SPACE",
    "WAIT_REG_MEM.operation": "WAIT_REG_MEM_OPERATION",
    "EVENT_WRITE.event_type": "EVENT_TYPE", "RELEASE_MEM.event_type": "EVENT_TYPE", "RELEASE_MEM.event_index": "EVENT_INDEX",
    "RELEASE_MEM.tc_wb_action_ena": "EOP_TC_WB_ACTION_EN", "RELEASE_MEM.tc_action_ena": "EOP_TC_ACTION_EN",
    "RELEASE_MEM.dst_sel": "DST_SEL", "RELEASE_MEM.int_sel": "INT_SEL", "RELEASE_MEM.data_sel": "DATA_SEL",
    "DMA_DATA.dst_sel": "PACKET3_DMA_DATA_DST_SEL", "DMA_DATA.src_sel": "PACKET3_DMA_DATA_SRC_SEL",
    "DMA_DATA.sas": "PACKET3_DMA_DATA_CMD_SAS", "DMA_DATA.das": "PACKET3_DMA_DATA_CMD_DAS",
    "DMA_DATA.saic": "PACKET3_DMA_DATA_CMD_SAIC", "DMA_DATA.daic": "PACKET3_DMA_DATA_CMD_DAIC",
    "ACQUIRE_MEM.tc_wb_action_ena": "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_TC_WB_ACTION_ENA",
    "ACQUIRE_MEM.tc_action_ena": "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_TC_ACTION_ENA",
    "ACQUIRE_MEM.sh_icache_action_ena": "PACKET3_ACQUIRE_MEM_CP_COHER_CNTL_SH_ICACHE_ACTION_ENA",
    "SET_UCONFIG_REG_INDEX.index": "PACKET3_SET_UCONFIG_REG_INDEX_TYPE",
    "INVALIDATE_TLBS.dst_sel": "PACKET3_INVALIDATE_TLBS_DST_SEL", "INVALIDATE_TLBS.all_hub": "PACKET3_INVALIDATE_TLBS_ALL_HUB",
    "INVALIDATE_TLBS.pasid": "PACKET3_INVALIDATE_TLBS_PASID",
    "INVALIDATE_TLBS.flush_type": "PACKET3_INVALIDATE_TLBS_FLUSH_TYPE",
}
SDMA_HEADER = "drivers/gpu/drm/amd/amdgpu/vega10_sdma_pkt_open.h"
# SDMA packets that have another name where the driver's header defines their fields.
SDMA_NAMES = {
    "COPY_LINEAR_BROADCAST": "COPY_BROADCAST_LINEAR", "COPY_LINEAR_SUB_WINDOW": "COPY_LINEAR_SUBWIN",
    "COPY_TILED_SUB_WINDOW": "COPY_TILED_SUBWIN", "COPY_T2T_SUB_WINDOW": "COPY_T2T",
    "COPY_LINEAR_PHYSICAL": "COPY_PHYSICAL_LINEAR", "WRITE_LINEAR": "WRITE_UNTILED", "CONST_FILL": "CONSTANT_FILL",
    "GEN_PTEPDE": "WRITE_INCR",
}
# Of the first word of a packet, and of a packet: what SDMA_OP_ and SDMA_SUBOP_ call it.
SDMA_OPS = {
    "SEMAPHORE": "SEM", "POLL": "POLL_REGMEM", "GEN": "PTEPDE", "DATA": "CONST_FILL", "CONST": "CONST_FILL", "COND": "COND_EXE",
    "PRE": "PRE_EXE", "SRBM": "SRBM_WRITE", "DUMMY": "DUMMY_TRAP",
}
SDMA_SUBOPS = {
    "COPY_LINEAR_BROADCAST": "COPY_LINEAR", "COPY_L2T_BROADCAST": "COPY_TILED", "COPY_STRUCT": "COPY_SOA",
    "COPY_LINEAR_SUB_WINDOW": "COPY_LINEAR_SUB_WIND", "COPY_TILED_SUB_WINDOW": "COPY_TILED_SUB_WIND",
    "COPY_T2T_SUB_WINDOW": "COPY_T2T_SUB_WIND", "COPY_LINEAR_PHYSICAL": "COPY_LINEAR_PHY", "GEN_PTEPDE": "PTEPDE_GEN",
}
# What has the same name twice in the header.
SDMA_FIELDS = {("POLL_MEM_VERIFY", 4): "cmp0_end"}
# In the header, but no fields: the operation, and what follows a packet.
SDMA_OTHERS = re.compile(r"op|sub_op|data0|reserved")
SDMA_ROW = re.compile(r"^SDMA_(PACKET|FIELD|PAIR)\((.*)\)$", re.M)
ROW = re.compile(r"^PM4_(FIELD|PAIR)\((.*)\)$", re.M)


def fields(text, struct):
    """Name -> (ordinal, low bit, width) of a structure in the header."""
    body = re.search(r"struct " + struct + r" \{(.*?)\n\};", text, re.S)[1]
    body = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    out, ordinal, depth, low = {}, 1, 0, 0
    for line in (line.strip() for line in body.splitlines()):
        if line.startswith("union {"):
            depth = 1
        elif line.startswith("struct {"):
            low = 0
        elif line == "};" and depth:
            depth, ordinal = 0, ordinal + 1
        elif match := re.match(r"(?:u?int32_t|enum \w+)\s+(\w+)\s*:\s*(\d+);", line):
            out[match[1]] = (ordinal, low, int(match[2]))
            low += int(match[2])
        elif match := re.match(r"uint32_t\s+(\w+?)(?:\[(\d+)\])?;", line):
            for number in range(int(match[2] or 1) if not depth else 0):
                out[match[1] + (str(number) if match[2] else "")] = (ordinal, 0, 32)
                ordinal += 1
    return out


def opcode_problems(tree, linux):
    """@return how many opcodes of pm4.def were compared, and a line for each that differs"""
    known = {}
    for name in (KIQ_HEADER, OPCODES):
        with open(os.path.join(linux, name), encoding="utf-8") as file:
            for packet, opcode in re.findall(r"(?:#define\s+PACKET3_|\bIT_)(\w+)\s*=?\s*(0x[0-9a-fA-F]+)", file.read()):
                known.setdefault(packet, int(opcode, 0))
    with open(os.path.join(tree, "facts/packets/pm4.def"), encoding="utf-8") as file:
        rows = re.findall(r"^PM4\((\w+),\s*(0x\w+)", file.read(), re.M)
    wrong = [f"pm4.def: {name} is {opcode}; in Linux's headers: {known.get(name)}" for name, opcode in rows
             if known.get(name) != int(opcode, 0) and name not in ELSEWHERE]
    return len(rows), wrong


def sdma_header(text):
    """Packet -> {(dword, low bit, width): name}, with 64 bits in two dwords as one of width 64; and packet -> dwords."""
    packets, dwords = {}, {}
    for part in re.split(r"\*\* Definitions for SDMA_PKT_", text)[1:]:
        packet = part.split()[0]
        values = {}
        for name, kind, value in re.findall(r"#define SDMA_PKT_" + packet + r"_(\w+)_(offset|mask|shift)\s+(\w+)", part):
            values.setdefault(name, {})[kind] = int(value, 0)
        found, low = {}, None
        for name, value in values.items():
            field = re.search(r"[a-z].*", name)[0]
            dword, width = value["offset"], value["mask"].bit_length()
            if not SDMA_OTHERS.fullmatch(field):
                if low and re.search(r"_63_32$|_dw1$", field):
                    found.pop(low[1])
                    found[(low[1][0], 0, 64)] = SDMA_FIELDS.get((packet, low[1][0]), low[0])
                else:
                    found[(dword, value["shift"], width)] = field
            pair = re.fullmatch(r"(.*)(?:_31_\d|_dw0)", field)
            low = (pair[1], (dword, value["shift"], width)) if pair else None
            if field != "data0":
                dwords[packet] = max(dwords.get(packet, 0), dword + 1)
        packets[packet] = found
    return packets, dwords


def sdma_problems(tree, linux):
    """@return how many rows were compared, and a line for each that differs or is missing"""
    with open(os.path.join(linux, SDMA_HEADER), encoding="utf-8") as file:
        text = file.read()
    packets, dwords = sdma_header(text)
    numbers = {name: int(value) for name, value in re.findall(r"#define SDMA_((?:OP|SUBOP)_\w+)\s+(\d+)", text)}
    compared, problems, ours = 0, [], {}
    for name in ("facts/packets/sdma.def", "facts/packets/sdma_fields.def"):
        with open(os.path.join(tree, name), encoding="utf-8") as file:
            for kind, cells in SDMA_ROW.findall(file.read()):
                packet, *cells = (cell.strip() for cell in cells.split(","))
                theirs = SDMA_NAMES.get(packet, packet)
                if packet == "packet" or packet == "name":
                    continue
                compared += 1
                if kind == "PACKET":
                    first = packet.split("_")[0]
                    known = (numbers.get("OP_" + SDMA_OPS.get(first, first)),
                             numbers.get("SUBOP_" + SDMA_SUBOPS.get(packet, packet), 0), dwords.get(theirs))
                    if (int(cells[0]), int(cells[1]), int(cells[3])) != known:
                        problems.append(f"sdma.def: {packet}; operation, its variant, dwords in Linux's header: {known}")
                else:
                    place = (int(cells[1]), 0, 64) if kind == "PAIR" else tuple(int(cell) for cell in cells[1:])
                    ours.setdefault(theirs, {})[place] = cells[0]
    for packet, fields in packets.items():
        mine = ours.get(packet, {})
        for place in sorted(set(fields) | set(mine)):
            if fields.get(place) != mine.get(place):
                problems.append(f"SDMA {packet}: {place} is {mine.get(place)}; in Linux's header: {fields.get(place)}")
    problems += [f"SDMA {packet}: no such packet in Linux's header" for packet in ours if packet not in packets]
    return compared, problems


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tree, linux = sys.argv[1:]
    with open(os.path.join(linux, HEADER), encoding="utf-8") as file:
        header = file.read()
    with open(os.path.join(linux, KIQ_HEADER), encoding="utf-8") as file:
        shifts = {match[1]: int(match[2]) for match in
                  re.finditer(r"define\s+(\w+)(?:\(x\))?\s+\((?:\(x\)|\d) << (\d+)\)", file.read())}
    opcode_count, lines = opcode_problems(tree, linux)
    known = {packet: fields(header, struct) for packet, struct in STRUCTS.items()}
    with open(os.path.join(linux, LONG_HEADER), encoding="utf-8") as file:
        header = file.read()
    for packet, struct in LONG.items():
        known[packet] = fields(header, struct) | known[packet]
    with open(os.path.join(tree, "facts/packets/pm4_fields.def"), encoding="utf-8") as file:
        rows = ROW.findall(file.read())
    compared, problems = 0, 0
    for kind, cells in rows:
        packet, name, *numbers = (cell.strip() for cell in cells.split(","))
        if packet == "packet":
            continue
        numbers = [int(number) for number in numbers]
        if packet.endswith(KIQ):
            compared += 1
            low = shifts.get(f"PACKET3_{packet[:-len(KIQ)]}_{name.upper()}")
            if low != numbers[1]:
                problems += 1
                print(f"{packet}.{name}: low bit {numbers[1]}; in Linux's header: {low}")
            continue
        if packet not in STRUCTS:
            if macro := MACROS.pop(f"{packet}.{name}", None):
                compared += 1
                if shifts.get(macro) != numbers[1]:
                    problems += 1
                    print(f"{packet}.{name}: low bit {numbers[1]}; {macro} in Linux's header: {shifts.get(macro)}")
            continue
        ours = {name: tuple(numbers)} if kind == "FIELD" else {
            name + "_lo": (numbers[0], 0, 32), name + "_hi": (numbers[0] + 1, 0, 32)}
        for field, place in ours.items():
            compared += 1
            if known[packet].get(field) != place:
                problems += 1
                print(f"{packet}.{field}: {place}; in Linux's header: {known[packet].get(field)}")
    for field in MACROS:
        problems += 1
        print(f"{field}: there is no such row")
    rows_of_sdma, more = sdma_problems(tree, linux)
    lines += more
    for line in lines:
        print(line)
    print(f"{opcode_count} opcodes and {compared} fields of PM4 and {rows_of_sdma} rows of SDMA compared, "
          f"{problems + len(lines)} differ")
    sys.exit(1 if problems or lines or opcode_count < 60 or compared < 40 or rows_of_sdma < 250 else 0)


if __name__ == "__main__":
    main()
