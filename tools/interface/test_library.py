# SPDX-License-Identifier: MIT
"""The functions of lyra.h: configuration, accesses, counters, ROM."""
import ctypes
import re

import lyra_api
import pytest

GIB = 1 << 30
ONES = (1 << 64) - 1
NOWHERE = "/nonexistent/file"

# Fields of lyra_config, and a part of what lyra_create() says of it.
WRONG = (
    ({"abi_version": 0}, "interface version 0 "),
    ({"abi_version": 99}, "interface version 99 "),
    ({"chip": "gfx1250"}, "'gfx1250'"),
    ({"chip": None}, "unknown chip"),
    ({"vram_bytes": 3 * GIB}, f"VRAM of {3 * GIB} bytes"),
    ({"vram_bytes": 128 << 20}, "power of two"),
    ({"vram_bytes": 128 * GIB}, "to 64G"),
    ({"compute_units": 0}, "0 compute units"),
    ({"compute_units": 7}, "7 compute units"),
    ({"compute_units": 68}, "multiple of 4 up to 64"),
    ({"threads": 65}, "65 threads"),
    ({"xccs": 2}, "gfx900 has one"),
    ({"chip": "gfx942", "xccs": 1}, "power of two up to 8"),
    ({"chip": "gfx942", "xccs": 6, "compute_units": 12}, "power of two up to 8"),
    ({"chip": "gfx942", "xccs": 16, "compute_units": 16}, "power of two up to 8"),
    ({"chip": "gfx942", "xccs": 8, "compute_units": 12}, "12 compute units"),
    ({"fp_exceptions": "never"}, "'never'"),
    ({"timing": "patience_ns=1"}, "'patience_ns'"),
    ({"timing": "quantum_ns=soon"}, "quantum_ns: 'soon'"),
    ({"firmware": "rescue=perhaps"}, "'perhaps'"),
    ({"firmware": "mood=on"}, "'mood'"),
    ({"strict": "tlb,l3"}, "'l3'"),
    ({"strict": "l2", "virtual_time": True}, "virtual time"),
    ({"strict": "l2", "repeatable": True}, "not repeatable"),
    ({"trace_path": NOWHERE}, NOWHERE),
    ({"commit_log_path": NOWHERE}, NOWHERE),
    ({"record_path": NOWHERE}, "a recording needs virtual time or a repeatable device"),
    ({"record_path": NOWHERE, "virtual_time": True}, NOWHERE),
    ({"record_path": NOWHERE, "repeatable": True}, NOWHERE),
)
# Every value of these is right.
ANY_VALUE = {"virtual_time", "histogram", "poison", "jit", "ih_overflow", "log_packets", "record_limit_bytes"}


@pytest.mark.parametrize("fields, text", WRONG, ids=lambda value: ",".join(value) if isinstance(value, dict) else "")
def test_refuses_a_wrong_field_and_says_which(library, fields, text):
    with pytest.raises(lyra_api.Refused) as refused, lyra_api.Device(library, **fields):
        pass
    assert text in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_wrong_value_of_each_field_is_tried(library):
    tried = {name for fields, _ in WRONG for name in fields}
    assert tried | ANY_VALUE == {name for name, _ in library.header.structs["lyra_config"]._fields_}


def test_refuses_to_be_without_vram(library):
    assert library.lyra_create(library.config(), None, None, None, None, 0) is None


def test_the_default_configuration(library):
    config = library.header.structs["lyra_config"]()
    library.lyra_config_init(config)
    assert config.abi_version == library.constant("LYRA_ABI_VERSION")
    assert (config.chip, config.vram_bytes, config.compute_units, config.threads) == (b"gfx900", 2 * GIB, 8, 1)
    assert config.jit
    assert not (config.virtual_time or config.repeatable or config.histogram or config.poison)
    assert not (config.ih_overflow or config.log_packets)
    assert not (config.trace_path or config.timing or config.firmware or config.strict or config.record_path)


@pytest.mark.parametrize("fields", ({"chip": "gfx906"}, {"compute_units": 1}, {"compute_units": 64}, {"threads": 64},
                                    {"strict": "tlb,hdp,l2"}, {"fp_exceptions": "always"}), ids=str)
def test_takes_the_ends_of_the_ranges(library, register, fields):
    with lyra_api.Device(library, **fields) as device:
        assert device.read(register["RCC_CONFIG_MEMSIZE"]) == 256


def test_the_version_has_numbers_and_an_id(library):
    assert re.fullmatch(r"\d+\.\d+\.\d+ \(\w+\)", library.lyra_version().decode())


# ---- BAR5 ----


def test_registers_are_composed_of_dwords(device, register):
    low = register["BIOS_SCRATCH_0"]
    device.write(low, 0x44332211)
    device.write(low + 4, 0x88776655)
    assert device.read(low, 8) == 0x8877665544332211
    assert [device.read(low + i, 2) for i in (0, 2)] == [0x2211, 0x4433]
    assert [device.read(low + i, 1) for i in range(4)] == [0x11, 0x22, 0x33, 0x44]
    device.write(low, 0x0123456789abcdef, 8)
    assert (device.read(low), device.read(low + 4)) == (0x89abcdef, 0x01234567)


@pytest.mark.parametrize("place, size", ((0, 1), (0, 2), (2, 2), (2, 4), (4, 8)))
def test_a_write_of_another_size_or_place_has_no_effect(device, register, place, size):
    low = register["BIOS_SCRATCH_0"] & ~7
    before = [device.read(low + i) for i in (0, 4, 8)]
    device.write(low + place, ONES, size)
    assert [device.read(low + i) for i in (0, 4, 8)] == before
    assert device.count("fault-MmioSize") == 1
    assert device.count("mmio_writes") == 0
    assert any(f"write of {size} bytes" in text for _, text in device.log)


@pytest.mark.parametrize("size", (1, 2, 4, 8))
def test_behind_the_end_reads_are_ones(device, library, size):
    end = library.constant("LYRA_REGISTER_BAR_BYTES")
    for offset in (end, end + 0x1000, 1 << 32, ONES - 7):
        assert device.read(offset, size) == ONES
        device.write(offset, 0, size)
    assert device.count("fault-MmioSize") == 4


def test_an_access_over_the_end_has_its_half(device, library):
    end = library.constant("LYRA_REGISTER_BAR_BYTES")
    device.write(end - 4, 0x1234)
    assert device.read(end - 4, 8) == 0xffffffff00001234
    assert device.count("fault-RegisterRange") == 1


def test_reset_brings_registers_back(device, library, rows):
    nobodys = library.constant("LYRA_REGISTER_BAR_BYTES") - 4
    device.write(nobodys, 1)
    assert device.read(nobodys) == 1
    kept = {name: row for name, row in rows.items() if row.owner in ("Storage", "Ih")}
    before = {name: device.read(row.offset) for name, row in kept.items()}
    for row in kept.values():
        device.write(row.offset, ~device.read(row.offset) & 0xffffffff)
    changed = {name for name, row in kept.items() if device.read(row.offset) != before[name]}
    assert len(changed) > 100
    resets = device.count("resets")
    device.reset()
    assert {name: device.read(row.offset) for name, row in kept.items()} == before
    assert device.read(nobodys) == 0
    assert device.count("resets") == resets + 1


def test_registers_have_the_values_of_their_rows(device, rows):
    plain = {name: row.reset for name, row in rows.items() if row.owner in ("Storage", "Psp") and row.reset}
    assert len(plain) > 3
    assert {name: device.read(rows[name].offset) for name in plain} == plain


# ---- BAR2 and BAR0 ----


def test_doorbells_keep_what_was_written(device, library, register):
    last = library.constant("LYRA_DOORBELL_BAR_BYTES") - 8
    device.write(register["RCC_DOORBELL_APER_EN"], 1)
    device.ring(last, 0x1122334455667788)
    device.ring(0x1000, 0xa5, 4)
    device.ring(0x1004, 0x5a, 4)
    assert device.doorbell_read(last, 8) == 0x1122334455667788
    assert (device.doorbell_read(last, 4), device.doorbell_read(last + 4, 4)) == (0x55667788, 0x11223344)
    assert device.doorbell_read(0x1000, 8) == 0x5a000000a5
    assert device.count("doorbells") == 3
    device.reset()
    assert device.doorbell_read(last, 8) == 0


def test_doorbells_need_their_aperture(device):
    device.ring(0x1000, 1)
    assert device.doorbell_read(0x1000, 8) == 0
    assert device.count("fault-DoorbellAperture") == 1


def test_doorbells_behind_the_end_are_none(device, library, register):
    end = library.constant("LYRA_DOORBELL_BAR_BYTES")
    device.write(register["RCC_DOORBELL_APER_EN"], 1)
    for offset, size in ((end, 8), (end - 4, 8), (0x1004, 8), (0x1002, 4), (ONES - 7, 8)):
        device.ring(offset, 1, size)
        assert device.doorbell_read(offset, size) == ONES
    assert device.count("doorbells") == 0


def test_vram_by_calls_is_the_memory_of_the_host(device):
    device.vram_write(0x1234, 0x8877665544332211, 8)
    assert device.vram[0x1234:0x123c] == bytes(range(0x11, 0x99, 0x11))
    assert device.vram_read(0x1237, 2) == 0x5544
    end = device.config.vram_bytes
    device.vram_write(end - 4, 0, 8)
    assert device.vram_read(end - 4, 8) == ONES
    assert not device.traps_vram()


def test_strict_stores_of_the_host_wait_for_a_flush(library, register):
    with lyra_api.Device(library, clock=lambda: 0, strict="hdp") as device:
        assert device.traps_vram()
        device.vram_write(0x2000, 0x55, 1)
        assert (device.vram[0x2000], device.vram_read(0x2000, 1)) == (0, 0x55)
        device.write(register["GPU_HDP_FLUSH_REQ"], 1)
        assert device.vram[0x2000] == 0x55


def test_vram_through_registers(device, register):
    device.vram[0x30000:0x30004] = b"lyra"
    device.write(register["MM_INDEX"], 0x80030000)
    assert device.read(register["MM_DATA"]).to_bytes(4, "little") == b"lyra"


# ---- counters, timing, ROM ----


def test_names_of_counters(library, device):
    names = library.stat_names()
    assert len(names) > 60 and all(names) and len(set(names)) == len(names)
    assert {"msis", "resets", "instructions", "fault-BusAddress"} <= set(names)
    assert library.lyra_stat_name(len(names)) is None
    assert device.stat(b"no_such_counter") == 0


def test_nothing_is_generated_for_a_device_without_waves(library, device):
    def generated():
        blocks, ns = ctypes.c_uint64(~0), ctypes.c_uint64(~0)
        library.lyra_generated_code(blocks, ns)
        return blocks.value, ns.value

    before = generated()
    device.run(1000)
    assert generated() == before
    assert before[0] < 1 << 32 and (before[0] == 0) == (before[1] == 0), "the call has written both"


def test_timing_is_what_was_asked_for(library):
    with lyra_api.Device(library, virtual_time=True, timing="interrupt_ns=777") as device:
        assert device.timing(b"interrupt_ns") == 777
        assert device.timing(b"mmio_read_ns") > 0
        assert device.timing(b"no_such_time") == 0


def test_the_rom_is_that_of_a_pci_device(device):
    rom = device.rom()
    pcir = int.from_bytes(rom[0x18:0x1a], "little")
    assert rom[:2] == b"\x55\xaa" and rom[2] * 512 == len(rom)
    assert rom[pcir:pcir + 6] == b"PCIR\x02\x10"
    assert sum(rom) % 256 == 0
