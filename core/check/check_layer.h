/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The layer of one plugin, as the files of core/check share it: calls with a note, and reports. */
#ifndef WEFT_CHECK_CHECK_LAYER_H
#define WEFT_CHECK_CHECK_LAYER_H

#include <stdatomic.h>

#include <weft/plugin/algo.h>
#include <weft/plugin/kernel.h>
#include <weft/plugin/net.h>
#include <weft/plugin/tuner.h>

#include "core/os/call_note.h"

typedef struct weft_check weft_check_t;

struct weft_check {
    weft_host_t host; /* for the plugin: first, so that create() finds the layer by it */
    const weft_host_t *given;
    weft_plugin_t plugin; /* for the core */
    const char *path;
    uint64_t patience_ns;        /* for what should come at once; 0: any */
    _Atomic int64_t allocations; /* of host->alloc() that were not freed */
    _Atomic uint32_t instances;
    _Atomic uint32_t slow_told;
    union {
        weft_net_ops_t net;
        weft_kernel_ops_t kernel;
        weft_tuner_ops_t tuner;
        weft_algo_ops_t algo;
    } table; /* what the core calls */
    union {
        const weft_net_ops_t *net;
        const weft_kernel_ops_t *kernel;
        const weft_tuner_ops_t *tuner;
        const weft_algo_ops_t *algo;
    } own; /* the plugin's */
};

/* The layer that gave the host table to create(). */
static inline weft_check_t *weft_check_of(const weft_host_t *host)
{
    return (weft_check_t *)(uintptr_t)host;
}

/* A call of a method under way. */
typedef struct weft_check_call {
    weft_check_t *check;
    const char *method;
    uint64_t begun;
    weft_call_note_t before;
} weft_check_call_t;

/* Begins a call, and ends it. A call that took long, although the contract says that it does not
 * block, is told once: a machine with too many ranks delays a right plugin too. */
weft_check_call_t weft_check_enter(weft_check_t *check, const char *method);
void weft_check_leave(const weft_check_call_t *call);

/* Which statuses beside OK a method may return: bits. */
enum { WEFT_CHECK_FAILURES = 1, WEFT_CHECK_IN_PROGRESS = 2, WEFT_CHECK_AGAIN = 4 };
/* Ends a call. Returns `status`, or the breach if the method may not return it. */
weft_status_t weft_check_end(const weft_check_call_t *call, weft_status_t status, unsigned allowed);

/* Reports a breach: what was found, and what the contract says. Returns ERR_PLUGIN, with the
 * thread's error record set. The first ten of a process are logged too. */
weft_status_t weft_check_breach(const weft_check_t *check, const char *method, const char *contract,
                                const char *found, ...) WEFT_PRINTF(4, 5);

/* Returns how many breaches there were in this process. */
uint32_t weft_check_count(void);

/* An instance was made, or is gone: what it allocated is freed by then. */
void weft_check_made(weft_check_t *check);
void weft_check_gone(weft_check_t *check);

/* FNV-1a over eight bytes at a time: it only has to find accidents. */
uint64_t weft_check_sum(uint64_t sum, const void *data, uint64_t bytes);
#define WEFT_CHECK_SUM_BEGIN UINT64_C(0xcbf29ce484222325)

#endif
