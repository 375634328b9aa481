/* SPDX-License-Identifier: MIT */
/*
 * Loaded into QEMU with LD_PRELOAD: some of the jumps by which a processor's thread leaves generated code take 300 us longer,
 * as on a host that has something else to do just then.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <setjmp.h>
#include <time.h>

static void jump_later(const char* name, sigjmp_buf to, int value) {
    static unsigned calls; /* of the one thread that jumps */
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 300000};

    if (++calls % 61 == 0) nanosleep(&pause, 0);
    ((void (*)(sigjmp_buf, int))dlsym(RTLD_NEXT, name))(to, value);
}

void siglongjmp(sigjmp_buf to, int value) {
    jump_later("siglongjmp", to, value);
    __builtin_unreachable();
}

/* What siglongjmp() is called when it is compiled with _FORTIFY_SOURCE. */
void __longjmp_chk(sigjmp_buf to, int value) {
    jump_later("__longjmp_chk", to, value);
    __builtin_unreachable();
}
