/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the links of a communicator are made from. */
#ifndef WEFT_EXEC_LINKS_SETUP_H
#define WEFT_EXEC_LINKS_SETUP_H

#include "core/exec/gpudirect.h"
#include "core/exec/peer_windows.h"
#include "core/exec/slot.h"
#include "core/exec/transports.h"

typedef struct weft_links weft_links_t;

typedef struct weft_links_setup {
    weft_transports_t *transports;
    uint32_t nranks, rank;
    const uint32_t *family; /* per rank: its rank in the family; kept by the caller */
    uint64_t comm_id;
    weft_leavers_t leavers;     /* what it points to is kept by the caller */
    weft_sharing_t sharing;     /* of the kernel */
    weft_gpudirect_t gpudirect; /* of the kernel */
    weft_windows_t *windows;    /* of the communicator */
    bool first;                 /* the family's first communicator */
    /* Of each FIFO, equal on all ranks. Message links use its slots alone. Where there is an area
     * for small payloads, memory comes by need. Where there is none, all of it is committed when a
     * link is made, as devices need it. */
    weft_fifo_shape_t fifo;
    uint64_t pool_bytes; /* of slots that this rank's mapped links hold; 0: no limit */
} weft_links_setup_t;

#endif
