# SPDX-License-Identifier: MIT
"""State as a stream: there and back, and streams that somebody has changed."""
import random
import re

import lyra_api
import pytest
import registers

DOORBELL = 0x2000


def use(device, register):
    """Leave something in registers, doorbells and blocks."""
    device.write(register["BIOS_SCRATCH_0"], 0xcafe)
    device.set_bus_master(False)
    interrupts = registers.Interrupts(device, register, 0x100000)
    interrupts.cause()  # it waits
    device.ring(DOORBELL, 0x1234567890)
    interrupts.arm()
    device.write(register["PCIE_INDEX2"], 0x40)
    device.write(register["PCIE_DATA2"], 0x77)


def seen(device, register):
    names = ("BIOS_SCRATCH_0", "LYRA_DOORBELL_NOTIFY", "PCIE_DATA2", "IH_RB_CNTL", "IH_RB_WPTR", "RCC_DOORBELL_APER_EN")
    return [device.read(register[name]) for name in names] + [device.doorbell_read(DOORBELL, 8)]


@pytest.fixture
def used(device, register):
    use(device, register)
    return device


def test_a_second_device_goes_on_where_the_first_was(used, library, register):
    stream, counted = used.save(), {name: used.count(name) for name in library.stat_names()}
    with lyra_api.Device(library) as other:
        assert seen(other, register) != seen(used, register)
        other.load(stream)
        assert other.save() == stream
        for name in library.stat_names():
            assert other.count(name) == counted[name], name
        assert seen(other, register) == seen(used, register)
        other.set_bus_master(True)  # what has waited in the first device
        assert other.read(register["IH_RB_WPTR"]) == registers.VECTOR_BYTES
        assert (used.msis, other.msis) == (0, 1)


def test_saving_changes_nothing(used, register):
    before = used.save()
    assert used.save() == before


def test_vram_is_in_the_stream_when_it_is_asked_for(used, library):
    used.vram[0x5000:0x5004] = b"lyra"
    for with_vram, expected in ((False, bytes(4)), (True, b"lyra")):
        with lyra_api.Device(library) as other:
            other.load(used.save(with_vram))
            assert other.vram[0x5000:0x5004] == expected


@pytest.mark.parametrize("field, fields", (
    ("chip", {"chip": "gfx906"}), ("vram_bytes", {"vram_bytes": 512 << 20}), ("compute_units", {"compute_units": 16}),
    ("virtual_time", {"virtual_time": True}), ("strict_tlb", {"strict": "tlb"})))
def test_a_device_of_another_kind_refuses_it(used, library, field, fields):
    with lyra_api.Device(library, **fields) as other:
        with pytest.raises(lyra_api.Refused, match=rf"\b{field} is "):
            other.load(used.save())


def test_threads_and_firmware_may_be_others(used, library, register):
    with lyra_api.Device(library, threads=4, firmware="rescue=off") as other:
        other.load(used.save())
        assert seen(other, register) == seen(used, register)


def refuses(library, register, stream):
    """@return the message; the device that refuses it is as after a reset"""
    with lyra_api.Device(library) as other, lyra_api.Device(library) as fresh:
        use(other, register)
        counted = other.count("mmio_writes")
        with pytest.raises(lyra_api.Refused) as refused:
            other.load(stream)
        assert other.count("mmio_writes") == counted
        assert other.count("resets") == fresh.count("resets") + 1
        assert seen(other, register) == seen(fresh, register)
        return str(refused.value)


@pytest.mark.parametrize("part", (0, 1, 7, 8, 100, 0.5, -8, -1))
def test_a_truncated_stream_is_refused(used, library, register, part):
    stream = used.save()
    assert refuses(library, register, stream[:int(len(stream) * part) if part == 0.5 else part])


def test_a_longer_stream_is_refused(used, library, register):
    assert refuses(library, register, used.save() + b"\0")


@pytest.mark.parametrize("place", (0, 7, -1, -8))
def test_another_name_of_a_block_is_refused(used, library, register, place):
    stream = bytearray(used.save())
    stream[place] ^= 1
    assert refuses(library, register, bytes(stream))


def test_changed_bytes_do_no_harm(used, library, register):
    """Whatever is accepted is a state that can be saved, run and reset; what is refused leaves a device that was reset."""
    stream, chance, refused = used.save(), random.Random(1), 0
    with lyra_api.Device(library) as other:
        for _ in range(300):
            changed = bytearray(stream)
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
            try:
                other.load(bytes(changed))
                assert len(other.save()) > len(stream) // 2
            except lyra_api.Refused as why:
                refused += 1
                assert str(why)
                assert other.read(register["BIOS_SCRATCH_0"]) == 0
            other.run(100)
        other.load(stream)
        assert other.save() == stream
    assert 0 < refused < 300


def test_the_text_has_what_is_not_0(used, library):
    lines = used.state_text().splitlines()
    assert all(re.fullmatch(r"[\w/\[\]-]+( = |: ).+", line) for line in lines)
    with lyra_api.Device(library) as fresh:
        new = set(lines) - set(fresh.state_text().splitlines())
    for name in ("ih/backlog", "nbio/smn", "notify/armed", "doorbells/last"):
        assert any(line.startswith(name) for line in new), name
