# SPDX-License-Identifier: MIT
"""What liblyra takes from its host: memory, bus mastering, threads, time; and several devices in one process."""
import lyra_api
import pytest
import registers

ONES = (1 << 64) - 1
BUS = 0x10000000
PAGE = 4096
WAIT_S = 60  # for a thread of the device, which needs no time


class Bench:
    """A device with two pages of RAM that have a hole between them."""

    def __init__(self, device, register, readonly=False):
        self.device, self.register = device, register
        self.ram = lyra_api.Memory(3 * PAGE)
        device.set_ram((BUS + 2 * PAGE, PAGE, self.ram.address + 2 * PAGE, False), (BUS, PAGE, self.ram.address, readonly))
        device.set_bus_master(True)

    def interrupts(self, bus=BUS):
        return registers.Interrupts(self.device, self.register, bus)

    def vector(self, number=0, place=0):
        at = place + number * registers.VECTOR_BYTES
        return [int.from_bytes(self.ram[i:i + 4], "little") for i in range(at, at + registers.VECTOR_BYTES, 4)]


@pytest.fixture
def bench(device, register):
    return Bench(device, register)


def first_word(library):
    return library.constant("LYRA_DOORBELL_NOTIFY_CLIENT") | library.constant("LYRA_DOORBELL_NOTIFY_SOURCE") << 8


# ---- interrupts ----


def test_an_interrupt_is_a_vector_its_pointer_and_one_msi(bench, device, library):
    interrupts = bench.interrupts()
    interrupts.cause()
    assert interrupts.pointer() == registers.VECTOR_BYTES
    assert (bench.vector()[0], bench.vector()[4]) == (first_word(library), registers.USER_DOORBELL)
    assert bench.ram[registers.POINTER] == registers.VECTOR_BYTES
    assert (device.msis, device.count("msis"), device.count("interrupts")) == (1, 1, 1)


def test_a_doorbell_notifies_once_for_each_arming(bench, device):
    interrupts = bench.interrupts()
    interrupts.arm()
    for _ in range(3):
        device.ring(registers.USER_DOORBELL, 1)
    assert interrupts.pointer() == registers.VECTOR_BYTES
    assert device.read(bench.register["LYRA_DOORBELL_NOTIFY"]) == 0
    interrupts.cause(registers.USER_DOORBELL + 8)
    assert interrupts.pointer() == 2 * registers.VECTOR_BYTES
    assert bench.vector(1)[4] == registers.USER_DOORBELL + 8
    assert device.msis == 2


def test_the_address_of_the_register_is_that_of_the_header(library, register):
    assert register["LYRA_DOORBELL_NOTIFY"] == library.constant("LYRA_DOORBELL_NOTIFY_REGISTER")


def test_without_bus_mastering_an_interrupt_waits(bench, device):
    device.set_bus_master(False)
    interrupts = bench.interrupts()
    interrupts.cause()
    assert interrupts.pointer() == 0
    assert (device.msis, device.count("msis")) == (0, 0)
    assert bench.ram[:] == bytes(3 * PAGE)
    device.set_bus_master(True)
    assert interrupts.pointer() == registers.VECTOR_BYTES
    assert bench.ram[:4] != bytes(4) and device.msis == 1


# ---- map of RAM ----


def test_a_ring_in_a_hole_is_counted(bench, device):
    interrupts = bench.interrupts(BUS + PAGE)
    interrupts.cause()
    assert interrupts.pointer() == registers.VECTOR_BYTES
    assert device.count("fault-BusAddress") == 2  # vector and pointer
    assert bench.ram[:] == bytes(3 * PAGE)


def test_ranges_need_no_order(device, register, library):
    ram = lyra_api.Memory(7 * PAGE)
    device.set_ram(*((BUS + 2 * at, PAGE, ram.address + at, False) for at in range(6 * PAGE, -1, -PAGE)))
    for page in range(7):
        interrupts = registers.Interrupts(device, register, BUS + 2 * page * PAGE)
        device.write(register["IH_RB_WPTR"], 0)
        interrupts.cause()
        assert interrupts.pointer() == registers.VECTOR_BYTES
        assert int.from_bytes(ram[page * PAGE:page * PAGE + 4], "little") == first_word(library)
    assert device.count("fault-BusAddress") == 0


def test_a_vector_over_the_end_of_a_range_is_not_torn(bench, device, register):
    """Half of it has memory behind it."""
    device.set_ram((BUS, registers.VECTOR_BYTES // 2, bench.ram.address, False))
    interrupts = bench.interrupts()
    interrupts.cause()
    assert interrupts.pointer() == registers.VECTOR_BYTES
    assert bench.ram[:] == bytes(3 * PAGE)


def test_a_read_only_range_is_not_written(library, register):
    with lyra_api.Device(library) as device:
        bench = Bench(device, register, readonly=True)
        interrupts = bench.interrupts()
        interrupts.cause()
        assert interrupts.pointer() == registers.VECTOR_BYTES
        assert device.count("fault-BusAddress") == 2
        assert bench.ram[:] == bytes(3 * PAGE)


def test_another_map_replaces_the_first(bench, device, library):
    device.set_ram((BUS + PAGE, PAGE, bench.ram.address, False))
    interrupts = bench.interrupts(BUS + PAGE)
    interrupts.cause()
    assert interrupts.pointer() == registers.VECTOR_BYTES
    assert bench.vector()[0] == first_word(library)
    device.set_ram()
    interrupts.cause()
    assert interrupts.pointer() == 2 * registers.VECTOR_BYTES
    assert device.count("fault-BusAddress") == 2


def test_the_ring_may_lie_in_vram_behind_its_bar(device, register, library):
    bar = 0x4000000000
    device.set_bar_addresses(bar, ONES, ONES)
    device.set_bus_master(True)
    interrupts = registers.Interrupts(device, register, bar + PAGE)
    interrupts.cause()
    assert interrupts.pointer() == registers.VECTOR_BYTES
    assert int.from_bytes(device.vram[PAGE:PAGE + 4], "little") == first_word(library)


# ---- the free-running pump ----


def test_without_work_a_run_says_so(device, library):
    assert device.run(1000) == library.header.enums["lyra_run_state"]["LYRA_IDLE"]


def test_doorbells_reach_their_queues_before_the_pump_stops(device):
    for rings in range(1, 200):
        assert device.start()
        device.ring(registers.USER_DOORBELL, rings)
        device.stop()
        assert device.count("doorbells") == rings


def test_the_thread_takes_doorbells(bench, device, library):
    interrupts = bench.interrupts()
    assert device.start()
    assert not device.start()
    interrupts.cause()
    assert device.msi_came.wait(WAIT_S)
    device.stop()
    device.stop()
    assert bench.vector()[0] == first_word(library)
    assert device.start()


# ---- virtual time ----


def test_virtual_time_goes_on_and_never_back(library):
    with lyra_api.Device(library, virtual_time=True) as device:
        times = []
        for ns in (1000, 5000, 2000, 5001, 1_000_000):
            device.run_until(ns)
            times.append(device.count("virtual_ns"))
        assert times == [1000, 5000, 5000, 5001, 1_000_000]
        assert not device.start()


def test_without_virtual_time_nothing_is_to_come(device):
    assert device.run_until(1000) == ONES
    assert device.count("virtual_ns") == 0


def test_an_interrupt_arrives_when_its_time_has_passed(library, register):
    with lyra_api.Device(library, virtual_time=True, timing="interrupt_ns=700") as device:
        bench = Bench(device, register)
        interrupts = bench.interrupts()
        interrupts.cause()
        assert interrupts.pointer() == registers.VECTOR_BYTES
        begin = device.count("virtual_ns")
        assert device.run_until(begin) == begin + 700
        device.run_until(begin + 699)
        assert device.msis == 0
        assert device.run_until(begin + 700) == ONES
        assert device.msis == 1


def test_an_access_takes_place_at_the_time_of_the_host(library, register):
    now = [500]
    with lyra_api.Device(library, clock=lambda: now[0], virtual_time=True) as device:
        assert device.count("virtual_ns") == 500
        now[0] = 12345
        device.read(register["RCC_CONFIG_MEMSIZE"])
        assert device.count("virtual_ns") == 12345


# ---- several devices ----


def test_two_devices_know_nothing_of_each_other(library, register):
    with lyra_api.Device(library) as one:
        with lyra_api.Device(library, chip="gfx906", vram_bytes=512 << 20, compute_units=4) as other:
            one.write(register["BIOS_SCRATCH_0"], 0x1111)
            one.write(register["RCC_DOORBELL_APER_EN"], 1)
            one.ring(0x1000, 7)
            assert other.read(register["BIOS_SCRATCH_0"]) == 0
            assert other.doorbell_read(0x1000, 8) == 0
            assert [each.read(register["RCC_CONFIG_MEMSIZE"]) for each in (one, other)] == [256, 512]
            assert (one.count("mmio_writes"), other.count("mmio_writes")) == (2, 0)
            other.reset()
        assert one.read(register["BIOS_SCRATCH_0"]) == 0x1111
        assert one.doorbell_read(0x1000, 8) == 7


def test_several_devices_may_count_instructions(library):
    with lyra_api.Device(library, histogram=True) as one, lyra_api.Device(library, histogram=True) as other:
        assert one.count("instructions") == other.count("instructions") == 0


def test_no_device_can_be_destroyed(library):
    assert library.lyra_destroy(None) is None
