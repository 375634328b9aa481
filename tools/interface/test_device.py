# SPDX-License-Identifier: MIT
"""The PCI function: configuration space, BARs, resets, interrupts."""
import lyra_header
import pytest
import qtest
import registers

RAM = 0x1000000  # where nothing of the machine is
MESSAGE = 0x2000000
KIB, MIB = 1 << 10, 1 << 20
WIDE_PREFETCHABLE, PLAIN = 0xc, 0


@pytest.fixture(scope="session")
def header(request):
    with open(request.config.getoption("--header"), encoding="utf-8") as file:
        return lyra_header.Header(file.read()).constants


def raise_one(gpu, register):
    """An interrupt, which is in the ring after this."""
    interrupts = registers.Interrupts(gpu, register, RAM)
    interrupts.cause()
    return interrupts.pointer()


# ---- configuration space ----


def test_what_it_is(gpu):
    assert (gpu.get(0x00, 2), gpu.get(0x02, 2)) == (0x1002, 0x9a00)
    assert gpu.get(0x08) == 0x03800000  # display controller, other; revision 0
    assert (gpu.get(0x2c, 2), gpu.get(0x2e, 2)) == (0x1002, 0x0001)
    assert gpu.get(0x0e, 1) == 0


def test_the_ports_show_the_same(gpu):
    for offset in range(0, 256, 4):
        assert gpu.machine.port_config(4 << 11 | offset) == gpu.get(offset)


@pytest.mark.parametrize("mebibytes", (256, 512, 4096))
def test_sizes_and_types_of_bars(start, header, mebibytes):
    gpu = qtest.Gpu(start("-device", f"lyra,bus=pcie.0,addr=4,vram={mebibytes}M"))
    gpu.set(qtest.COMMAND, 0, 2)
    assert gpu.size_of(qtest.BAR[0], True) == (mebibytes * MIB, WIDE_PREFETCHABLE)
    assert gpu.size_of(qtest.BAR[2], True) == (header["LYRA_DOORBELL_BAR_BYTES"], WIDE_PREFETCHABLE)
    assert gpu.size_of(qtest.BAR[5], False) == (header["LYRA_REGISTER_BAR_BYTES"], PLAIN)
    assert gpu.get(0x20) == 0  # there is no BAR4


def test_capabilities(gpu):
    found = gpu.capabilities()
    assert set(found) == {qtest.PM, qtest.MSI, qtest.EXPRESS}
    assert gpu.get(found[qtest.PM] + 2, 2) == 3  # D0 and D3hot, no PME
    assert gpu.get(found[qtest.MSI] + 2, 2) == 0x80  # one message, 64 bits
    assert gpu.get(found[qtest.EXPRESS] + 2, 2) >> 4 & 0xf == 9  # integrated in the root complex
    assert gpu.get(found[qtest.EXPRESS] + 0x24) & 0x180 == 0x180  # completes atomic operations
    assert gpu.get(found[qtest.EXPRESS] + 0x28, 2) & 0x40  # and makes them


def test_extended_capabilities(gpu, header):
    found = gpu.extended_capabilities()
    assert set(found) == {0x0b, 0x23}
    assert gpu.get(found[0x0b] + 4) == 0x01010001
    notify = found[0x23]
    assert gpu.get(notify + 4) == 0x01011002
    assert gpu.get(notify + 8, 2) == 0xd0b1
    assert gpu.get(notify + 10, 1) == header["LYRA_DOORBELL_NOTIFY_CLIENT"]
    assert gpu.get(notify + 11, 1) == header["LYRA_DOORBELL_NOTIFY_SOURCE"]
    assert gpu.get(notify + 12) == header["LYRA_DOORBELL_NOTIFY_REGISTER"]


def test_the_rom(gpu):
    place = 0xc8000000
    assert gpu.size_of(qtest.ROM_BAR, False)[0] == 8 * KIB
    gpu.set(qtest.ROM_BAR, place | 1)
    assert gpu.machine.read(place) & 0xffffff == 0x10aa55  # 16 pieces of 512 bytes
    gpu.machine.write(place, 0)
    assert gpu.machine.read(place, 2) == 0xaa55


def test_the_rom_can_be_left_out(start):
    gpu = qtest.Gpu(start("-device", qtest.GPU + ",rombar=0"))
    gpu.set(qtest.ROM_BAR, 0xffffffff)
    assert gpu.get(qtest.ROM_BAR) == 0


# ---- BARs ----


def test_registers_need_memory_decoding(gpu, register):
    scratch = register["BIOS_SCRATCH_0"]
    gpu.write(scratch, 0x12345678)
    gpu.set(qtest.COMMAND, qtest.MASTER, 2)
    assert gpu.read(scratch) != 0x12345678
    gpu.write(scratch, 0x9999)
    gpu.set(qtest.COMMAND, qtest.MEMORY, 2)
    assert gpu.read(scratch) == 0x12345678


def test_registers_by_all_sizes(gpu, register):
    scratch = register["BIOS_SCRATCH_0"]
    gpu.write(scratch, 0x8877665544332211, 8)
    assert gpu.read(scratch, 8) == 0x8877665544332211
    assert (gpu.read(scratch + 2, 2), gpu.read(scratch + 5, 1)) == (0x4433, 0x66)
    gpu.write(scratch, 0, 1)
    assert gpu.read(scratch) == 0x44332211
    assert gpu.machine.stat("fault-MmioSize") == 1


def test_vram_is_what_the_registers_show(gpu, register):
    gpu.machine.write(qtest.PLACES[0] + 0x30000, 0x8877665544332211, 8)
    gpu.write(register["MM_INDEX"], 0x80030004)
    assert gpu.read(register["MM_DATA"]) == 0x88776655
    gpu.write(register["MM_DATA"], 0xcafe)
    assert gpu.machine.read(qtest.PLACES[0] + 0x30004) == 0xcafe
    assert gpu.machine.read(qtest.PLACES[0] + 0x30000, 1) == 0x11
    assert gpu.read(register["RCC_CONFIG_MEMSIZE"]) == 256


def test_strict_vram_waits_for_a_flush(start, register):
    gpu = qtest.Gpu(start("-device", qtest.GPU + ",strict=hdp"))
    gpu.machine.write(qtest.PLACES[0] + 0x30001, 0x44332211)
    assert gpu.machine.read(qtest.PLACES[0] + 0x30001) == 0x44332211
    gpu.write(register["MM_INDEX"], 0x80030000)
    assert gpu.read(register["MM_DATA"]) == 0
    gpu.write(register["GPU_HDP_FLUSH_REQ"], 1)
    assert gpu.read(register["MM_DATA"]) == 0x33221100


def test_doorbells_keep_what_was_written(gpu, register):
    gpu.write(register["RCC_DOORBELL_APER_EN"], 1)
    gpu.ring(0x1000, 0x1122334455667788)
    gpu.ring(0x1ffffc, 0xa5, 4)
    assert gpu.doorbell(0x1000) == 0x1122334455667788
    assert gpu.doorbell(0x1004, 4) == 0x11223344
    assert gpu.doorbell(0x1ffff8) == 0xa500000000
    assert gpu.machine.stat("doorbells") == 2
    gpu.ring(0x1000, 0, 2)  # there are none of this size
    assert gpu.doorbell(0x1000) == 0x1122334455667788


# ---- resets ----


def leave_traces(gpu, register):
    gpu.write(register["BIOS_SCRATCH_0"], 0xcafe)
    gpu.write(register["RCC_DOORBELL_APER_EN"], 1)
    gpu.ring(0x1000, 0x1234)
    gpu.set_msi(MESSAGE, 0x77)
    assert (gpu.read(register["BIOS_SCRATCH_0"]), gpu.doorbell(0x1000)) == (0xcafe, 0x1234)


def assert_new(gpu, register):
    """Configuration space is as after power-on, and so are the registers when the BARs are back."""
    assert gpu.get(qtest.COMMAND, 2) == 0
    assert gpu.bars() == [0] * 6
    assert gpu.get(gpu.capabilities()[qtest.MSI] + 2, 2) & 1 == 0
    gpu.set_up()
    assert (gpu.read(register["BIOS_SCRATCH_0"]), gpu.read(register["RCC_DOORBELL_APER_EN"])) == (0, 0)
    assert gpu.doorbell(0x1000) == 0


def test_a_reset_of_the_machine(gpu, register):
    gpu.machine.write(qtest.PLACES[0] + 0x1000, 0xbeef)
    leave_traces(gpu, register)
    resets = gpu.machine.stat("resets")
    gpu.machine.reset()
    gpu.machine.open_config_window()
    assert gpu.machine.stat("resets") == resets + 1
    assert_new(gpu, register)
    assert gpu.machine.read(qtest.PLACES[0] + 0x1000) == 0xbeef


def test_a_reset_enables_requests_of_atomic_operations_again(gpu):
    control = gpu.capabilities()[qtest.EXPRESS] + 0x28
    gpu.set(control, 0, 2)
    assert gpu.get(control, 2) & 0x40 == 0
    gpu.machine.reset()
    gpu.machine.open_config_window()
    assert gpu.get(control, 2) & 0x40


def test_the_way_from_d3hot_is_a_reset(gpu, register):
    leave_traces(gpu, register)
    resets = gpu.machine.stat("resets")
    gpu.set_power(3)
    assert gpu.get(0) == 0x9a001002
    assert gpu.read(register["BIOS_SCRATCH_0"]) != 0xcafe
    assert gpu.machine.stat("resets") == resets
    gpu.set_power(0)
    assert gpu.machine.stat("resets") == resets + 1
    assert_new(gpu, register)


# ---- interrupts ----


def test_an_interrupt_is_a_message(gpu, register, header):
    gpu.set_msi(MESSAGE, 0x4321)
    assert raise_one(gpu, register) == registers.VECTOR_BYTES
    assert gpu.machine.until(lambda: gpu.machine.read(MESSAGE) == 0x4321)
    assert gpu.machine.read(RAM) == header["LYRA_DOORBELL_NOTIFY_CLIENT"] | header["LYRA_DOORBELL_NOTIFY_SOURCE"] << 8
    assert gpu.machine.read(RAM + registers.POINTER) == registers.VECTOR_BYTES
    assert gpu.machine.stat("msis") == 1


def test_without_bus_mastering_it_waits(gpu, register):
    gpu.set_msi(MESSAGE, 0x4321)
    gpu.set(qtest.COMMAND, qtest.MEMORY, 2)
    assert raise_one(gpu, register) == 0
    assert (gpu.machine.read(RAM, 8), gpu.machine.read(MESSAGE)) == (0, 0)
    assert gpu.machine.stat("msis") == 0
    gpu.set(qtest.COMMAND, qtest.MEMORY | qtest.MASTER, 2)
    assert gpu.machine.until(lambda: gpu.machine.read(MESSAGE) == 0x4321)
    assert gpu.machine.read(RAM, 1) == 20


def test_a_message_that_is_off_is_not_sent(gpu, register):
    gpu.set_msi(MESSAGE, 0x4321, on=False)
    assert raise_one(gpu, register) == registers.VECTOR_BYTES
    gpu.set_msi(MESSAGE + 8, 0x99)
    # The second one comes after the first in the same queue of the main loop.
    assert raise_one(gpu, register) == 2 * registers.VECTOR_BYTES
    assert gpu.machine.until(lambda: gpu.machine.read(MESSAGE + 8) == 0x99)
    assert gpu.machine.read(MESSAGE) == 0


def test_a_stopped_machine_has_a_stopped_device(gpu, register):
    interrupts = registers.Interrupts(gpu, register, RAM)
    gpu.set_msi(MESSAGE, 0x4321)
    interrupts.arm()
    gpu.machine.qmp("stop")
    gpu.ring(registers.USER_DOORBELL, 1)  # nobody takes it before the next access or the thread
    assert gpu.machine.stat("interrupts") == 0
    gpu.machine.qmp("cont")
    assert gpu.machine.until(lambda: gpu.machine.read(MESSAGE) == 0x4321)
    assert gpu.machine.stat("interrupts") == 1


def test_asleep_it_interrupts_nobody(gpu, register):
    gpu.set_msi(MESSAGE, 0x4321)
    gpu.set(qtest.COMMAND, qtest.MEMORY, 2)
    raise_one(gpu, register)
    gpu.set_power(3)
    gpu.set(qtest.COMMAND, qtest.MEMORY | qtest.MASTER, 2)
    assert gpu.machine.stat("interrupts") == 0
    gpu.set_power(0)
    assert gpu.machine.stat("interrupts") == 0
    assert (gpu.machine.read(RAM), gpu.machine.read(MESSAGE)) == (0, 0)
