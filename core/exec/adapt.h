/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether payloads are written into shared slots through the caches or past them. When two cores share
 * a cache, the cached way is up to 1.5 times faster; when they do not, the line transfers make it 4
 * times slower (bench/results). Virtual machines move between the two cases while a job runs, so the
 * choice is measured: now and then a call is timed both ways. All ranks count calls alike, so they try
 * the same way at the same time. The choice changes no result and no protocol. */
#ifndef WEFT_EXEC_ADAPT_H
#define WEFT_EXEC_ADAPT_H

#include <stdbool.h>

#include "core/os/os.h"

/* Smaller slices are always written through the caches. */
#define WEFT_ADAPT_BYTES 4096u

typedef struct weft_adapt {
    uint32_t calls;
    bool stream;      /* chosen way: past the caches */
    uint64_t best[2]; /* shortest trial of each way, ns */
    uint64_t began;
} weft_adapt_t;

/* The way for the call that begins now. */
bool weft_adapt_begin(weft_adapt_t *adapt);
/* The call has ended well. */
void weft_adapt_end(weft_adapt_t *adapt);

#endif
