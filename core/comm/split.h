/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Making communicators out of communicators. */
#ifndef WEFT_COMM_SPLIT_H
#define WEFT_COMM_SPLIT_H

#include "core/comm/comm.h"

/* Makes the child of this rank's colour, with a handle; *child_p is NULL for WEFT_COLOR_NONE.
 * Blocks until all ranks of the parent take part. Thread: the owner of `parent`. */
weft_status_t weft_split(weft_comm_state_t *parent, int32_t color, int32_t key,
                         weft_comm_t **child_p);

/* Mixes `value` into `hash`, for ids that all members compute alike. */
uint64_t weft_split_mix(uint64_t hash, uint64_t value);

/* The ways in which communicators are made: each begins its ids in its own way, so that two of one
 * length and with equal numbers differ. */
typedef enum weft_child_kind {
    WEFT_CHILD_SPLIT = 1,
    WEFT_CHILD_GROUP = 2,
    WEFT_CHILD_SHRINK = 3
} weft_child_kind_t;

/* Returns what the ids of the children of `parent` of one kind begin with. */
uint64_t weft_child_base(uint64_t parent, weft_child_kind_t kind);

/* Fails the child on the other members, with the calling thread's error: their communicator will
 * never be complete. */
void weft_split_report_absence(const weft_comm_setup_t *setup);

#endif
