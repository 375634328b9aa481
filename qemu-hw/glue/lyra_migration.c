/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the device when QEMU saves, loads or moves the machine: savevm, loadvm, migrate. */
#include "qemu/osdep.h"

#include "qemu/error-report.h"
#include "qemu/main-loop.h"

#include "lyra_glue.h"
#include "migration/vmstate.h"

static int lyra_pre_save(void *opaque)
{
    LyraState *s = opaque;
    void *state = NULL;
    size_t bytes = lyra_save(s->device, false, &state);

    if (!bytes || bytes > UINT32_MAX) {
        free(state);
        return -ENOMEM;
    }
    s->state = g_memdup2(state, bytes);
    s->state_bytes = bytes;
    free(state);
    return 0;
}

static void lyra_forget_state(LyraState *s)
{
    g_free(s->state);
    s->state = NULL;
    s->state_bytes = 0;
}

static int lyra_post_save(void *opaque)
{
    lyra_forget_state(opaque);
    return 0;
}

/* BARs and bus mastering are those of the configuration space that has been loaded; guest RAM is there. */
static int lyra_post_load(void *opaque, int version)
{
    LyraState *s = opaque;
    char message[256] = "";
    bool right;

    lyra_describe_config(s);
    right = lyra_load(s->device, s->state, s->state_bytes, message, sizeof(message));
    lyra_forget_state(s);
    if (!right) {
        error_report("lyra: the state that was loaded: %s", message);
        return -EINVAL;
    }
    if (s->recorded) {
        s->msi_pending = true; /* as below, with the first slice */
    } else if (!s->virtual_time) {
        /* One that was on its way is told again; the driver finds nothing new if it was none. */
        qemu_bh_schedule(s->msi_bh);
    }
    return 0;
}

const VMStateDescription lyra_vmstate = {
    .name = TYPE_LYRA,
    .version_id = 1,
    .minimum_version_id = 1,
    .pre_save = lyra_pre_save,
    .post_save = lyra_post_save,
    .post_load = lyra_post_load,
    .fields =
        (const VMStateField[]){
            VMSTATE_PCI_DEVICE(parent_obj, LyraState),
            VMSTATE_TIMER_PTR(timer, LyraState),
            VMSTATE_BOOL(msi_pending, LyraState),
            VMSTATE_UINT32(state_bytes, LyraState),
            VMSTATE_VBUFFER_ALLOC_UINT32(state, LyraState, 0, NULL, state_bytes),
            VMSTATE_END_OF_LIST(),
        },
};
