# SPDX-License-Identifier: MIT
"""Registers by name, from facts/registers/, and the interrupt ring that tests set up with them."""
import collections
import os
import re

Register = collections.namedtuple("Register", "offset reset owner")
TABLES = ("gc", "lyra", "misc", "nbio")
ROW = re.compile(r"^REG\(\w+, *(\w+), *(\w+), *(\w+), *(\w+)\)", re.M)
ARRAY = re.compile(r"^REG_ARRAY\(\w+, *\w+, *(\w+), *(\w+), *\d+, *(\w+)\)", re.M)

# IH_RB_CNTL: enable, pointer to memory, interrupt.
RING_ON = 1 | 1 << 8 | 1 << 17
VECTOR_BYTES = 32
POINTER = 0x800  # where the ring's write pointer goes, behind the ring
USER_DOORBELL = 0x1000


def read_tables(source):
    found = {}
    for table in TABLES:
        with open(os.path.join(source, "facts/registers", table + ".def"), encoding="utf-8") as file:
            text = file.read()
        for name, offset, reset, owner in ROW.findall(text):
            found[name] = Register(int(offset, 0), int(reset, 0), owner)
        for name, offset, owner in ARRAY.findall(text):
            found[name] = Register(int(offset, 0), 0, owner)
    return found


class Interrupts:
    """Of a GPU with write() and ring(). Those of doorbells without a queue are the only ones that need no queue."""

    def __init__(self, gpu, register, bus, ring_bytes=1024):
        self.gpu, self.register = gpu, register
        gpu.write(register["IH_RB_BASE"], bus >> 8)
        gpu.write(register["IH_RB_BASE_HI"], bus >> 40)
        gpu.write(register["IH_RB_WPTR_ADDR_LO"], (bus + POINTER) & 0xffffffff)
        gpu.write(register["IH_RB_WPTR_ADDR_HI"], (bus + POINTER) >> 32)
        gpu.write(register["IH_RB_CNTL"], RING_ON | (ring_bytes.bit_length() - 3) << 1)
        gpu.write(register["RCC_DOORBELL_APER_EN"], 1)

    def arm(self):
        self.gpu.write(self.register["LYRA_DOORBELL_NOTIFY"], 1)

    def cause(self, doorbell=USER_DOORBELL):
        """One interrupt. It is in the ring when a register has been read after this."""
        self.arm()
        self.gpu.ring(doorbell, 1)

    def pointer(self):
        return self.gpu.read(self.register["IH_RB_WPTR"])
