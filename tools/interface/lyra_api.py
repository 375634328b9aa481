# SPDX-License-Identifier: MIT
"""liblyra through ctypes: Library has the functions of lyra.h by their names, Device is one with its host."""
import ctypes
import mmap
import threading

import lyra_header

MIB = 1 << 20
VRAM_MOST = 1024 * MIB  # more is only asked for to be refused
ERROR_BYTES = 256


class Refused(Exception):
    """The text that lyra_create() or lyra_load() has written."""


class Library:
    def __init__(self, header, library):
        with open(header, encoding="utf-8") as file:
            self.header = lyra_header.Header(file.read())
        self.binary = ctypes.CDLL(library)
        for name, (result, arguments) in self.header.functions.items():
            function = getattr(self.binary, name)
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        self.free = ctypes.CDLL(None).free
        self.free.argtypes, self.free.restype = [ctypes.c_void_p], None

    def constant(self, name):
        return self.header.constants[name]

    def config(self, **fields):
        """The defaults with VRAM of the smallest size, and what is given."""
        config = self.header.structs["lyra_config"]()
        self.lyra_config_init(config)
        known = {name for name, _ in config._fields_}
        for name, value in {"vram_bytes": 256 * MIB, **fields}.items():
            assert name in known, f"lyra_config has no {name}"
            setattr(config, name, value.encode() if isinstance(value, str) else value)
        return config

    def stat_names(self):
        names = []
        while (name := self.lyra_stat_name(len(names))) is not None:
            names.append(name.decode())
        return names


class Memory:
    """Pages of the host, all 0."""

    def __init__(self, size):
        self.pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.pages))

    def __getitem__(self, place):
        return self.pages[place]

    def __setitem__(self, place, value):
        self.pages[place] = value


class Device:
    """A device, its VRAM, its log, and its MSIs counted. The clock is the host's when one is given, a function."""

    def __init__(self, library, clock=None, **fields):
        self.library, self.log, self.msis, self.msi_came = library, [], 0, threading.Event()
        self.config = library.config(**fields)
        self.vram = Memory(min(self.config.vram_bytes, VRAM_MOST))
        self.ops = self.make_ops(clock)
        error = ctypes.create_string_buffer(ERROR_BYTES)
        self.handle = library.lyra_create(self.config, self.ops, None, self.vram.address, error, ERROR_BYTES)
        if not self.handle:
            raise Refused(error.value.decode())

    def make_ops(self, clock):
        ops = self.library.header.structs["lyra_host_ops"]()
        types = dict(ops._fields_)
        ops.raise_msi = types["raise_msi"](self.count_msi)
        ops.log = types["log"](lambda opaque, level, text: self.log.append((level, text.decode())))
        if clock:
            ops.now_ns = types["now_ns"](lambda opaque: clock())
        return ops

    def count_msi(self, opaque):
        self.msis += 1
        self.msi_came.set()

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.library.lyra_destroy(self.handle)
        self.handle = None

    def __getattr__(self, name):
        """device.reset() is lyra_reset(device)."""
        function = getattr(self.library, "lyra_" + name)
        return lambda *arguments: function(self.handle, *arguments)

    def read(self, offset, size=4):
        return self.library.lyra_mmio_read(self.handle, offset, size)

    def write(self, offset, value, size=4):
        self.library.lyra_mmio_write(self.handle, offset, value, size)

    def ring(self, offset, value, size=8):
        self.library.lyra_doorbell_write(self.handle, offset, value, size)

    def count(self, name):
        assert name in self.library.stat_names(), f"there is no counter {name}"
        return self.library.lyra_stat(self.handle, name.encode())

    def set_ram(self, *ranges):
        """Each range is (bus address, bytes, address in the host, whether it can only be read)."""
        made = (self.library.header.structs["lyra_ram_range"] * len(ranges))(*ranges)
        self.library.lyra_set_ram_map(self.handle, made, len(ranges))

    def save(self, with_vram=False):
        state = ctypes.c_void_p()
        size = self.library.lyra_save(self.handle, with_vram, state)
        assert size
        stream = ctypes.string_at(state, size)
        self.library.free(state)
        return stream

    def load(self, stream):
        error = ctypes.create_string_buffer(ERROR_BYTES)
        if not self.library.lyra_load(self.handle, stream, len(stream), error, ERROR_BYTES):
            raise Refused(error.value.decode())

    def state_text(self):
        text = ctypes.c_char_p()
        size = self.library.lyra_state_text(self.handle, text)
        lines = ctypes.string_at(text, size).decode()
        assert len(text.value) == size
        self.library.free(ctypes.cast(text, ctypes.c_void_p))
        return lines

    def rom(self):
        image = ctypes.c_void_p()
        size = self.library.lyra_rom(self.handle, image)
        return ctypes.string_at(image, size)
