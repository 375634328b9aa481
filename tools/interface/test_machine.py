# SPDX-License-Identifier: MIT
"""The device as a part of a machine: properties, plugging, migration, memory of its own."""
import gzip
import re

import pytest
import qtest
import registers

RAM, MESSAGE = 0x1000000, 0x2000000
MIB = 1 << 20
PLUG = ("-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off", "-device", "pcie-root-port,id=root,bus=pcie.0,addr=3")
# Slot control of the root port: power off with its light off, and power on with its light on.
SLOT_CONTROL, SLOT_OFF, SLOT_ON = 0x18, 0x0700, 0x0100
POWER_BITS = 0x0700

# Properties, and the parts of what QEMU says.
WRONG = (
    ("vram=3G", "vram=3072M"),
    ("vram=128M", "256M to 64G"),
    ("cus=7", "cus=7"),
    ("cus=0", "cus=0"),
    ("threads=65", "threads=65"),
    ("pump=foo", "pump=foo"),
    ("pump=virtual", "pump=virtual needs -icount"),
    ("timing=quantum_ns=100", "timing= needs pump=virtual"),
    ("chip=foo", "chip 'foo'"),
    ("strict=foo", "strict 'foo'"),
    ("firmware=foo", "firmware assumption 'foo'"),
    ("fp-exceptions=foo", "floating-point exceptions 'foo'"),
    ("trace=/nonexistent/file", "/nonexistent/file"),
    ("record=/nonexistent/file", "/nonexistent/file"),
    ("memdev=foo", "foo"),
    ("no-such=1", "'lyra.no-such'"),
)


@pytest.mark.parametrize("words, text", WRONG)
def test_a_wrong_property_ends_qemu(qemu, words, text):
    device = f"lyra,{words}" if "vram" in words else f"{qtest.GPU},{words}"
    status, errors = qtest.run_to_the_end(*qemu, "-device", device)
    assert status == 1, errors
    assert text in errors


def test_a_guest_with_two_processors_is_not_recorded(qemu, tmp_path):
    status, errors = qtest.run_to_the_end(*qemu, "-smp", "2", "-device", f"{qtest.GPU},record={tmp_path}/recording")
    assert status == 1
    assert "record= needs one processor" in errors
    assert not (tmp_path / "recording").exists()


def test_each_property_has_a_description(start):
    machine = start()
    known = {row["name"] for row in machine.qmp("device-list-properties", typename="pvpanic-pci")}
    own = [row for row in machine.qmp("device-list-properties", typename="lyra") if row["name"] not in known]
    assert len(own) > 80
    assert [row["name"] for row in own if not row.get("description")] == []


def test_each_counter_is_a_property(start, library):
    machine = start("-device", qtest.GPU)
    names = {row["name"][5:] for row in machine.qmp("qom-list", path="gpu") if row["name"].startswith("stat-")}
    assert names == set(library.stat_names())
    assert machine.stat("resets") >= 1


def test_counters_go_to_a_file_at_the_end(qemu, library, register, tmp_path):
    path = tmp_path / "stats"
    with qtest.Machine(*qemu, "-device", f"{qtest.GPU},stats={path}") as machine:
        gpu = qtest.Gpu(machine)
        for _ in range(3):
            gpu.write(register["BIOS_SCRATCH_0"], 1)
    lines = dict(line.split() for line in path.read_text().splitlines())
    assert list(lines) == library.stat_names()
    assert lines["mmio_writes"] == "3"


def test_two_gpus_know_nothing_of_each_other(start, register):
    machine = start("-device", qtest.GPU, "-device", "lyra,id=other,bus=pcie.0,addr=5,vram=512M")
    gpu = qtest.Gpu(machine)
    gpu.write(register["BIOS_SCRATCH_0"], 0xcafe)
    gpu.set(qtest.COMMAND, 0, 2)
    other = qtest.Gpu(machine, slot=5)
    assert other.read(register["BIOS_SCRATCH_0"]) == 0
    assert other.read(register["RCC_CONFIG_MEMSIZE"]) == 512
    assert [machine.stat("mmio_writes", name) for name in ("gpu", "other")] == [1, 0]


# ---- memory of the user ----


def backend(path, size="256M"):
    return ("-object", f"memory-backend-file,id=memory,size={size},mem-path={path},share=on")


def test_vram_may_be_a_file(qemu, tmp_path):
    path = tmp_path / "vram"
    with qtest.Machine(*qemu, *backend(path), "-device", qtest.GPU + ",memdev=memory") as machine:
        qtest.Gpu(machine)
        machine.write(qtest.PLACES[0] + 0x4000, 0x6172796c)
    with open(path, "rb") as file:
        file.seek(0x4000)
        assert file.read(4) == b"lyra"


@pytest.mark.parametrize("size, further, text", (
    ("512M", (), "memdev="), ("256M", ("lyra,vram=256M,memdev=memory",), "in use")))
def test_memory_that_does_not_fit_is_refused(qemu, tmp_path, size, further, text):
    words = [word for each in (qtest.GPU + ",memdev=memory", *further) for word in ("-device", each)]
    status, errors = qtest.run_to_the_end(*qemu, *backend(tmp_path / "vram", size), *words)
    assert (status, text in errors) == (1, True), errors


# ---- plugging ----


class Port(qtest.Function):
    """A root port with bus 1 and windows for the BARs."""

    def __init__(self, machine):
        machine.open_config_window()
        super().__init__(machine, 3)
        self.set(0x18, 0x010100)
        self.set(0x20, 0xc0f0c000)
        self.set(0x24, 0xfff10001)
        self.set(0x28, 0x80)
        self.set(0x2c, 0x9f)
        self.set(qtest.COMMAND, qtest.MEMORY | qtest.MASTER, 2)

    def set_slot(self, value):
        at = self.capabilities()[qtest.EXPRESS] + SLOT_CONTROL
        self.set(at, self.get(at, 2) & ~POWER_BITS | value, 2)


def unplug(machine, port):
    """The guest's part, too: it is asked, and takes the power away."""
    machine.qmp("device_del", id="gpu")
    port.set_slot(SLOT_OFF)
    machine.event("DEVICE_DELETED", device="gpu")


def test_behind_a_root_port_it_is_an_endpoint(start, register):
    machine = start(*PLUG, "-device", "lyra,id=gpu,bus=root,vram=256M")
    port = Port(machine)
    gpu = qtest.Gpu(machine, slot=0, bus=1)
    express = gpu.capabilities()[qtest.EXPRESS]
    assert gpu.get(express + 2, 2) >> 4 & 0xf == 0
    assert port.get(port.capabilities()[qtest.EXPRESS] + 0x24) & 0x180 == 0x180  # the port completes atomic operations
    assert gpu.read(register["RCC_CONFIG_MEMSIZE"]) == 256
    machine.write(qtest.PLACES[0], 0xcafe)
    assert machine.read(qtest.PLACES[0]) == 0xcafe


def test_it_can_be_unplugged_and_another_one_plugged_in(start, register, tmp_path):
    path = tmp_path / "stats"
    machine = start(*PLUG, "-device", f"lyra,id=gpu,bus=root,vram=256M,stats={path}")
    port = Port(machine)
    gpu = qtest.Gpu(machine, slot=0, bus=1)
    gpu.write(register["BIOS_SCRATCH_0"], 0xcafe)
    unplug(machine, port)
    assert gpu.get(0) == 0xffffffff
    assert gpu.read(register["BIOS_SCRATCH_0"]) != 0xcafe
    assert "mmio_writes 1\n" in path.read_text()
    machine.qmp("device_add", driver="lyra", id="gpu", bus="root", vram=512 * MIB)
    port.set_slot(SLOT_ON)
    assert gpu.get(0) == 0x9a001002
    gpu.set_up()
    assert gpu.read(register["BIOS_SCRATCH_0"]) == 0
    assert gpu.read(register["RCC_CONFIG_MEMSIZE"]) == 512
    unplug(machine, port)


@pytest.mark.parametrize("recorded", (False, True))
def test_it_can_be_unplugged_with_an_interrupt_on_its_way(start, register, tmp_path, recorded):
    recording = tmp_path / "recording"
    words = f",record={recording}" if recorded else ""
    machine = start(*PLUG, "-device", f"lyra,id=gpu,bus=root,vram=256M{words}")
    port = Port(machine)
    gpu = qtest.Gpu(machine, slot=0, bus=1)
    gpu.set_msi(MESSAGE, 0x4321)
    interrupts = registers.Interrupts(gpu, register, RAM)
    for _ in range(10):
        interrupts.cause()
    unplug(machine, port)
    assert machine.qmp("query-status")["running"]
    if recorded:
        with gzip.open(recording) as file:
            assert file.read().startswith(b"lyra recording\n")


def test_the_memory_of_an_unplugged_device_is_free_again(start, tmp_path):
    machine = start(*PLUG, *backend(tmp_path / "vram"), "-device", "lyra,id=gpu,bus=root,vram=256M,memdev=memory")
    port = Port(machine)
    unplug(machine, port)
    machine.qmp("device_add", driver="lyra", id="gpu", bus="root", vram=256 * MIB, memdev="memory")
    port.set_slot(SLOT_ON)
    unplug(machine, port)
    machine.qmp("object-del", id="memory")


@pytest.mark.parametrize("wrong", ({"vram": 3 << 30}, {"vram": 512 * MIB}, {"chip": "foo"}, {"pump": "virtual"},
                                   {"romfile": "/nonexistent/file"}), ids=str)
def test_one_that_cannot_be_made_takes_nothing(start, register, tmp_path, wrong):
    machine = start(*PLUG, *backend(tmp_path / "vram"))
    port = Port(machine)
    right = {"driver": "lyra", "id": "gpu", "bus": "root", "vram": 256 * MIB, "memdev": "memory"}
    for _ in range(2):
        with pytest.raises(qtest.QemuError):
            machine.qmp("device_add", **{**right, **wrong})
    machine.qmp("device_add", **right)
    port.set_slot(SLOT_ON)
    assert qtest.Gpu(machine, slot=0, bus=1).read(register["RCC_CONFIG_MEMSIZE"]) == 256


# ---- migration ----


def with_events(machine):
    machine.qmp("migrate-set-capabilities", capabilities=[{"capability": "events", "state": True}])
    return machine


def save(machine, path):
    with_events(machine).qmp("migrate", uri=f"file:{path}")
    machine.event("MIGRATION", status="completed")


def incoming(start, *device):
    return with_events(start("-incoming", "defer", "-device", *device))


def move(machine, start, path, *device):
    save(machine, path)
    other = incoming(start, *device)
    other.qmp("migrate-incoming", uri=f"file:{path}")
    other.event("MIGRATION", status="completed")
    return other


def seen(gpu, register):
    names = ("BIOS_SCRATCH_0", "LYRA_DOORBELL_NOTIFY", "IH_RB_CNTL", "IH_RB_BASE", "IH_RB_WPTR", "RCC_DOORBELL_APER_EN")
    vram = [gpu.machine.read(qtest.PLACES[0] + at, 8) for at in (0, 0x30000, 256 * MIB - 8)]
    return [gpu.read(register[name]) for name in names] + [gpu.doorbell(0x2000), gpu.doorbell(0x1ffff8)] + vram


def use(gpu, register):
    interrupts = registers.Interrupts(gpu, register, RAM)
    gpu.set_msi(MESSAGE, 0x4321)
    interrupts.cause()
    gpu.write(register["BIOS_SCRATCH_0"], 0xcafe)
    gpu.ring(0x1ffff8, 0x55667788)
    gpu.ring(0x2000, 0x1122334455)
    for at in (0, 0x30000, 256 * MIB - 8):
        gpu.machine.write(qtest.PLACES[0] + at, 0x1000 + at, 8)
    interrupts.arm()
    return interrupts


def test_another_qemu_goes_on_where_the_first_was(gpu, start, register, tmp_path):
    use(gpu, register)
    assert gpu.machine.until(lambda: gpu.machine.read(MESSAGE) == 0x4321)
    before, counted = seen(gpu, register), gpu.machine.stat("interrupts")
    other = move(gpu.machine, start, tmp_path / "state", qtest.GPU)
    moved = qtest.Gpu(other, new=False)
    assert moved.bars() == gpu.bars()
    assert moved.get(qtest.COMMAND, 2) == qtest.MEMORY | qtest.MASTER
    assert seen(moved, register) == before
    assert other.stat("interrupts") == counted
    other.write(MESSAGE, 0)
    moved.ring(registers.USER_DOORBELL, 2)  # it was armed
    assert other.until(lambda: other.read(MESSAGE) == 0x4321)
    assert moved.read(register["IH_RB_WPTR"]) == 2 * registers.VECTOR_BYTES


@pytest.mark.parametrize("words", ("cus=4", "chip=gfx906", "strict=tlb"))
def test_a_device_of_another_kind_refuses_the_state(gpu, start, tmp_path, words):
    save(gpu.machine, tmp_path / "state")
    other = incoming(start, f"{qtest.GPU},{words}")
    other.qmp("migrate-incoming", uri=f"file:{tmp_path / 'state'}")
    other.status = 1
    assert other.ended() == 1
    kind = {"cus": "compute_units", "chip": "chip", "strict": "strict_tlb"}[words.split("=")[0]]
    assert re.search(rf"lyra: the state that was loaded: lyra/?.*{kind} is ", other.stderr())
