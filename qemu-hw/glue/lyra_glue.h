/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the QEMU glue share: lyra_pci.c (the PCI function), lyra_host.c (the services it lends to liblyra) and
 * lyra_migration.c (savevm and its kin). Nothing else includes this file.
 */
#ifndef LYRA_GLUE_H
#define LYRA_GLUE_H

#if __has_include("system/memory.h") /* QEMU 10.1 and newer */
#include "system/memory.h"
typedef const void lyra_class_data;
#else
#include "exec/memory.h"
typedef void lyra_class_data;
#endif
#include "hw/pci/pci_device.h"
#include "lyra.h"
#include "qemu/notify.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "system/hostmem.h"

#define TYPE_LYRA "lyra"
OBJECT_DECLARE_SIMPLE_TYPE(LyraState, LYRA)

struct LyraState {
    PCIDevice parent_obj;

    /* properties */
    uint64_t vram_bytes;
    uint32_t compute_units;
    uint32_t xccs;
    uint32_t threads;
    char *chip;
    char *trace_path;
    char *pump;
    char *timing;
    char *fp_exceptions;
    char *firmware;
    bool poison;
    bool jit;
    char *strict;
    bool ih_overflow;
    char *stats_path;
    char *record_path;
    uint64_t record_limit;
    HostMemoryBackend *memdev; /* what VRAM is made of, or NULL: memory of its own */

    lyra_device *device; /* NULL before realize and after exit */
    MemoryRegion *vram;
    MemoryRegion own_vram;     /* without memdev */
    MemoryRegion trapped_vram; /* BAR0 instead of vram with strict=hdp */
    MemoryRegion doorbells;
    MemoryRegion registers;
    Notifier exit_notifier;

    /* lyra_host.c */
    bool virtual_time; /* pump=virtual */
    bool recorded;     /* pump=free and record=: slices on the processor's thread */
    uint64_t read_ns;  /* virtual time: what an access costs the processor */
    uint64_t write_ns;
    QEMUTimer *timer;  /* virtual time: the device's next event; recorded: its next slice */
    bool slice_queued;
    uint64_t run_instructions;
    int64_t slice_after_ns; /* QEMU_CLOCK_VIRTUAL: the guest's turn lasts until then */
    int64_t slice_due_ns;   /* the device waits for one since then; INT64_MAX: it does not */
    bool msi_pending;
    bool delivering;
    QEMUBH *msi_bh;
    MemoryListener listener;
    bool listening;
    bool map_changed;
    bool warned_iommu;
    GArray *ranges;  /* lyra_ram_range: RAM that the device can reach now */
    GPtrArray *gone; /* MemoryRegion: left the map, still referenced until liblyra has the new one */
    VMChangeStateEntry *run_state;

    /* migration: what lyra_save() gave, while QEMU writes or reads it */
    uint32_t state_bytes;
    uint8_t *state;
};

extern const lyra_host_ops lyra_glue_host_ops;

extern const VMStateDescription lyra_vmstate;

/** Tell liblyra what configuration space says of BARs and bus mastering. */
void lyra_describe_config(LyraState *s);

/** Set vram, from memdev if there is one, and take it back. */
bool lyra_glue_make_vram(LyraState *s, Error **errp);
void lyra_glue_drop_vram(LyraState *s);

/** Make the interrupt bottom half and the timer. Before lyra_create(). */
void lyra_glue_host_init(LyraState *s);

/** Begin to tell liblyra which RAM the device reaches. After lyra_create(). */
void lyra_glue_listen(LyraState *s);

/**
 * Virtual time: bring the device up to now, deliver its interrupt, and come back when it has something to do. After every
 * call that gave it something. Nothing in the free-running mode.
 */
void lyra_glue_advance(LyraState *s);

/**
 * The device was given something, by a call that may have made it busy: lyra_glue_advance() in virtual time, and a slice soon
 * where it is recorded in the host's time. The pump of the free-running mode knows by itself.
 */
void lyra_glue_given(LyraState *s);

/**
 * Virtual time: the processor that is accessing the device waits so long. Other virtual time does not pass meanwhile; there is
 * one processor.
 */
void lyra_glue_charge(LyraState *s, uint64_t ns);

/**
 * The pump of the free-running mode runs while the virtual machine does, so that nothing moves while it is saved; and what the
 * device may have written is sent once more. @return false: the thread cannot be started
 */
bool lyra_glue_follow_run_state(LyraState *s);

/** Undo both. After lyra_destroy(): nothing may use guest RAM any more. */
void lyra_glue_host_fini(LyraState *s);

#endif
