/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What users of the bootstrap see of a joined family: an opaque handle and one record per rank. */
#ifndef WEFT_BOOT_BOOT_TYPES_H
#define WEFT_BOOT_BOOT_TYPES_H

#include <weft/weft.h>

#define WEFT_BOOT_KEY 32

typedef struct weft_boot weft_boot_t;

/* One rank, as every rank knows it after the join. */
typedef struct weft_boot_peer {
    uint8_t host_id[16];
    char host_name[64];
    int32_t pid;
    uint32_t host; /* 0 … nhosts−1, in order of first appearance by rank */
} weft_boot_peer_t;

#endif
