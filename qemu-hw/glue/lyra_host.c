/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps 1 and 9 of the data flow: what QEMU does for liblyra, VRAM, the map of guest RAM, the interrupt, time, the log. */
#include "qemu/osdep.h"

#include "qapi/error.h"
#include "qemu/error-report.h"
#include "qemu/log.h"
#include "qemu/main-loop.h"
#include "qemu/timer.h"

#include "hw/core/cpu.h"
#include "hw/pci/msi.h"
#include "lyra_glue.h"
#include "migration/vmstate.h"
#if __has_include("exec/icount.h") /* QEMU 10.1 and newer */
#include "exec/icount.h"
#else
#include "system/cpu-timers.h"
#endif
#include "system/cpus.h"
#include "system/runstate.h"

enum {
    LYRA_SLICE_NS = 4000000, /* as long as there is something to do; SDMA moves 1 MB in a run */
    LYRA_SLICE_MAX_NS = 50000000, /* of one that comes late */
    LYRA_LATE_SHARE = 4,
    LYRA_SHORT_RUN_NS = 250000,
    LYRA_LONG_RUN_NS = 1000000,
    LYRA_RUN_MIN = 4000, /* instructions */
    LYRA_RUN_MAX = 1 << 20,
    LYRA_POLL_NS = 200000,
    LYRA_IDLE_NS = 100000000, /* so that a device that should have been woken does not hang a guest */

    LYRA_MSI_AGAIN_NS = 1000,
    LYRA_AHEAD_NS = 1000000, /* bounds how long the host's own input waits */
};

/* ---- interrupt ---- */

/* Runs in the main loop with the big lock, so that it may touch PCI state. */
static void lyra_msi_bh(void *opaque)
{
    PCIDevice *pci = opaque;

    if (msi_enabled(pci)) {
        msi_notify(pci, 0);
    }
}

/* Called by the pump thread: scheduling a bottom half takes no lock. Several calls before it runs become one MSI, which
 * is enough, because the driver drains the whole ring at each. */
static void lyra_raise_msi(void *opaque)
{
    LyraState *s = opaque;

    if (s->virtual_time || s->recorded) {
        s->msi_pending = true; /* a bottom half would run at a moment that the host decides */
    } else {
        qemu_bh_schedule(s->msi_bh);
    }
}

/* A guest may have pointed the MSI at our own doorbells; what that leads to waits for the timer. */
static void lyra_deliver_msi(LyraState *s)
{
    if (!s->msi_pending || s->delivering) {
        return;
    }
    s->msi_pending = false;
    s->delivering = true;
    lyra_msi_bh(s);
    s->delivering = false;
    if (s->msi_pending) {
        timer_mod_anticipate(s->timer, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) + LYRA_MSI_AGAIN_NS);
    }
}

/* ---- a recording in the host's time ---- */

/* What the host does besides makes no slice longer. */
static int64_t lyra_thread_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * NANOSECONDS_PER_SECOND + now.tv_nsec;
}

/*
 * What the device reads while it works has to be what the recording says, so nobody may change memory meanwhile. There is one
 * processor, and the device works on its thread: in the processor's own accesses, and in slices that are queued for it with
 * async_run_on_cpu(). TCG and KVM both leave the guest for queued work, also when the guest is halted or in an endless loop.
 *
 * All of this is under the big lock, as everything is that other devices do in the main loop. No thread waits for another one,
 * so nothing can hang however the guest times its accesses: a slice is bounded, it is queued once at most, and after it the
 * guest has the processor for about as long as it took. On a busy host the processor's thread waits for its turn, 100 ms and
 * more were seen, and the guest's clock goes on meanwhile. With slices as short as usual its driver would then give up on the
 * device, which has 10 s for a job; so one that comes late is longer by a share of that time. A slice that comes when the
 * machine is stopped or the device is gone does nothing; it holds a reference. Only disks and 9p store into RAM without the
 * lock, by threads of their own, and the guest does not give such a page to the GPU before it has come.
 */
static void lyra_slice(CPUState *cpu, run_on_cpu_data data)
{
    LyraState *s = data.host_ptr;
    int64_t start, took, before, next, late, most;
    lyra_run_state found;

    s->slice_queued = false;
    if (s->device && runstate_is_running()) {
        late = MAX(qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) - s->slice_due_ns, 0);
        most = MIN(LYRA_SLICE_NS + late / LYRA_LATE_SHARE, LYRA_SLICE_MAX_NS);
        start = lyra_thread_ns();
        took = 0;
        do {
            before = took;
            found = lyra_run(s->device, s->run_instructions);
            took = lyra_thread_ns() - start;
            if (took - before > LYRA_LONG_RUN_NS) {
                s->run_instructions = MAX(s->run_instructions / 2, LYRA_RUN_MIN);
            } else if (took - before < LYRA_SHORT_RUN_NS && found == LYRA_BUSY) {
                s->run_instructions = MIN(s->run_instructions * 2, LYRA_RUN_MAX);
            }
        } while (found == LYRA_BUSY && took < most);
        next = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
        s->slice_after_ns = next + (cpu->halted ? 0 : took);
        s->slice_due_ns = found == LYRA_BUSY ? s->slice_after_ns : INT64_MAX;
        next += found == LYRA_BUSY ? 0 : found == LYRA_POLLING ? LYRA_POLL_NS : LYRA_IDLE_NS;
        timer_mod(s->timer, MAX(next, s->slice_after_ns));
        lyra_deliver_msi(s);
    }
    object_unref(OBJECT(s));
}

static void lyra_queue_slice(LyraState *s)
{
    if (!s->slice_queued && s->device) {
        s->slice_queued = true;
        object_ref(OBJECT(s));
        async_run_on_cpu(first_cpu, lyra_slice, RUN_ON_CPU_HOST_PTR(s));
    }
}

void lyra_glue_given(LyraState *s)
{
    if (!s->recorded) {
        lyra_glue_advance(s);
    } else if (qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) >= s->slice_after_ns) {
        lyra_queue_slice(s);
    } else {
        timer_mod_anticipate(s->timer, s->slice_after_ns);
    }
}

/* ---- virtual time ---- */

/*
 * Only from where the big lock is held: accesses of the guest and the timer. Under -icount both happen at the same instruction
 * in every run.
 */
void lyra_glue_advance(LyraState *s)
{
    uint64_t next;

    if (!s->virtual_time || !s->device) {
        return;
    }
    next = lyra_run_until(s->device, qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
    if (next > INT64_MAX) {
        timer_del(s->timer);
    } else {
        timer_mod(s->timer, next);
    }
    lyra_deliver_msi(s);
}

/*
 * The clock of -icount is the number of instructions that the processor has executed: what it was given, less what is left of
 * that. What is left is taken away first, so that a timer that becomes due meanwhile stops the processor; the rest is given and
 * taken at once.
 */
void lyra_glue_charge(LyraState *s, uint64_t ns)
{
    CPUState *cpu = current_cpu;
    uint64_t instructions, extra, low;

    if (!s->virtual_time || !cpu || !icount_enabled()) {
        return;
    }
    instructions = ns / icount_to_ns(1);
    extra = MIN(instructions, (uint64_t)cpu->icount_extra);
    cpu->icount_extra -= extra;
    instructions -= extra;
    low = MIN(instructions, cpu->neg.icount_decr.u16.low);
    qatomic_set(&cpu->neg.icount_decr.u16.low, cpu->neg.icount_decr.u16.low - low);
    cpu->icount_budget += instructions - low;
}

/*
 * While all processors are halted nobody in the guest can look before an interrupt comes, and those come from timers, whose
 * times are known, or from us. Up to there the device needs no timer of its own for each piece, of which each costs two
 * switches between QEMU's threads.
 */
static void lyra_run_ahead(LyraState *s)
{
    int64_t deadline = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL);
    uint64_t at = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), next = at;
    uint64_t limit = at + (deadline < 0 || deadline > LYRA_AHEAD_NS ? LYRA_AHEAD_NS : deadline);

    while (next <= limit && !s->msi_pending) {
        at = next;
        next = lyra_run_until(s->device, at);
    }
    if (s->msi_pending) {
        next = at; /* by lyra_glue_advance(), when the guest is there too */
    }
    if (next > INT64_MAX) {
        timer_del(s->timer);
    } else {
        timer_mod(s->timer, next);
    }
}

static void lyra_timer(void *opaque)
{
    LyraState *s = opaque;

    if (s->recorded) {
        lyra_glue_given(s);
        return;
    }
    lyra_glue_advance(s);
    if (timer_pending(s->timer) && !s->msi_pending && all_cpu_threads_idle()) {
        timer_del(s->timer);
        lyra_run_ahead(s);
    }
}

/* ---- run state ---- */

/* The device writes through host pointers, of which migration of a running machine knows nothing. */
static void lyra_mark_dirty(LyraState *s)
{
    guint i;

    memory_region_set_dirty(s->vram, 0, s->vram_bytes);
    for (i = 0; i < s->ranges->len; i++) {
        lyra_ram_range *range = &g_array_index(s->ranges, lyra_ram_range, i);
        ram_addr_t offset;
        MemoryRegion *mr = range->readonly ? NULL : memory_region_from_host(range->host, &offset);

        if (mr) {
            memory_region_set_dirty(mr, offset, range->size_bytes);
        }
    }
}

static void lyra_run_state_changed(void *opaque, bool running, RunState state)
{
    LyraState *s = opaque;

    if (!s->device) {
        return;
    }
    if (!running) {
        lyra_stop(s->device);
        lyra_mark_dirty(s);
    } else if (s->recorded) {
        lyra_queue_slice(s);
    } else if (!s->virtual_time && !lyra_start(s->device)) {
        error_report("lyra: the thread of the device cannot be started");
    }
}

bool lyra_glue_follow_run_state(LyraState *s)
{
    s->run_state = qdev_add_vm_change_state_handler(DEVICE(s), lyra_run_state_changed, s);
    return s->virtual_time || s->recorded || !runstate_is_running() || lyra_start(s->device);
}

/* ---- time and log ---- */

static uint64_t lyra_now_ns(void *opaque)
{
    return qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
}

static void lyra_log_line(void *opaque, lyra_log_level level, const char *text)
{
    switch (level) {
    case LYRA_LOG_ERROR:
        error_report("lyra: %s", text);
        break;
    case LYRA_LOG_WARN:
        warn_report("lyra: %s", text);
        break;
    case LYRA_LOG_GUEST:
        qemu_log_mask(LOG_GUEST_ERROR, "lyra: guest: %s\n", text);
        break;
    case LYRA_LOG_TODO:
        qemu_log_mask(LOG_UNIMP, "lyra: todo: %s\n", text);
        break;
    case LYRA_LOG_INFO:
    case LYRA_LOG_DEBUG:
        qemu_log_mask(LOG_TRACE, "lyra: %s\n", text);
        break;
    }
}

const lyra_host_ops lyra_glue_host_ops = {
    .now_ns = lyra_now_ns,
    .raise_msi = lyra_raise_msi,
    .log = lyra_log_line,
};

/* ---- VRAM ---- */

/* Without memdev. Without reservation the host gives memory only for VRAM that is really written. */
static bool lyra_make_own_vram(LyraState *s, Error **errp)
{
    Error *failure = NULL;

    memory_region_init_ram_flags_nomigrate(&s->own_vram, OBJECT(s), "lyra.vram", s->vram_bytes, RAM_NORESERVE, &failure);
    if (failure) {
        error_propagate(errp, failure);
        return false;
    }
    s->vram = &s->own_vram;
    return true;
}

bool lyra_glue_make_vram(LyraState *s, Error **errp)
{
    if (!s->memdev) {
        if (!lyra_make_own_vram(s, errp)) {
            return false;
        }
    } else {
        MemoryRegion *memory = host_memory_backend_get_memory(s->memdev);

        if (host_memory_backend_is_mapped(s->memdev)) {
            error_setg(errp, "memdev= is in use already");
            return false;
        }
        if (memory_region_size(memory) != s->vram_bytes) {
            error_setg(
                errp, "memdev= has %" PRIu64 " bytes, and vram= %" PRIu64, (uint64_t)memory_region_size(memory), s->vram_bytes);
            return false;
        }
        host_memory_backend_set_mapped(s->memdev, true);
        s->vram = memory;
    }
    vmstate_register_ram(s->vram, DEVICE(s));
    return true;
}

void lyra_glue_drop_vram(LyraState *s)
{
    if (!s->vram) {
        return;
    }
    vmstate_unregister_ram(s->vram, DEVICE(s));
    if (s->memdev) {
        host_memory_backend_set_mapped(s->memdev, false);
    }
    s->vram = NULL;
}

/* ---- map of guest RAM ---- */

static bool lyra_wants(const MemoryRegionSection *section)
{
    return memory_region_is_ram(section->mr) && !memory_region_is_ram_device(section->mr);
}

static void lyra_region_add(MemoryListener *listener, MemoryRegionSection *section)
{
    LyraState *s = container_of(listener, LyraState, listener);
    lyra_ram_range range;

    if (memory_region_is_iommu(section->mr) && !s->warned_iommu) {
        s->warned_iommu = true;
        warn_report("lyra: an IOMMU in front of the device is not supported; it reaches no memory");
    }
    if (!lyra_wants(section)) {
        return;
    }
    memory_region_ref(section->mr);
    range = (lyra_ram_range){
        .bus_address = section->offset_within_address_space,
        .size_bytes = int128_get64(section->size),
        .host = (uint8_t *)memory_region_get_ram_ptr(section->mr) + section->offset_within_region,
        .readonly = section->readonly,
    };
    g_array_append_val(s->ranges, range);
    s->map_changed = true;
}

static void lyra_region_del(MemoryListener *listener, MemoryRegionSection *section)
{
    LyraState *s = container_of(listener, LyraState, listener);
    guint i;

    if (!lyra_wants(section)) {
        return;
    }
    for (i = 0; i < s->ranges->len; i++) {
        if (g_array_index(s->ranges, lyra_ram_range, i).bus_address == section->offset_within_address_space) {
            g_array_remove_index_fast(s->ranges, i);
            g_ptr_array_add(s->gone, section->mr);
            s->map_changed = true;
            return;
        }
    }
}

static void lyra_region_commit(MemoryListener *listener)
{
    LyraState *s = container_of(listener, LyraState, listener);
    guint i;

    if (!s->map_changed) {
        return;
    }
    s->map_changed = false;
    if (s->device) {
        lyra_set_ram_map(s->device, (const lyra_ram_range *)s->ranges->data, s->ranges->len);
    }
    /* Only now has the device let go of the memory that went away. */
    for (i = 0; i < s->gone->len; i++) {
        memory_region_unref(g_ptr_array_index(s->gone, i));
    }
    g_ptr_array_set_size(s->gone, 0);
}

void lyra_glue_listen(LyraState *s)
{
    s->ranges = g_array_new(false, false, sizeof(lyra_ram_range));
    s->gone = g_ptr_array_new();
    s->listener = (MemoryListener){
        .name = "lyra",
        .region_add = lyra_region_add,
        .region_del = lyra_region_del,
        .commit = lyra_region_commit,
    };
    memory_listener_register(&s->listener, pci_get_address_space(PCI_DEVICE(s)));
    s->listening = true;
}

void lyra_glue_host_init(LyraState *s)
{
    s->msi_bh = qemu_bh_new(lyra_msi_bh, PCI_DEVICE(s));
    s->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, lyra_timer, s);
    s->run_instructions = LYRA_RUN_MIN;
    s->slice_due_ns = INT64_MAX;
}

void lyra_glue_host_fini(LyraState *s)
{
    if (s->listening) {
        /* Calls region_del for every range, then commit, which drops the references. */
        memory_listener_unregister(&s->listener);
        s->listening = false;
        g_array_free(s->ranges, true);
        g_ptr_array_free(s->gone, true);
    }
    if (s->run_state) {
        qemu_del_vm_change_state_handler(s->run_state);
        s->run_state = NULL;
    }
    timer_free(s->timer);
    s->timer = NULL;
    if (s->msi_bh) {
        qemu_bh_delete(s->msi_bh);
        s->msi_bh = NULL;
    }
}
