/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making a communicator of some ranks of another one, without the others. */
#ifndef WEFT_COMM_CREATE_GROUP_H
#define WEFT_COMM_CREATE_GROUP_H

#include "core/comm/comm.h"

/* What the members were called with. */
typedef struct weft_group_wish {
    const uint32_t *ranks; /* of the parent */
    uint32_t count, tag;
} weft_group_wish_t;

/* Makes the communicator, with a handle. Blocks until all members have called it; the parent is not
 * used meanwhile. Thread: any. */
weft_status_t weft_create_group(weft_comm_t *parent, const weft_group_wish_t *wish,
                                weft_comm_t **child_p);

#endif
