/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Tuning of non-temporal stores: payloads are written into shared slots through the caches or past
 * them. Where two cores share a cache, the cached way is up to 1.5 times faster; where they do not,
 * the line transfers make it 4 times slower (bench/results). Virtual machines move between the two
 * cases while a job runs, so the choice is measured: now and then a call is timed both ways. All
 * ranks count calls alike, so they try the same way at the same time. The choice changes no result
 * and no protocol. The thread that owns the communicator makes all calls. */
#ifndef WEFT_EXEC_NT_TUNER_H
#define WEFT_EXEC_NT_TUNER_H

#include <stdbool.h>

#include "core/os/os.h"

/* Smaller slices are always written through the caches. */
#define WEFT_NT_STORE_BYTES 4096u

typedef struct weft_nt_tuner {
    uint32_t calls;
    bool stream;      /* the chosen way: past the caches */
    uint64_t best[2]; /* shortest trial of each way, ns */
    uint64_t began;
} weft_nt_tuner_t;

/* Returns whether the call that begins now writes past the caches. */
bool weft_nt_tuner_begin(weft_nt_tuner_t *tuner);
/* Takes note that the call has succeeded. */
void weft_nt_tuner_end(weft_nt_tuner_t *tuner);

#endif
