/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A closed group runs. */
#ifndef WEFT_COMM_GROUP_RUN_H
#define WEFT_COMM_GROUP_RUN_H

#include "core/comm/group.h"

/* Runs a group that has not failed. `*whole_p`: the request of the group, whose caller's options
 * are `call`; it is NULL afterwards if the request has ended. NULL: waits for the end. The caller
 * drops the notes that are left. */
weft_status_t weft_group_run(weft_group_t *group, weft_request_t **whole_p,
                             const weft_call_t *call);

/* Smallest weft_call_t that can be patient. */
#define WEFT_CALL_WITH_PATIENCE (offsetof(weft_call_t, patience) + sizeof(double))

#endif
