#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what a user of `lyra replay` and `--record` meets: output, messages, exit codes. Run as a CTest.

usage: cli_replay.py PROGRAM KERNELS RECORDINGS
PROGRAM is lyra, KERNELS is tools/inproc/testdata/kernels.cl compiled, RECORDINGS the folder with *.rec
"""
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM, KERNELS, RECORDINGS = sys.argv[1:4]


def call(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, check=False)


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.file = os.path.join(cls.folder.name, "add.rec")
        plain, recorded = (call("exec", KERNELS, "--kernel", "add", "--grid=8", "--block=64", "--arg=iota:f32:512",
                                "--arg=fill:f32:512:0.5", "--arg=fill:f32:512:0", "--arg=i32:512", "--deterministic", *more)
                           for more in ((), ("--record", cls.file)))
        assert recorded.returncode == 0, recorded.stderr
        assert plain.stderr == recorded.stderr, "a device that is recorded does something else"
        cls.printed = recorded.stderr

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def replay(self, *arguments, file=None, status=0):
        result = call("replay", file or self.file, *arguments)
        self.assertEqual(result.returncode, status, result.stdout + result.stderr)
        return result

    def json(self, *arguments, **more):
        return json.loads(self.replay("--json", *arguments, **more).stdout)

    def changed(self, change):
        """The recording after a change of its bytes. @return its path"""
        path = os.path.join(self.folder.name, "changed.rec")
        with open(self.file, "rb") as file, open(path, "wb") as out:
            out.write(change(gzip.decompress(file.read())))
        return path

    def test_a_recording_in_the_hosts_time_is_replayed(self):
        file = os.path.join(self.folder.name, "host.rec")
        recorded = call("exec", KERNELS, "--kernel", "add", "--grid=8", "--block=64", "--arg=iota:f32:512",
                        "--arg=fill:f32:512:0.5", "--arg=fill:f32:512:0", "--arg=i32:512", "--record", file)
        self.assertEqual(recorded.returncode, 0, recorded.stderr)
        result = self.json("--check", file=file)
        self.assertTrue(result["complete"])
        self.assertEqual(result["device"]["time"], "host")
        self.assertRegex(recorded.stderr, r"trace hash [0-9a-f]{16}, \d+ events, device time 0\.\d{9} s")
        self.assertIn(f"trace hash {result['trace_hash']}, {result['trace_events']} events", recorded.stderr)
        self.assertIn("run 200000 instructions", self.replay("--print", file=file).stdout)

    def test_a_recording_is_replayed(self):
        self.assertRegex(self.replay("--check").stdout, r"\ntrace hash [0-9a-f]{16} after \d+ events: as recorded\n")
        result = self.json("--check")
        self.assertTrue(result["complete"])
        self.assertEqual(result["difference"], "")
        self.assertIn(f"trace hash {result['trace_hash']}, {result['trace_events']} events", self.printed)
        self.assertEqual(result["device"]["chip"], "gfx900")
        self.assertEqual(result["counters"]["dispatches"], 1)
        self.assertEqual(result["counters"]["waves"], 8)

    def test_recordings_of_guests_are_replayed(self):
        for name in ("address_fault", "sdma_packet"):
            self.assertTrue(self.json("--check", file=os.path.join(RECORDINGS, name + ".rec"))["complete"])

    def test_it_stops_where_it_is_told(self):
        whole = self.json()
        self.assertEqual(self.json("--until", "10")["calls"], 10)
        self.assertEqual(self.json("--until", "0")["calls"], 0)
        last = self.json("--until", f"{whole['trace_events']}events")
        self.assertEqual(last["trace_events"], whole["trace_events"])
        some = self.json("--until", "9events")
        self.assertEqual(self.json("--until", str(some["calls"]))["trace_hash"], some["trace_hash"])
        self.assertGreaterEqual(some["trace_events"], 9)
        self.assertLess(self.json("--until", str(some["calls"] - 1))["trace_events"], 9)
        self.assertIn("200events", self.replay("--until", "9event", status=2).stderr)
        half = whole["virtual_ns"] // 2
        some = self.json("--until", f"{half}ns")
        self.assertLess(some["calls"], whole["calls"])
        self.assertLessEqual(some["virtual_ns"], half + 1000)
        self.assertFalse(some["complete"])
        self.assertIn("as recorded until there", self.replay("--until", "10").stdout)

    def test_it_prints_registers_events_and_memory(self):
        text = self.replay("--print").stdout
        self.assertRegex(text, r"ns  #\d+ +write CP_MEC_CNTL = 0x0\n")
        self.assertIn("write GRBM_GFX_CNTL = 0x204 (MEID 1, QUEUEID 2)\n", text)
        self.assertIn("write CP_HQD_EOP_RPTR = 0x80000000 (INIT_FETCHER)\n", text)
        self.assertIn("write CP_HQD_EOP_BASE_ADDR = 0xc0\n", text)
        self.assertRegex(text, r"write MMHUB.VM_CONTEXT_CNTL\[8\] = 0x7 \(ENABLE_CONTEXT, PAGE_TABLE_DEPTH 3\)\n")
        self.assertRegex(text, r"ns  event     dispatch_begin dispatch=\d+ queue=\d+ workgroups=8 ")
        self.assertRegex(text, r"ns  memory    VRAM 0x[0-9a-f]+: \d+ pages?\n")
        self.assertRegex(text, r"doorbell 0x4000 = 0x0\n")
        self.assertRegex(text, r"event     packet .*: KernelDispatch header=\w+ completion_signal=\w+ .*grid_size_x=512 ")
        times = [int(line[:14]) for line in text.splitlines() if " ns  event" in line]
        self.assertEqual(times, sorted(times))

    def test_it_prints_packets_with_their_fields(self):
        text = self.replay("--print", file=os.path.join(RECORDINGS, "sdma_packet.rec")).stdout
        self.assertRegex(text, r"ns  run list  MAP_PROCESS pasid=\w+ .*vm_context_page_table_base_addr_lo32=")
        for words in ("RUN_LIST ib_base_lo=", "UNMAP_QUEUES queue_sel=", "INDIRECT_BUFFER ib_base=", "RELEASE_MEM event_type=",
                      "WAIT_REG_MEM function=", "SET_RESOURCES queue_mask=", "FENCE addr=0x", "WRITE_LINEAR dst_addr=0x"):
            self.assertTrue(re.search("event     packet .*: " + re.escape(words), text), words)

    def test_it_prints_waves_with_their_groups(self):
        text = self.replay("--print").stdout
        dispatch, queue = re.search(r"dispatch_begin dispatch=(\d+) queue=(\d+) workgroups=8 ", text).groups()
        for event in ("wave_begin", "wave_end"):
            words = rf"event     {event} cu=\d+ slot=\d+ .*: dispatch={dispatch} group=(\d+),0,0 wave=0 queue={queue}\n"
            self.assertEqual(sorted(re.findall(words, text)), [str(group) for group in range(8)], event)

    def test_it_prints_a_wave_that_is_saved(self):
        text = self.replay("--print", file=os.path.join(RECORDINGS, "address_fault.rec")).stdout
        of = [re.findall(rf"event     wave_{event} .*: (.*)\n", text) for event in ("begin", "trap", "saved", "end")]
        group = "dispatch=1 group=0,0,0 wave=0 queue=2"
        self.assertEqual(of, [[group], [group, group], [group], ["dispatch=1 wave=0 queue=2"]])

    def test_it_shows_waves_in_the_middle(self):
        begin = re.search(r"(\d+) ns  event     dispatch_started", self.replay("--print").stdout)
        text = self.replay("--state", "--until", str(int(begin[1]) + 1500) + "ns").stdout
        self.assertTrue(re.search(r"/pc = 0x[0-9a-f]+\n", text), "no wave")
        commits = self.replay("--log-commits", "-").stdout
        self.assertGreater(commits.count("v_add_f32"), 7)

    def test_differences_fail_a_check(self):
        # The last checkpoint is at the end: one bit of the number of instructions.
        path = self.changed(lambda data: data[:-1] + bytes([data[-1] ^ 1]))
        self.assertIn("trace hash", self.replay("--check", file=path, status=1).stderr)
        self.assertIn("differs", self.replay(file=path).stdout)

    def test_one_that_is_cut_off_is_replayed_as_far_as_it_goes(self):
        path = self.changed(lambda data: data[:-200])
        self.assertIn("as recorded as far as it goes", self.replay(file=path).stdout)
        self.assertIn("ends in the middle", self.replay("--check", file=path, status=1).stderr)

    def test_damage_is_named(self):
        self.assertIn("not a recording", self.replay(file=KERNELS, status=2).stderr)
        self.assertIn("cannot read", self.replay(file="nowhere.rec", status=2).stderr)
        path = self.changed(lambda data: data.replace(b"gfx900", b"gfx901", 1))
        self.assertIn("unknown chip 'gfx901'", self.replay(file=path, status=2).stderr)
        path = self.changed(lambda data: data.replace(b"lyra recording\n\2", b"lyra recording\n\3", 1))
        self.assertIn("format 3", self.replay(file=path, status=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
