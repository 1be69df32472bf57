/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making communicators out of communicators. */
#ifndef WEFT_COMM_SPLIT_H
#define WEFT_COMM_SPLIT_H

#include "core/comm/child_id.h"
#include "core/comm/comm.h"

/* Makes the child of this rank's colour, with a handle; *child_p is NULL for WEFT_COLOR_NONE.
 * Blocks until all ranks of the parent take part. Thread: the owner of `parent`. */
weft_status_t weft_split(weft_comm_state_t *parent, int32_t color, int32_t key,
                         weft_comm_t **child_p);

/* Fails the child on the other members, with the calling thread's error: their communicator will
 * never be complete. */
void weft_split_report_absence(const weft_comm_setup_t *setup);

#endif
