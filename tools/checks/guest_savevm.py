#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Saves a guest in the middle of examples/endless.hip, lets it go on, and takes it back to what was saved.

guest_savevm.py PROGRAM-OF-LYRA [OPTIONS OF lyra run]

The GPU is full of waves that never end while another process works. Counters of the device are those of the saved moment
after the load, and the program then ends well. Exit status 1 when anything differs."""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

GUEST = ["--no-snapshot", "--mem", "1G", "--vram", "256M", "--timeout", "400"]
PROGRAM = os.path.join(os.path.dirname(__file__), "../../examples/endless.hip")


class Monitor:
    """QEMU's monitor. Events are dropped."""

    def __init__(self, path, seconds):
        end = time.monotonic() + seconds
        self.socket = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.socket.connect(path)
                break
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)
        self.stream = self.socket.makefile("rw")
        self.stream.readline()
        self.do("qmp_capabilities")

    def do(self, command, **arguments):
        self.stream.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self.stream.flush()
        while True:
            answer = json.loads(self.stream.readline())
            if "error" in answer:
                sys.exit(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]

    def job(self, command, **arguments):
        """A command that goes on after its answer."""
        self.do(command, **{"job-id": command, **arguments})
        while True:
            jobs = [job for job in self.do("query-jobs") if job["id"] == command]
            if jobs[0]["status"] == "concluded":
                if "error" in jobs[0]:
                    sys.exit(f"{command}: {jobs[0]['error']}")
                return self.do("job-dismiss", id=command)
            time.sleep(0.1)

    def device(self):
        """The QOM path of the GPU."""
        for folder in ("/machine/peripheral-anon", "/machine/peripheral"):
            for child in self.do("qom-list", path=folder):
                if child["type"] == "child<lyra>":
                    return f"{folder}/{child['name']}"
        sys.exit("there is no GPU")


def counters(monitor, device):
    names = ("instructions", "dispatches", "waves", "waves_saved", "waves_restored", "interrupts", "doorbells")
    return {name: monitor.do("qom-get", path=device, property=f"stat-{name}") for name in names}


def make_disk(monitor, path):
    """A qcow2 file that the saved machine goes into."""
    open(path, "wb").close()
    monitor.do("blockdev-add", driver="file", filename=path, **{"node-name": "file"})
    monitor.job("blockdev-create", options={"driver": "qcow2", "file": "file", "size": 1 << 20})
    monitor.do("blockdev-add", driver="qcow2", file="file", **{"node-name": "disk"})


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "monitor")
        argv = [program, "run", *GUEST, *sys.argv[2:]]
        for word in ("-qmp", f"unix:{path},server=on,wait=off"):
            argv.append(f"--qemu={word}")
        with subprocess.Popen([*argv, PROGRAM], stdout=subprocess.PIPE, text=True) as guest:
            try:
                monitor = Monitor(path, 300)
                device = monitor.device()
                while counters(monitor, device)["waves"] < 300:  # the endless ones, which no other work has so many of
                    if guest.poll() is not None:
                        sys.exit("the program has ended too early")
                    time.sleep(0.2)
                make_disk(monitor, os.path.join(folder, "disk.qcow2"))
                monitor.do("stop")
                saved = counters(monitor, device)
                monitor.job("snapshot-save", tag="here", vmstate="disk", devices=["disk"])
                monitor.do("cont")
                while counters(monitor, device)["dispatches"] < saved["dispatches"] + 2:
                    if guest.poll() is not None:
                        sys.exit("the program has ended before it was taken back")
                    time.sleep(0.2)
                monitor.do("stop")
                later = counters(monitor, device)
                monitor.job("snapshot-load", tag="here", vmstate="disk", devices=["disk"])
                loaded = counters(monitor, device)
                monitor.do("cont")
                output = guest.communicate()[0]
            finally:
                guest.terminate()
    print(f"saved: {saved}\nthen: {later}\nloaded: {loaded}\n{output}", end="")
    good = loaded == saved and later["instructions"] > saved["instructions"]
    good = good and guest.returncode == 0 and "PASSED" in output
    print("PASSED" if good else f"FAILED (exit status {guest.returncode})")
    sys.exit(0 if good else 1)


main()
