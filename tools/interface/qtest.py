# SPDX-License-Identifier: MIT
"""QEMU without a processor: the tests are the guest, by the qtest protocol, and QEMU's monitor beside it.

PCI functions by number, and Gpu with its BARs where a firmware would put them."""
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time

MACHINE = ("-machine", "q35,accel=qtest", "-display", "none", "-nodefaults", "-no-user-config", "-m", "64")
GPU = "lyra,id=gpu,bus=pcie.0,addr=4,vram=256M"
ANSWER_S = 20  # no answer takes a second
CONFIG_WINDOW = 0xb0000000
UNMAPPED = (1 << 64) - 1

COMMAND, STATUS, CAPABILITIES, ROM_BAR = 0x04, 0x06, 0x34, 0x30
MEMORY, MASTER = 2, 4
BAR = {0: 0x10, 2: 0x18, 5: 0x24}
PM, MSI, EXPRESS = 0x01, 0x05, 0x10
PLACES = {0: 0x8000000000, 2: 0x9000000000, 5: 0xc0000000}


class QemuError(Exception):
    """The description of an error of the monitor."""


class Line:
    """A socket with lines of text; `other` is the end for QEMU."""

    def __init__(self):
        self.socket, self.other = socket.socketpair()
        self.socket.settimeout(ANSWER_S)
        self.stream = self.socket.makefile("rw")

    def write(self, text):
        self.stream.write(text + "\n")
        self.stream.flush()

    def read(self):
        line = self.stream.readline()
        if not line:
            raise EOFError("QEMU has ended")
        return line.strip()


def arguments(program, words):
    return [program, *MACHINE, *words]


class Machine:
    """A QEMU that runs. words are further options."""

    def __init__(self, program, library_folder, *words):
        self.qtest, self.monitor, self.events, self.status = Line(), Line(), [], 0
        fds = [line.other.fileno() for line in (self.qtest, self.monitor)]
        lines = ("-chardev", f"socket,id=qtest,fd={fds[0]}", "-qtest", "chardev:qtest", "-qtest-log", "none",
                 "-chardev", f"socket,id=monitor,fd={fds[1]}", "-mon", "chardev=monitor,mode=control")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*arguments(program, words), *lines], pass_fds=fds, stderr=self.errors,
                                        env=environment(library_folder))
        for line in (self.qtest, self.monitor):
            line.other.close()
        try:
            self.monitor.read()
            self.qmp("qmp_capabilities")
        except (EOFError, ConnectionError):
            self.process.wait()
            raise RuntimeError(self.stderr()) from None

    def stderr(self):
        self.errors.seek(0)
        return self.errors.read()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        with contextlib.suppress(OSError, EOFError, QemuError):
            self.qmp("quit")
        try:
            status = self.ended()
        finally:
            self.process.kill()
            self.process.wait()
        print(self.stderr(), file=sys.stderr)  # which pytest shows of a test that fails
        assert status == self.status, f"QEMU ends with status {status}"

    def ended(self):
        """@return its exit status"""
        return self.process.wait(ANSWER_S)

    # ---- monitor ----

    def qmp(self, command, **words):
        self.monitor.write(json.dumps({"execute": command, "arguments": words}))
        while True:
            answer = json.loads(self.monitor.read())
            if "event" in answer:
                self.events.append(answer)
            elif "error" in answer:
                raise QemuError(answer["error"]["desc"])
            else:
                return answer["return"]

    def event(self, name, **data):
        """Wait for an event that has these data, and forget it and those before."""
        while True:
            while self.events:
                event = self.events.pop(0)
                if event["event"] == name and data.items() <= event.get("data", {}).items():
                    return event
            self.events.append(json.loads(self.monitor.read()))

    def reset(self):
        self.qmp("system_reset")
        self.event("RESET")

    def stat(self, name, device="gpu"):
        return self.qmp("qom-get", path=device, property=f"stat-{name}")

    # ---- accesses ----

    def ask(self, text):
        self.qtest.write(text)
        word, *answer = self.qtest.read().split()
        assert word == "OK", f"{text}: {word} {' '.join(answer)}"
        return int(answer[0], 0) if answer else None

    def read(self, address, size=4):
        return self.ask(f"read{'_bw_l___q'[size]} {address:#x}")

    def write(self, address, value, size=4):
        self.ask(f"write{'_bw_l___q'[size]} {address:#x} {value:#x}")

    def port_config(self, address, value=None):
        """Configuration space by its two I/O ports."""
        self.ask(f"outl 0xcf8 {0x80000000 | address:#x}")
        return self.ask("inl 0xcfc") if value is None else self.ask(f"outl 0xcfc {value:#x}")

    def open_config_window(self):
        """All 4096 bytes of each function, as firmware sets it up in the host bridge."""
        self.port_config(0x64, 0)
        self.port_config(0x60, CONFIG_WINDOW | 1)

    def until(self, what):
        """For what the main loop of QEMU or the thread of the device does between two commands."""
        end = time.monotonic() + ANSWER_S
        while not (done := what()) and time.monotonic() < end:
            pass
        return done


class Function:
    """A PCI function's configuration space."""

    def __init__(self, machine, slot, bus=0):
        self.machine, self.window = machine, CONFIG_WINDOW | bus << 20 | slot << 15

    def get(self, offset, size=4):
        return self.machine.read(self.window + offset, size)

    def set(self, offset, value, size=4):
        self.machine.write(self.window + offset, value, size)

    def capabilities(self):
        """Place by id."""
        found, at = {}, self.get(CAPABILITIES, 1)
        while at:
            found[self.get(at, 1)] = at
            at = self.get(at + 1, 1)
        return found

    def extended_capabilities(self):
        found, at = {}, 0x100
        while at and (header := self.get(at)):
            found[header & 0xffff] = at
            at = header >> 20
        return found

    def size_of(self, offset, wide):
        """Of a BAR, by writing ones. @return size and type"""
        old = [self.get(offset + i) for i in range(0, 8 if wide else 4, 4)]
        for i in range(len(old)):
            self.set(offset + 4 * i, 0xffffffff)
        ones = self.get(offset) | (self.get(offset + 4) if wide else 0xffffffff) << 32
        for i, value in enumerate(old):
            self.set(offset + 4 * i, value)
        return (1 << 64) - (ones & ~0xf), ones & 0xf


class Gpu(Function):
    """The device with its BARs at PLACES and everything on. new=False: that has been done."""

    def __init__(self, machine, slot=4, bus=0, new=True):
        super().__init__(machine, slot, bus)
        if new:
            machine.open_config_window()
            self.set_up()

    def set_up(self):
        self.map()
        self.set(COMMAND, MEMORY | MASTER, 2)

    def map(self):
        for number, place in PLACES.items():
            self.set(BAR[number], place & 0xffffffff)
            if number != 5:
                self.set(BAR[number] + 4, place >> 32)

    def bars(self):
        return [self.get(BAR[0] + 4 * number) & ~0xf for number in range(6)]

    def read(self, offset, size=4):
        return self.machine.read(PLACES[5] + offset, size)

    def write(self, offset, value, size=4):
        self.machine.write(PLACES[5] + offset, value, size)

    def ring(self, offset, value, size=8):
        self.machine.write(PLACES[2] + offset, value, size)

    def doorbell(self, offset, size=8):
        return self.machine.read(PLACES[2] + offset, size)

    def set_msi(self, address, data, on=True):
        at = self.capabilities()[MSI]
        self.set(at + 4, address)
        self.set(at + 8, 0)
        self.set(at + 12, data, 2)
        self.set(at + 2, on, 2)

    def set_power(self, state):
        self.set(self.capabilities()[PM] + 4, state, 2)


def environment(library_folder):
    return {**os.environ, **({"LD_LIBRARY_PATH": library_folder} if library_folder else {})}


def run_to_the_end(program, library_folder, *words):
    """For options that are wrong. @return exit status and what QEMU says"""
    done = subprocess.run([*arguments(program, words), "-S", "-monitor", "none"], stderr=subprocess.PIPE, text=True,
                          env=environment(library_folder), timeout=ANSWER_S)
    return done.returncode, done.stderr
