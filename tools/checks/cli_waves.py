#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks `lyra waves` on save areas that are made up here, of chips with and without AccVGPRs. Run as a CTest.

usage: cli_waves.py PROGRAM
"""
import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]
STACK = 0x1000                                # here the records begin
STATUS = 1 << 5 | 1 << 6 | 1 << 16            # PRIV, TRAP_EN, VALID
FIRST, LAST, STATE = 1 << 17, 1 << 16, 1 << 31
SGPRS, LDS = 16, 512


def record(vgprs):
    """One wave: VGPR n has 0x100 + n in each lane, SGPR n has 0x200 + n, dword n of LDS has 0x300 + n."""
    words = [0x100 + n for n in range(vgprs) for _ in range(64)] + [0x200 + n for n in range(SGPRS)]
    hardware = [0] * 16
    hardware[1], hardware[3], hardware[5] = 0x6000, 0xff, STATUS
    words += hardware + [0] * 16 + [0x300 + n for n in range(LDS // 4)] + [0] * 16
    return struct.pack(f"<{len(words)}I", *words)


def area(vgprs, state, wave):
    """A save area with one wave. state and wave: its words of the control stack."""
    stack = struct.pack("<4I", 0, 0, STATE | state | LDS // 512 << 9 | (SGPRS + 16) // 16 - 1 << 6, FIRST | LAST | wave)
    saved = record(vgprs)
    header = struct.pack("<4I", STACK - len(stack), len(stack), STACK + len(saved), len(saved))
    return header.ljust(STACK - len(stack), b"\0") + stack + saved


class Waves(unittest.TestCase):
    def waves(self, data, *arguments, status=0):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "area")
            with open(path, "wb") as file:
                file.write(data)
            done = subprocess.run([PROGRAM, "waves", path, *arguments], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout + done.stderr

    # 24 registers; shader engine 2.
    GFX900 = area(24, 24 // 4 - 1, 2 << 11)
    # 40 registers, of which the 12th and those behind it are AccVGPRs; shader engine 5.
    GFX90A = area(40, 40 // 8 - 1 | 12 // 4 - 1 << 24, 5 << 9)

    def test_registers_of_gfx900(self):
        wave, = json.loads(self.waves(self.GFX900, "--json"))["waves"]
        self.assertEqual([row[63] for row in wave["vgprs"]], [0x100 + n for n in range(24)])
        self.assertEqual((wave["accvgprs"], wave["engine"], wave["sgprs"][15], wave["pc"]), ([], 2, 0x20f, 0x6000))
        text = self.waves(self.GFX900)
        self.assertIn("vgprs 24 sgprs 16 lds 512", text)
        self.assertIn("  v23   00000117*64\n", text)

    def test_registers_of_gfx90a(self):
        wave, = json.loads(self.waves(self.GFX90A, "--json", "--chip", "gfx90a"))["waves"]
        self.assertEqual([row[0] for row in wave["vgprs"]], [0x100 + n for n in range(12)])
        self.assertEqual([row[63] for row in wave["accvgprs"]], [0x10c + n for n in range(28)])
        self.assertEqual((wave["engine"], wave["sgprs"][15], wave["lds_bytes"]), (5, 0x20f, 512))
        text = self.waves(self.GFX90A, "--chip", "gfx90a", "--lds")
        for part in ("vgprs 12 accvgprs 28 sgprs 16", "  v11   0000010b*64\n  a0    0000010c*64\n", "  a27   00000127*64\n",
                     "  lds   00000300 00000301 "):
            self.assertIn(part, text)
        self.assertNotIn("  v12 ", text)

    def test_another_chip_is_damage(self):
        self.assertIn("damaged: records", self.waves(self.GFX90A, status=1))
        self.assertIn("damaged: ", self.waves(self.GFX900, "--chip", "gfx90a", status=1))
        self.assertIn("unknown chip 'gfx1'", self.waves(self.GFX900, "--chip", "gfx1", status=2))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
