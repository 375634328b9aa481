/* SPDX-License-Identifier: MIT */
/*
 * liblyra: an emulated AMD GFX9 compute GPU behind a plain C interface.
 *
 * The only header that the QEMU glue, the command line program and any other host may include.
 *
 * Threads: every function may be called from any thread unless it says otherwise. Calls are short: none of them waits for
 * a kernel, a queue or a DMA to finish. The device's own work is done by lyra_run(), called either by the thread that
 * lyra_start() creates (free-running pump) or by the host itself (in process, or a repeatable device), never by both; with
 * virtual time it is done by lyra_run_until() (virtual-time pump) and at every register or doorbell access.
 *
 * Trust: everything that comes through lyra_mmio_*, lyra_doorbell_*, VRAM and bus memory is the guest's word and is
 * checked; the configuration and the callbacks are the host's and are only checked for ranges.
 */
#ifndef LYRA_H
#define LYRA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define LYRA_API __attribute__((visibility("default")))
#else
#define LYRA_API
#endif

/** Grows when a struct below changes its layout or a function its meaning. Passed to lyra_create(), which refuses others. */
#define LYRA_ABI_VERSION 9

/** What lyra_create() takes at most and at least. */
#define LYRA_VRAM_MIN (256ull << 20)
#define LYRA_VRAM_MAX (64ull << 30)
#define LYRA_SHADER_ENGINES 4u
#define LYRA_CUS_MAX 64u
#define LYRA_THREADS_MAX 64u

/** Ids of the PCI device. The driver does not list the second, so that it asks the discovery table what the device is. */
#define LYRA_PCI_VENDOR 0x1002u
#define LYRA_PCI_DEVICE 0x9a00u

/**
 * Sizes of the PCI BARs, in bytes. BAR0 is VRAM and has the size that the configuration asks for. The register BAR is longer
 * with more than two XCCs: lyra_register_bar_bytes().
 */
#define LYRA_DOORBELL_BAR_BYTES (2u << 20)
#define LYRA_REGISTER_BAR_BYTES (512u << 10)

/**
 * The interrupt for doorbells of user queues (docs/design/doorbell_notify.md): its register, a byte offset in the register BAR,
 * and the client and source that its entries in the interrupt ring have. The host announces them in configuration space.
 */
#define LYRA_DOORBELL_NOTIFY_REGISTER 0x7fff0u
#define LYRA_DOORBELL_NOTIFY_CLIENT 20u
#define LYRA_DOORBELL_NOTIFY_SOURCE 200u

typedef struct lyra_device lyra_device;

/** Log levels, worst first. GUEST: the guest did something wrong. TODO: the model lacks something the guest asked for. */
typedef enum lyra_log_level {
    LYRA_LOG_ERROR,
    LYRA_LOG_WARN,
    LYRA_LOG_GUEST,
    LYRA_LOG_TODO,
    LYRA_LOG_INFO,
    LYRA_LOG_DEBUG,
} lyra_log_level;

/**
 * What the device needs from its host. All callbacks may come from the pump thread and the threads that help it, now_ns also
 * from several at once; none may call back into liblyra.
 */
typedef struct lyra_host_ops {
    /**
     * Time in nanoseconds; never goes backwards. NULL: the monotonic clock, or, with virtual time, the device's own clock,
     * which then moves only in lyra_run() and lyra_run_until().
     */
    uint64_t (*now_ns)(void *opaque);
    /** Deliver the one MSI. Must not block on a lock that a caller of liblyra may hold. NULL: interrupts go nowhere. */
    void (*raise_msi)(void *opaque);
    /** One line of text without newline. NULL: standard error, errors and warnings only. */
    void (*log)(void *opaque, lyra_log_level level, const char *text);
} lyra_host_ops;

/** A device to be made. lyra_config_init() fills in the defaults; change what differs. */
typedef struct lyra_config {
    uint32_t abi_version;      /**< LYRA_ABI_VERSION */
    const char *chip;          /**< row of the chip table, such as "gfx900" */
    uint64_t vram_bytes;       /**< power of two, LYRA_VRAM_MIN..LYRA_VRAM_MAX */
    uint32_t compute_units;    /**< multiple of LYRA_SHADER_ENGINES, or fewer: one in each; the same for each XCC */
    uint32_t xccs;             /**< of a chip that has several: a power of two; 0: as many as its row says */
    const char *trace_path;    /**< Perfetto trace file to write, or NULL */
    /**
     * The device has its own clock, and everything that it does takes the time that the timing parameters say. It is then
     * deterministic: what it does and when depends on nothing but the calls, their times and the memory that it reads.
     */
    bool virtual_time;
    const char *timing;        /**< timing parameters to replace, "name=value,name=value", or NULL */
    /**
     * Host threads that run waves, that which does lyra_run() among them: 1..LYRA_THREADS_MAX. 0: as many as the process has
     * processors. There are no more threads than compute units. What the device does is the same; which of two work-groups does
     * it first is open. With virtual time, and while a trace or a commit log is written, one thread does everything.
     */
    uint32_t threads;
    const char
        *commit_log_path; /**< text file to write: a line for every wave instruction, with all that it changed; or NULL */
    bool histogram;            /**< count wave instructions for lyra_histogram() */
    /**
     * Floating-point exceptions (TRAPSTS.EXCP). "auto" or NULL: of waves that can tell, which have one enabled in MODE.EXCP_EN
     * or have come to a page of code that reads TRAPSTS. "always": of all; float instructions then take many times longer.
     */
    const char *fp_exceptions;
    /**
     * Assumptions about the scheduler's firmware to replace, "name=choice,name=choice", or NULL (common/firmware.def). The
     * defaults depend on virtual_time.
     */
    const char *firmware;
    /**
     * Vector and scalar registers and LDS that nothing initializes hold a pattern when a wave starts, as hardware leaves there
     * what was there before. false: they are 0, and a program that forgets to initialize them seems to work.
     */
    bool poison;
    /**
     * Interrupts that find their ring full overwrite the oldest ones, and the driver is told by RB_OVERFLOW, as on hardware.
     * false: they wait in the device, up to 65,536, and none is lost.
     */
    bool ih_overflow;
    /**
     * What is kept until the driver flushes it, "tlb", "hdp" and "l2" divided by commas, or NULL: translations, what the host
     * stores in VRAM, what waves load and store. A driver or a program that forgets a flush then fails. "hdp" needs a host that
     * comes through lyra_vram_read() and lyra_vram_write(); "l2" has no virtual time.
     */
    const char *strict;
    /**
     * Recording to write: all calls, and the memory that the device found (docs/user/replay.md); or NULL. Needs
     * virtual_time or repeatable. What the device does is the same. It ends when the file has record_limit_bytes, and the
     * device goes on.
     */
    const char *record_path;
    uint64_t record_limit_bytes;
    /**
     * Without virtual_time: what the device does depends on nothing but the calls, their times and the memory that it reads,
     * as with it. Each call happens at one time of the host, beside which the device's clock moves by some ns whenever it is
     * read; one thread runs the waves; their turns are the same with generated code and without; doorbells are not posted.
     * lyra_run() is the host's to call, with memory that nobody changes meanwhile, and so is every other call that may read
     * memory: lyra_start() is refused. "l2" of strict is not possible.
     */
    bool repeatable;
    /**
     * Waves run code that is generated from theirs, where this host can do that (AVX-512); what they do is the same. false:
     * they are interpreted.
     */
    bool jit;
    /**
     * A line at LYRA_LOG_DEBUG for every PM4, AQL and SDMA packet, with its fields, and after every event of a wave, with its
     * dispatch, group and number. A text trace then has the events of waves.
     */
    bool log_packets;
} lyra_config;

/** One range of guest RAM that the host has mapped. Ranges must not overlap. */
typedef struct lyra_ram_range {
    uint64_t bus_address;
    uint64_t size_bytes;
    void *host;
    bool readonly;
} lyra_ram_range;

LYRA_API void lyra_config_init(lyra_config *config);

/** "major.minor.patch (git id)". */
LYRA_API const char *lyra_version(void);

/**
 * Make a device.
 * @param vram  host memory of config->vram_bytes bytes, zero-filled, page aligned, alive until lyra_destroy()
 * @param error receives one line that says what is wrong, when NULL is returned
 */
LYRA_API lyra_device *lyra_create(const lyra_config *config, const lyra_host_ops *ops, void *opaque, void *vram, char *error,
                                  size_t error_bytes);

/** Stops the pump thread if one runs, closes the trace and frees everything but VRAM. NULL is allowed. */
LYRA_API void lyra_destroy(lyra_device *device);

/** PCI reset: every register, ring, queue and wave back to power-on; the discovery table is written to VRAM again. */
LYRA_API void lyra_reset(lyra_device *device);

/**
 * State of the device as a stream of bytes: registers, rings, queues, waves in the middle of their program, interrupts that
 * wait. What the host says is left out (RAM, its map, BAR addresses, bus mastering), as is VRAM unless it is asked for, of
 * which only pages that are not 0 are written. With the free-running pump call lyra_stop() before, so that memory stays as it
 * is.
 * @return its size in bytes, 0 when there is no memory for it; *state is to be freed with free()
 */
LYRA_API size_t lyra_save(lyra_device *device, bool with_vram, void **state);

/**
 * Go on from what lyra_save() has written, in a device of the same chip, size and kind of time; timing, firmware and threads
 * may be others. The map of memory has to be told before. Nothing in the stream is trusted.
 * @param error receives one line that says what is wrong, when false is returned; the device has then been reset
 */
LYRA_API bool lyra_load(lyra_device *device, const void *state, size_t bytes, char *error, size_t error_bytes);

/**
 * The same state as text, without VRAM: a line for each value that is not 0, such as "cu[2]/wave[0]/pc = 0x1000".
 * @return its length, 0 when there is no memory for it; *text is to be freed with free()
 */
LYRA_API size_t lyra_state_text(lyra_device *device, char **text);

/** The option ROM image (ATOM tables). @return its size in bytes; *image stays owned by the device. */
LYRA_API size_t lyra_rom(lyra_device *device, const void **image);

/** Replace the map of bus memory. Ranges are copied. An access outside them reads ones, writes nothing, and is counted. */
LYRA_API void lyra_set_ram_map(lyra_device *device, const lyra_ram_range *ranges, size_t count);

/** Where the guest has put the BARs (bus addresses, or UINT64_MAX), so that the GPU can reach its own doorbells. */
LYRA_API void lyra_set_bar_addresses(lyra_device *device, uint64_t vram, uint64_t doorbells, uint64_t registers);

/** PCI bus mastering, on in a new device. While it is off the device makes no bus access and raises no interrupt. */
LYRA_API void lyra_set_bus_master(lyra_device *device, bool enabled);

/** BAR5. size is 1, 2, 4 or 8 bytes; hardware knows dwords, the rest is composed of them. */
LYRA_API uint64_t lyra_mmio_read(lyra_device *device, uint64_t offset, unsigned size);
LYRA_API void lyra_mmio_write(lyra_device *device, uint64_t offset, uint64_t value, unsigned size);

/** BAR2. size is 4 or 8. */
LYRA_API uint64_t lyra_doorbell_read(lyra_device *device, uint64_t offset, unsigned size);
LYRA_API void lyra_doorbell_write(lyra_device *device, uint64_t offset, uint64_t value, unsigned size);

/**
 * BAR0, for hosts that do not map VRAM. size is 1 to 8; with strict "hdp" stores wait for a flush. From any thread, without
 * waiting for the device.
 */
LYRA_API uint64_t lyra_vram_read(lyra_device *device, uint64_t offset, unsigned size);
LYRA_API void lyra_vram_write(lyra_device *device, uint64_t offset, uint64_t value, unsigned size);
/** Whether BAR0 must not be mapped: strict has "hdp". */
LYRA_API bool lyra_traps_vram(const lyra_device *device);

/** Size of the register BAR. */
LYRA_API uint32_t lyra_register_bar_bytes(const lyra_device *device);

/** A timing parameter of the device by name, as the configuration has set it; 0 for an unknown name. */
LYRA_API uint64_t lyra_timing(const lyra_device *device, const char *name);

/**
 * Free-running pump: start and stop a thread that calls lyra_run() while there is work. Doorbells that were written before
 * lyra_stop() have reached their queues when it returns.
 */
LYRA_API bool lyra_start(lyra_device *device);
LYRA_API void lyra_stop(lyra_device *device);

/** What lyra_run() found. */
typedef enum lyra_run_state {
    LYRA_BUSY,    /**< more can be done at once */
    LYRA_POLLING, /**< something waits for memory to change; call again soon */
    LYRA_IDLE,    /**< nothing to do before the next register or doorbell write */
} lyra_run_state;

/**
 * Do a bounded piece of work (about instruction_budget wave instructions at most). Not while lyra_start() is in force. A
 * repeatable device takes a budget of 2^22 at most.
 * With virtual time the piece is one of 1 us, or the jump over a time in which nothing happens.
 */
LYRA_API lyra_run_state lyra_run(lyra_device *device, uint64_t instruction_budget);

/**
 * Virtual time: let everything happen that happens until now_ns. Registers, doorbells and the memory that the host has
 * changed since the last call are looked at as of now_ns: call it before time goes on past a change.
 * @return when something will happen next, for the host to call again then; UINT64_MAX: not before the next access.
 *         UINT64_MAX too without virtual time.
 */
LYRA_API uint64_t lyra_run_until(lyra_device *device, uint64_t now_ns);

/** A counter by name (see lyra_stat_name); 0 for an unknown name. */
LYRA_API uint64_t lyra_stat(lyra_device *device, const char *name);

/** The name of counter number index, or NULL past the last. */
LYRA_API const char *lyra_stat_name(size_t index);

/**
 * What all devices of this process have generated from code of waves since it began (docs/design/translator.md).
 * @param blocks  basic blocks
 * @param ns      processor time of generating them
 */
LYRA_API void lyra_generated_code(uint64_t *blocks, uint64_t *ns);

/**
 * Wave instructions executed since the device was made, by operation and encoding; nothing unless config->histogram was set.
 * @param visit  called once for each that was executed; the texts are valid during the call
 */
LYRA_API void lyra_histogram(lyra_device *device,
                             void (*visit)(void *opaque, const char *mnemonic, const char *format, uint64_t count),
                             void *opaque);

#ifdef __cplusplus
}
#endif
#endif
