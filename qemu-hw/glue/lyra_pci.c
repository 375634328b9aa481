/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Step 1 of the data flow: the PCI function. BARs, capabilities, properties; every access goes to liblyra without being
 * understood here.
 */
#include "qemu/osdep.h"

#include "qapi/error.h"
#include "qapi/visitor.h"
#include "qemu/error-report.h"
#include "qemu/host-utils.h"
#include "qemu/module.h"
#include "qemu/units.h"

#if __has_include("hw/core/boards.h") /* QEMU 11.0 and newer */
#include "hw/core/boards.h"
#else
#include "hw/boards.h"
#endif
#include "hw/pci/msi.h"
#include "hw/pci/pci_bridge.h"
#include "hw/pci/pcie.h"
#if __has_include("hw/core/qdev-properties.h") /* QEMU 11.0 and newer */
#include "hw/core/qdev-properties.h"
#else
#include "hw/qdev-properties.h"
#endif
#include "lyra_glue.h"
#if __has_include("exec/icount.h") /* QEMU 10.1 and newer */
#include "exec/icount.h"
#else
#include "system/cpu-timers.h"
#endif
#include "system/system.h"

enum {
    LYRA_PCI_SUBSYSTEM = 0x0001,

    LYRA_BAR_VRAM = 0,
    LYRA_BAR_DOORBELLS = 2,
    LYRA_BAR_REGISTERS = 5,

    LYRA_CAP_PM = 0x50,
    LYRA_CAP_EXPRESS = 0x64,
    LYRA_CAP_MSI = 0xa0,

    /* Vendor-specific extended capability as AMD's GPUs have it: the driver looks for it to see that extended
     * configuration space works. */
    LYRA_CAP_VSEC = 0x100,
    LYRA_VSEC_ID = 1,
    LYRA_VSEC_REVISION = 1,
    LYRA_VSEC_BYTES = 0x10,

    /* Designated vendor-specific capability: the device can notify of doorbells. The layout after its header is ours. */
    LYRA_CAP_DVSEC = 0x110,
    LYRA_DVSEC_ID = 0xd0b1,
    LYRA_DVSEC_REVISION = 1,
    LYRA_DVSEC_BYTES = 0x10,
    LYRA_DVSEC_CLIENT = 0x0a,
    LYRA_DVSEC_SOURCE = 0x0b,
    LYRA_DVSEC_REGISTER = 0x0c,
};

/* ---- BAR accesses ---- */

static uint64_t lyra_registers_read(void *opaque, hwaddr offset, unsigned size)
{
    LyraState *s = opaque;
    uint64_t value;

    lyra_glue_charge(s, s->read_ns / 2); /* on its way there */
    value = s->device ? lyra_mmio_read(s->device, offset, size) : UINT64_MAX;
    lyra_glue_charge(s, s->read_ns - s->read_ns / 2);
    lyra_glue_advance(s);
    return value;
}

static void lyra_registers_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    LyraState *s = opaque;

    if (s->device) {
        lyra_mmio_write(s->device, offset, value, size);
        lyra_glue_charge(s, s->write_ns);
        lyra_glue_given(s);
    }
}

static uint64_t lyra_doorbells_read(void *opaque, hwaddr offset, unsigned size)
{
    LyraState *s = opaque;

    return s->device ? lyra_doorbell_read(s->device, offset, size) : UINT64_MAX;
}

static void lyra_doorbells_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    LyraState *s = opaque;

    if (s->device) {
        lyra_doorbell_write(s->device, offset, value, size);
        lyra_glue_charge(s, s->write_ns);
        lyra_glue_given(s);
    }
}

static uint64_t lyra_trapped_vram_read(void *opaque, hwaddr offset, unsigned size)
{
    LyraState *s = opaque;

    lyra_glue_charge(s, s->read_ns);
    return s->device ? lyra_vram_read(s->device, offset, size) : UINT64_MAX;
}

static void lyra_trapped_vram_write(void *opaque, hwaddr offset, uint64_t value, unsigned size)
{
    LyraState *s = opaque;

    if (s->device) {
        lyra_vram_write(s->device, offset, value, size);
        lyra_glue_charge(s, s->write_ns);
    }
}

static const MemoryRegionOps lyra_registers_ops = {
    .read = lyra_registers_read,
    .write = lyra_registers_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8},
    .impl = {.min_access_size = 1, .max_access_size = 8},
};

static const MemoryRegionOps lyra_trapped_vram_ops = {
    .read = lyra_trapped_vram_read,
    .write = lyra_trapped_vram_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

/* 8 in .impl too: a 64-bit doorbell store must not be torn into two. */
static const MemoryRegionOps lyra_doorbells_ops = {
    .read = lyra_doorbells_read,
    .write = lyra_doorbells_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = {.min_access_size = 4, .max_access_size = 8},
    .impl = {.min_access_size = 4, .max_access_size = 8},
};

/* ---- configuration space ---- */

/* In D3hot: QEMU's core has unmapped the BARs. */
static bool lyra_asleep(PCIDevice *pci)
{
    return pci_get_word(pci->config + LYRA_CAP_PM + PCI_PM_CTRL) & PCI_PM_CTRL_STATE_MASK;
}

void lyra_describe_config(LyraState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    bool master = pci_get_word(pci->config + PCI_COMMAND) & PCI_COMMAND_MASTER;

    /* An unmapped BAR has the address PCI_BAR_UNMAPPED, which is UINT64_MAX. */
    lyra_set_bar_addresses(s->device,
                           pci->io_regions[LYRA_BAR_VRAM].addr,
                           pci->io_regions[LYRA_BAR_DOORBELLS].addr,
                           pci->io_regions[LYRA_BAR_REGISTERS].addr);
    lyra_set_bus_master(s->device, master && !lyra_asleep(pci));
}

static void lyra_tell_config(LyraState *s)
{
    if (s->device) {
        lyra_describe_config(s);
        lyra_glue_given(s);
    }
}

static void lyra_config_write(PCIDevice *pci, uint32_t address, uint32_t value, int length)
{
    bool slept = lyra_asleep(pci);

    pci_default_write_config(pci, address, value, length);
    /* Without No_Soft_Reset the way from D3hot to D0 is a reset, of configuration space too. */
    if (slept && !lyra_asleep(pci)) {
        pci_device_reset(pci);
    }
    lyra_tell_config(LYRA(pci));
}

/*
 * The CPU's atomic operations work on VRAM, which is RAM, and ours reach the root complex. An endpoint integrated in it has no
 * bridge that could say so: Linux before 7.2 trusts one whose requester enable is set already.
 */
static void lyra_request_atomics(PCIDevice *pci)
{
    if (pci->exp.exp_cap) {
        pci_word_test_and_set_mask(pci->config + LYRA_CAP_EXPRESS + PCI_EXP_DEVCTL2, PCI_EXP_DEVCTL2_ATOMIC_REQ);
    }
}

static void lyra_pci_reset(DeviceState *dev)
{
    LyraState *s = LYRA(dev);

    lyra_request_atomics(PCI_DEVICE(dev));
    if (s->device) {
        lyra_reset(s->device);
        lyra_tell_config(s);
    }
}

/* ---- making the device ---- */

static bool lyra_check_properties(LyraState *s, Error **errp)
{
    if (s->vram_bytes < LYRA_VRAM_MIN || s->vram_bytes > LYRA_VRAM_MAX || !is_power_of_2(s->vram_bytes)) {
        error_setg(errp,
                   "vram=%" PRIu64 "M is not possible: it must be a power of two from %" PRIu64 "M to %" PRIu64 "G",
                   s->vram_bytes / MiB,
                   (uint64_t)(LYRA_VRAM_MIN / MiB),
                   (uint64_t)(LYRA_VRAM_MAX / GiB));
        return false;
    }
    if (s->compute_units < 1 || s->compute_units > LYRA_CUS_MAX ||
        (s->compute_units > LYRA_SHADER_ENGINES && s->compute_units % LYRA_SHADER_ENGINES)) {
        error_setg(errp,
                   "cus=%u is not possible: it must be from 1 to %u, or a multiple of %u up to %u",
                   s->compute_units,
                   LYRA_SHADER_ENGINES,
                   LYRA_SHADER_ENGINES,
                   LYRA_CUS_MAX);
        return false;
    }
    if (s->threads > LYRA_THREADS_MAX) {
        error_setg(errp,
                   "threads=%u is not possible: it must be from 1 to %u, or 0 for as many as the host has processors",
                   s->threads,
                   LYRA_THREADS_MAX);
        return false;
    }
    s->virtual_time = s->pump && !strcmp(s->pump, "virtual");
    if (s->pump && !s->virtual_time && strcmp(s->pump, "free")) {
        error_setg(errp, "pump=%s is not possible: it must be free or virtual", s->pump);
        return false;
    }
    if (s->virtual_time && !icount_enabled()) {
        /* The clock must not run on while the device computes: it would never catch up. */
        error_setg(errp, "pump=virtual needs -icount");
        return false;
    }
    if (s->timing && !s->virtual_time) {
        error_setg(errp, "timing= needs pump=virtual");
        return false;
    }
    s->recorded = s->record_path && !s->virtual_time;
    if (s->recorded && MACHINE(qdev_get_machine())->smp.max_cpus > 1) {
        /* Another processor would change memory while one waits for a register. */
        error_setg(errp, "record= needs one processor (-smp 1)");
        return false;
    }
    return true;
}

/*
 * A root port above the device announces that the root complex completes atomic operations, since ours reach guest memory.
 * vfio-pci does the same to the root port of an assigned GPU. Linux 7.2 and later ask for such a port.
 */
static void lyra_announce_atomics(PCIDevice *pci)
{
    PCIDevice *port = pci_bridge_get_device(pci_get_bus(pci));

    if (port && port->exp.exp_cap && pcie_cap_get_type(port) == PCI_EXP_TYPE_ROOT_PORT) {
        pci_long_test_and_set_mask(port->config + port->exp.exp_cap + PCI_EXP_DEVCAP2,
                                   PCI_EXP_DEVCAP2_ATOMIC_COMP32 | PCI_EXP_DEVCAP2_ATOMIC_COMP64);
    }
}

static void lyra_announce_doorbell_notify(PCIDevice *pci)
{
    uint8_t *dvsec = pci->config + LYRA_CAP_DVSEC;

    pcie_add_capability(pci, PCI_EXT_CAP_ID_DVSEC, 1, LYRA_CAP_DVSEC, LYRA_DVSEC_BYTES);
    pci_set_long(dvsec + PCI_DVSEC_HEADER1, LYRA_PCI_VENDOR | LYRA_DVSEC_REVISION << 16 | LYRA_DVSEC_BYTES << 20);
    pci_set_word(dvsec + PCI_DVSEC_HEADER2, LYRA_DVSEC_ID);
    pci_set_byte(dvsec + LYRA_DVSEC_CLIENT, LYRA_DOORBELL_NOTIFY_CLIENT);
    pci_set_byte(dvsec + LYRA_DVSEC_SOURCE, LYRA_DOORBELL_NOTIFY_SOURCE);
    pci_set_long(dvsec + LYRA_DVSEC_REGISTER, LYRA_DOORBELL_NOTIFY_REGISTER);
}

static bool lyra_add_capabilities(PCIDevice *pci, Error **errp)
{
    uint8_t *express;

    if (pci_pm_init(pci, LYRA_CAP_PM, errp) < 0) {
        return false;
    }
    pci_set_word(pci->config + LYRA_CAP_PM + PCI_PM_PMC, 3); /* version 1.2, D0 and D3hot */
    pci_set_word(pci->wmask + LYRA_CAP_PM + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
    if (pci_bus_is_express(pci_get_bus(pci))) {
        if (pcie_endpoint_cap_init(pci, LYRA_CAP_EXPRESS) < 0) {
            error_setg(errp, "the PCI Express capability cannot be added");
            return false;
        }
        lyra_announce_atomics(pci);
        express = pci->config + LYRA_CAP_EXPRESS;
        pci_long_test_and_set_mask(express + PCI_EXP_DEVCAP2, PCI_EXP_DEVCAP2_ATOMIC_COMP32 | PCI_EXP_DEVCAP2_ATOMIC_COMP64);
        lyra_request_atomics(pci);
        pci_word_test_and_set_mask(pci->wmask + LYRA_CAP_EXPRESS + PCI_EXP_DEVCTL2, PCI_EXP_DEVCTL2_ATOMIC_REQ);
        pcie_add_capability(pci, PCI_EXT_CAP_ID_VNDR, 1, LYRA_CAP_VSEC, LYRA_VSEC_BYTES);
        pci_set_long(pci->config + LYRA_CAP_VSEC + PCI_VNDR_HEADER,
                     LYRA_VSEC_ID | LYRA_VSEC_REVISION << 16 | LYRA_VSEC_BYTES << 20);
        lyra_announce_doorbell_notify(pci);
    }
    return msi_init(pci, LYRA_CAP_MSI, 1, true, false, errp) >= 0;
}

static lyra_device *lyra_make(LyraState *s, Error **errp)
{
    char message[256] = "";
    lyra_config config;
    lyra_device *device;

    lyra_config_init(&config);
    if (s->chip) {
        config.chip = s->chip;
    }
    config.vram_bytes = s->vram_bytes;
    config.compute_units = s->compute_units;
    config.xccs = s->xccs;
    config.threads = s->threads;
    config.trace_path = s->trace_path;
    config.virtual_time = s->virtual_time;
    config.timing = s->timing;
    config.fp_exceptions = s->fp_exceptions;
    config.firmware = s->firmware;
    config.poison = s->poison;
    config.jit = s->jit;
    config.ih_overflow = s->ih_overflow;
    config.strict = s->strict;
    config.record_path = s->record_path;
    config.repeatable = s->recorded;
    config.record_limit_bytes = s->record_limit;
    device = lyra_create(&config, &lyra_glue_host_ops, s, memory_region_get_ram_ptr(s->vram), message, sizeof(message));
    if (!device) {
        error_setg(errp, "%s", message[0] ? message : "the device cannot be made");
    }
    return device;
}

/* The option ROM is generated by liblyra. romfile= replaces it, rombar=0 leaves it out, as for every PCI device. */
static bool lyra_add_rom(LyraState *s, Error **errp)
{
    PCIDevice *pci = PCI_DEVICE(s);
    Error *failure = NULL;
    const void *image = NULL;
    size_t bytes;

    if ((pci->romfile && pci->romfile[0]) || !pci->rom_bar) {
        return true;
    }
    bytes = lyra_rom(s->device, &image);
    if (!bytes) {
        return true;
    }
    memory_region_init_rom(&pci->rom, OBJECT(s), "lyra.rom", pow2ceil(MAX(bytes, 2 * KiB)), &failure);
    if (failure) {
        error_propagate(errp, failure);
        return false;
    }
    memcpy(memory_region_get_ram_ptr(&pci->rom), image, bytes);
    pci_register_bar(pci, PCI_ROM_SLOT, 0, &pci->rom);
    return true;
}

static void lyra_add_bars(LyraState *s)
{
    PCIDevice *pci = PCI_DEVICE(s);
    const uint8_t wide = PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH;

    memory_region_init_io(&s->doorbells, OBJECT(s), &lyra_doorbells_ops, s, "lyra.doorbells", LYRA_DOORBELL_BAR_BYTES);
    memory_region_init_io(
        &s->registers, OBJECT(s), &lyra_registers_ops, s, "lyra.registers", lyra_register_bar_bytes(s->device));
    memory_region_init_io(&s->trapped_vram, OBJECT(s), &lyra_trapped_vram_ops, s, "lyra.vram.trapped", s->vram_bytes);
    pci_register_bar(pci, LYRA_BAR_VRAM, wide, lyra_traps_vram(s->device) ? &s->trapped_vram : s->vram);
    pci_register_bar(pci, LYRA_BAR_DOORBELLS, wide, &s->doorbells);
    pci_register_bar(pci, LYRA_BAR_REGISTERS, PCI_BASE_ADDRESS_SPACE_MEMORY, &s->registers);
}

static void lyra_write_stats(LyraState *s)
{
    const char *counter;
    FILE *file = fopen(s->stats_path, "w");
    size_t i;

    if (!file) {
        warn_report("lyra: stats=%s: %s", s->stats_path, strerror(errno));
        return;
    }
    for (i = 0; (counter = lyra_stat_name(i)) != NULL; i++) {
        fprintf(file, "%s %" PRIu64 "\n", counter, lyra_stat(s->device, counter));
    }
    fclose(file);
}

static void lyra_take_down(LyraState *s)
{
    lyra_device *device = s->device;

    if (device && s->stats_path) {
        lyra_write_stats(s);
    }
    s->device = NULL;
    if (device) {
        lyra_stop(device);
        lyra_destroy(device);
    }
}

/* QEMU does not unrealize devices when it ends, but the trace wants to be closed. */
static void lyra_at_exit(Notifier *notifier, void *data)
{
    lyra_take_down(container_of(notifier, LyraState, exit_notifier));
}

static void lyra_pci_exit(PCIDevice *pci)
{
    LyraState *s = LYRA(pci);

    if (s->exit_notifier.notify) {
        qemu_remove_exit_notifier(&s->exit_notifier);
        s->exit_notifier.notify = NULL;
    }
    lyra_take_down(s);
    lyra_glue_host_fini(s);
    lyra_glue_drop_vram(s);
    msi_uninit(pci);
}

static void lyra_realize(PCIDevice *pci, Error **errp)
{
    LyraState *s = LYRA(pci);

    if (!lyra_check_properties(s, errp)) {
        return;
    }
    if (!lyra_glue_make_vram(s, errp)) {
        return;
    }
    if (!lyra_add_capabilities(pci, errp)) {
        lyra_glue_drop_vram(s);
        return;
    }
    lyra_glue_host_init(s);
    s->device = lyra_make(s, errp);
    if (!s->device || !lyra_add_rom(s, errp)) {
        lyra_pci_exit(pci);
        return;
    }
    if (s->virtual_time && icount_to_ns(1) != lyra_timing(s->device, "guest_instruction_ns")) {
        error_setg(errp,
                   "an instruction takes %" PRId64 " ns with this -icount shift=, and %" PRIu64 " ns (guest_instruction_ns) in "
                   "the timing parameters",
                   icount_to_ns(1),
                   lyra_timing(s->device, "guest_instruction_ns"));
        lyra_pci_exit(pci);
        return;
    }
    s->read_ns = lyra_timing(s->device, "mmio_read_ns");
    s->write_ns = lyra_timing(s->device, "mmio_write_ns");
    lyra_add_bars(s);
    lyra_glue_listen(s);
    if (!lyra_glue_follow_run_state(s)) {
        error_setg(errp, "the thread of the device cannot be started");
        lyra_pci_exit(pci);
        return;
    }
    s->exit_notifier.notify = lyra_at_exit;
    qemu_add_exit_notifier(&s->exit_notifier);
}

/* ---- type ---- */

static const Property lyra_properties[] = {
    DEFINE_PROP_SIZE("vram", LyraState, vram_bytes, 2 * GiB),
    DEFINE_PROP_UINT32("cus", LyraState, compute_units, 8),
    DEFINE_PROP_UINT32("xccs", LyraState, xccs, 0),
    DEFINE_PROP_UINT32("threads", LyraState, threads, 0),
    DEFINE_PROP_STRING("chip", LyraState, chip),
    DEFINE_PROP_STRING("trace", LyraState, trace_path),
    DEFINE_PROP_STRING("pump", LyraState, pump),
    DEFINE_PROP_STRING("timing", LyraState, timing),
    DEFINE_PROP_STRING("fp-exceptions", LyraState, fp_exceptions),
    DEFINE_PROP_STRING("firmware", LyraState, firmware),
    DEFINE_PROP_BOOL("poison", LyraState, poison, false),
    DEFINE_PROP_BOOL("jit", LyraState, jit, true),
    DEFINE_PROP_STRING("strict", LyraState, strict),
    DEFINE_PROP_BOOL("ih-overflow", LyraState, ih_overflow, false),
    DEFINE_PROP_STRING("stats", LyraState, stats_path),
    DEFINE_PROP_STRING("record", LyraState, record_path),
    DEFINE_PROP_SIZE("record-limit", LyraState, record_limit, 1 * GiB),
    DEFINE_PROP_LINK("memdev", LyraState, memdev, TYPE_MEMORY_BACKEND, HostMemoryBackend *),
};

static const struct {
    const char *name;
    const char *text;
} lyra_descriptions[] = {
    {"vram", "Size of the video memory, a power of two from 256M to 64G"},
    {"cus", "Number of compute units, 1 to 4 or a multiple of 4 up to 64"},
    {"xccs", "XCCs of chip=gfx942: 2, 4 or 8 (default 0: 2)"},
    {"threads", "Host threads that run waves (default 0: as many as the host has processors); pump=virtual: 1"},
    {"chip", "Chip to be, a row of the chip table (default gfx900)"},
    {"pump", "free: a thread, as fast as it can; virtual: timers, everything takes the time of the timing parameters"},
    {"timing", "Timing parameters to replace, NAME=VALUE; needs pump=virtual"},
    {"fp-exceptions", "auto: tracked for waves that can tell (default); always: for all, which makes them slow"},
    {"firmware",
     "Assumptions about the scheduler's firmware to replace, NAME=CHOICE; divided by commas (docs/design/firmware.md)"},
    {"poison", "on: registers and LDS that a program has not initialized hold a pattern; off: 0 (default)"},
    {"jit", "on: waves run generated code where the host can (default); off: they are interpreted"},
    {"strict", "tlb, hdp, l2, divided by commas: kept until the driver flushes it, so that a forgotten flush shows"},
    {"ih-overflow", "on: a full interrupt ring is overwritten; off: interrupts wait in the device (default)"},
    {"record", "File for a recording of everything that reaches the device (lyra replay); needs one processor"},
    {"record-limit", "Size at which the recording ends (default 1G)"},
    {"stats", "File that gets all counters of the device when it ends"},
    {"memdev", "Memory backend of the size of vram, to be its memory"},
    {"trace", "File for a Perfetto trace of doorbells, packets, dispatches, waves and interrupts"},
};

static void lyra_get_stat(Object *object, Visitor *visitor, const char *name, void *opaque, Error **errp)
{
    LyraState *s = LYRA(object);
    uint64_t value = s->device ? lyra_stat(s->device, opaque) : 0;

    visit_type_uint64(visitor, name, &value, errp);
}

/* Each counter of liblyra as a read-only property stat-NAME, for qom-get. */
static void lyra_add_stats(ObjectClass *klass)
{
    const char *counter;
    size_t i;

    for (i = 0; (counter = lyra_stat_name(i)) != NULL; i++) {
        g_autofree char *name = g_strdup_printf("stat-%s", counter);

        object_class_property_add(klass, name, "uint64", lyra_get_stat, NULL, NULL, (void *)counter);
        object_class_property_set_description(klass, name, "Counter of the device, read only");
    }
}

static void lyra_class_init(ObjectClass *klass, lyra_class_data *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    size_t i;

    k->realize = lyra_realize;
    k->exit = lyra_pci_exit;
    k->config_write = lyra_config_write;
    k->vendor_id = LYRA_PCI_VENDOR;
    k->device_id = LYRA_PCI_DEVICE;
    k->subsystem_vendor_id = LYRA_PCI_VENDOR;
    k->subsystem_id = LYRA_PCI_SUBSYSTEM;
    k->class_id = PCI_CLASS_DISPLAY_OTHER;
    k->revision = 0;

    dc->desc = "Lyra: emulated AMD GFX9 compute GPU";
    dc->vmsd = &lyra_vmstate;
    device_class_set_legacy_reset(dc, lyra_pci_reset);
    set_bit(DEVICE_CATEGORY_DISPLAY, dc->categories);
    device_class_set_props(dc, lyra_properties);
    for (i = 0; i < ARRAY_SIZE(lyra_descriptions); i++) {
        object_class_property_set_description(klass, lyra_descriptions[i].name, lyra_descriptions[i].text);
    }
    lyra_add_stats(klass);
}

static void lyra_instance_init(Object *object)
{
    /* Integrated in the root complex when on the root bus, an endpoint with a link behind a root port. */
    PCI_DEVICE(object)->cap_present |= QEMU_PCI_CAP_EXPRESS;
}

static const TypeInfo lyra_type = {
    .name = TYPE_LYRA,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(LyraState),
    .instance_init = lyra_instance_init,
    .class_init = lyra_class_init,
    .interfaces =
        (InterfaceInfo[]){
            {INTERFACE_PCIE_DEVICE},
            {INTERFACE_CONVENTIONAL_PCI_DEVICE},
            {},
        },
};

static void lyra_register_types(void)
{
    type_register_static(&lyra_type);
}

type_init(lyra_register_types)
