#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the fields of facts/packets/pm4_fields.def against the driver's structures.

usage: packets.py SOURCE_TREE LINUX          exit status 1 and a line for each field that differs
LINUX is a kernel tree of 6.12 or later; amdkfd/kfd_pm4_headers_ai.h and amdgpu/soc15d.h are read. For packets that go not only
to the scheduler the latter has low bits, but neither widths nor ordinals; many fields are in neither.
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
KIQ_HEADER = "drivers/gpu/drm/amd/amdgpu/soc15d.h"
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
        elif match := re.match(r"uint32_t\s+(\w+);", line):
            if not depth:
                out[match[1]] = (ordinal, 0, 32)
                ordinal += 1
    return out


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tree, linux = sys.argv[1:]
    with open(os.path.join(linux, HEADER), encoding="utf-8") as file:
        header = file.read()
    with open(os.path.join(linux, KIQ_HEADER), encoding="utf-8") as file:
        shifts = {match[1]: int(match[2]) for match in
                  re.finditer(r"define\s+(\w+)(?:\(x\))?\s+\((?:\(x\)|\d) << (\d+)\)", file.read())}
    known = {packet: fields(header, struct) for packet, struct in STRUCTS.items()}
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
    print(f"{compared} fields compared, {problems} differ")
    sys.exit(1 if problems or compared < 40 else 0)


if __name__ == "__main__":
    main()
