/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the bootstrap of a family holds on this rank after the join. Thread: any. */
#ifndef WEFT_BOOT_BOOT_MEMORY_H
#define WEFT_BOOT_BOOT_MEMORY_H

#include "core/boot/boot.h"

typedef struct weft_boot_memory {
    uint32_t descriptors;       /* of control connections, watched processes and the listener */
    uint32_t descriptors_limit; /* of them, while nobody leaves */
    uint64_t control;           /* bytes of buffers and lists of control connections */
    uint64_t events;            /* bytes of the event log */
    uint64_t events_limit;      /* most bytes of it; texts of failures are not counted */
    uint64_t tables;            /* bytes of what is known of every rank */
} weft_boot_memory_t;

void weft_boot_memory(const weft_boot_t *boot, weft_boot_memory_t *memory);

#endif
