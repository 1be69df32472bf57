/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tuning of non-temporal stores: payloads for shared slots, and results, are written through the
 * caches or past them. Where two cores share a cache, slots are up to twice as fast the cached
 * way; where they do not, the line transfers make it 4 times slower (bench/results). Results that
 * will come from memory anyway are cheaper to store past the caches, which saves a read; results
 * that stay in a cache are not. Virtual machines move between the cases while a job runs, so the
 * choice is measured: now and then a call is timed each way. All
 * ranks count calls alike, so they try the same way at the same time. The choice changes no result
 * and no protocol. The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_NT_TUNER_H
#define WEFT_EXEC_NT_TUNER_H

#include "core/os/os.h"

/* Smaller slices are always written through the caches. */
#define WEFT_NT_STORE_BYTES 1024u

/* What is written past the caches. */
#define WEFT_NT_SLOTS 1u
#define WEFT_NT_RESULTS 2u
#define WEFT_NT_WAYS 3u /* ways to be tried at most */

typedef struct weft_nt_tuner {
    uint32_t calls;
    uint32_t chosen;             /* way */
    int trial;                   /* way that this call tries, or −1 */
    uint64_t best[WEFT_NT_WAYS]; /* shortest trial of each way, ns */
    uint64_t began;
} weft_nt_tuner_t;

/* Returns WEFT_NT_* for calls of `bytes` bytes a block that are not tuned. */
uint32_t weft_nt_tuner_default(uint64_t bytes);
/* Returns WEFT_NT_* for the call of `bytes` bytes a block that begins now. All calls of a tuner
 * have the same length. */
uint32_t weft_nt_tuner_begin(weft_nt_tuner_t *tuner, uint64_t bytes);
/* Takes note that the call has succeeded. */
void weft_nt_tuner_end(weft_nt_tuner_t *tuner);

#endif
